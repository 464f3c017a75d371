// Rotary position embedding as config.json describes it: its kind, its numbers, and the frequencies they
// give.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/spec/text/json.h"

namespace sluice {

enum class RopeKind { kDefault, kLinear, kYarn, kLlama3 };

struct RopeConfig {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000, factor = 1;
  int64_t original_max_positions = 0;
  double beta_fast = 32, beta_slow = 1;
  double mscale = 0, mscale_all_dim = 0;  // 0: absent
  double attention_factor = 0;            // 0: absent
  bool truncate = true;
  double low_frequency_factor = 1, high_frequency_factor = 4;  // kLlama3

  // [dim / 2]; computed in double.
  std::vector<float> InverseFrequencies(int64_t dim) const;
  float Amplitude() const;  // multiplies cos and sin
  // What YaRN's mscale_all_dim makes of a softmax scale in latent attention; 1 without it.
  double LatentSoftmaxFactor() const;
};

// transformers 5: rope_parameters with theta inside. Hub: rope_scaling and rope_theta. `max_positions` is the
// model's; it stands in for an absent original context, as in transformers.
absl::StatusOr<RopeConfig> ReadRopeConfig(const JsonFields& config, int64_t max_positions);

}  // namespace sluice
