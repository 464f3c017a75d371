// The trained tensors of a model, laid end to end in one flat vector of floats: what the optimizer sees, what
// is reduced and gathered between ranks. Pure; no LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

struct ParameterSlot {
  std::string name;  // hub name
  std::vector<int64_t> shape;
  int64_t offset = 0, size = 0;  // floats
  bool always_f32 = false;
};

class ParameterLayout {
 public:
  ParameterLayout() = default;
  // In the order of TensorTable(config).
  explicit ParameterLayout(const ModelConfig& config);

  const std::vector<ParameterSlot>& trained() const { return trained_; }
  const std::vector<ParameterSlot>& frozen() const { return frozen_; }
  int64_t trained_size() const { return trained_size_; }
  int64_t frozen_size() const { return frozen_size_; }
  const ParameterSlot* FindTrained(const std::string& name) const;

  // Flat values of `tensors`; errors name the tensor that is missing or misshapen.
  absl::StatusOr<std::vector<float>> Flatten(const std::vector<ParameterSlot>& slots,
                                             const TensorMap& tensors) const;
  // The tensors of flat values, as `dtype` (those marked always_f32: kF32).
  TensorMap Unflatten(const std::vector<ParameterSlot>& slots, absl::Span<const float> values,
                      DType dtype) const;

 private:
  std::vector<ParameterSlot> trained_, frozen_;
  std::map<std::string, size_t> index_;  // name -> place in trained_
  int64_t trained_size_ = 0, frozen_size_ = 0;
};

}  // namespace sluice
