#include "services/cli/reward/reward_row.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string ErrorOf(absl::string_view line, bool needs_completion = true) {
  const RewardRow row = ParseRewardRow(line, 7, needs_completion);
  EXPECT_EQ(row.item.ByteSizeLong() == 0, !row.error.ok());
  return std::string(row.error.message());
}

TEST(RewardRowTest, ReadsTextsAsTheyAreAndOthersAsJson) {
  const RewardRow row = ParseRewardRow(
      R"({"id": "a", "prompt": "p", "completion": "c\n", "answer": 0.10, "tests": {"x": [1, "y"]}, "none": null,
          "completion_tokens": 12, "group": 3})",
      7, true);
  ASSERT_TRUE(row.error.ok()) << row.error;
  EXPECT_EQ(row.id, "a");
  EXPECT_EQ(row.group, "3");
  EXPECT_EQ(row.item.prompt(), "p");
  EXPECT_EQ(row.item.completion(), "c\n");
  EXPECT_EQ(row.item.completion_tokens(), 12);
  EXPECT_THAT(row.item.fields(),
              UnorderedElementsAre(Pair("answer", "0.10"), Pair("tests", R"({"x": [1, "y"]})")));
}

TEST(RewardRowTest, NumbersKeepTheirSpelling) {
  const RewardRow row =
      ParseRewardRow(R"({"completion":"","answer":123456789012345678901234567890,"b":-0,"c":1E5})", 1, true);
  ASSERT_TRUE(row.error.ok()) << row.error;
  EXPECT_THAT(row.item.fields(), UnorderedElementsAre(Pair("answer", "123456789012345678901234567890"),
                                                      Pair("b", "-0"), Pair("c", "1E5")));
}

TEST(RewardRowTest, ARowWithoutIdHasItsLine) {
  EXPECT_EQ(ParseRewardRow(R"({"completion": ""})", 7, true).id, 7);
  EXPECT_EQ(ParseRewardRow(R"({"completion": "", "id": null})", 7, true).id, 7);
  EXPECT_EQ(ParseRewardRow(R"({"completion": "", "id": 0})", 7, true).id, 0);
  EXPECT_EQ(ParseRewardRow(R"({"completion": "", "task_id": "HumanEval/0"})", 7, true).id, "HumanEval/0");
  EXPECT_EQ(ParseRewardRow(R"({"completion": "", "task_id": 1, "id": 2})", 7, true).id, 2);
}

TEST(RewardRowTest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(ErrorOf(R"({"id": 1})"), "\"completion\" is missing");
  EXPECT_EQ(ErrorOf(R"({"completion": null})"), "\"completion\" is missing");
  EXPECT_EQ(ErrorOf(R"({"completion": 3})"), "\"completion\" must be text");
  EXPECT_EQ(ErrorOf(R"({"completion": "", "prompt": ["x"]})"), "\"prompt\" must be text");
  EXPECT_EQ(ErrorOf(R"({"completion": "", "answer": "1", "answer": "2"})"), "\"answer\" is given twice");
  EXPECT_EQ(ErrorOf(R"({"completion": "", "completion_tokens": -1})"),
            "\"completion_tokens\" must be a number of tokens");
  EXPECT_EQ(ErrorOf("{\"id\": 1, \"completion\": \"ab\xff\"}"),
            "\"completion\" is not valid UTF-8 (byte 3 of its text)");
  EXPECT_THAT(ErrorOf("not JSON"), HasSubstr("malformed JSON"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"completion": "\ud800"})"), HasSubstr("malformed JSON"));
  EXPECT_THAT(ErrorOf("{\"completion\": \"" + std::string(17 << 20, 'x') + "\"}"),
              AllOf(HasSubstr("completion"), HasSubstr("bytes")));
  EXPECT_EQ(ErrorOf(R"({"gold": "1", "prediction": 1})", false), "");
}

TEST(RewardRowTest, ABadRowKeepsItsIdWhereItCanBeRead) {
  EXPECT_EQ(ParseRewardRow("{\"id\": \"x\", \"completion\": \"\xff\"}", 7, true).id, "x");
  EXPECT_EQ(ParseRewardRow(R"({"id": "x", "completion": "\ud800"})", 7, true).id, "x");
  EXPECT_EQ(ParseRewardRow("{\"id\": \"x\", broken", 7, true).id, 7);
  RewardRow bad = ParseRewardRow(R"({"id": "x"})", 7, true);
  bad.fingerprint = "a-b";
  const auto out = ErrorRow(bad);
  EXPECT_EQ(
      out.dump(),
      R"({"id":"x","verdict":"UNDECIDED","value":null,"class":"invalid_row","components":[],)"
      R"("detail":"\"completion\" is missing","seconds":0.0,"fingerprint":"a-b","error":"\"completion\" is missing","line":7})");
}

class DecidingClassTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, double weight, std::optional<double> gate, v1::VerdictKind kind,
           double value) {
    spec_.components.push_back({name, weight, MathScorerSpec{}, gate, 0});
    v1::VerdictComponent* c = verdict_.add_components();
    c->set_name(name);
    c->set_weight(weight);
    c->set_kind(kind);
    c->set_value(value);
    c->set_outcome("class of " + name);
    verdict_.set_kind(v1::GRADED);
  }
  RewardSpec spec_;
  v1::Verdict verdict_;
};

