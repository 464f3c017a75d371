// Weights stored as float8 e4m3 with one scale for each block of rows and columns, as DeepSeek-V3 and other
// releases have them (arXiv 2412.19437, section 3.3): w = q x scale_inv. They become plain tensors when they
// are read.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/spec/tensors/tensor.h"
#include "core/spec/text/json.h"

namespace sluice {

// Blocks begin at row and column 0; the last ones may be cut off by the matrix's edge.
struct Fp8Blocks {
  int64_t rows = 0, columns = 0;  // 0: the checkpoint is not quantized
  bool quantized() const { return rows > 0; }
  std::vector<int64_t> ScaleShape(const std::vector<int64_t>& matrix) const;
};

// Reads quantization_config of `config`, which may be absent. Other methods than fp8 by blocks are refused.
Fp8Blocks ReadQuantization(JsonFields& config);

// float8 e4m3 without infinities (Micikevicius et al. 2022, "FP8 formats for deep learning"): bias 7, NaN is
// 0x7f and 0xff.
float FloatFromE4M3(uint8_t code);

// `matrix` [out, in] of kF8E4M3 times `scale` (ScaleShape; kF32 or kBF16), rounded to `dtype` (kBF16 or
// kF32). Refuses NaN codes and scales that are negative or not finite, saying where.
absl::StatusOr<HostTensor> Dequantize(const HostTensor& matrix, const HostTensor& scale,
                                      const Fp8Blocks& blocks, DType dtype);

}  // namespace sluice
