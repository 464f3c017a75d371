// tokenizer.json of byte-pair encodings: byte-level ones, and SentencePiece's with byte fallback. Immutable;
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The text of tokens that come one by one. Never half a character, never text that a later token still
// changes. What Next gave, and Pending in the end, is together what Tokenizer::Decode gives for all tokens.
// Refers to its tokenizer. Not thread-safe.
class TextDecoder {
 public:
  virtual ~TextDecoder() = default;
  virtual std::string Next(int32_t id) = 0;  // the text that is certain now; unknown ids have none
  virtual std::string Pending() const = 0;   // what is to be added if no more tokens come
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Text -> ids. `add_special_tokens` applies the post-processor (for example a first token). Characters that
  // the tokenizer cannot express are left out, as in the tokenizers library: UnknownCharacters names them.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                                      bool add_special_tokens) const = 0;
  // The characters of `text` that Encode leaves out, each once, at most 16. Empty for most tokenizers: they
  // have all bytes, or a token for the unknown.
  virtual std::vector<std::string> UnknownCharacters(absl::string_view text) const { return {}; }
  // Ids -> text. Special tokens are left out when `skip_special_tokens`. Bytes that are no UTF-8 become
  // U+FFFD.
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const;
  virtual std::unique_ptr<TextDecoder> NewDecoder(bool skip_special_tokens) const = 0;
  // The raw bytes of one token within a text (special tokens: their text); empty for an unknown id.
  virtual std::string TokenBytes(int32_t id) const = 0;
  virtual bool IsSpecial(int32_t id) const = 0;
  virtual int32_t TokenId(
      absl::string_view token) const = 0;  // of a token as written in the vocabulary; -1: none
  virtual int32_t vocab_size() const = 0;  // greatest id + 1
};

// Refuses, naming the field, what it does not support. At most 512 MB.
absl::StatusOr<std::unique_ptr<const Tokenizer>> ParseTokenizer(absl::string_view tokenizer_json);

}  // namespace sluice
