#include "services/cli/sample_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/verdict_json.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

v1::Verdict Graded() {
  v1::Verdict verdict;
  verdict.set_kind(v1::GRADED);
  verdict.set_value(0.45);
  v1::VerdictComponent* code = verdict.add_components();
  code->set_name("code");
  code->set_kind(v1::WRONG);
  code->set_value(0.5);
  code->set_weight(1);
  code->set_outcome("wrong_answer");
  code->set_detail("test 2: 3, expected another value");
  for (const char* outcome : {"passed", "wrong_answer", "time_limit", "passed"})
    code->add_tests()->set_outcome(outcome);
  code->add_stamps("tests_visible");
  v1::VerdictComponent* steps = verdict.add_components();
  steps->set_name("steps");
  steps->set_kind(v1::GRADED);
  steps->set_value(0.5);
  steps->set_weight(-0.1);
  steps->add_steps()->set_end_offset(12);
  steps->mutable_steps(0)->set_score(1);
  return verdict;
}

TEST(SampleLengthsTest, SaysHowManyWereCutOff) {
  SampleLengths lengths;
  EXPECT_EQ(lengths.Text(), "");
  for (int tokens : {8, 3, 8, 8}) {
    v1::ListSamplesResponse sample;
    for (int i = 0; i < tokens; ++i) sample.mutable_trajectory()->add_tokens(1);
    sample.mutable_trajectory()->set_finish_reason(tokens == 8 ? v1::LENGTH : v1::STOP);
    lengths.Add(sample);
  }
  EXPECT_EQ(
      lengths.Text(),
      "4 samples: length 3, stop 1; 75 % were cut off at max_new_tokens; tokens p50 8, p95 8, most 8\n");
}

TEST(VerdictTextTest, KeepsComponentsApart) {
  EXPECT_EQ(VerdictText(Graded()),
            "GRADED 0.45\n"
            "  code: WRONG 0.5 x 1, wrong_answer, 2 of 4 tests passed: time_limit 1, wrong_answer 1 "
            "[tests_visible]: "
            "test 2: 3, expected another value\n"
            "  steps: GRADED 0.5 x -0.1, steps 1 to 12\n");
  v1::Verdict failed;
  failed.set_kind(v1::INFRASTRUCTURE);
  failed.set_detail("not judged in time");
  EXPECT_EQ(VerdictText(failed), "INFRASTRUCTURE 0\n  not judged in time\n");
}

TEST(SampleJsonTest, HasTheEvidenceOfEachComponent) {
  v1::ListSamplesResponse sample;
  *sample.mutable_verdict() = Graded();
  const auto components = SampleJson(sample)["verdict"]["components"];
  EXPECT_EQ(components[0]["outcome"], "wrong_answer");
  EXPECT_EQ(components[0]["tests"][2]["outcome"], "time_limit");
  EXPECT_EQ(components[0]["stamps"].dump(), R"(["tests_visible"])");
  EXPECT_EQ(components[1]["steps"].dump(), R"([{"end_offset":12,"score":1.0}])");
  EXPECT_FALSE(components[1].contains("tests"));
}

TEST(TestsTextTest, CountsWhatFailedByClass) {
  v1::VerdictComponent component;
  EXPECT_EQ(TestsText(component), "");
  component.add_tests()->set_outcome("passed");
  EXPECT_EQ(TestsText(component), "1 of 1 tests passed");
}

}  // namespace
}  // namespace sluice::cli
