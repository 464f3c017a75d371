#include "learner/parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

ParameterLayout::ParameterLayout(const ModelConfig& config) {
  for (const TensorShape& tensor : TensorTable(config)) {
    ParameterSlot slot{tensor.name, tensor.shape, 0, 1, tensor.always_f32};
    for (int64_t n : tensor.shape) slot.size *= n;
    int64_t& end = tensor.trained ? trained_size_ : frozen_size_;
    slot.offset = end;
    end += slot.size;
    if (tensor.trained) index_[slot.name] = trained_.size();
    (tensor.trained ? trained_ : frozen_).push_back(std::move(slot));
  }
}

const ParameterSlot* ParameterLayout::FindTrained(const std::string& name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &trained_[found->second];
}

absl::StatusOr<std::vector<float>> ParameterLayout::Flatten(const std::vector<ParameterSlot>& slots,
                                                            const TensorMap& tensors) const {
  std::vector<float> flat(slots.empty() ? 0 : slots.back().offset + slots.back().size);
  for (const ParameterSlot& slot : slots) {
    auto found = tensors.find(slot.name);
    if (found == tensors.end()) return absl::NotFoundError(absl::StrCat("tensor ", slot.name, " is missing"));
    if (found->second.shape != slot.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", slot.name, " does not have the model's shape"));
    }
    const std::vector<float> values = ToFloats(found->second);
    if (static_cast<int64_t>(values.size()) != slot.size) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", slot.name, " has ", values.size(),
                                                     " values; ", slot.size,
                                                     " are needed, as BF16, F16 or F32"));
    }
    std::copy(values.begin(), values.end(), flat.begin() + slot.offset);
  }
  return flat;
}

TensorMap ParameterLayout::Unflatten(const std::vector<ParameterSlot>& slots, absl::Span<const float> values,
                                     DType dtype) const {
  TensorMap tensors;
  for (const ParameterSlot& slot : slots) {
    tensors[slot.name] =
        TensorFromFloats(slot.shape, values.data() + slot.offset, slot.always_f32 ? DType::kF32 : dtype);
  }
  return tensors;
}

}  // namespace sluice
