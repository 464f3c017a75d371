#include "services/rollout/device.h"

#include <string>

#include "core/kernels/kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(DeviceTest, TheProcessorRunsTheKernels) {
  const auto backend = OpenDevice("cpu");
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->kernel_path(), kernels::KernelPath());
}

// Of a build without CUDA, or one on a machine with a device: the answer to "cuda" is never a processor.
TEST(DeviceTest, CudaIsOpenedOrRefusedWithWhatToDo) {
  const auto backend = OpenDevice("cuda");
  if (backend.ok()) {
    EXPECT_EQ((*backend)->kernel_path(), "torch-cuda");
    return;
  }
  EXPECT_EQ(backend.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(backend.status().message()), HasSubstr("--device cuda"));
  EXPECT_THAT(std::string(backend.status().message()), HasSubstr("or use --device cpu"));
}

TEST(DeviceTest, OtherNamesAreRefused) {
  EXPECT_EQ(OpenDevice("tpu").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
