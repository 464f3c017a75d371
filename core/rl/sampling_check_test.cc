#include "core/rl/sampling_check.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;
using Change = std::function<void(SamplingParams&)>;

TEST(SamplingParams, AreGoodByDefaultAndAtTheirLimits) {
  EXPECT_TRUE(Validate(SamplingParams()).ok());
  const std::vector<Change> limits = {
      [](SamplingParams& p) { p.temperature = 0; },
      [](SamplingParams& p) { p.min_p = 1; },
      [](SamplingParams& p) { p.top_logprobs = 20; },
      [](SamplingParams& p) { p.min_new_tokens = p.max_new_tokens; },
      [](SamplingParams& p) { p.repetition_penalty = 0.01f; },
      [](SamplingParams& p) {
        for (int i = 0; i < 1024; ++i) p.logit_bias[i] = -100;
      },
  };
  for (const Change& change : limits) {
    SamplingParams params;
    change(params);
    EXPECT_TRUE(Validate(params).ok()) << Validate(params);
  }
}

TEST(SamplingParams, AreRefusedWithTheFieldNamed) {
  const float nan = std::nanf("");
  const std::vector<std::pair<std::string, Change>> cases = {
      {"temperature", [&](SamplingParams& p) { p.temperature = nan; }},
      {"temperature", [](SamplingParams& p) { p.temperature = 100.5f; }},
      {"temperature", [](SamplingParams& p) { p.temperature = 1e-6f; }},
      {"top_k", [](SamplingParams& p) { p.top_k = -1; }},
      {"top_p", [](SamplingParams& p) { p.top_p = 0; }},
      {"top_p", [&](SamplingParams& p) { p.top_p = nan; }},
      {"min_p", [](SamplingParams& p) { p.min_p = 1.5f; }},
      {"min_p", [&](SamplingParams& p) { p.min_p = nan; }},
      {"repetition_penalty", [](SamplingParams& p) { p.repetition_penalty = 0; }},
      {"repetition_penalty", [&](SamplingParams& p) { p.repetition_penalty = nan; }},
      {"presence_penalty", [](SamplingParams& p) { p.presence_penalty = 101; }},
      {"frequency_penalty", [](SamplingParams& p) { p.frequency_penalty = -INFINITY; }},
      {"logit_bias", [](SamplingParams& p) { p.logit_bias[-1] = 1; }},
      {"logit_bias", [&](SamplingParams& p) { p.logit_bias[1] = nan; }},
      {"logit_bias",
       [](SamplingParams& p) {
         for (int i = 0; i < 1025; ++i) p.logit_bias[i] = 1;
       }},
      {"max_new_tokens", [](SamplingParams& p) { p.max_new_tokens = 0; }},
      {"max_new_tokens", [](SamplingParams& p) { p.max_new_tokens = 1 << 21; }},
      {"min_new_tokens", [](SamplingParams& p) { p.min_new_tokens = p.max_new_tokens + 1; }},
      {"min_new_tokens", [](SamplingParams& p) { p.min_new_tokens = -1; }},
      {"top_logprobs", [](SamplingParams& p) { p.top_logprobs = 21; }},
      {"stop_token_ids", [](SamplingParams& p) { p.stop_token_ids = {-1}; }},
      {"stop_token_ids", [](SamplingParams& p) { p.stop_token_ids.assign(1025, 1); }},
      {"stop", [](SamplingParams& p) { p.stop = {""}; }},
      {"stop", [](SamplingParams& p) { p.stop = {std::string(1025, 'x')}; }},
      {"stop", [](SamplingParams& p) { p.stop.assign(17, "x"); }},
  };
  for (const auto& [field, change] : cases) {
    SamplingParams params;
    change(params);
    const absl::Status status = Validate(params);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field + ":"));
  }
}

TEST(Reshapes, IsWhatBarsTokensOrChangesLogits) {
  SamplingParams plain;
  plain.temperature = 0.5f;
  plain.max_new_tokens = 7;
  plain.top_logprobs = 3;
  plain.stop = {"a"};
  plain.stop_token_ids = {1};
  plain.ignore_eos = plain.record_experts = true;
  EXPECT_FALSE(Reshapes(plain));
  const std::vector<Change> reshaping = {
      [](SamplingParams& p) { p.top_k = 1; },
      [](SamplingParams& p) { p.top_p = 0.9f; },
      [](SamplingParams& p) { p.min_p = 0.1f; },
      [](SamplingParams& p) { p.repetition_penalty = 1.1f; },
      [](SamplingParams& p) { p.presence_penalty = -0.1f; },
      [](SamplingParams& p) { p.frequency_penalty = 0.1f; },
      [](SamplingParams& p) { p.logit_bias[3] = 1; },
      [](SamplingParams& p) { p.min_new_tokens = 1; },
  };
  for (size_t i = 0; i < reshaping.size(); ++i) {
    SamplingParams params = plain;
    reshaping[i](params);
    EXPECT_TRUE(Reshapes(params)) << i;
  }
}

}  // namespace
}  // namespace sluice
