#include "services/cli/replay_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

v1::ReplayStep Step(int64_t number) {
  v1::ReplayStep step;
  step.set_step(number);
  step.set_equal(true);
  step.set_recorded_manifest_hash("0123456789abcdef");
  step.set_manifest_hash("0123456789abcdef");
  if (number > 0) step.set_samples_compared(8);
  step.set_recorded_kernel_path("cpu-avx512");
  step.set_kernel_path("cpu-avx512");
  return step;
}

TEST(ReplayTableTest, SaysOfEachStepWhatIsEqual) {
  EXPECT_EQ(ReplayHeading(),
            "  step  weights                             samples                     metrics\n");
  EXPECT_EQ(RenderReplayStep(Step(0)),
            "     0  equal 0123456789ab                  -                           -\n");
  EXPECT_EQ(RenderReplayStep(Step(1)),
            "     1  equal 0123456789ab                  8 equal                     equal\n");
}

TEST(ReplayTableTest, SaysWhatDiffersAndWhatWasTaken) {
  v1::ReplayStep step = Step(3);
  step.set_equal(false);
  step.set_manifest_hash("fedcba9876543210");
  step.set_samples_different(2);
  step.set_samples_taken(4);
  step.mutable_metric()->set_where("kl");
  step.mutable_metric()->set_recorded("1");
  step.mutable_metric()->set_replayed("2");
  EXPECT_EQ(RenderReplayStep(step),
            "     3  DIFFER 0123456789ab fedcba987654    2 of 8 DIFFER, 4 taken      kl: 1 -> 2\n");
  EXPECT_THAT(RenderReplaySummary("j", {Step(2), step}),
              HasSubstr("first in step 3: metric kl: recorded 1, now 2"));
  step.mutable_sample()->set_where("draw 4, sample 1, token 7");
  step.mutable_sample()->set_recorded("11");
  step.mutable_sample()->set_replayed("12");
  EXPECT_EQ(RenderReplaySummary("j", {Step(2), step}),
            "differs from j, first in step 3: draw 4, sample 1, token 7: recorded 11, now 12\n"
            "4 samples of groups that were sampled across versions were taken over as recorded\n");
  EXPECT_FALSE(AllEqual({Step(2), step}));
}

TEST(ReplayTableTest, NamesTheKernelPathsWhereTheyAreNotTheSame) {
  EXPECT_EQ(RenderReplaySummary("j", {Step(0), Step(1)}), "all equal to j: 1 steps, 8 samples\n");
  v1::ReplayStep step = Step(1);
  step.set_kernel_path("cpu-avx2");
  EXPECT_THAT(RenderReplaySummary("j", {step}),
              EndsWith("recorded on kernel path cpu-avx512, replayed on cpu-avx2: "
                       "between kernel paths results differ\n"));
}

}  // namespace
}  // namespace sluice::cli
