#include "services/wire/reward.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

// Every scorer, no field as by default.
RewardSpec SomeSpec() {
  RewardSpec out;
  out.components = {{"answer", 1, MathScorerSpec{MathMode::kPair}},
                    {"form", 0.1, RegexScorerSpec{"<a>.*</a>"}, 0.5, -1},
                    {"expression", 0, ExpressionScorerSpec{}},
                    {"length", 2, LengthScorerSpec{10, 20, LengthUnit::kTokens}},
                    {"code", 1,
                     CodeScorerSpec{CodeLanguage::kCpp, CodeTests::kStdio, CodeComparison::kNumeric, 0.5,
                                    0.25, 2.5, int64_t{1} << 30, CodeCredit::kShare, 7, 4096}},
                    {"tags", 1, TagsScorerSpec{{"think", "answer"}, true, true}},
                    {"repetition", 1, RepetitionScorerSpec{4, 0.5}},
                    {"language", 1, LanguageScorerSpec{"ru"}},
                    {"judge", 1, RemoteScorerSpec{"judge", {{"rubric", "strict"}}, 2.5, 4, 16, "v7"}},
                    {"short", 1, GroupLengthScorerSpec{"answer"}}};
  return out;
}

void ExpectRefused(const v1::RewardSpec& bad, const std::string& field) {
  const absl::Status status = FromProto(bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(status.message()), StartsWith(field + ":"));
}

TEST(RewardSpecProto, RoundTripsEveryFieldOfEveryScorer) {
  RewardSpec in = SomeSpec();
  ASSERT_EQ(in.components.size(), std::variant_size_v<ScorerSpec>);
  const v1::RewardSpec proto = ToProto(in);
  const auto out = FromProto(proto);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(ToProto(*out).SerializeAsString(), proto.SerializeAsString());
  EXPECT_EQ(out->components[1].gate, 0.5);
  EXPECT_EQ(out->components[1].gate_value, -1);
  EXPECT_EQ(std::get<MathScorerSpec>(out->components[0].scorer).mode, MathMode::kPair);
  EXPECT_EQ(std::get<LengthScorerSpec>(out->components[3].scorer).unit, LengthUnit::kTokens);
  const auto& code = std::get<CodeScorerSpec>(out->components[4].scorer);
  EXPECT_EQ(code.language, CodeLanguage::kCpp);
  EXPECT_EQ(code.comparison, CodeComparison::kNumeric);
  EXPECT_EQ(code.relative_tolerance, 0.25);
  EXPECT_EQ(code.max_tests, 7);
  EXPECT_EQ(std::get<RemoteScorerSpec>(out->components[8].scorer).parameters.at("rubric"), "strict");
  in.components = {{"a", 1, ExpressionScorerSpec{}}};
  for (RewardCombination combination :
       {RewardCombination::kWeightedSum, RewardCombination::kProduct, RewardCombination::kMinimum}) {
    in.combination = combination;
    EXPECT_EQ(FromProto(ToProto(in))->combination, combination);
  }
}

TEST(RewardSpecProto, FillsDefaultsIn) {
  v1::RewardSpec proto;
  proto.add_component()->set_name("c");
  v1::RewardComponent& component = *proto.mutable_component(0);
  component.mutable_code()->set_language(v1::CodeScorer::PYTHON);
  component.mutable_code()->set_tests(v1::CodeScorer::FUNCTION);
  auto code = std::get<CodeScorerSpec>(FromProto(proto)->components[0].scorer);
  EXPECT_EQ(code.comparison, CodeComparison::kExact);
  EXPECT_EQ(code.timeout_seconds, 5);
  EXPECT_EQ(code.memory_bytes, int64_t{512} << 20);
  EXPECT_EQ(code.output_bytes, int64_t{16} << 20);
  component.mutable_code()->set_tests(v1::CodeScorer::STDIO);
  EXPECT_EQ(std::get<CodeScorerSpec>(FromProto(proto)->components[0].scorer).comparison,
            CodeComparison::kTokens);
  component.mutable_remote()->set_service("s");
  const auto remote = std::get<RemoteScorerSpec>(FromProto(proto)->components[0].scorer);
  EXPECT_EQ(remote.timeout_seconds, 60);
  EXPECT_EQ(remote.max_attempts, 3);
  EXPECT_EQ(remote.max_batch, 64);
  component.mutable_repetition();
  EXPECT_EQ(std::get<RepetitionScorerSpec>(FromProto(proto)->components[0].scorer).ngram, 3);
}

TEST(RewardSpecProto, GivesAComponentWeightOneByDefault) {
  v1::RewardSpec proto = ToProto(SomeSpec());
  proto.mutable_component(2)->clear_weight();
  EXPECT_EQ(FromProto(proto)->components[2].weight, 1);
  EXPECT_EQ(FromProto(ToProto(SomeSpec()))->components[2].weight, 0);
}

