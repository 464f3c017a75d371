#include "core/rl/sampling_check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr float kLeastTemperature = 1e-4f;  // below it logits / temperature overflow

absl::Status WrongField(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status FieldInRange(double value, double low, double high, absl::string_view field) {
  if (std::isfinite(value) && value >= low && value <= high) return absl::OkStatus();
  return WrongField(field, absl::StrCat("must be between ", low, " and ", high, ", is ", value));
}

absl::Status CheckTemperature(float temperature) {
  SLUICE_RETURN_IF_ERROR(FieldInRange(temperature, 0, 100, "temperature"));
  if (temperature == 0 || temperature >= kLeastTemperature) return absl::OkStatus();
  return WrongField("temperature",
                    absl::StrCat("is ", temperature, "; use 0 for greedy or at least ", kLeastTemperature));
}

absl::Status CheckFilters(const SamplingParams& p) {
  SLUICE_RETURN_IF_ERROR(CheckTemperature(p.temperature));
  SLUICE_RETURN_IF_ERROR(FieldInRange(p.top_k, 0, 1 << 24, "top_k"));
  if (!(p.top_p > 0 && p.top_p <= 1))
    return WrongField("top_p", absl::StrCat("must be above 0 and at most 1, is ", p.top_p));
  return FieldInRange(p.min_p, 0, 1, "min_p");
}

absl::Status CheckPenalties(const SamplingParams& p) {
  if (!(p.repetition_penalty > 0 && p.repetition_penalty <= 100)) {
    return WrongField("repetition_penalty",
                      absl::StrCat("must be above 0 and at most 100, is ", p.repetition_penalty));
  }
  SLUICE_RETURN_IF_ERROR(FieldInRange(p.presence_penalty, -100, 100, "presence_penalty"));
  SLUICE_RETURN_IF_ERROR(FieldInRange(p.frequency_penalty, -100, 100, "frequency_penalty"));
  if (p.logit_bias.size() > kMaxLogitBiases) {
    return WrongField("logit_bias", absl::StrCat("has ", p.logit_bias.size(), " tokens, at most ",
                                                 kMaxLogitBiases, " are allowed"));
  }
  for (const auto& [token, bias] : p.logit_bias) {
    if (token < 0) return WrongField("logit_bias", "a token is negative");
    SLUICE_RETURN_IF_ERROR(FieldInRange(bias, -100, 100, "logit_bias"));
  }
  return absl::OkStatus();
}

absl::Status CheckStops(const SamplingParams& p) {
  if (p.stop_token_ids.size() > kMaxStopTokens) {
    return WrongField("stop_token_ids", absl::StrCat("has ", p.stop_token_ids.size(), " tokens, at most ",
                                                     kMaxStopTokens, " are allowed"));
  }
  for (int32_t token : p.stop_token_ids) {
    if (token < 0) return WrongField("stop_token_ids", "a token is negative");
  }
  if (p.stop.size() > kMaxStopTexts) {
    return WrongField("stop",
                      absl::StrCat("has ", p.stop.size(), " texts, at most ", kMaxStopTexts, " are allowed"));
  }
  for (const std::string& stop : p.stop) {
    if (stop.empty()) return WrongField("stop", "must not be empty");
    if (stop.size() > kMaxStopTextBytes) {
      return WrongField(
          "stop", absl::StrCat("has ", stop.size(), " bytes, at most ", kMaxStopTextBytes, " are allowed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const SamplingParams& params) {
  SLUICE_RETURN_IF_ERROR(CheckFilters(params));
  SLUICE_RETURN_IF_ERROR(CheckPenalties(params));
  SLUICE_RETURN_IF_ERROR(FieldInRange(params.max_new_tokens, 1, kMaxNewTokens, "max_new_tokens"));
  SLUICE_RETURN_IF_ERROR(FieldInRange(params.min_new_tokens, 0, params.max_new_tokens, "min_new_tokens"));
  SLUICE_RETURN_IF_ERROR(FieldInRange(params.top_logprobs, 0, kMaxTopLogprobs, "top_logprobs"));
  return CheckStops(params);
}

bool Reshapes(const SamplingParams& params) {
  // All fields by name: a new one does not compile until it is decided here.
  const auto& [temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty,
               logit_bias, max_new_tokens, min_new_tokens, top_logprobs, record_experts, stop_token_ids, stop,
               ignore_eos] = params;
  return top_k > 0 || top_p < 1 || min_p > 0 || repetition_penalty != 1 || presence_penalty != 0 ||
         frequency_penalty != 0 || !logit_bias.empty() || min_new_tokens > 0;
}

}  // namespace sluice
