#include "core/kernels/machine_limits.h"

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

TEST(MachineLimitsTest, AreNumbersThatAnyMachineReaches) {
  ThreadPool pool(2);
  const MachineLimits limits = MeasureMachineLimits(&pool);
  EXPECT_GT(limits.f32_flops, 1e7);
  EXPECT_GT(limits.bf16_flops, 1e5);
  EXPECT_GT(limits.read_bytes, 1e7);
}

TEST(MachineLimitsTest, NeedNoPool) { EXPECT_GT(MeasureMachineLimits(nullptr).f32_flops, 1e7); }

}  // namespace
}  // namespace sluice::kernels
