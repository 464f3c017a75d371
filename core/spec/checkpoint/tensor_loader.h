// Reads the tensors of a model directory: all headers are checked first, against the table that config.json
// asks for; then each tensor is read once, in the order of the files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/spec/checkpoint/safetensors_file.h"
#include "core/spec/checkpoint/shard_index.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// Not thread-safe.
class TensorLoader {
 public:
  // Refuses shapes and types that do not fit, unknown tensors and missing ones (with the names that come
  // nearest), and quantized matrices without their scales or scales without their matrix. No tensor is read.
  static absl::StatusOr<TensorLoader> Open(const std::string& directory, const ModelConfig& config);

  // Exactly the tensors of TensorTable. Quantized ones become plain: float32 where config.json says float32,
  // else bfloat16. Refuses values that are infinite or not a number. Beside the result at most one tensor is
  // held.
  absl::StatusOr<TensorMap> Read() const;

 private:
  struct Place {
    const SafetensorsFile* file = nullptr;
    SafetensorsEntry entry;
  };
  TensorLoader(std::string directory, ModelConfig config);
  absl::Status OpenShard(const std::string& path, const std::optional<std::set<std::string>>& placed);
  absl::Status Take(const SafetensorsFile& file, const SafetensorsEntry& entry);
  absl::Status CheckNames() const;
  absl::Status CheckScales() const;
  absl::StatusOr<HostTensor> ReadOne(const std::string& name, const Place& place) const;

  std::string directory_;
  ModelConfig config_;
  std::map<std::string, TensorShape> table_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place> tensors_;
  std::map<std::string, Place> scales_;  // by the name of their matrix
  std::vector<Place> unknown_;
};

}  // namespace sluice
