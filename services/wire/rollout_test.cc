#include "services/wire/rollout.h"

#include <string>
#include <utility>
#include <vector>

#include "core/rl/trajectory_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

RolloutRequest SomeRequest() {
  RolloutRequest out;
  out.job = "job";
  out.domain = RandomDomain::kEvaluation;
  out.seed = 0xFFFFFFFFFFFFFFFFull;
  out.draw = 9;
  out.indices = {0, 2, 5};
  out.attempt = 1;
  out.prompt_tokens = {1, 2, 3};
  out.sampling.temperature = 0.5f;
  return out;
}

// What a worker had of index 2 when it was stopped.
Trajectory Begun() {
  Trajectory out;
  out.key = {9, 2};
  out.tokens = {7, 8};
  out.raw_logprobs = out.processed_logprobs = {-1, -2};
  out.spans = {{0, 2, 3, "h3", "cpu-avx2"}};
  return out;
}

void ExpectRefused(const v1::GenerateRequest& bad, const std::string& field) {
  const absl::Status status = FromProto(bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(status.message()), StartsWith(field + ":"));
}

TEST(GenerateRequestProto, RoundTrips) {
  const RolloutRequest in = SomeRequest();
  const RolloutRequest out = *FromProto(ToProto(in));
  EXPECT_EQ(out.job, in.job);
  EXPECT_EQ(out.domain, in.domain);
  EXPECT_EQ(out.seed, in.seed);
  EXPECT_EQ(out.draw, in.draw);
  EXPECT_EQ(out.indices, in.indices);
  EXPECT_EQ(out.attempt, in.attempt);
  EXPECT_EQ(out.prompt_tokens, in.prompt_tokens);
  EXPECT_EQ(out.sampling, in.sampling);
}

TEST(GenerateRequestProto, MeansTrainingWhenNoDomainIsGiven) {
  v1::GenerateRequest proto = ToProto(SomeRequest());
  proto.clear_domain();
  EXPECT_EQ(FromProto(proto)->domain, RandomDomain::kTraining);
}

TEST(GenerateRequestProto, IsRefusedWhenAFieldIsWrong) {
  const v1::GenerateRequest good = ToProto(SomeRequest());
  v1::GenerateRequest bad = good;
  bad.clear_job();
  ExpectRefused(bad, "job");
  bad = good;
  bad.clear_indices();
  ExpectRefused(bad, "indices");
  bad = good;
  bad.add_indices(2);
  ExpectRefused(bad, "indices");
  bad = good;
  bad.add_indices(5000);
  ExpectRefused(bad, "indices");
  bad = good;
  bad.clear_prompt_tokens();
  ExpectRefused(bad, "prompt_tokens");
  bad = good;
  bad.clear_sampling();
  ExpectRefused(bad, "sampling");
  bad = good;
  bad.mutable_sampling()->set_top_p(2);
  ExpectRefused(bad, "sampling.top_p");
  bad = good;
  bad.set_domain(static_cast<v1::RandomDomain>(9));
  ExpectRefused(bad, "domain");
}

TEST(GenerateRequestProto, CarriesCompletionsThatWereBegun) {
  RolloutRequest in = SomeRequest();
  in.sampling.top_logprobs = 1;
  in.sampling.record_experts = true;
  in.progress_every_tokens = 16;
  in.begun = {Begun()};
  in.begun[0].alternatives = {{1, -0.5f}, {2, -0.25f}};
  in.begun[0].experts = {1, 2, {0, 1, 65535, 3, 4, 5, 6, 7}};  // 3 prompt tokens and one of the completion
  const RolloutRequest out = *FromProto(ToProto(in));
  EXPECT_EQ(out.progress_every_tokens, 16);
  ASSERT_EQ(out.begun.size(), 1u);
  EXPECT_EQ(out.begun[0].key, in.begun[0].key);
  EXPECT_EQ(out.begun[0].tokens, in.begun[0].tokens);
  EXPECT_EQ(out.begun[0].alternatives, in.begun[0].alternatives);
  EXPECT_EQ(out.begun[0].experts, in.begun[0].experts);
}

