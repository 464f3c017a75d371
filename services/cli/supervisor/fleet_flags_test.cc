#include "services/cli/supervisor/fleet_flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

FleetShape Unusual() {
  FleetShape shape;
  shape.rollout_workers = 3;
  shape.threads = 2;
  shape.http = true;
  shape.scorers = {"judge=127.0.0.1:1", "model=127.0.0.1:2"};
  shape.stop_seconds = 12.5;
  shape.keep_free_bytes = 0;
  return shape;
}

TEST(FleetFlags, AreTheShapeThereAndBack) {
  for (const FleetShape& shape : {FleetShape(), Unusual()}) {
    const auto back = ShapeOf(FlagsOf(shape));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, shape);
  }
}

TEST(FleetFlags, AValueThatIsNoneIsNamed) {
  for (const char* value : {"0", "x", "257", ""}) {
    EXPECT_THAT(std::string(ShapeOf({{"--rollout", {value}}}).status().message()), StartsWith("--rollout: "))
        << value;
  }
  EXPECT_TRUE(ShapeOf({{"--of-a-newer-program", {"1"}}}).ok());
}

TEST(FleetFlags, AreThoseOfTheLastStartWhereNoneIsGiven) {
  const FlagValues before = FlagsOf(Unusual());
  FleetShape now;
  now.rollout_workers = 5;
  // --no-http: given, and off.
  const auto shape = ShapeOf(WithRemembered(FlagsOf(now), {"--rollout", "--http"}, before));
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->rollout_workers, 5);
  EXPECT_FALSE(shape->http);
  EXPECT_EQ(shape->threads, 2) << "they follow from --rollout no more: a running job depends on them";
  EXPECT_THAT(shape->scorers, ElementsAre("judge=127.0.0.1:1", "model=127.0.0.1:2"));
}

TEST(FleetFlags, DifferencesNameTheFlagAndWhatDependsOnIt) {
  FleetShape now = Unusual();
  EXPECT_THAT(Differences(FlagsOf(Unusual()), FlagsOf(now)), IsEmpty());
  now.threads = 4;
  now.http = false;
  now.rollout_workers = 1;
  const auto lines = Differences(FlagsOf(Unusual()), FlagsOf(now));
  EXPECT_THAT(lines, ElementsAre("--http not set, was on", "--rollout 1, was 3",
                                 StartsWith("--threads 4, was 2: the steps of a job that goes on")));
}

TEST(LearnerLayout, DifferenceNamesBothAndHowToHaveTheOldOne) {
  const std::vector<LearnerLayout> layouts = {{100, 2, 1}, {200, 1, 4}, {300, 1, 2}};
  EXPECT_EQ(LayoutDifference(layouts, 99), "") << "before the first that is known";
  EXPECT_EQ(LayoutDifference(layouts, 300), "");
  EXPECT_EQ(LayoutDifference({}, 300), "");
  const std::string difference = LayoutDifference(layouts, 199);
  EXPECT_THAT(difference,
              StartsWith("the learner had 2 ranks with 1 thread when it was recorded and has 1 rank "
                         "with 2 threads now"));
  EXPECT_THAT(difference, EndsWith("`sluice up --learner-ranks 2 --threads 1`"));
}

TEST(FleetFlags, AsArgumentsARepeatedFlagIsWrittenForEachValue) {
  EXPECT_THAT(ArgumentsOf({{"--http", {}}, {"--scorer", {"a=1", "b=2"}}}),
              ElementsAre("--http", "--scorer", "a=1", "--scorer", "b=2"));
}

}  // namespace
}  // namespace sluice::cli
