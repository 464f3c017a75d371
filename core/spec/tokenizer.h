// tokenizer.json: byte-level BPE with pre-tokenizer expressions, added tokens, normaliser NFC and
// post-processor templates, as the released models use it. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Text -> ids. `add_special_tokens` applies the post-processor (for example a first token).
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                                      bool add_special_tokens) const = 0;
  // Ids -> text. Special tokens are left out when `skip_special_tokens`. Bytes that are no UTF-8 become
  // U+FFFD.
  virtual std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const = 0;
  // The raw bytes of one token (special tokens: their text); empty for an unknown id.
  virtual std::string TokenBytes(int32_t id) const = 0;
  virtual int32_t TokenId(
      absl::string_view token) const = 0;  // of a token as written in the vocabulary; -1: none
  virtual int32_t vocab_size() const = 0;  // greatest id + 1
};

// Refuses, naming the field, what it does not support. At most 512 MB.
absl::StatusOr<std::unique_ptr<const Tokenizer>> ParseTokenizer(absl::string_view tokenizer_json);

}  // namespace sluice
