// The text of a completion while it grows: watches for stop texts, which may begin and end within tokens,
// gives text to stream as soon as it is certain, and all of it in the end. One per sequence; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/spec/tokenizer/tokenizer.h"

namespace sluice {

class CompletionText {
 public:
  // `tokenizer` may be null: then there is no text and nothing stops. Both are borrowed. A completion that
  // goes on from given tokens appends them first; what Take gives then was streamed before.
  CompletionText(const Tokenizer* tokenizer, const std::vector<std::string>* stops);

  // Adds a token; true when a stop text is complete now. While `stops_wait`, those that become complete are
  // passed over and stay in the text. Special tokens are not shown but can be, or be part of, stop texts.
  bool Append(int32_t token, bool stops_wait = false);

  // The text that is certain and was not taken before: whole characters, and nothing that may turn out to be
  // the beginning of a stop text. With the last token known to be left out of the text, take the rest by
  // TakeRest.
  std::string Take();
  // What Text has beyond all that was taken: the last part of a stream.
  std::string TakeRest(bool drop_last);

  // Everything before the earliest stop text, without special tokens: what Decode gives. `drop_last` leaves
  // out the last token (a stop token). Bytes that are no UTF-8 become U+FFFD.
  std::string Text(bool drop_last) const;

 private:
  struct Hidden {
    size_t begin = 0, end = 0;  // in marked_
  };
  struct Prefix {         // of the completion, up to some token
    size_t certain = 0;   // bytes of marked_ that are certain
    std::string pending;  // follows if no more tokens come
  };

  bool FindStop(size_t from, bool stops_wait);
  size_t PossibleStop() const;               // where the longest unfinished stop text begins
                                             // in marked_, or its end
  size_t VisibleBytes(size_t marked) const;  // how much of visible_ lies in that many bytes of marked_

  const std::vector<std::string>* stops_;
  const Tokenizer* tokenizer_;
  std::unique_ptr<TextDecoder> decoder_;  // null: no tokenizer
  std::string visible_;                   // what is certain
  std::string marked_;                    // the same with the text of special tokens in its place;
                                          // stop texts are found here
  std::vector<Hidden> hidden_;            // special tokens
  size_t hidden_bytes_ = 0;               // of all of them
  Prefix now_, before_last_;
  size_t cut_ = std::string::npos;  // where the earliest stop text begins in
                                    // marked_ and what is pending
  size_t passed_ = 0;               // stop texts that begin before are passed over
  size_t taken_ = 0;                // bytes of visible text
};

}  // namespace sluice
