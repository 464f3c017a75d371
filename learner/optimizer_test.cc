#include "learner/optimizer.h"

#include <cmath>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(AdamwSliceTest, FirstTwoUpdatesEqualHandComputedValues) {
  AdamwSlice slice(1);
  slice.masters()[0] = 1;
  const AdamwParams params{0.1, 0.9, 0.99, 1e-8, 0.5};
  // t=1: m = 0.1 g, v = 0.01 g^2, m^ = g, v^ = g^2: p = 1 (1 - 0.1 0.5) - 0.1 sign(g).
  slice.Update(params, std::vector<float>{4}, 0.5);  // g = 2
  EXPECT_NEAR(slice.masters()[0], 0.85, 1e-6);
  // t=2, g = -1: m = 0.9 0.2 - 0.1 = 0.08, v = 0.99 0.04 + 0.01 = 0.0496; m^ = 0.08/0.19, v^ = 0.0496/0.0199.
  slice.Update(params, std::vector<float>{-2}, 0.5);
  EXPECT_NEAR(slice.masters()[0], 0.85 * 0.95 - 0.1 * (0.08 / 0.19) / std::sqrt(0.0496 / 0.0199), 1e-6);
  EXPECT_EQ(slice.updates(), 2);
  slice.Reset();
  EXPECT_EQ(slice.updates(), 0);
  EXPECT_EQ(slice.first_moment()[0], 0);
}

TEST(SliceSizeTest, CoversAllParametersWithEqualSlices) {
  for (int64_t total : {1, 16, 17, 1000}) {
    for (int ranks : {1, 2, 3, 7}) {
      EXPECT_GE(SliceSize(total, ranks) * ranks, total);
      EXPECT_EQ(SliceSize(total, ranks) % 16, 0);
    }
  }
}

TEST(LearningRateTest, WarmsUpThenStaysOrFallsToItsFraction) {
  OptimizerSpec spec;
  spec.learning_rate = 2;
  spec.warmup_steps = 4;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 0, 100), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 3, 100), 2);
  EXPECT_DOUBLE_EQ(LearningRate(spec, 90, 100), 2);
  spec.schedule = ScheduleKind::kCosine;
  spec.final_fraction = 0.1;
  EXPECT_DOUBLE_EQ(LearningRate(spec, 4, 104), 2);
  EXPECT_NEAR(LearningRate(spec, 54, 104), 2 * 0.55, 1e-12);
  EXPECT_NEAR(LearningRate(spec, 104, 104), 0.2, 1e-12);
  EXPECT_NEAR(LearningRate(spec, 500, 104), 0.2, 1e-12);
}

TEST(LearningRateTest, WarmStartHasItsOwnCosine) {
  WarmStartSpec spec;
  spec.learning_rate = 1;
  spec.warmup_steps = 0;
  spec.steps = 10;
  EXPECT_DOUBLE_EQ(WarmStartLearningRate(spec, 0), 1);
  EXPECT_NEAR(WarmStartLearningRate(spec, 5), 0.5, 1e-12);
  EXPECT_GT(WarmStartLearningRate(spec, 9), 0);
}

}  // namespace
}  // namespace sluice
