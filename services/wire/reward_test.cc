#include "services/wire/reward.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

RewardSpec SomeSpec() {
  RewardSpec out;
  out.components = {{"answer", 1, MathScorerSpec{}},
                    {"form", 0.1, RegexScorerSpec{"<a>.*</a>"}},
                    {"expression", 0, ExpressionScorerSpec{}},
                    {"length", 2, LengthScorerSpec{10, 20}}};
  return out;
}

void ExpectRefused(const v1::RewardSpec& bad, const std::string& field) {
  const absl::Status status = FromProto(bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(status.message()), StartsWith(field + ":"));
}

TEST(RewardSpecProto, RoundTripsEveryScorer) {
  const RewardSpec in = SomeSpec();
  const RewardSpec out = *FromProto(ToProto(in));
  ASSERT_EQ(out.components.size(), in.components.size());
  for (size_t i = 0; i < in.components.size(); ++i) {
    EXPECT_EQ(out.components[i].name, in.components[i].name);
    EXPECT_EQ(out.components[i].weight, in.components[i].weight);
    EXPECT_EQ(out.components[i].scorer.index(), in.components[i].scorer.index());
  }
  EXPECT_EQ(std::get<RegexScorerSpec>(out.components[1].scorer).pattern, "<a>.*</a>");
  EXPECT_EQ(std::get<LengthScorerSpec>(out.components[3].scorer).hard_limit, 20);
}

TEST(RewardSpecProto, GivesAComponentWeightOneByDefault) {
  v1::RewardSpec proto = ToProto(SomeSpec());
  proto.mutable_component(2)->clear_weight();
  EXPECT_EQ(FromProto(proto)->components[2].weight, 1);
  EXPECT_EQ(FromProto(ToProto(SomeSpec()))->components[2].weight, 0);
}

TEST(RewardSpecProto, IsRefusedWhenAComponentIsWrong) {
  const v1::RewardSpec good = ToProto(SomeSpec());
  ExpectRefused(v1::RewardSpec(), "reward.component");
  v1::RewardSpec bad = good;
  bad.mutable_component(0)->clear_math();
  ExpectRefused(bad, "reward.component[0].scorer");
  bad = good;
  bad.mutable_component(1)->set_name("answer");
  ExpectRefused(bad, "reward.component[1].name");
  bad = good;
  bad.mutable_component(1)->set_weight(std::numeric_limits<double>::infinity());
  ExpectRefused(bad, "reward.component[1].weight");
  bad = good;
  bad.mutable_component(1)->mutable_regex()->set_pattern(std::string(4097, 'x'));
  ExpectRefused(bad, "reward.component[1].regex.pattern");
  bad = good;
  bad.mutable_component(3)->mutable_length()->set_hard_limit(10);
  ExpectRefused(bad, "reward.component[3].length.hard_limit");
  bad = good;
  bad.mutable_component(3)->mutable_length()->set_soft_limit(0);
  ExpectRefused(bad, "reward.component[3].length.soft_limit");
}

TEST(ScoreItemProto, RoundTripsAndMakesTextUtf8) {
  const ScoreItem in{"prompt", "completion \xFF", {{"answer", "42"}, {"kind", "easy"}}};
  v1::ScoreItem parsed;
  ASSERT_TRUE(parsed.ParseFromString(ToProto(in).SerializeAsString()));
  const ScoreItem out = *FromProto(parsed);
  EXPECT_EQ(out.prompt, in.prompt);
  EXPECT_EQ(out.completion, "completion \xEF\xBF\xBD");
  EXPECT_EQ(out.fields, in.fields);
}

TEST(ScoreItemProto, IsRefusedWithTooManyOrTooLargeFields) {
  v1::ScoreItem many;
  for (int i = 0; i < 300; ++i) (*many.mutable_fields())["f" + std::to_string(i)] = "x";
  EXPECT_THAT(std::string(FromProto(many).status().message()), StartsWith("fields:"));
  v1::ScoreItem large;
  (*large.mutable_fields())["tests"] = std::string((1 << 20) + 1, 'x');
  EXPECT_THAT(std::string(FromProto(large).status().message()), StartsWith("fields[\"tests\"]:"));
}

}  // namespace
}  // namespace sluice
