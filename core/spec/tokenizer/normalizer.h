// The "normalizer" of tokenizer.json: what is done to a text before it is split. Immutable; thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // `text` is UTF-8, before and after. RESOURCE_EXHAUSTED when it grows past `kMaxBytes`.
  virtual absl::Status Apply(std::string& text) const = 0;
  static constexpr size_t kMaxBytes = 256 << 20;
};

// Null for no normalizer. NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend and
// Sequence; refuses others by name. `where` names the field in errors.
absl::StatusOr<std::unique_ptr<const Normalizer>> ParseNormalizer(const nlohmann::json* json,
                                                                  const std::string& where);

}  // namespace sluice
