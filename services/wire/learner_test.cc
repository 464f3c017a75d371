#include "services/wire/learner.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

template <typename Result>
void ExpectRefused(const Result& result, const std::string& field) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(result.status().message()), StartsWith(field + ":"));
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
