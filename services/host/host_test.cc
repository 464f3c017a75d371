#include "services/host/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "prometheus/counter.h"
#include "services/host/testing_health.h"
#include "services/rpc/reactors.h"
#include "sluice/v1/weights.grpc.pb.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

int PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port;
}

// What a GET of /metrics answers, headers included.
std::string GetMetrics(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(PortOf(address)));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  close(fd);
  return answer;
}

std::string TemporaryFolder() {
  std::string path = ::testing::TempDir() + "sluice_host_XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

std::unique_ptr<Host> MakeHost(ServerOptions options = {}) {
  absl::StatusOr<std::unique_ptr<Host>> host = Host::Create("test", std::move(options));
  EXPECT_TRUE(host.ok()) << host.status();
  return *std::move(host);
}

TEST(Host, ServesMetricsOfItsRegistryAndOfTheProcessOnAFreePort) {
  const auto host = MakeHost();
  auto& family = prometheus::BuildCounter().Name("sluice_test_total").Help("h").Register(host->registry());
  family.Add({}).Increment(3);
  EXPECT_GT(PortOf(host->metrics_address()), 0);
  const std::string answer = GetMetrics(host->metrics_address());
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("sluice_test_total 3"));
  EXPECT_THAT(answer, HasSubstr("sluice_build_info{role=\"test\""));
  EXPECT_THAT(answer, HasSubstr("process_resident_memory_bytes"));
  EXPECT_GT(ResidentMemoryBytes(), 1 << 20);
}

TEST(Host, TellsTheRoomOnTheDiskOfItsState) {
  EXPECT_THAT(GetMetrics(MakeHost()->metrics_address()),
              ::testing::Not(HasSubstr("sluice_state_free_bytes")));
  ServerOptions options;
  options.state_dir = TemporaryFolder();
  const std::string answer = GetMetrics(MakeHost(options)->metrics_address());
  EXPECT_THAT(answer, HasSubstr("\nsluice_state_free_bytes "));
  EXPECT_THAT(answer, HasSubstr("\nsluice_state_size_bytes "));
}

TEST(Host, SaysThatItServesThroughTheHealthService) {
  const auto host = MakeHost();
  ASSERT_TRUE(host->Start().ok());
  const auto channel = MakeChannel(host->address());
  ASSERT_TRUE(channel.ok());
  EXPECT_EQ(CheckHealth(*channel), kServing);
  host->SetServing(false);
  EXPECT_EQ(CheckHealth(*channel), kNotServing);
}

TEST(Host, WritesItsRealAddressesToTheAddressFile) {
  ServerOptions options;
  options.address_file = TemporaryFolder() + "/address.json";
  options.name = "test-3";
  const auto host = MakeHost(options);
  EXPECT_FALSE(FileExists(options.address_file));
  ASSERT_TRUE(host->Start().ok());
  const nlohmann::json json = nlohmann::json::parse(*ReadFile(options.address_file));
  EXPECT_EQ(json["role"], "test");
  EXPECT_EQ(json["name"], "test-3");
  EXPECT_EQ(json["pid"], getpid());
  EXPECT_EQ(json["grpc"], host->address());
  EXPECT_EQ(json["metrics"], host->metrics_address());
}

TEST(Host, NamesThePortThatIsInUse) {
  const auto first = MakeHost();
  ASSERT_TRUE(first->Start().ok());
  ServerOptions options;
  options.listen = first->address();
  const auto second = MakeHost(options);
  const absl::Status status = second->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("--listen: cannot listen on ", first->address())));
  options = {};
  options.metrics_listen = first->metrics_address();
  EXPECT_THAT(std::string(Host::Create("test", options).status().message()),
              HasSubstr(absl::StrCat("--metrics-listen: cannot listen on ", first->metrics_address())));
}

TEST(Host, RefusesAnAddressThatIsNotLoopback) {
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  EXPECT_EQ(Host::Create("test", options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Host, ReturnsFromWaitWhenAskedToStop) {
  const auto host = MakeHost();
  std::thread stopper([&] { host->RequestStop(); });
  host->Wait();
  stopper.join();
}

TEST(Host, CancelsACallThatOutlivesTheGraceOfAShutdown) {
  // A service whose one call ends only when it is cancelled.
  class Blocking final : public v1::WeightService::CallbackService {
   public:
    explicit Blocking(Executor& executor) : executor_(executor) {}
    grpc::ServerUnaryReactor* GetManifest(grpc::CallbackServerContext* context, const v1::GetManifestRequest*,
                                          v1::GetManifestResponse*) override {
      return RunUnary(executor_, context, [this](const CallContext& call) -> absl::Status {
        absl::Notification cancelled;
        const std::stop_callback wake(call.cancel.stop_token(), [&] { cancelled.Notify(); });
        started.Notify();
        cancelled.WaitForNotification();
        return absl::CancelledError("");
      });
    }
    absl::Notification started;

   private:
    Executor& executor_;
  };
  const auto host = MakeHost();
  Blocking service(host->executor());
  host->AddService(&service);
  ASSERT_TRUE(host->Start().ok());
  const auto stub = v1::WeightService::NewStub(host->server()->InProcessChannel({}));
  std::thread client([&] {
    grpc::ClientContext context;
    v1::GetManifestResponse response;
    EXPECT_FALSE(stub->GetManifest(&context, {}, &response).ok());
  });
  service.started.WaitForNotification();
  host->Shutdown(absl::Milliseconds(1));
  client.join();
}

}  // namespace
}  // namespace sluice