TEST(GenerateRequestProto, IsRefusedWhenWhatWasBegunIsNotItsOwn) {
  RolloutRequest good = SomeRequest();
  good.begun = {Begun()};
  ASSERT_TRUE(FromProto(ToProto(good)).ok()) << FromProto(ToProto(good)).status();
  const std::vector<std::pair<std::string, void (*)(RolloutRequest&)>> cases = {
      {"progress_every_tokens", [](RolloutRequest& r) { r.progress_every_tokens = -1; }},
      {"begun[1].key.index", [](RolloutRequest& r) { r.begun.push_back(Begun()); }},
      {"begun[0].key.index", [](RolloutRequest& r) { r.begun[0].key.index = 1; }},
      {"begun[0].key.draw", [](RolloutRequest& r) { r.begun[0].key.draw = 1; }},
      {"begun[0].tokens", [](RolloutRequest& r) { r.sampling.max_new_tokens = 1; }},
      {"begun[0].spans", [](RolloutRequest& r) { r.begun[0].spans.clear(); }},
      {"begun[0].alternative_tokens", [](RolloutRequest& r) { r.sampling.top_logprobs = 1; }},
      {"begun[0].experts", [](RolloutRequest& r) { r.sampling.record_experts = true; }},
      {"begun[0].experts",
       [](RolloutRequest& r) {
         r.begun[0].experts = {1, 1, {1, 2, 3, 4}};
       }},
  };
  for (const auto& [field, change] : cases) {
    RolloutRequest bad = good;
    change(bad);
    ExpectRefused(ToProto(bad), field);
  }
}

TEST(GenerateRequestProto, PutsPartsOfWhatWasBegunTogether) {
  RolloutRequest in = SomeRequest();
  in.sampling.record_experts = true;
  Trajectory other = Begun();
  other.key.index = 5;
  in.begun = {Begun(), other};
  for (Trajectory& begun : in.begun) begun.experts = {1, 2, {0, 1, 65535, 3, 4, 5, 6, 7}};
  v1::GenerateRequest parts = ToProto(in);
  parts.clear_begun();
  for (const Trajectory& begun : in.begun) {
    for (const Trajectory& part : PartsOf(begun, 1)) *parts.add_begun() = ToProto(part);
  }
  ASSERT_EQ(parts.begun_size(), 4);
  const absl::StatusOr<RolloutRequest> out = FromProto(parts);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->begun.size(), 2u);
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(out->begun[i].key, in.begun[i].key);
    EXPECT_EQ(out->begun[i].tokens, in.begun[i].tokens);
    EXPECT_EQ(out->begun[i].experts, in.begun[i].experts);
    EXPECT_EQ(out->begun[i].spans, in.begun[i].spans);
  }
  v1::GenerateRequest bad = parts;
  bad.mutable_begun()->DeleteSubrange(0, 1);
  ExpectRefused(bad, "begun[0].spans");
  bad = parts;
  bad.mutable_begun()->SwapElements(1, 3);
  ExpectRefused(bad, "begun[1].spans");
}

TEST(LoadPolicyProto, KeepsTheSwapModeAndRefusesAnUnknownOne) {
  for (SwapMode mode : {SwapMode::kFinish, SwapMode::kContinue}) EXPECT_EQ(*FromProto(ToProto(mode)), mode);
  EXPECT_EQ(*FromProto(v1::LoadPolicyRequest::SWAP_MODE_UNSPECIFIED), SwapMode::kFinish);
  EXPECT_THAT(std::string(FromProto(static_cast<v1::LoadPolicyRequest::SwapMode>(9)).status().message()),
              StartsWith("swap_mode:"));
}

TEST(ControlRolloutProto, KeepsTheCommandAndNeedsOne) {
  for (RolloutCommand command :
       {RolloutCommand::kPause, RolloutCommand::kResume, RolloutCommand::kAbort, RolloutCommand::kDrain}) {
    EXPECT_EQ(*FromProto(ToProto(command)), command);
  }
  EXPECT_EQ(FromProto(v1::ControlRolloutRequest()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RolloutStateProto, RoundTripsWithAndWithoutAPolicy) {
  RolloutWorkerState in{"job", 4, "cpu-avx2", 3, 2, 1000, true, true};
  RolloutWorkerState out = *FromProto(ToProto(in));
  EXPECT_EQ(out.job, "job");
  EXPECT_EQ(out.version, 4);
  EXPECT_EQ(out.kernel_path, "cpu-avx2");
  EXPECT_EQ(out.running, 3);
  EXPECT_EQ(out.queued, 2);
  EXPECT_EQ(out.tokens_generated, 1000);
  EXPECT_TRUE(out.paused);
  EXPECT_TRUE(out.draining);
  EXPECT_EQ(FromProto(v1::GetRolloutStateResponse())->version, kNoPolicyVersion);
}

}  // namespace
}  // namespace sluice
