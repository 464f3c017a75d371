#include "core/spec/tensors/fp8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kMaxBlock = 1 << 16;

std::array<float, 256> E4M3Table() {
  std::array<float, 256> table;
  for (int code = 0; code < 256; ++code)
    table[static_cast<size_t>(code)] = FloatFromE4M3(static_cast<uint8_t>(code));
  return table;
}

absl::Status CheckScales(const std::vector<float>& scales, int64_t columns) {
  for (size_t i = 0; i < scales.size(); ++i) {
    if (std::isfinite(scales[i]) && scales[i] >= 0) continue;
    const int64_t at = static_cast<int64_t>(i);
    return absl::InvalidArgumentError(absl::StrCat("its scale at [", at / columns, ", ", at % columns,
                                                   "] is ", scales[i], ", no finite number from 0"));
  }
  return absl::OkStatus();
}

// out[i] = codes[i] x the scale of its block, for one row.
void DequantizeRow(const std::array<float, 256>& table, const uint8_t* codes, const float* scales,
                   int64_t columns, int64_t block, float* out) {
  for (int64_t begin = 0; begin < columns; begin += block) {
    const float scale = scales[begin / block];
    const int64_t end = std::min(columns, begin + block);
    for (int64_t i = begin; i < end; ++i) out[i] = table[codes[i]] * scale;
  }
}

}  // namespace

std::vector<int64_t> Fp8Blocks::ScaleShape(const std::vector<int64_t>& matrix) const {
  return {(matrix[0] + rows - 1) / rows, (matrix[1] + columns - 1) / columns};
}

Fp8Blocks ReadQuantization(JsonFields& config) {
  Fp8Blocks out;
  const nlohmann::json* object = config.Find("quantization_config");
  if (object == nullptr) return out;
  JsonFields in(*object, "config.json: quantization_config");
  const std::string method = in.String("quant_method");
  if (in.status().ok() && method != "fp8") {
    in.Fail("quant_method", absl::StrCat("is \"", method.substr(0, 64),
                                         "\"; only fp8 by blocks is read: convert the model to bfloat16"));
  }
  const std::string format = in.StringOr("fmt", "e4m3");
  if (format != "e4m3" && format != "float8_e4m3fn")
    in.Fail("fmt", absl::StrCat("is \"", format.substr(0, 64), "\"; only e4m3 is read"));
  const nlohmann::json* size = in.Find("weight_block_size");
  const bool pair = size != nullptr && size->is_array() && size->size() == 2;
  for (size_t i = 0; i < 2; ++i) {
    const bool good = pair && (*size)[i].is_number_integer() && (*size)[i] >= 1 && (*size)[i] <= kMaxBlock;
    if (!good) {
      in.Fail("weight_block_size", absl::StrCat("is not a pair of sizes from 1 to ", kMaxBlock,
                                                ": scales for whole tensors or rows are not read"));
      continue;
    }
    (i == 0 ? out.rows : out.columns) = (*size)[i].get<int64_t>();
  }
  if (!in.status().ok()) config.Fail("quantization_config", in.status().message());
  return out;
}

float FloatFromE4M3(uint8_t code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const float sign = (code & 0x80) != 0 ? -1.0f : 1.0f;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
  return sign * std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
}

absl::StatusOr<HostTensor> Dequantize(const HostTensor& matrix, const HostTensor& scale,
                                      const Fp8Blocks& blocks, DType dtype) {
  static const std::array<float, 256> table = E4M3Table();
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  const std::vector<float> scales = ToFloats(scale);
  const int64_t scale_columns = blocks.ScaleShape(matrix.shape)[1];
  SLUICE_RETURN_IF_ERROR(CheckScales(scales, scale_columns));
  const auto* codes = reinterpret_cast<const uint8_t*>(matrix.bytes->data());
  const auto* bad =
      std::find_if(codes, codes + rows * columns, [](uint8_t code) { return (code & 0x7f) == 0x7f; });
  if (bad != codes + rows * columns) {
    const int64_t at = bad - codes;
    return absl::InvalidArgumentError(
        absl::StrCat("is not a number at [", at / columns, ", ", at % columns, "]"));
  }
  auto bytes = std::make_shared<std::string>();
  const int64_t row_bytes = columns * BytesOf(dtype);
  bytes->reserve(static_cast<size_t>(rows * row_bytes));
  std::vector<float> row(static_cast<size_t>(columns));
  for (int64_t r = 0; r < rows; ++r) {
    DequantizeRow(table, codes + r * columns, scales.data() + r / blocks.rows * scale_columns, columns,
                  blocks.columns, row.data());
    bytes->append(*TensorFromFloats({columns}, row.data(), dtype).bytes);
  }
  return HostTensor{dtype, matrix.shape, std::move(bytes)};
}

}  // namespace sluice
