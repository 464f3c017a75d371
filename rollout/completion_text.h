// The text of a completion while it grows: watches for stop texts, which may begin and end within tokens, and
// gives the text in the end. Works on bytes. One per sequence; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/spec/tokenizer.h"

namespace sluice {

class CompletionText {
 public:
  // `tokenizer` may be null: then there is no text and nothing stops. Both are borrowed.
  CompletionText(const Tokenizer* tokenizer, const std::vector<std::string>* stops)
      : tokenizer_(tokenizer), stops_(stops) {}

  // Adds a token; true when a stop text is complete now.
  bool Append(int32_t token);
  // Everything before the earliest stop text, without special tokens. `drop_last` leaves out the last token
  // (a stop token). Bytes that are no UTF-8 become U+FFFD.
  std::string Text(bool drop_last) const;

 private:
  struct Piece {
    size_t end = 0;        // in bytes_
    bool special = false;  // not part of the text
  };

  const Tokenizer* tokenizer_;
  const std::vector<std::string>* stops_;
  std::string bytes_;  // of all tokens, special ones included
  std::vector<Piece> pieces_;
  size_t cut_ = std::string::npos;  // where the earliest stop text begins
};

// Every maximal part that is no UTF-8 becomes one U+FFFD (Unicode 15, section 3.9, "substitution of maximal
// subparts").
std::string ToValidUtf8(absl::string_view bytes);

}  // namespace sluice
