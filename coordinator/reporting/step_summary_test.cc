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

// 1 - C(n-c, k) / C(n, k), by counting.
double PassAtKByCounting(int64_t n, int64_t c, int64_t k) {
  double sets = 0, without = 0;
  for (int64_t set = 0; set < (int64_t{1} << n); ++set) {
    if (__builtin_popcountll(static_cast<uint64_t>(set)) != k) continue;
    ++sets;
    without += (set & ((int64_t{1} << c) - 1)) == 0;  // the first c are correct
  }
  return 1 - without / sets;
}

TEST(PassAtK, IsTheShareOfSetsOfSamplesWithACorrectOne) {
  for (int64_t n = 1; n <= 9; ++n) {
    for (int64_t c = 0; c <= n; ++c) {
      for (int64_t k = 1; k <= n; ++k)
        EXPECT_NEAR(PassAtK(n, c, k), PassAtKByCounting(n, c, k), 1e-12) << n << " " << c << " " << k;
    }
  }
  EXPECT_EQ(PassAtK(4096, 1, 4096), 1);
  EXPECT_NEAR(PassAtK(4096, 1, 1), 1.0 / 4096, 1e-15);
}

// The answer decides; "short" shapes it and is nowhere at its best.
Group Shaped(Draw draw, const std::vector<bool>& answers) {
  Group group;
  group.draw = draw;
  for (const bool right : answers) {
    ScoredSample sample;
    sample.trajectory.tokens.resize(2);
    sample.verdict.kind = VerdictKind::kGraded;
    sample.verdict.value = right ? 1.05 : 0.05;
    sample.verdict.components = {
        {"answer", right ? VerdictKind::kCorrect : VerdictKind::kWrong, right ? 1.0 : 0.0, 1, ""},
        {"short", VerdictKind::kGraded, 0.5, 0.1, ""}};
    group.samples.push_back(std::move(sample));
  }
  return group;
}

EvaluationView Evaluated(const EvaluationSpec& spec) {
  EvaluationSummary summary;
  summary.Add(Shaped(0, {true, false, false, false}), spec);
  summary.Add(Shaped(1, {true, true, true, false}), spec);
  return summary.Finish(3, spec);
}

TEST(Evaluation, ShapingHidesNoCorrectSampleWhereAComponentTells) {
  EvaluationSpec spec;
  EXPECT_EQ(Evaluated(spec).accuracy, 0) << "none is CORRECT by all that counts";
  spec.correct_by = "answer";
  EXPECT_EQ(Evaluated(spec).accuracy, 0.5);
  EXPECT_NEAR(Evaluated(spec).reward, 0.55, 1e-12) << "the whole, as before";
  spec.correct_by = "short";
  EXPECT_EQ(Evaluated(spec).accuracy, 0);
  spec.correct_at = 0.5;
  EXPECT_EQ(Evaluated(spec).accuracy, 1);
  spec.correct_by.clear();
  spec.correct_at = 1;
  EXPECT_EQ(Evaluated(spec).accuracy, 0.5);
  spec.correct_by = "another";
  EXPECT_EQ(Evaluated(spec).accuracy, 0);
}

TEST(Evaluation, PassAtKIsTheMeanOverPrompts) {
  EvaluationSpec spec;
  spec.name = "hard";
  spec.correct_by = "answer";
  spec.pass_at = {1, 2, 4};
  const EvaluationView view = Evaluated(spec);
  EXPECT_EQ(view.name, "hard");
  EXPECT_NEAR(view.pass_at.at(1), 0.5, 1e-12);
  EXPECT_NEAR(view.pass_at.at(2), (0.5 + 1) / 2, 1e-12);
  EXPECT_EQ(view.pass_at.at(4), 1);
  EXPECT_EQ(DescribeEvaluation({.step = 3, .others = {view}}),
            "evaluation at step 3: reward 0, accuracy 0; hard: reward 0.55, accuracy 0.5, pass@1 0.5, "
            "pass@2 0.75, pass@4 1");
}

TEST(Evaluation, PassAtKIsOfPromptsWithEnoughRewards) {
  EvaluationSpec spec;
  spec.correct_by = "answer";
  spec.pass_at = {2, 3};
  EvaluationSummary summary;
  Group group = Shaped(0, {true, false, false});
  group.samples[1].verdict.kind = VerdictKind::kUndecided;
  summary.Add(group, spec);
  const EvaluationView view = summary.Finish(1, spec);
  EXPECT_EQ(view.pass_at.at(2), 1);
  EXPECT_EQ(view.pass_at.count(3), 0u);
}

}  // namespace
}  // namespace sluice
