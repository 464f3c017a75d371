#include "services/cli/demo/report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/demo/demo_job.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

DemoReport Report() {
  DemoReport report;
  for (int64_t step = 1; step <= 20; ++step) {
    v1::StepRecord record;
    record.set_step(step);
    (*record.mutable_metrics())["reward"] = static_cast<double>(step);
    (*record.mutable_metrics())["entropy"] = 1.0 / static_cast<double>(step);
    (*record.mutable_metrics())["kl"] = 0.1 * static_cast<double>(step);
    report.history.Add(record);
  }
  report.job.set_step(20);
  for (const double accuracy : {0.1, 0.2, 0.6}) {
    v1::Evaluation& e = *report.job.add_evaluations();
    e.set_accuracy(accuracy);
    (*e.mutable_accuracy_by_kind())["three digits"] = accuracy + 0.1;
    (*e.mutable_accuracy_by_kind())["five digits"] = accuracy - 0.1;
  }
  report.job.mutable_ledger()->set_issued(5);
  report.job.mutable_ledger()->set_trained(5);
  report.seconds = 12.5;
  return report;
}

TEST(DemoReportTest, SmoothsFirstAndLastSteps) {
  const auto json = DemoJson(Report());
  EXPECT_EQ(json["reward_first"], 3);
  EXPECT_EQ(json["reward_last"], 18);
  EXPECT_EQ(json["kl_last"], 2);
  EXPECT_EQ(json["heldout_before"], 0.1);
  EXPECT_EQ(json["heldout_after"], 0.6);
  EXPECT_EQ(json["ledger"]["trained"], 5);
}

TEST(DemoReportTest, HasEveryFieldOfItsContractInOrder) {
  const auto json = DemoJson({});
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("steps", "seconds", "reward_first", "reward_last", "heldout_before",
                                     "heldout_after", "kl_last", "entropy_first", "entropy_last",
                                     "max_staleness", "exact_compared", "exact_max_difference", "ledger"));
  EXPECT_TRUE(json["reward_first"].is_null());
}

TEST(DemoReportTest, ComparesBeforeAndAfterByKind) {
  EXPECT_EQ(DemoTable(Report().job),
            "  held-out digits     before     after    change\n"
            "  three digits         0.200     0.700    +0.500\n"
            "  five digits          0.000     0.500    +0.500\n"
            "  all                  0.100     0.600    +0.500\n");
}

TEST(DemoReportTest, GivesCommandsThatCanBeTyped) {
  const std::string text =
      DemoNextSteps({"build/bin/sluice", "/s", "/s/files", false, "--learner-ranks 2"}, "demo-1");
  EXPECT_THAT(text, HasSubstr("  build/bin/sluice up --detach --learner-ranks 2 --state /s\n"));
  EXPECT_THAT(text, HasSubstr("  build/bin/sluice export demo-1 demo-model --state /s\n"));
  EXPECT_THAT(DemoNextSteps({"sluice", "/s", "/s/files", true, ""}, "demo-1"),
              testing::Not(HasSubstr("up --detach")));
}

TEST(DemoJobTest, NamesItsFilesAndTheStalenessBound) {
  const v1::JobSpec spec = MakeDemoJob(DemoFiles("/f"), {}, 7);
  EXPECT_EQ(spec.model().path(), "/f/model");
  EXPECT_EQ(spec.seed(), 7u);
  EXPECT_EQ(spec.staleness().max_versions(), 2);
  EXPECT_TRUE(spec.reward().component(0).has_math());
  EXPECT_THAT(spec.warm_start().file(), HasSubstr("/f/warm"));
}

}  // namespace
}  // namespace sluice::cli
