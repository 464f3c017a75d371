// The demonstration's model, made on the spot: configuration, a tokenizer of single characters and random
// weights, as a Hugging Face directory. Pure but for WriteDemoModel.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "services/cli/demo/demo_settings.h"

namespace sluice::cli {

// config.json, generation_config.json, tokenizer.json and tokenizer_config.json.
ModelFiles DemoModelFiles(const DemoModel& model);
// Norms 1, biases 0, matrices normal (Box-Muller over the counter-based generator).
absl::StatusOr<TensorMap> RandomTensors(const DemoModel& model, uint64_t seed);
// The folder must not exist or be empty.
absl::Status WriteDemoModel(const DemoModel& model, uint64_t seed, const std::string& directory);

}  // namespace sluice::cli