TEST_F(DecidingClassTest, IsThatOfTheHeaviestTermOfASum) {
  Add("light", 0.1, {}, v1::CORRECT, 1);
  Add("heavy", -2, {}, v1::WRONG, 0);
  EXPECT_EQ(DecidingClass(spec_, verdict_), "class of heavy");
}

TEST_F(DecidingClassTest, IsThatOfTheClosedGate) {
  Add("heavy", 5, {}, v1::CORRECT, 1);
  Add("open", 1, 0.5, v1::CORRECT, 1);
  Add("closed", 1, 0.5, v1::WRONG, 0.25);
  EXPECT_EQ(DecidingClass(spec_, verdict_), "class of closed");
}

TEST_F(DecidingClassTest, IsThatOfTheSmallestOfAMinimum) {
  spec_.combination = RewardCombination::kMinimum;
  Add("shown", 0, {}, v1::WRONG, -9);
  Add("high", 1, {}, v1::CORRECT, 1);
  Add("low", 1, {}, v1::GRADED, 0.5);
  EXPECT_EQ(DecidingClass(spec_, verdict_), "class of low");
}

TEST_F(DecidingClassTest, IsThatOfTheComponentBehindWhichThereIsNoReward) {
  Add("heavy", 5, {}, v1::CORRECT, 1);
  Add("broken", 0.1, {}, v1::INFRASTRUCTURE, 0);
  verdict_.set_kind(v1::INFRASTRUCTURE);
  EXPECT_EQ(DecidingClass(spec_, verdict_), "class of broken");
  verdict_.clear_components();
  EXPECT_EQ(DecidingClass(spec_, verdict_), "infrastructure");
}

TEST(FingerprintTest, IsThatOfTheRewardAndOfTheRow) {
  const RewardSpec one{{{"a", 1, RemoteScorerSpec{"x", {{"k", "v"}, {"l", "w"}}}}}};
  RewardSpec other = one;
  EXPECT_EQ(FingerprintOf(one), FingerprintOf(other));
  EXPECT_EQ(FingerprintOf(one).size(), 16u);
  std::get<RemoteScorerSpec>(other.components[0].scorer).parameters["l"] = "v";
  EXPECT_NE(FingerprintOf(one), FingerprintOf(other));
  const auto of = [](const char* line) { return ParseRewardRow(line, 1, true, "judge").fingerprint; };
  EXPECT_EQ(of("{\"completion\": \"a\"}"), of("{\"completion\": \"a\"}"));
  EXPECT_NE(of("{\"completion\": \"a\"}"), of("{\"completion\": \"b\"}"));
  EXPECT_EQ(of("no JSON").substr(0, 6), "judge-");
}

TEST(VerdictRowTest, KeepsComponentsApartAndHasNoValueWithoutReward) {
  RewardRow row;
  row.id = 4;
  row.fingerprint = "a-b";
  v1::Verdict verdict;
  verdict.set_kind(v1::UNDECIDED);
  verdict.set_detail("d");
  verdict.set_seconds(0.5);
  v1::VerdictComponent* c = verdict.add_components();
  c->set_name("code");
  c->set_kind(v1::UNDECIDED);
  c->set_weight(1);
  c->set_outcome("infra");
  c->add_tests()->set_outcome("passed");
  c->add_steps()->set_end_offset(3);
  c->add_stamps("tests_visible");
  const RewardSpec spec{{{"code", 1, CodeScorerSpec{}}}};
  EXPECT_EQ(
      VerdictRow(spec, row, verdict).dump(),
      R"({"id":4,"verdict":"UNDECIDED","value":null,"class":"infra","components":[{"name":"code",)"
      R"("verdict":"UNDECIDED","value":null,"weight":1.0,"class":"infra","detail":"",)"
      R"("tests":[{"class":"passed","seconds":0.0,"memory_bytes":0,"detail":""}],)"
      R"("steps":[{"end_offset":3,"score":0.0}],"stamps":["tests_visible"]}],"detail":"d","seconds":0.5,"fingerprint":"a-b"})");
}

TEST(VerdictRowTest, ARowThatTheScorerCannotReadIsAnError) {
  RewardRow row;
  row.line = 9;
  v1::Verdict verdict;
  verdict.set_kind(v1::UNDECIDED);
  verdict.set_detail("math: no \"answer\"");
  v1::VerdictComponent* c = verdict.add_components();
  c->set_kind(v1::UNDECIDED);
  c->set_outcome(kInvalidRow);
  const auto out = VerdictRow({{{"math", 1, MathScorerSpec{}}}}, row, verdict);
  EXPECT_EQ(out["error"], "math: no \"answer\"");
  EXPECT_EQ(out["line"], 9);
}

TEST(NeedsCompletionTest, OnlyPairsJudgeWithoutOne) {
  EXPECT_FALSE(NeedsCompletion({{{"m", 1, MathScorerSpec{MathMode::kPair}}}}));
  EXPECT_TRUE(NeedsCompletion({{{"m", 1, MathScorerSpec{}}}}));
  EXPECT_TRUE(NeedsCompletion({{{"m", 1, MathScorerSpec{MathMode::kPair}}, {"r", 1, RegexScorerSpec{"x"}}}}));
}

}  // namespace
}  // namespace sluice::cli
