#include "core/rl/advantage.h"

#include <cmath>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(GroupAdvantages, AreExactlyZeroWhenAllRewardsTie) {
  for (double r : {0.0, 0.1, 0.3, 1.0 / 3, 1e9}) {
    for (size_t n = 1; n <= 17; ++n) {
      for (bool normalize : {false, true}) {
        for (double a : GroupAdvantages(std::vector<double>(n, r), normalize)) EXPECT_EQ(a, 0.0);
      }
    }
  }
}

TEST(GroupAdvantages, SubtractTheMeanAndDivideByTheUnbiasedStd) {
  const std::vector<double> rewards = {0, 0, 1, 1};
  EXPECT_EQ(GroupAdvantages(rewards, false), (std::vector<double>{-0.5, -0.5, 0.5, 0.5}));
  const std::vector<double> normalised = GroupAdvantages(rewards, true);
  EXPECT_NEAR(normalised[3], 0.5 / (std::sqrt(1.0 / 3) + 1e-6), 1e-12);
}

TEST(AssignAdvantages, LeavesSamplesWithoutARewardOutOfTheStatistics) {
  Group group;
  group.samples.resize(3);
  group.samples[0].verdict = {VerdictKind::kCorrect, 1};
  group.samples[1].verdict = {VerdictKind::kInfrastructure, 0};
  group.samples[2].verdict = {VerdictKind::kWrong, 0};
  EXPECT_FALSE(AssignAdvantages(group, false));
  EXPECT_EQ(group.samples[0].advantage, 0.5);
  EXPECT_EQ(group.samples[1].advantage, 0.0);
  EXPECT_EQ(group.samples[2].advantage, -0.5);
}

TEST(AssignAdvantages, SaysThatAGroupIsTied) {
  Group group;
  group.samples.resize(2);
  for (auto& sample : group.samples) sample.verdict = {VerdictKind::kWrong, 0};
  EXPECT_TRUE(AssignAdvantages(group, true));
}

}  // namespace
}  // namespace sluice
