#include "services/wire/rollout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(RolloutStateProto, RoundTripsWithAndWithoutAPolicy) {
  RolloutWorkerState in{"job", 4, "cpu-avx2", 3, 2, 1000};
  RolloutWorkerState out = *FromProto(ToProto(in));
  EXPECT_EQ(out.job, "job");
  EXPECT_EQ(out.version, 4);
  EXPECT_EQ(out.kernel_path, "cpu-avx2");
  EXPECT_EQ(out.running, 3);
  EXPECT_EQ(out.queued, 2);
  EXPECT_EQ(out.tokens_generated, 1000);
  EXPECT_EQ(FromProto(v1::GetRolloutStateResponse())->version, kNoPolicyVersion);
}

}  // namespace
}  // namespace sluice
