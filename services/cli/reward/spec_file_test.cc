#include "services/cli/reward/spec_file.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

RewardSpec Parsed(const std::string& text) {
  const auto spec = ParseRewardSpec(text, "s");
  EXPECT_TRUE(spec.ok()) << text << "\n" << spec.status();
  return spec.ok() ? *spec : RewardSpec();
}

std::string Mistake(const std::string& text) {
  return std::string(ParseRewardSpec(text, "s").status().message());
}

TEST(SpecFileTest, AScorerAloneIsTheOneComponent) {
  for (const char* text : {"math { mode: PAIR }", "# about\nmath {\n  mode: PAIR\n}\n",
                           R"({"math": {"mode": "PAIR"}})", "\n  {\"math\": {\"mode\": \"PAIR\"}}"}) {
    const RewardSpec spec = Parsed(text);
    ASSERT_EQ(spec.components.size(), 1u) << text;
    EXPECT_EQ(spec.components[0].name, "math");
    EXPECT_EQ(spec.components[0].weight, 1);
    EXPECT_EQ(std::get<MathScorerSpec>(spec.components[0].scorer).mode, MathMode::kPair);
  }
  EXPECT_EQ(Parsed("name: \"answer\" math {}").components[0].name, "answer");
}

TEST(SpecFileTest, FieldsOfAScorerAreRead) {
  const auto code = std::get<CodeScorerSpec>(
      Parsed("code { language: CPP tests: STDIO timeout: 2.5 memory_bytes: 67108864 comparison: NUMERIC }")
          .components[0]
          .scorer);
  EXPECT_EQ(code.language, CodeLanguage::kCpp);
  EXPECT_EQ(code.tests, CodeTests::kStdio);
  EXPECT_EQ(code.timeout_seconds, 2.5);
  EXPECT_EQ(code.memory_bytes, 67108864);
  EXPECT_EQ(code.comparison, CodeComparison::kNumeric);
  EXPECT_EQ(std::get<GroupLengthScorerSpec>(Parsed(R"({"component": [{"name": "a", "math": {}},
                                          {"name": "b", "groupLength": {"correctBy": "a"}}]})")
                                                .components[1]
                                                .scorer)
                .correct_by,
            "a");
}

TEST(SpecFileTest, ComponentsARewardAndAJobSayTheSame) {
  const std::string components =
      "component { name: \"a\" math {} } component { name: \"b\" weight: 0.5 regex { pattern: \"x\" } } ";
  for (const std::string& text :
       {components, "reward { " + components + "}",
        "name: \"j\" model { path: \"m\" } reward { " + components + "} stop { steps: 3 }"}) {
    const RewardSpec spec = Parsed(text);
    ASSERT_EQ(spec.components.size(), 2u) << text;
    EXPECT_EQ(spec.components[1].name, "b");
    EXPECT_EQ(spec.components[1].weight, 0.5);
  }
  EXPECT_EQ(Parsed("component { name: \"a\" math {} } combination: MINIMUM").combination,
            RewardCombination::kMinimum);
}

TEST(SpecFileTest, MistakesHavePlaceAndField) {
  EXPECT_THAT(Mistake("math {\n  mod: PAIR }"), StartsWith("s:2:3: MathScorer has no field \"mod\""));
  EXPECT_THAT(Mistake("math { mode: PARE }"),
              StartsWith("s:1:14: MathScorer has no mode PARE; it may be COMPLETION, PAIR"));
  EXPECT_THAT(Mistake("math {} regex { pattern: \"x\" }"), StartsWith("s:1:15: "));
  EXPECT_THAT(Mistake("maths {}"),
              StartsWith("s:1:1: \"maths\" is no part of a reward; did you mean \"math\"?"));
  EXPECT_THAT(Mistake(""), StartsWith("s:1:1: no reward is given"));
  EXPECT_THAT(Mistake("# nothing\n"), HasSubstr("a spec holds a scorer (math, "));
  EXPECT_THAT(Mistake("length {\n soft_limit: 5\n hard_limit: 4 }"),
              StartsWith("s:3:2: length.hard_limit: must be above soft_limit"));
  EXPECT_THAT(
      Mistake("component { name: \"a\" math {} }\ncomponent {\n  name: \"b\"\n  length { soft_limit: 0 } }"),
      StartsWith("s:4:12: component[1].length.soft_limit: "));
  EXPECT_THAT(Mistake("reward { component { name: \"a\" math {} }\n component { name: \"a\" math {} } }"),
              StartsWith("s:2:14: reward.component[1].name: \"a\" is used twice"));
  EXPECT_THAT(Mistake("name: \"j\" stop { steps: 1 }"), HasSubstr("reward.component: at least one"));
  EXPECT_THAT(Mistake("code { tests: STDIO }"), StartsWith("s:1:1: code.language: "));
  EXPECT_THAT(Mistake("component { name: \"g\" group_length { correct_by: \"no\" } }"),
              StartsWith("s:1:38: component[0].group_length.correct_by: "));
}

