// A tensor in host memory, without LibTorch: what checkpoints, manifests and the wire carry. Immutable once
// shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class DType { kBF16, kF32, kF16, kF64, kI64, kI32, kU8, kF8E4M3 };
int64_t BytesOf(DType dtype);
const char* SafetensorsName(DType dtype);  // "BF16", "F32", ...
absl::StatusOr<DType> DTypeFromSafetensors(absl::string_view name);

struct HostTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::shared_ptr<const std::string>
      bytes;  // little-endian, row-major; shared: tensors are passed around, not copied
  int64_t elements() const;
  const float* f32() const { return reinterpret_cast<const float*>(bytes->data()); }         // only for kF32
  const uint16_t* bf16() const { return reinterpret_cast<const uint16_t*>(bytes->data()); }  // only for kBF16
};

// By Hugging Face hub names (one tensor per expert).
using TensorMap = std::map<std::string, HostTensor>;

// bfloat16 by round to nearest, ties to even; NaN stays NaN.
uint16_t Bf16FromFloat(float value);
inline float FloatFromBf16(uint16_t value) {
  union {
    uint32_t u;
    float f;
  } x = {static_cast<uint32_t>(value) << 16};
  return x.f;
}

// The place of the first value that is infinite or not a number, or -1. Tensors without floating values, and
// kF8E4M3, have none.
int64_t FirstNonFinite(const HostTensor& tensor);

HostTensor TensorFromFloats(std::vector<int64_t> shape, const float* values, DType dtype);  // kF32 or kBF16
std::vector<float> ToFloats(const HostTensor& tensor);  // from kF32, kBF16 or kF16

}  // namespace sluice
