// Whether a model directory's weights are those of its config.json, from the safetensors headers alone: no
// tensor is read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/spec/model_config.h"

namespace sluice {

// Everything that ReadModelDirectory would refuse in the tensors' files, with the same errors.
absl::Status CheckModelTensors(const std::string& directory, const ModelConfig& config);

}  // namespace sluice
