#include "core/spec/tensors/tensor.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

struct DTypeRow {
  DType dtype;
  const char* name;
  int64_t bytes;
};
constexpr DTypeRow kDTypes[] = {{DType::kBF16, "BF16", 2}, {DType::kF32, "F32", 4},
                                {DType::kF16, "F16", 2},   {DType::kF64, "F64", 8},
                                {DType::kI64, "I64", 8},   {DType::kI32, "I32", 4},
                                {DType::kU8, "U8", 1},     {DType::kF8E4M3, "F8_E4M3", 1}};

const DTypeRow& RowOf(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row;
  }
  return kDTypes[0];
}

float FloatFromF16(uint16_t value) {
  const int exponent = (value >> 10) & 31;
  const int mantissa = value & 1023;
  const float sign = (value & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

// The first of `count` words whose bits `mask` (an exponent) are all set. Whole stretches are looked at
// without leaving early, so that the compiler can use wide registers.
template <typename Word>
int64_t FirstWithAllBits(const Word* words, int64_t count, Word mask) {
  constexpr int64_t kStretch = 4096;
  for (int64_t begin = 0; begin < count; begin += kStretch) {
    const int64_t end = std::min(count, begin + kStretch);
    Word any = 0;
    for (int64_t i = begin; i < end; ++i) any |= static_cast<Word>((words[i] & mask) == mask);
    if (any == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if ((words[i] & mask) == mask) return i;
    }
  }
  return -1;
}

template <typename Word>
int64_t FirstWithAllBits(const HostTensor& tensor, Word mask) {
  return FirstWithAllBits(reinterpret_cast<const Word*>(tensor.bytes->data()), tensor.elements(), mask);
}

}  // namespace

int64_t BytesOf(DType dtype) { return RowOf(dtype).bytes; }

const char* SafetensorsName(DType dtype) { return RowOf(dtype).name; }

absl::StatusOr<DType> DTypeFromSafetensors(absl::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (name == row.name) return row.dtype;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "dtype \"", name.substr(0, 32), "\" is not supported (BF16, F32, F16, F64, F8_E4M3, I64, I32 or U8)"));
}

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

uint16_t Bf16FromFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

int64_t FirstNonFinite(const HostTensor& tensor) {
  if (tensor.dtype == DType::kBF16) return FirstWithAllBits<uint16_t>(tensor, 0x7f80);
  if (tensor.dtype == DType::kF16) return FirstWithAllBits<uint16_t>(tensor, 0x7c00);
  if (tensor.dtype == DType::kF32) return FirstWithAllBits<uint32_t>(tensor, 0x7f800000);
  if (tensor.dtype == DType::kF64) return FirstWithAllBits<uint64_t>(tensor, 0x7ff0000000000000);
  return -1;
}

HostTensor TensorFromFloats(std::vector<int64_t> shape, const float* values, DType dtype) {
  assert(dtype == DType::kF32 || dtype == DType::kBF16);
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  const int64_t count = tensor.elements();
  auto bytes = std::make_shared<std::string>();
  bytes->resize(static_cast<size_t>(count * BytesOf(dtype)));
  if (dtype == DType::kF32) {
    if (count > 0) std::memcpy(bytes->data(), values, bytes->size());
  } else {
    auto* out = reinterpret_cast<uint16_t*>(bytes->data());
    for (int64_t i = 0; i < count; ++i) out[i] = Bf16FromFloat(values[i]);
  }
  tensor.bytes = std::move(bytes);
  return tensor;
}

std::vector<float> ToFloats(const HostTensor& tensor) {
  const int64_t count = tensor.elements();
  std::vector<float> out(static_cast<size_t>(count));
  if (tensor.dtype == DType::kF32) {
    if (count > 0) std::memcpy(out.data(), tensor.bytes->data(), out.size() * sizeof(float));
    return out;
  }
  assert(tensor.dtype == DType::kBF16 || tensor.dtype == DType::kF16);
  const bool brain = tensor.dtype == DType::kBF16;
  const uint16_t* in = tensor.bf16();
  for (int64_t i = 0; i < count; ++i) out[i] = brain ? FloatFromBf16(in[i]) : FloatFromF16(in[i]);
  return out;
}

}  // namespace sluice
