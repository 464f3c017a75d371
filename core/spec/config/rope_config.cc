#include "core/spec/config/rope_config.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kMaxRopePositions = 1 << 28;
constexpr double kMaxFactor = 1e6;

double Mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

// The object with the numbers, and its name; null when config.json has neither.
const nlohmann::json* FindRope(JsonFields& config, const char*& name) {
  const nlohmann::json* hub = config.Find("rope_scaling");
  const nlohmann::json* v5 = config.Find("rope_parameters");
  if (hub != nullptr && v5 != nullptr) {
    config.Fail("rope_scaling", "and rope_parameters are both set: which of them is meant? Keep one");
  }
  name = v5 != nullptr ? "rope_parameters" : "rope_scaling";
  return v5 != nullptr ? v5 : hub;
}

void ReadYarn(JsonFields& in, int64_t max_positions, RopeConfig& out) {
  out.kind = RopeKind::kYarn;
  out.original_max_positions =
      in.IntOr("original_max_position_embeddings", max_positions, 1, kMaxRopePositions);
  const double ratio = static_cast<double>(max_positions) / static_cast<double>(out.original_max_positions);
  out.factor = in.NumberOr("factor", ratio, 1e-3, kMaxFactor);
  out.beta_fast = in.NumberOr("beta_fast", 32, 0, 1e6);
  out.beta_slow = in.NumberOr("beta_slow", 1, 0, 1e6);
  if (out.beta_fast == 0) out.beta_fast = 32;
  if (out.beta_slow == 0) out.beta_slow = 1;
  out.mscale = in.NumberOr("mscale", 0, 0, 100);
  out.attention_factor = in.NumberOr("attention_factor", 0, 1e-6, 1e6);
  out.truncate = in.BoolOr("truncate", true);
}

void ReadLlama3(JsonFields& in, int64_t max_positions, RopeConfig& out) {
  out.kind = RopeKind::kLlama3;
  out.original_max_positions =
      in.IntOr("original_max_position_embeddings", max_positions, 1, kMaxRopePositions);
  out.factor = in.Number("factor", 1e-3, kMaxFactor);
  out.low_frequency_factor = in.Number("low_freq_factor", 1e-6, 1e6);
  out.high_frequency_factor = in.Number("high_freq_factor", 1e-6, 1e6);
  if (in.status().ok() && out.high_frequency_factor <= out.low_frequency_factor)
    in.Fail("high_freq_factor", "is not above low_freq_factor");
}

void ReadKind(JsonFields& in, int64_t max_positions, RopeConfig& out) {
  const char* field = in.Has("rope_type") ? "rope_type" : "type";
  const std::string type = in.StringOr(field, "default");
  if (type == "default") return;
  out.mscale_all_dim = in.NumberOr("mscale_all_dim", 0, 0, 100);
  if (type == "linear") {
    out.kind = RopeKind::kLinear;
    out.factor = in.Number("factor", 1e-3, kMaxFactor);
  } else if (type == "yarn") {
    ReadYarn(in, max_positions, out);
  } else if (type == "llama3") {
    ReadLlama3(in, max_positions, out);
  } else {
    in.Fail(field,
            absl::StrCat("is \"", type.substr(0, 64), "\"; supported are default, linear, yarn and llama3"));
  }
}

// A frequency of YaRN (arXiv 2309.00071, section 3.2): low ones are interpolated by `factor`, high ones kept,
// a ramp between.
class YarnRamp {
 public:
  YarnRamp(const RopeConfig& rope, int64_t dim) : rope_(rope), dim_(static_cast<double>(dim)) {
    low_ = DimensionOf(rope.beta_fast);
    high_ = DimensionOf(rope.beta_slow);
    if (rope.truncate) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, dim_ - 1);
    if (low_ == high_) high_ += 0.001;
  }
  double Apply(int64_t i, double frequency) const {
    const double ramp = std::clamp((static_cast<double>(i) - low_) / (high_ - low_), 0.0, 1.0);
    return frequency / rope_.factor * ramp + frequency * (1 - ramp);
  }

 private:
  double DimensionOf(double rotations) const {
    const double positions = static_cast<double>(rope_.original_max_positions);
    return dim_ * std::log(positions / (rotations * 2 * M_PI)) / (2 * std::log(rope_.theta));
  }
  const RopeConfig& rope_;
  double dim_, low_ = 0, high_ = 0;
};

// Llama 3.1's: waves longer than the original context allows are stretched, short ones kept, a blend between.
double Llama3Frequency(const RopeConfig& rope, double frequency) {
  const double rotations = static_cast<double>(rope.original_max_positions) * frequency / (2 * M_PI);
  const double low = rope.low_frequency_factor, high = rope.high_frequency_factor;
  const double kept = std::clamp((rotations - low) / (high - low), 0.0, 1.0);
  return (1 - kept) * frequency / rope.factor + kept * frequency;
}

}  // namespace

absl::StatusOr<RopeConfig> ReadRopeConfig(const JsonFields& config, int64_t max_positions) {
  JsonFields top = config;
  RopeConfig out;
  const char* name = nullptr;
  const nlohmann::json* object = FindRope(top, name);
  const double theta = top.NumberOr("rope_theta", 10000, 1.001, 1e12);
  const double rotary_share = top.NumberOr("partial_rotary_factor", 1, 0, 1e6);
  SLUICE_RETURN_IF_ERROR(top.status());
  const nlohmann::json empty = nlohmann::json::object();
  JsonFields in(object != nullptr ? *object : empty, absl::StrCat("config.json: ", name));
  SLUICE_RETURN_IF_ERROR(in.status());
  for (const auto& [field, value] : (object != nullptr ? *object : empty).items()) {
    if (value.is_object()) {
      in.Fail(field.c_str(), "is an object: other rotations for some layers are not supported");
    }
  }
  out.theta = in.NumberOr("rope_theta", theta, 1.001, 1e12);
  if (in.NumberOr("partial_rotary_factor", rotary_share, 0, 1e6) != 1) {
    in.Fail("partial_rotary_factor", "is not 1: heads that rotate in part are not supported");
  }
  ReadKind(in, max_positions, out);
  SLUICE_RETURN_IF_ERROR(in.status());
  return out;
}

double RopeConfig::LatentSoftmaxFactor() const {
  if (kind == RopeKind::kDefault || mscale_all_dim == 0) return 1;
  const double m = Mscale(factor, mscale_all_dim);
  return m * m;
}

std::vector<float> RopeConfig::InverseFrequencies(int64_t dim) const {
  const YarnRamp yarn(*this, dim);
  std::vector<float> out(static_cast<size_t>(dim / 2));
  for (int64_t i = 0; i < dim / 2; ++i) {
    double frequency = 1.0 / std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(dim));
    if (kind == RopeKind::kLinear) frequency /= factor;
    if (kind == RopeKind::kYarn) frequency = yarn.Apply(i, frequency);
    if (kind == RopeKind::kLlama3) frequency = Llama3Frequency(*this, frequency);
    out[static_cast<size_t>(i)] = static_cast<float>(frequency);
  }
  return out;
}

float RopeConfig::Amplitude() const {
  if (kind != RopeKind::kYarn) return 1.0f;
  if (attention_factor != 0) return static_cast<float>(attention_factor);
  if (mscale != 0 && mscale_all_dim != 0)
    return static_cast<float>(Mscale(factor, mscale) / Mscale(factor, mscale_all_dim));
  return static_cast<float>(Mscale(factor, 1));
}

}  // namespace sluice
