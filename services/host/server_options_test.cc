#include "services/host/server_options.h"

#include <string>

#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ServerOptions, AreReadFromTheCommandLine) {
  CLI::App app;
  ServerOptions options;
  AddServerOptions(app, options);
  app.parse(
      "--listen 127.0.0.1:5 --advertise 127.0.0.1:8 --metrics-listen 127.0.0.1:6 --address-file a.json "
      "--state s --coordinator "
      "127.0.0.1:7 --name rollout-1 --log-level debug",
      false);
  EXPECT_EQ(options.listen, "127.0.0.1:5");
  EXPECT_EQ(options.advertise, "127.0.0.1:8");
  EXPECT_EQ(options.metrics_listen, "127.0.0.1:6");
  EXPECT_EQ(options.address_file, "a.json");
  EXPECT_EQ(options.state_dir, "s");
  EXPECT_EQ(options.coordinator, "127.0.0.1:7");
  EXPECT_EQ(options.name, "rollout-1");
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_TRUE(Validate(options).ok());
}

TEST(ServerOptions, AreRefusedWhenAnyAddressIsNotLoopback) {
  ServerOptions options;
  options.coordinator = "192.168.0.1:80";
  EXPECT_THAT(std::string(Validate(options).message()), StartsWith("--coordinator: "));
  options = {};
  options.metrics_listen = "0.0.0.0:0";
  EXPECT_THAT(std::string(Validate(options).message()), StartsWith("--metrics-listen: "));
  options = {};
  options.advertise = "example.com:1";
  EXPECT_THAT(std::string(Validate(options).message()), StartsWith("--advertise: "));
}

TEST(ApplyLogLevel, RefusesAnUnknownName) {
  EXPECT_EQ(ApplyLogLevel("loud").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ApplyLogLevel("info").ok());
}

}  // namespace
}  // namespace sluice
