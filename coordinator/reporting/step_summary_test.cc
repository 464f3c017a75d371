#include "coordinator/reporting/step_summary.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

// Completions of so many tokens each; those of `limit` are cut off.
Group GroupOf(const std::vector<size_t>& lengths, size_t limit) {
  Group group;
  for (size_t length : lengths) {
    ScoredSample sample;
    sample.trajectory.tokens.resize(length);
    sample.trajectory.finish_reason = length >= limit ? FinishReason::kLength : FinishReason::kStop;
    sample.verdict.kind = VerdictKind::kCorrect;
    group.samples.push_back(std::move(sample));
  }
  return group;
}

TEST(StepSummary, SaysHowCompletionsEndAndHowLongTheyAre) {
  std::vector<size_t> lengths;
  for (size_t i = 1; i <= 18; ++i) lengths.push_back(i);
  const auto metrics =
      SummariseBatch({SummariseGroup(GroupOf(lengths, 40)), SummariseGroup(GroupOf({40, 40}, 40))}, 3);
  EXPECT_EQ(metrics.at("finish_stop"), 18);
  EXPECT_EQ(metrics.at("finish_length"), 2);
  EXPECT_EQ(metrics.at("finish_other"), 0);
  EXPECT_EQ(metrics.at("truncated_share"), 0.1);
  EXPECT_EQ(metrics.at("completion_tokens_p50"), 10);
  EXPECT_EQ(metrics.at("completion_tokens_p95"), 40);
  EXPECT_EQ(metrics.at("completion_tokens_max"), 40);
  EXPECT_EQ(metrics.at("completion_tokens"), (18.0 * 19 / 2 + 80) / 20);
}

TEST(StepSummary, SaysThatAllAreCutOff) {
  const auto metrics = SummariseBatch({SummariseGroup(GroupOf({8, 8, 8}, 8))}, 0);
  EXPECT_EQ(metrics.at("truncated_share"), 1);
  EXPECT_EQ(metrics.at("completion_tokens_p50"), 8);
}

TEST(StepSummary, SaysNothingOfNoCompletions) {
  EXPECT_EQ(SummariseBatch({SummariseGroup(Group())}, 0).count("truncated_share"), 0u);
  EXPECT_EQ(PercentileOf({}, 0.5), 0);
  EXPECT_EQ(PercentileOf({7}, 0), 7);
}

}  // namespace
}  // namespace sluice
