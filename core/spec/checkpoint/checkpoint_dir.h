// Hugging Face model directories: reading and writing. Everything read is untrusted and bounds-checked;
// errors name the file and the tensor or field.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// The files of a model besides its tensors, by name: config.json, generation_config.json, tokenizer.json,
// tokenizer_config.json, special_tokens_map.json, chat_template.jinja. Only those present.
using ModelFiles = std::map<std::string, std::string>;

struct ModelDirectory {
  ModelConfig config;
  ModelFiles files;
  TensorMap tensors;  // as stored; exactly those of TensorTable(config)
};

absl::StatusOr<ModelFiles> ReadModelFiles(const std::string& directory);
absl::StatusOr<ModelDirectory> ReadModelDirectory(const std::string& directory);
// model.safetensors (sharded with an index above `shard_bytes`) and the files. Tensors of another floating
// type are converted to `dtype` (kBF16 or kF32), save correction biases; config.json's dtype fields are set
// to it. Written to a temporary folder beside it, then renamed; `directory` must not exist or be empty.
absl::Status WriteModelDirectory(const std::string& directory, const ModelFiles& files,
                                 const TensorMap& tensors, DType dtype, int64_t shard_bytes = 5'000'000'000);

// One safetensors file. Header limit 100 MB; offsets must tile the data exactly; shapes must match their
// bytes.
absl::StatusOr<TensorMap> ReadSafetensors(const std::string& path);
std::string SerializeSafetensors(const TensorMap& tensors);

}  // namespace sluice
