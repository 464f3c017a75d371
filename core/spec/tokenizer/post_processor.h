// The "post_processor" of tokenizer.json: tokens around a single sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice {

struct Surroundings {
  std::vector<int32_t> before, after;
};

// TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence; refuses others by name. None
// for no post-processor. `where` names the field in errors.
absl::StatusOr<Surroundings> ParsePostProcessor(const nlohmann::json* json, const std::string& where);

}  // namespace sluice
