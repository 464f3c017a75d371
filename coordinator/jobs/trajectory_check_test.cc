#include "coordinator/jobs/trajectory_check.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/rl/trajectory_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

Trajectory Finished() {
  Trajectory t;
  t.key = {5, 1};
  t.tokens = {1, 2, 3};
  t.raw_logprobs = t.processed_logprobs = {-1, -2, -3};
  t.spans = {{0, 2, 3, "three", "cpu"}, {2, 3, 4, "four", "cpu"}};
  t.alternatives = std::vector<TokenAlternative>(6);
  t.experts = {1, 2, std::vector<uint16_t>(2 * (4 + 2))};
  t.finish_reason = FinishReason::kStop;
  return t;
}

class TrajectoryCheck : public testing::Test {
 protected:
  TrajectoryCheck() {
    sampling_.max_new_tokens = 4;
    sampling_.top_logprobs = 2;
    sampling_.record_experts = true;
  }
  absl::Status Check(const Trajectory& t) { return CheckTrajectory(t, {5, 4, sampling_, manifests_}); }

  SamplingParams sampling_;
  std::map<PolicyVersion, std::string> manifests_ = {{3, "three"}, {4, "four"}};
};

TEST_F(TrajectoryCheck, TakesWhatIsWhole) {
  EXPECT_TRUE(Check(Finished()).ok()) << Check(Finished());
  Trajectory progress = Finished();
  progress.finish_reason = FinishReason::kUnspecified;
  EXPECT_TRUE(Check(progress).ok());
  sampling_.max_new_tokens = 3;
  EXPECT_TRUE(Check(Finished()).ok());
  EXPECT_FALSE(Check(progress).ok()) << "it can only be finished";
}

TEST_F(TrajectoryCheck, TakesPartsOfProgress) {
  sampling_.max_new_tokens = 5;
  const Trajectory part = PartOf(Finished(), 1, 3);
  EXPECT_TRUE(Check(part).ok()) << Check(part);
  Trajectory bad = part;
  bad.finish_reason = FinishReason::kStop;
  EXPECT_THAT(std::string(Check(bad).message()), HasSubstr("not whole"));
  bad = part;
  bad.experts.ids = Finished().experts.ids;
  EXPECT_THAT(std::string(Check(bad).message()), HasSubstr("experts"));
  bad = part;
  bad.spans = {{4, 6, 3, "three", "cpu"}};
  EXPECT_THAT(std::string(Check(bad).message()), HasSubstr("max_new_tokens"));
  bad.spans = {{3, 5, 3, "three", "cpu"}};
  EXPECT_THAT(std::string(Check(bad).message()), HasSubstr("not finished"));
}

TEST_F(TrajectoryCheck, RefusesWhatIsNot) {
  const std::vector<std::pair<std::function<void(Trajectory&)>, std::string>> cases = {
      {[](Trajectory& t) { t.key.draw = 6; }, "another draw"},
      {[](Trajectory& t) { t = Trajectory{.key = t.key}; }, "no tokens"},
      {[](Trajectory& t) { t.tokens.resize(5); }, "max_new_tokens"},
      {[](Trajectory& t) { t.raw_logprobs.pop_back(); }, "differ in number"},
      {[](Trajectory& t) { t.processed_logprobs.push_back(0); }, "differ in number"},
      {[](Trajectory& t) { t.raw_logprobs[1] = -INFINITY; }, "not finite"},
      {[](Trajectory& t) { t.processed_logprobs[1] = NAN; }, "not finite"},
      {[](Trajectory& t) { t.alternatives.pop_back(); }, "top_logprobs"},
      {[](Trajectory& t) { t.experts.ids.pop_back(); }, "experts"},
      {[](Trajectory& t) { t.experts.moe_layers = -1; }, "experts"},
      {[](Trajectory& t) { t.experts = {}; }, "experts"},
      {[](Trajectory& t) { t.spans.pop_back(); }, "cover"},
      {[](Trajectory& t) { t.spans.clear(); }, "cover"},
      {[](Trajectory& t) { t.spans[1].begin = 1; }, "tile"},
      {[](Trajectory& t) { t.spans[0].end = 0; }, "tile"},
      {[](Trajectory& t) { t.spans[1].manifest_hash = "other"; }, "another manifest of version 4"},
      {[](Trajectory& t) { t.spans[1].version = 9; }, "another manifest of version 9"},
  };
  for (const auto& [spoil, why] : cases) {
    Trajectory t = Finished();
    spoil(t);
    EXPECT_THAT(std::string(Check(t).message()), HasSubstr(why));
  }
  sampling_.record_experts = false;
  EXPECT_THAT(std::string(Check(Finished()).message()), HasSubstr("nobody asked for"));
}

}  // namespace
}  // namespace sluice
