#include "services/wire/learner.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

ScoredSample SomeSample(uint32_t index, VerdictKind kind, double reward) {
  ScoredSample out;
  out.trajectory.key = {7, index};
  out.trajectory.tokens = {5, 6};
  out.trajectory.raw_logprobs = {-1, -2};
  out.trajectory.processed_logprobs = {-1, -2};
  out.trajectory.spans = {{0, 2, 3, "h", "cpu"}};
  out.trajectory.text = "text";
  out.verdict.kind = kind;
  out.verdict.value = reward;
  out.advantage = reward - 0.5;
  return out;
}

Group SomeGroup() {
  Group out;
  out.draw = 7;
  out.prompt.tokens = {1, 2};
  out.prompt.text = "prompt";
  out.samples = {SomeSample(0, VerdictKind::kCorrect, 1), SomeSample(1, VerdictKind::kInfrastructure, 0),
                 SomeSample(2, VerdictKind::kWrong, 0)};
  return out;
}

template <typename Result>
void ExpectRefused(const Result& result, const std::string& field) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(result.status().message()), StartsWith(field + ":"));
}

TEST(AddGroupsRequestProto, CarriesOnlySamplesWithARewardAndNoTexts) {
  const v1::AddGroupsRequest proto = ToProto("job", 4, SomeGroup());
  const GroupForVersion out = *FromProto(proto);
  EXPECT_EQ(out.job, "job");
  EXPECT_EQ(out.version, 4);
  EXPECT_EQ(out.group.draw, 7u);
  EXPECT_EQ(out.group.prompt.tokens, (std::vector<int32_t>{1, 2}));
  ASSERT_EQ(out.group.samples.size(), 2u);
  EXPECT_EQ(out.group.samples[1].trajectory.key.index, 2u);
  EXPECT_EQ(out.group.samples[1].advantage, -0.5);
  EXPECT_EQ(out.group.samples[0].verdict.value, 1);
  EXPECT_TRUE(out.group.samples[0].verdict.HasReward());
  EXPECT_EQ(out.group.samples[0].trajectory.spans, SomeGroup().samples[0].trajectory.spans);
  EXPECT_EQ(out.group.samples[0].trajectory.text, "");
}

TEST(AddGroupsRequestProto, IsRefusedWhenAFieldIsWrong) {
  const v1::AddGroupsRequest good = ToProto("job", 4, SomeGroup());
  v1::AddGroupsRequest bad = good;
  bad.clear_prompt_tokens();
  ExpectRefused(FromProto(bad), "prompt_tokens");
  bad = good;
  bad.mutable_samples(1)->set_advantage(std::nan(""));
  ExpectRefused(FromProto(bad), "samples[1].advantage");
  bad = good;
  bad.mutable_samples(1)->mutable_trajectory()->mutable_key()->set_draw(8);
  ExpectRefused(FromProto(bad), "samples[1].trajectory.key.draw");
  bad = good;
  bad.mutable_samples(1)->mutable_trajectory()->mutable_key()->set_index(0);
  ExpectRefused(FromProto(bad), "samples[1].trajectory.key.index");
  bad = good;
  bad.mutable_samples(0)->mutable_trajectory()->clear_spans();
  ExpectRefused(FromProto(bad), "samples[0].trajectory.spans");
}

TEST(SupervisedExampleProto, RoundTripsAndNeedsACompletion) {
  const SupervisedExample in{{1, 2, 3}, 2};
  EXPECT_EQ(FromProto(ToProto(in))->tokens, in.tokens);
  EXPECT_EQ(FromProto(ToProto(in))->prompt_size, 2);
  ExpectRefused(FromProto(ToProto(SupervisedExample{{1, 2, 3}, 3})), "prompt_size");
  ExpectRefused(FromProto(ToProto(SupervisedExample{{1, 2, 3}, 0})), "prompt_size");
  ExpectRefused(FromProto(ToProto(SupervisedExample{{1, -2, 3}, 1})), "tokens");
}

TEST(OpenJobResponseProto, RoundTripsBeforeAndAfterTheFirstVersion) {
  const TrainerState fresh = *FromProto(ToProto(TrainerState{"i", 5, kNoPolicyVersion, {}}));
  EXPECT_EQ(fresh.incarnation, "i");
  EXPECT_EQ(fresh.warm_start_steps, 5);
  EXPECT_EQ(fresh.version, kNoPolicyVersion);
  const PolicyRef policy{"job", 3, "hash", "source"};
  const TrainerState later = *FromProto(ToProto(TrainerState{"i", 5, 3, policy}));
  EXPECT_EQ(later.version, 3);
  EXPECT_EQ(later.policy, policy);
  v1::OpenJobResponse without;
  without.set_incarnation("i");
  EXPECT_EQ(FromProto(without)->version, kNoPolicyVersion);
}

TEST(StepResponseProto, RoundTrips) {
  StepResult in;
  in.policy = {"job", 3, "hash", "source"};
  in.metrics.values = {{"loss", 0.5}, {"kl", 1e-9}};
  in.checkpointed = true;
  const StepResult out = *FromProto(ToProto(in));
  EXPECT_EQ(out.policy, in.policy);
  EXPECT_EQ(out.metrics.values, in.metrics.values);
  EXPECT_TRUE(out.checkpointed);
}

TEST(StepMetricsProto, LeavesOutWhatIsNoNumberAndRefusesIt) {
  StepMetrics in;
  in.values = {{"loss", 0.5}, {"grad_norm", INFINITY}};
  EXPECT_EQ(FromProto(ToProto(in))->values, (std::map<std::string, double>{{"loss", 0.5}}));
  MetricsMap bad;
  bad["loss"] = std::nan("");
  ExpectRefused(FromProto(bad), "metrics[\"loss\"]");
  MetricsMap many;
  for (int i = 0; i < 2000; ++i) many["m" + std::to_string(i)] = i;
  ExpectRefused(FromProto(many), "metrics");
}

TEST(CheckpointProto, RoundTripsToTheNanosecond) {
  const CheckpointInfo in{4, "/state/checkpoint-4", 1000, absl::FromUnixNanos(1700000000123456789)};
  const CheckpointInfo out = *FromProto(ToProto(in));
  EXPECT_EQ(out.version, in.version);
  EXPECT_EQ(out.path, in.path);
  EXPECT_EQ(out.bytes, in.bytes);
  EXPECT_EQ(out.created, in.created);
  v1::Checkpoint bad = ToProto(in);
  bad.mutable_create_time()->set_nanos(-1);
  ExpectRefused(FromProto(bad), "create_time");
  bad = ToProto(in);
  bad.clear_path();
  ExpectRefused(FromProto(bad), "path");
}

}  // namespace
}  // namespace sluice
