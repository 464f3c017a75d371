// The header of a safetensors file: 8 bytes of length, then JSON that places each tensor in the data behind
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // in the data
};

// Entries by rising place. Refuses, naming `source` and the tensor: duplicates, unknown types, shapes that
// overflow or differ from their bytes, and offsets that do not tile the `data_bytes` exactly.
absl::StatusOr<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(absl::string_view json,
                                                                     int64_t data_bytes,
                                                                     const std::string& source);

// The 8 bytes, the JSON and its padding for tensors laid out in this order.
std::string SerializeSafetensorsHeader(const std::vector<SafetensorsEntry>& entries);

}  // namespace sluice