TEST(RewardSpecProto, IsRefusedWhenAComponentIsWrong) {
  using Change = void (*)(v1::RewardSpec&);
  const struct {
    const char* field;
    Change change;
  } cases[] = {
      {"reward.component", [](v1::RewardSpec& s) { s.clear_component(); }},
      {"reward.combination", [](v1::RewardSpec& s) { s.set_combination(v1::RewardSpec::Combination(9)); }},
      {"reward.component[0].scorer", [](v1::RewardSpec& s) { s.mutable_component(0)->clear_math(); }},
      {"reward.component[0].name", [](v1::RewardSpec& s) { s.mutable_component(0)->clear_name(); }},
      {"reward.component[1].name", [](v1::RewardSpec& s) { s.mutable_component(1)->set_name("answer"); }},
      {"reward.component[1].weight",
       [](v1::RewardSpec& s) {
         s.mutable_component(1)->set_weight(std::numeric_limits<double>::infinity());
       }},
      {"reward.component[1].weight", [](v1::RewardSpec& s) { s.set_combination(v1::RewardSpec::PRODUCT); }},
      {"reward.component[1].gate",
       [](v1::RewardSpec& s) { s.mutable_component(1)->set_gate(std::numeric_limits<double>::quiet_NaN()); }},
      {"reward.component[1].gate_value", [](v1::RewardSpec& s) { s.mutable_component(1)->clear_gate(); }},
      {"reward.component[0].math.mode",
       [](v1::RewardSpec& s) { s.mutable_component(0)->mutable_math()->set_mode(v1::MathScorer::Mode(7)); }},
      {"reward.component[1].regex.pattern",
       [](v1::RewardSpec& s) {
         s.mutable_component(1)->mutable_regex()->set_pattern(std::string(4097, 'x'));
       }},
      {"reward.component[3].length.hard_limit",
       [](v1::RewardSpec& s) { s.mutable_component(3)->mutable_length()->set_hard_limit(10); }},
      {"reward.component[3].length.soft_limit",
       [](v1::RewardSpec& s) { s.mutable_component(3)->mutable_length()->set_soft_limit(0); }},
      {"reward.component[4].code.language",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->clear_language(); }},
      {"reward.component[4].code.tests",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->clear_tests(); }},
      {"reward.component[4].code.comparison",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->set_tests(v1::CodeScorer::ASSERTS); }},
      {"reward.component[4].code.timeout",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->set_timeout(0); }},
      {"reward.component[4].code.memory_bytes",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->set_memory_bytes(4096); }},
      {"reward.component[4].code.max_tests",
       [](v1::RewardSpec& s) { s.mutable_component(4)->mutable_code()->set_max_tests(10001); }},
      {"reward.component[5].tags.tag",
       [](v1::RewardSpec& s) { s.mutable_component(5)->mutable_tags()->set_tag(0, "<think>"); }},
      {"reward.component[5].tags.tag",
       [](v1::RewardSpec& s) { s.mutable_component(5)->mutable_tags()->set_tag(0, "answer"); }},
      {"reward.component[6].repetition.ngram",
       [](v1::RewardSpec& s) { s.mutable_component(6)->mutable_repetition()->set_ngram(33); }},
      {"reward.component[6].repetition.scale",
       [](v1::RewardSpec& s) { s.mutable_component(6)->mutable_repetition()->set_scale(0); }},
      {"reward.component[7].language.language",
       [](v1::RewardSpec& s) { s.mutable_component(7)->mutable_language()->set_language("English"); }},
      {"reward.component[8].remote.service",
       [](v1::RewardSpec& s) { s.mutable_component(8)->mutable_remote()->clear_service(); }},
      {"reward.component[8].remote.timeout",
       [](v1::RewardSpec& s) { s.mutable_component(8)->mutable_remote()->set_timeout(0.01); }},
      {"reward.component[8].remote.max_attempts",
       [](v1::RewardSpec& s) { s.mutable_component(8)->mutable_remote()->set_max_attempts(21); }},
      {"reward.component[9].group_length.correct_by",
       [](v1::RewardSpec& s) { s.mutable_component(9)->mutable_group_length()->set_correct_by("absent"); }},
      {"reward.component[9].group_length.correct_by",
       [](v1::RewardSpec& s) { s.mutable_component(9)->mutable_group_length()->set_correct_by("short"); }},
  };
  const v1::RewardSpec good = ToProto(SomeSpec());
  for (const auto& c : cases) {
    v1::RewardSpec bad = good;
    c.change(bad);
    ExpectRefused(bad, c.field);
  }
}

TEST(ScoreItemProto, RoundTripsAndMakesTextUtf8) {
  const ScoreItem in{"prompt", "completion \xFF", {{"answer", "42"}, {"kind", "easy"}}, 17};
  v1::ScoreItem parsed;
  ASSERT_TRUE(parsed.ParseFromString(ToProto(in).SerializeAsString()));
  const ScoreItem out = *FromProto(parsed);
  EXPECT_EQ(out.prompt, in.prompt);
  EXPECT_EQ(out.completion, "completion \xEF\xBF\xBD");
  EXPECT_EQ(out.fields, in.fields);
  EXPECT_EQ(out.completion_tokens, 17);
}

TEST(ScoreItemProto, IsRefusedWithTooManyOrTooLargeFields) {
  v1::ScoreItem many;
  for (int i = 0; i < 300; ++i) (*many.mutable_fields())["f" + std::to_string(i)] = "x";
  EXPECT_THAT(std::string(FromProto(many).status().message()), StartsWith("fields:"));
  v1::ScoreItem large;
  (*large.mutable_fields())["tests"] = std::string((4 << 20) + 1, 'x');
  EXPECT_THAT(std::string(FromProto(large).status().message()), StartsWith("fields[\"tests\"]:"));
}

}  // namespace
}  // namespace sluice
