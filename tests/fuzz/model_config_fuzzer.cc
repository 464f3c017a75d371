// The input is a config.json; with a zero byte, what follows it is a generation_config.json.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "core/spec/config/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const absl::string_view rest = zero == absl::string_view::npos ? "" : input.substr(zero + 1);
  const absl::StatusOr<sluice::ModelConfig> config = sluice::ParseModelConfig(input.substr(0, zero), rest);
  if (!config.ok()) return 0;
  if (config->moe_layer.size() != static_cast<size_t>(config->layers)) std::abort();
  if (!std::isfinite(config->SoftmaxScale()) || !std::isfinite(config->RopeAmplitude())) std::abort();
  for (const float frequency : config->RopeInverseFrequencies()) {
    if (!std::isfinite(frequency)) std::abort();
  }
  if (config->layers * (config->moe.experts + 1) > 1000) return 0;
  for (const sluice::TensorShape& shape : sluice::TensorTable(*config)) {
    int64_t elements = 1;
    for (const int64_t extent : shape.shape) {
      if (extent <= 0 || __builtin_mul_overflow(elements, extent, &elements)) std::abort();
    }
  }
  return 0;
}
