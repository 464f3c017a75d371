// Splitting of text into the pieces that BPE works on, as the "pre_tokenizer" of tokenizer.json says.
// Immutable; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice {

// A part of the text: UTF-8, not empty.
struct Piece {
  std::string text;
  bool first = false;  // it begins where the whole text begins
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces each piece by its parts.
  virtual absl::Status Apply(std::vector<Piece>& pieces) const = 0;
};

// Null for none: the text is one piece. Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace,
// WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer and Sequence; refuses others by name. `where` names
// the field in errors.
absl::StatusOr<std::unique_ptr<const PreTokenizer>> ParsePreTokenizer(const nlohmann::json* json,
                                                                      const std::string& where);

}  // namespace sluice