TEST(SpecFileTest, ATextThatEndsTooEarlyIsToldWithTheBracketThatIsOpen) {
  EXPECT_THAT(Mistake("math {"), HasSubstr("the text ends too early: the \"{\" at 1:6 is not closed"));
  EXPECT_THAT(Mistake("component {\n  name: \"a\"\n  code { language: PYTHON"),
              HasSubstr("the \"{\" at 3:8 is not closed"));
  EXPECT_THAT(Mistake("math"), HasSubstr("the text ends too early"));
  EXPECT_THAT(Mistake("{\"math\": {}"), StartsWith("s:1:12: syntax error"));
}

TEST(SpecFileTest, AWrongValueIsToldWithTheRightOnes) {
  EXPECT_THAT(Mistake("math { mode: \"PAIR\" }"), HasSubstr("without quotes"));
  EXPECT_THAT(Mistake("combination: PRODUC component { name: \"a\" math {} }"),
              HasSubstr("WEIGHTED_SUM, PRODUCT, MINIMUM"));
  EXPECT_THAT(
      Mistake("{\"component\": [{\"name\": \"language\", \"math\": {}},\n"
              "{\"name\": \"b\", \"code\": {\"language\": \"PYTON\"}}]}"),
      StartsWith("s:2:24: component[1].code.language: has no value \"PYTON\"; it may be PYTHON, CPP"));
  EXPECT_THAT(Mistake("{\"length\": {\n\"softLimit\": 1.5}}"),
              StartsWith("s:2:1: length.soft_limit: expected int, got: 1.5"));
  EXPECT_THAT(Mistake("{\"math\": {\"mod\": 1}}"),
              HasSubstr("MathScorer has no field \"mod\"; did you mean \"mode\"?"));
  EXPECT_THAT(Mistake("{\"math\": {},\n\"regex\": {\"pattern\": \"a\"}}"),
              StartsWith("s:2:1: \"regex\" is a second scorer"));
}

TEST(SpecFileTest, PlacesInJsonAreThoseOfTheElement) {
  EXPECT_THAT(
      Mistake("{\"component\": [\n{\"name\": \"a\", \"length\": {\"soft_limit\": 1, \"hard_limit\": 2}},\n"
              "{\"name\": \"b,]\\\"\", \"length\": {\"soft_limit\": 5,\n\"hard_limit\": 3}}]}"),
      StartsWith("s:4:1: component[1].length.hard_limit: "));
}

TEST(SpecFileTest, AByteOrderMarkIsSkipped) {
  EXPECT_TRUE(ParseRewardSpec("\xEF\xBB\xBFmath {}", "s").ok());
  EXPECT_TRUE(ParseRewardSpec("\xEF\xBB\xBF{\"math\": {}}", "s").ok());
}

TEST(SpecFileTest, AGateThatCanNeverOpenIsRefused) {
  const auto gated = [](const char* gate, const char* scorer) {
    return ParseRewardSpec(absl::StrCat("component { name: \"form\" gate: ", gate, " ", scorer, " }"), "s")
        .status();
  };
  const char* const tags = "tags { tag: \"a\" }";
  const char* const length = "length { soft_limit: 1 hard_limit: 2 }";
  EXPECT_TRUE(gated("1", tags).ok());
  EXPECT_TRUE(gated("0", length).ok());
  EXPECT_TRUE(gated("1000000", "remote { service: \"x\" }").ok());
  const std::string message(gated("1.5", tags).message());
  EXPECT_THAT(message, StartsWith("s:1:26: component[0].gate: is 1.5, which \"form\" can never reach"));
  EXPECT_THAT(message, HasSubstr("its greatest value is 1"));
  EXPECT_THAT(std::string(gated("0.5", length).message()), HasSubstr("its greatest value is 0"));
  EXPECT_FALSE(gated("0.1", "repetition {}").ok());
  EXPECT_FALSE(gated("1.01", "math {}").ok());
}

TEST(SpecFileTest, MistakesInJsonHaveAPlaceToo) {
  EXPECT_THAT(Mistake("{\"math\": {\n \"mod\": 1}}"), StartsWith("s:2:2: "));
  EXPECT_THAT(Mistake("{\"math\": {},\n }"), StartsWith("s:2:2: "));
  EXPECT_THAT(Mistake("{\"length\": {\"soft_limit\": 5,\n\"hard_limit\": 4}}"),
              StartsWith("s:2:1: length.hard_limit: "));
}

TEST(SpecFileTest, AMissingFileIsNamed) {
  EXPECT_THAT(std::string(ReadRewardSpec("/does/not/exist").status().message()),
              HasSubstr("/does/not/exist"));
}

}  // namespace
}  // namespace sluice::cli
