#include "services/host/run.h"

#include <signal.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/host/testing_health.h"
#include "sluice/v1/fleet.grpc.pb.h"

namespace sluice {
namespace {

using ::testing::ExitedWithCode;

void WaitForEver() { absl::Notification().WaitForNotification(); }
void Signal(int number) { kill(getpid(), number); }  // blocked by RunRole, taken by StopControl

// What a role without services does at each of its moments.
struct Script {
  std::function<void()> on_build = [] {};
  std::function<void(Host&)> on_serving = [](Host&) { Signal(SIGTERM); };
  std::function<void(StopControl&)> on_stopping = [](StopControl&) {};
};

class ScriptedRole final : public HostedRole {
 public:
  explicit ScriptedRole(const Script& script) : script_(script) {}
  std::vector<grpc::Service*> Services() override { return {}; }
  absl::Status OnServing(Host& host) override {
    script_.on_serving(host);
    return absl::OkStatus();
  }
  void OnStopping(StopControl& stop) override { script_.on_stopping(stop); }

 private:
  const Script script_;
};

int RunScript(const Script& script, std::vector<std::string> arguments = {}) {
  std::vector<char*> argv = {const_cast<char*>("sluice-test")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  RoleMain main;
  main.role = "test";
  main.worker_role = v1::ROLLOUT;
  main.build = [&](Host&) -> absl::StatusOr<std::unique_ptr<HostedRole>> {
    script.on_build();
    return std::make_unique<ScriptedRole>(script);
  };
  return RunRole(static_cast<int>(argv.size()), argv.data(), main);
}

// Each runs a process of its own to its end.
class RunRoleDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RunRoleDeathTest, StopsInOrderOnTheFirstSignal) {
  for (const int number : {SIGTERM, SIGINT}) {
    Script script;
    script.on_serving = [number](Host&) { Signal(number); };
    EXPECT_EXIT(_exit(RunScript(script)), ExitedWithCode(0), "stopping signal=SIG");
  }
}

TEST_F(RunRoleDeathTest, DoesNotServeAnyMoreWhileItStops) {
  Script script;
  std::string address, before, after;
  const auto health = [&] { return CheckHealth(*MakeChannel(address)); };
  script.on_serving = [&](Host& host) {
    address = host.address();
    before = health();
    Signal(SIGTERM);
  };
  script.on_stopping = [&](StopControl&) { after = health(); };
  EXPECT_EXIT(
      {
        RunScript(script);
        _exit(before == kServing && after == kNotServing ? 0 : 9);
      },
      ExitedWithCode(0), "");
}

TEST_F(RunRoleDeathTest, SaysWhatItWaitedForWhenTheTimeIsOver) {
  Script script;
  script.on_stopping = [](StopControl& stop) {
    stop.WaitingFor("a checkpoint of job j1");
    WaitForEver();
  };
  EXPECT_EXIT(_exit(RunScript(script, {"--stop-seconds", "0.1"})), ExitedWithCode(1),
              "stop_timed_out.*a checkpoint of job j1");
}

TEST_F(RunRoleDeathTest, CanBeStoppedWhileItStarts) {
  Script script;
  script.on_build = [] { Signal(SIGTERM); };
  script.on_serving = [](Host&) {};
  EXPECT_EXIT(_exit(RunScript(script)), ExitedWithCode(0), "");
  script.on_build = [] {
    Signal(SIGTERM);
    WaitForEver();
  };
  EXPECT_EXIT(_exit(RunScript(script, {"--stop-seconds", "0.1"})), ExitedWithCode(1),
              "stop_timed_out.*the process to start");
}

TEST_F(RunRoleDeathTest, EndsAtOnceOnTheSecondInterrupt) {
  for (const int first : {SIGTERM, SIGINT}) {
    Script script;
    script.on_serving = [first](Host&) { Signal(first); };
    script.on_stopping = [](StopControl&) {
      Signal(SIGINT);
      WaitForEver();
    };
    EXPECT_EXIT(_exit(RunScript(script)), ExitedWithCode(130), "stopped_at_once");
  }
}

TEST_F(RunRoleDeathTest, GoesOnStoppingOnASecondSigterm) {
  Script script;
  script.on_stopping = [](StopControl&) { Signal(SIGTERM); };
  EXPECT_EXIT(_exit(RunScript(script)), ExitedWithCode(0), "stopped");
}

// A coordinator that keeps who left.
class FakeFleet final : public v1::FleetService::Service {
 public:
  grpc::Status RegisterWorker(grpc::ServerContext*, const v1::RegisterWorkerRequest*,
                              v1::RegisterWorkerResponse* response) override {
    response->set_epoch(7);
    response->mutable_lease()->set_nanos(30000000);
    return grpc::Status::OK;
  }
  grpc::Status RenewLease(grpc::ServerContext*, const v1::RenewLeaseRequest*,
                          v1::RenewLeaseResponse* response) override {
    response->mutable_lease()->set_seconds(3600);
    Signal(SIGTERM);  // it is a member now
    return grpc::Status::OK;
  }
  grpc::Status LeaveFleet(grpc::ServerContext*, const v1::LeaveFleetRequest* request,
                          v1::LeaveFleetResponse*) override {
    left = request->name() + " " + std::to_string(request->epoch());
    return grpc::Status::OK;
  }
  std::string left;
};

int RunInAFleet() {
  BlockStopSignals();  // in the threads of this server too
  FakeFleet fleet;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&fleet);
  const auto server = builder.BuildAndStart();
  Script script;
  script.on_serving = [](Host&) {};
  bool left_before = false;
  script.on_stopping = [&](StopControl&) { left_before = !fleet.left.empty(); };
  RunScript(script, {"--coordinator", "127.0.0.1:" + std::to_string(port), "--name", "w"});
  server->Shutdown();
  return fleet.left == "w 7" && !left_before ? 0 : 9;
}

TEST_F(RunRoleDeathTest, LeavesTheFleetWhenItsWorkHasEnded) {
  EXPECT_EXIT(_exit(RunInAFleet()), ExitedWithCode(0), "left_fleet");
}

TEST(RunRole, ExitsWithTwoOnWrongUsage) {
  EXPECT_EQ(RunScript({}, {"--no-such-flag"}), 2);
  EXPECT_EQ(RunScript({}, {"--listen", "0.0.0.0:0"}), 2);
  EXPECT_EQ(RunScript({}, {"--log-level", "loud"}), 2);
  EXPECT_EQ(RunScript({}, {"--stop-seconds", "0"}), 2);
}

TEST(RunRole, ExitsWithTwoWhenThePortIsInUse) {
  auto host = Host::Create("test", {});
  ASSERT_TRUE(host.ok());
  ASSERT_TRUE((*host)->Start().ok());
  EXPECT_EQ(RunScript({}, {"--listen", (*host)->address()}), 2);
}

}  // namespace
}  // namespace sluice
