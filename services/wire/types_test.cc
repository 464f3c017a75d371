#include "services/wire/types.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Trajectory SomeTrajectory() {
  Trajectory out;
  out.key = {7, 3};
  out.tokens = {5, 6, 7};
  out.raw_logprobs = {-1.5f, -0.25f, 0};
  out.processed_logprobs = {-1, -0.125f, 0};
  out.spans = {{0, 2, 4, "h4", "cpu-avx2"}, {2, 3, 5, "h5", "cpu-avx2"}};
  out.finish_reason = FinishReason::kStop;
  out.text = "six";
  out.worker = "rollout-0";
  out.attempt = 2;
  out.alternatives = {{1, -0.5f}, {2, -1}, {3, -0.5f}, {4, -1}, {5, -0.5f}, {6, -1}};
  out.experts = {2, 1, {0, 1, 257, 65535}};
  return out;
}

// A message made wrong in one place, and what its error starts with.
template <typename Proto>
struct Corruption {
  std::string field;
  std::function<void(Proto&)> apply;
};

template <typename Proto>
void ExpectRefused(const Proto& good, const std::vector<Corruption<Proto>>& corruptions) {
  ASSERT_TRUE(FromProto(good).ok()) << FromProto(good).status();
  for (const Corruption<Proto>& corruption : corruptions) {
    Proto bad = good;
    corruption.apply(bad);
    const absl::Status status = FromProto(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << corruption.field;
    EXPECT_THAT(std::string(status.message()), StartsWith(corruption.field + ":"));
  }
}

TEST(SamplingParamsProto, RoundTrips) {
  SamplingParams params;
  params.temperature = 0.7f;
  params.top_k = 40;
  params.top_p = 0.9f;
  params.max_new_tokens = 17;
  params.stop_token_ids = {1, 2};
  params.stop = {"</answer>", "\n"};
  params.ignore_eos = true;
  params.min_p = 0.05f;
  params.repetition_penalty = 1.25f;
  params.presence_penalty = 0.5f;
  params.frequency_penalty = -0.5f;
  params.logit_bias = {{3, -100}, {9, 2.5f}};
  params.min_new_tokens = 4;
  params.top_logprobs = 5;
  params.record_experts = true;
  EXPECT_EQ(*FromProto(ToProto(params)), params);
  params.temperature = 0;
  EXPECT_EQ(FromProto(ToProto(params))->temperature, 0);
}

TEST(SamplingParamsProto, HasTheDefaultsOfItsComments) {
  v1::SamplingParams proto;
  proto.set_max_new_tokens(1);
  const SamplingParams params = *FromProto(proto);
  EXPECT_EQ(params.temperature, 1);
  EXPECT_EQ(params.top_k, 0);
  EXPECT_EQ(params.top_p, 1);
  EXPECT_FALSE(params.ignore_eos);
  SamplingParams defaults;
  defaults.max_new_tokens = 1;
  EXPECT_EQ(params, defaults);
}

TEST(SamplingParamsProto, IsRefusedWhenAFieldIsOutOfRange) {
  using P = v1::SamplingParams;
  ExpectRefused<P>(ToProto(SamplingParams()),
                   {{"temperature", [](P& p) { p.set_temperature(kNan); }},
                    {"temperature", [](P& p) { p.set_temperature(-0.1f); }},
                    {"temperature", [](P& p) { p.set_temperature(101); }},
                    {"top_k", [](P& p) { p.set_top_k(-1); }},
                    {"top_p", [](P& p) { p.set_top_p(0); }},
                    {"top_p", [](P& p) { p.set_top_p(kNan); }},
                    {"min_p", [](P& p) { p.set_min_p(kNan); }},
                    {"repetition_penalty", [](P& p) { p.set_repetition_penalty(0); }},
                    {"presence_penalty", [](P& p) { p.set_presence_penalty(1e6f); }},
                    {"frequency_penalty", [](P& p) { p.set_frequency_penalty(kNan); }},
                    {"logit_bias", [](P& p) { (*p.mutable_logit_bias())[-4] = 1; }},
                    {"min_new_tokens", [](P& p) { p.set_min_new_tokens(1000); }},
                    {"top_logprobs", [](P& p) { p.set_top_logprobs(-1); }},
                    {"max_new_tokens", [](P& p) { p.set_max_new_tokens(0); }},
                    {"max_new_tokens", [](P& p) { p.set_max_new_tokens(1 << 30); }},
                    {"stop_token_ids", [](P& p) { p.add_stop_token_ids(-1); }},
                    {"stop", [](P& p) { p.add_stop(""); }},
                    {"stop", [](P& p) {
                       for (int i = 0; i < 17; ++i) p.add_stop("x");
                     }}});
}

TEST(TrajectoryProto, RoundTripsBitForBit) {
  const Trajectory in = SomeTrajectory();
  const Trajectory out = *FromProto(ToProto(in));
  EXPECT_EQ(out.key, in.key);
  EXPECT_EQ(out.tokens, in.tokens);
  EXPECT_EQ(out.raw_logprobs, in.raw_logprobs);
  EXPECT_EQ(out.processed_logprobs, in.processed_logprobs);
  EXPECT_EQ(out.spans, in.spans);
  EXPECT_EQ(out.finish_reason, in.finish_reason);
  EXPECT_EQ(out.text, in.text);
  EXPECT_EQ(out.worker, in.worker);
  EXPECT_EQ(out.attempt, in.attempt);
  EXPECT_EQ(out.alternatives, in.alternatives);
  EXPECT_EQ(out.experts, in.experts);
}

TEST(TrajectoryProto, CarriesTextThatEndsInTheMiddleOfACharacter) {
  Trajectory in = SomeTrajectory();
  in.text = "ab\xE2\x82";
  v1::Trajectory parsed;
  ASSERT_TRUE(parsed.ParseFromString(ToProto(in).SerializeAsString()));
  EXPECT_EQ(FromProto(parsed)->text, "ab\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TrajectoryProto, IsRefusedWhenItsPartsDoNotFit) {
  using P = v1::Trajectory;
  ExpectRefused<P>(
      ToProto(SomeTrajectory()),
      {{"tokens", [](P& p) { p.set_tokens(0, -5); }},
       {"raw_logprobs", [](P& p) { p.add_tokens(9); }},
       {"raw_logprobs", [](P& p) { p.set_raw_logprobs(1, kNan); }},
       {"raw_logprobs", [](P& p) { p.set_raw_logprobs(1, 0.5f); }},
       {"raw_logprobs", [](P& p) { p.set_raw_logprobs(1, -std::numeric_limits<float>::infinity()); }},
       {"processed_logprobs", [](P& p) { p.mutable_processed_logprobs()->RemoveLast(); }},
       {"spans", [](P& p) { p.mutable_spans()->RemoveLast(); }},
       {"spans", [](P& p) { p.mutable_spans(1)->set_begin(1); }},
       {"spans", [](P& p) { p.mutable_spans(1)->set_end(9); }},
       {"spans.policy_version", [](P& p) { p.mutable_spans(0)->set_policy_version(-1); }},
       {"spans.manifest_hash", [](P& p) { p.mutable_spans(0)->clear_manifest_hash(); }},
       {"alternative_tokens", [](P& p) { p.add_alternative_tokens(1); }},
       {"alternative_tokens", [](P& p) { p.set_alternative_tokens(0, -1); }},
       {"alternative_tokens",
        [](P& p) {
          for (int i = 0; i < 60; ++i) p.add_alternative_tokens(1);
        }},
       {"alternative_logprobs", [](P& p) { p.mutable_alternative_logprobs()->RemoveLast(); }},
       {"alternative_logprobs", [](P& p) { p.set_alternative_logprobs(0, kNan); }},
       {"experts.ids", [](P& p) { p.mutable_experts()->mutable_ids()->pop_back(); }},
       {"experts.ids", [](P& p) { p.mutable_experts()->set_per_token(0); }},
       {"experts.ids", [](P& p) { p.mutable_experts()->set_ids(std::string((32 << 20) + 4, 'x')); }},
       {"experts.moe_layers", [](P& p) { p.mutable_experts()->set_moe_layers(-1); }},
       {"experts.per_token", [](P& p) { p.mutable_experts()->set_per_token(1 << 30); }},
       {"key.index", [](P& p) { p.mutable_key()->set_index(1u << 31); }},
       {"worker", [](P& p) { p.set_worker(std::string(1000, 'w')); }},
       {"finish_reason", [](P& p) { p.set_finish_reason(static_cast<v1::FinishReason>(77)); }}});
}

TEST(VerdictProto, RoundTripsEveryKind) {
  for (VerdictKind kind : {VerdictKind::kCorrect, VerdictKind::kWrong, VerdictKind::kGraded,
                           VerdictKind::kUndecided, VerdictKind::kInfrastructure}) {
    Verdict in;
    in.kind = kind;
    in.value = 0.5;
    in.components = {{"answer",
                      kind,
                      1,
                      0.5,
                      "42",
                      "wrong_answer",
                      {{"passed", 0.5, 4096, "first"}, {"wrong_answer", 1.5, 8192, ""}},
                      {{4, 0.5}, {9, -1}},
                      {"tests_visible"}}};
    in.detail = "by rule";
    in.seconds = 0.25;
    const Verdict out = *FromProto(ToProto(in));
    EXPECT_EQ(out.kind, kind);
    EXPECT_EQ(out.value, 0.5);
    ASSERT_EQ(out.components.size(), 1u);
    EXPECT_EQ(out.components[0].name, "answer");
    EXPECT_EQ(out.components[0].kind, kind);
    EXPECT_EQ(out.components[0].weight, 0.5);
    EXPECT_EQ(out.components[0].detail, "42");
    EXPECT_EQ(out.components[0].outcome, "wrong_answer");
    EXPECT_EQ(out.components[0].tests, in.components[0].tests);
    EXPECT_EQ(out.components[0].steps, in.components[0].steps);
    EXPECT_EQ(out.components[0].stamps, in.components[0].stamps);
    EXPECT_EQ(out.detail, "by rule");
    EXPECT_EQ(out.seconds, 0.25);
  }
}

void AddStamps(int count, v1::VerdictComponent& component) {
  for (int i = 0; i < count; ++i) component.add_stamps("stamp");
}

void AddTests(int count, v1::VerdictComponent& component) {
  for (int i = 0; i < count; ++i) component.add_tests()->set_outcome("passed");
}

TEST(VerdictProto, IsRefusedWithoutAKindOrWithNumbersThatAreNone) {
  using P = v1::Verdict;
  Verdict good;
  good.kind = VerdictKind::kGraded;
  good.components = {{"answer", VerdictKind::kCorrect, 1, 1, ""}};
  ExpectRefused<P>(
      ToProto(good),
      {{"kind", [](P& p) { p.set_kind(v1::VERDICT_KIND_UNSPECIFIED); }},
       {"kind", [](P& p) { p.set_kind(static_cast<v1::VerdictKind>(42)); }},
       {"value", [](P& p) { p.set_value(std::nan("")); }},
       {"seconds", [](P& p) { p.set_seconds(-1); }},
       {"components[0].name", [](P& p) { p.mutable_components(0)->clear_name(); }},
       {"components[0].value", [](P& p) { p.mutable_components(0)->set_value(std::nan("")); }},
       {"components[0].stamps", [](P& p) { AddStamps(17, *p.mutable_components(0)); }},
       {"components[0].tests", [](P& p) { AddTests(10001, *p.mutable_components(0)); }},
       {"components[0].tests.seconds", [](P& p) { p.mutable_components(0)->add_tests()->set_seconds(-1); }},
       {"components[0].tests.memory_bytes",
        [](P& p) { p.mutable_components(0)->add_tests()->set_memory_bytes(-1); }},
       {"components[0].steps.score",
        [](P& p) { p.mutable_components(0)->add_steps()->set_score(std::nan("")); }},
       {"components[0].steps.end_offset", [](P& p) {
          p.mutable_components(0)->add_steps()->set_end_offset(5);
          p.mutable_components(0)->add_steps()->set_end_offset(4);
        }}});
}

TEST(PolicyRefProto, RoundTripsAndIsRefusedWhenSomethingIsMissing) {
  using P = v1::PolicyRef;
  const PolicyRef policy{"job", 3, "hash", "127.0.0.1:1"};
  EXPECT_EQ(*FromProto(ToProto(policy)), policy);
  ExpectRefused<P>(ToProto(policy), {{"job", [](P& p) { p.clear_job(); }},
                                     {"policy_version", [](P& p) { p.set_policy_version(-1); }},
                                     {"manifest_hash", [](P& p) { p.clear_manifest_hash(); }},
                                     {"source", [](P& p) { p.set_source(std::string(5000, 's')); }}});
}

TEST(LedgerProto, RoundTripsAndMustBalance) {
  Ledger ledger;
  for (int i = 0; i < kLedgerColumns; ++i) {
    ledger.columns[i] = 1 << i;
    ledger.issued += 1 << i;
  }
  const Ledger out = *FromProto(ToProto(ledger));
  EXPECT_EQ(out.issued, ledger.issued);
  EXPECT_EQ(out.columns, ledger.columns);
  using P = v1::Ledger;
  ExpectRefused<P>(ToProto(ledger),
                   {{"issued", [](P& p) { p.set_issued(1); }},
                    {"trained", [](P& p) { p.set_trained(-1); }},
                    {"quarantined", [](P& p) { p.set_quarantined(std::numeric_limits<int64_t>::max()); }}});
}

}  // namespace
}  // namespace sluice
