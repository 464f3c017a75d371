// Splitting of text into the pieces that BPE works on, as the "pre_tokenizer" of tokenizer.json says.
// Immutable; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces each piece by its parts. Pieces are UTF-8 and not empty.
  virtual absl::Status Apply(std::vector<std::string>& pieces) const = 0;
  virtual bool byte_level() const { return false; }  // its pieces are in the byte-level alphabet
};

// `where` names the field in errors.
absl::StatusOr<std::unique_ptr<const PreTokenizer>> ParsePreTokenizer(const nlohmann::json& json,
                                                                      const std::string& where);

}  // namespace sluice
