// What a model directory says of itself, before any tensor is read.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"

namespace sluice {

// config.json and generation_config.json of the directory's files; errors name the directory. NOT_FOUND
// without config.json: it is no model directory.
absl::StatusOr<ModelConfig> ConfigOf(const ModelFiles& files, const std::string& directory);

// Whether the weights are those of config.json, from the safetensors headers alone: no tensor is read.
// Everything that ReadModelDirectory would refuse in the tensors' files, with the same errors.
absl::Status CheckModelTensors(const std::string& directory, const ModelConfig& config);

}  // namespace sluice
