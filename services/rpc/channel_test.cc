#include "services/rpc/channel.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CheckLoopback, TakesLoopbackAddressesOnly) {
  for (const char* good : {"127.0.0.1:0", "127.9.8.7:65535", "localhost:80", "[::1]:1"}) {
    EXPECT_TRUE(CheckLoopback(good, "--listen").ok()) << good;
  }
  for (const char* bad :
       {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "example.com:80", ":80", "127.0.0.1.evil.com:80",
        "127.evil.com.x:80", "127.0.0.256:80", "127.0.0.1:80,0.0.0.0:81"}) {
    const absl::Status status = CheckLoopback(bad, "--listen");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), StartsWith("--listen: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("TLS and identity are not available yet"));
  }
}

TEST(CheckLoopback, RefusesWhatIsNotHostAndPort) {
  for (const char* bad :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:80r"}) {
    EXPECT_THAT(std::string(CheckLoopback(bad, "--listen").message()), HasSubstr("is not HOST:PORT")) << bad;
  }
}

}  // namespace
}  // namespace sluice
