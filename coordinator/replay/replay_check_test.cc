#include "coordinator/replay/replay_check.h"

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "coordinator/store/view_json.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// Three samples of two tokens.
Group Sampled() {
  Group group;
  group.draw = 7;
  for (uint32_t i = 0; i < 3; ++i) {
    ScoredSample& sample = group.samples.emplace_back();
    sample.trajectory.key = {7, i};
    sample.trajectory.tokens = {10, 11};
    sample.trajectory.raw_logprobs = sample.trajectory.processed_logprobs = {-0.5f, -0.25f};
    sample.trajectory.spans = {{0, 2, 0, "hash", "cpu-avx512"}};
    sample.verdict.kind = VerdictKind::kGraded;
    sample.verdict.value = 0.5;
  }
  return group;
}

ReplayStepView Compare(const std::function<void(Group&)>& change, RecordedGroup plan = {}) {
  plan.draw = 7;
  plan.samples = 3;
  Group replayed = Sampled();
  change(replayed);
  ReplayStepView step;
  CompareGroup(plan, Sampled(), replayed, step);
  return step;
}

TEST(ReplayCheck, NamesWhatDiffersInASample) {
  struct Row {
    const char* where;
    std::function<void(ScoredSample&)> change;
  };
  const Row rows[] = {
      {"token 1", [](ScoredSample& s) { s.trajectory.tokens[1] = 12; }},
      {"token 1", [](ScoredSample& s) { s.trajectory.tokens.pop_back(); }},
      {"token 2", [](ScoredSample& s) { s.trajectory.tokens.push_back(9); }},
      {"raw log-probability of token 0", [](ScoredSample& s) { s.trajectory.raw_logprobs[0] = -0.5000001f; }},
      {"processed log-probability of token 1",
       [](ScoredSample& s) { s.trajectory.processed_logprobs[1] = -1; }},
      {"reward", [](ScoredSample& s) { s.verdict.value = 0.5000001; }},
      {"reward", [](ScoredSample& s) { s.verdict.kind = VerdictKind::kUndecided; }},
  };
  for (const Row& row : rows) {
    const ReplayStepView step = Compare([&](Group& group) { row.change(group.samples[1]); });
    ASSERT_TRUE(step.sample.has_value()) << row.where;
    EXPECT_EQ(step.sample->where, std::string("draw 7, sample 1, ") + row.where);
    EXPECT_NE(step.sample->recorded, step.sample->replayed) << row.where;
    EXPECT_EQ(step.compared, 3);
    EXPECT_EQ(step.different, 1);
    EXPECT_FALSE(step.equal());
  }
  const ReplayStepView gone = Compare([](Group& group) { group.samples.erase(group.samples.begin()); });
  EXPECT_EQ(gone.sample->where, "draw 7, sample 0, completion");
}

TEST(ReplayCheck, LeavesOutWhatWasLostAndCountsWhatWasTaken) {
  RecordedGroup plan;
  plan.lost[1] = {LedgerColumn::kDroppedFailed, "undecided"};
  ReplayStepView step = Compare([](Group& group) { group.samples[1].trajectory.tokens = {}; }, plan);
  EXPECT_TRUE(step.equal());
  EXPECT_EQ(step.compared, 2);
  EXPECT_EQ(step.lost, 1);
  EXPECT_EQ(step.kernel_path, "cpu-avx512");
  plan.taken = true;
  step = Compare([](Group& group) { group.samples[2].verdict.value = 9; }, plan);
  EXPECT_EQ(step.taken, 2);
  EXPECT_EQ(step.compared, 0);
  EXPECT_EQ(step.different, 1);
  EXPECT_EQ(step.kernel_path, "") << "nothing was sampled";
}

TEST(ReplayCheck, ComparesLearningMetricsToTheLastBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto first = [](const std::map<std::string, double>& recorded,
                        const std::map<std::string, double>& replayed, bool filtered = false) {
    ReplayStepView step;
    CompareMetrics(recorded, replayed, filtered, step);
    return step.metric ? step.metric->where + " " + step.metric->recorded + " " + step.metric->replayed : "";
  };
  EXPECT_EQ(first({{"kl", 0.1}, {"loss", nan}}, {{"kl", 0.1}, {"loss", nan}}), "");
  EXPECT_EQ(first({{"kl", 0.1}, {"loss", 1}}, {{"kl", 0.1}, {"loss", 2}}), "loss 1 2");
  EXPECT_EQ(first({{"kl", 0.5}}, {}), "kl 0.5 none");
  EXPECT_EQ(first({}, {{"kl", 0.5}}), "kl none 0.5");
  EXPECT_EQ(first({{"step_seconds", 1}, {"tokens_per_second", 3}}, {{"step_seconds", 2}}), "");
  EXPECT_EQ(first({{"group_ties", 0.5}}, {{"group_ties", 0}}), "group_ties 0.5 0");
  EXPECT_EQ(first({{"group_ties", 0.5}}, {{"group_ties", 0}}, /*filtered=*/true), "");
}

TEST(ReplayCheck, StepsComeBackFromTheStoreAsTheyWere) {
  ReplayStepView step = Compare([](Group& group) { group.samples[0].verdict.value = 3; });
  step.version = 4;
  step.recorded_manifest = "a";
  step.manifest = "b";
  const auto again = ReplayStepFromJson(ReplayStepToJson(step));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->version, 4);
  EXPECT_EQ(again->manifest, "b");
  EXPECT_EQ(again->compared, 3);
  EXPECT_EQ(again->sample->where, step.sample->where);
  EXPECT_FALSE(again->metric.has_value());
  EXPECT_EQ(DifferenceOf(*again), DifferenceOf(step));
  EXPECT_EQ(ReplayStepFromJson("{}").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace sluice
