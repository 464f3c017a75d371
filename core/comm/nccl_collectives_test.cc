#include "core/comm/nccl_collectives.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

TEST(NcclCollectives, RefuseToListenOnEveryInterface) {
  unsetenv("NCCL_SOCKET_IFNAME");
  MemoryKeyValue store;
  EXPECT_EQ(ConnectNccl({}, &store, Soon()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(NcclCollectives, NameTheMissingDevice) {
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  MemoryKeyValue store;
  const absl::Status status = ConnectNccl({.device = 1000}, &store, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("CUDA device 1000"), absl::string_view::npos) << status;
}

TEST(NcclCollectives, SumOnADevice) {
  if (torch::cuda::device_count() == 0) GTEST_SKIP() << "this machine has no CUDA device";
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  MemoryKeyValue store;
  auto gang = ConnectNccl({}, &store, Soon());
  ASSERT_TRUE(gang.ok()) << gang.status();
  const std::vector<float> values = {1, 2, 3};
  std::vector<float> mine(3);
  ASSERT_TRUE((*gang)->ReduceScatterSum(values, absl::MakeSpan(mine), Soon()).ok());
  EXPECT_EQ(mine, values);
  std::vector<double> few = {0.5};
  ASSERT_TRUE((*gang)->AllReduceSum(absl::MakeSpan(few), Soon()).ok());
  EXPECT_EQ(few[0], 0.5);
}

}  // namespace
}  // namespace sluice
