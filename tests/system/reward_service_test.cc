// The reward service as a process: ours, and the example in Python that takes its place.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/clients/remote_scorer.h"
#include "tests/system/service_process.h"

namespace sluice::system_test {
namespace {

using testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

RewardSpec AnswerAndForm() {
  return {{{"answer", 1, MathScorerSpec{}}, {"form", 0.5, RegexScorerSpec{"<answer>.*</answer>"}}}};
}

std::vector<ScoreItem> Items() {
  return {{"p", "<answer>\n72</answer>", {{"answer", "72"}}},
          {"p", "72", {{"answer", "72"}}},
          {"p", "<answer>7</answer>", {{"answer", "72"}}},
          {"p", "nothing", {{"answer", "72"}}},
          {"p", "72", {}}};
}

// What a service of either kind must say of Items().
void ExpectVerdicts(Scorer& scorer) {
  auto verdicts = scorer.Score(AnswerAndForm(), Items(), Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  const VerdictKind kinds[] = {VerdictKind::kCorrect, VerdictKind::kGraded, VerdictKind::kGraded,
                               VerdictKind::kWrong, VerdictKind::kUndecided};
  const double values[] = {1.5, 1.0, 0.5, 0, 0};
  ASSERT_EQ(verdicts->size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ((*verdicts)[i].kind, kinds[i]) << i;
    EXPECT_DOUBLE_EQ((*verdicts)[i].value, values[i]) << i;
    ASSERT_EQ((*verdicts)[i].components.size(), 2u);
    EXPECT_EQ((*verdicts)[i].components[0].name, "answer");
    EXPECT_EQ((*verdicts)[i].components[1].weight, 0.5);
  }
}

std::string HttpGet(const std::string& address, const std::string& path) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string out;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    const std::string request =
        absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n");
    if (send(fd, request.data(), request.size(), 0) > 0) {
      char buffer[4096];
      for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
        out.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return out;
}

TEST(RewardServiceTest, JudgesShowsMetricsAndStops) {
  ServiceProcess service({BinaryPath("sluice-reward"), "--threads", "2"});
  ASSERT_TRUE(service.AwaitServing());
  RemoteScorer scorer(*Connect(service.address()));
  ExpectVerdicts(scorer);
  const std::string metrics = HttpGet(service.metrics(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("sluice_reward_requests_total{verdict=\"undecided\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("sluice_reward_requests_total{verdict=\"infrastructure\"} 0"));
  EXPECT_THAT(metrics, HasSubstr("process_resident_memory_bytes"));
  EXPECT_EQ(service.Stop().ToString(), "exit code 0");
}

TEST(RewardServiceTest, BadPatternIsRefusedByName) {
  ServiceProcess service({BinaryPath("sluice-reward")});
  ASSERT_TRUE(service.AwaitServing());
  RemoteScorer scorer(*Connect(service.address()));
  auto refused = scorer.Score({{{"form", 1, RegexScorerSpec{"("}}}}, Items(), Soon());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("\"form\""));
  ExpectVerdicts(scorer);  // and goes on
}

TEST(RewardServiceTest, PortInUseIsAClearError) {
  ServiceProcess first({BinaryPath("sluice-reward")});
  ASSERT_TRUE(first.AwaitServing());
  ServiceProcess second({BinaryPath("sluice-reward"), "--listen", first.address()});
  EXPECT_EQ(second.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(second.Log(), HasSubstr(first.address()));
}

TEST(RewardServiceTest, WrongUsageIsAClearError) {
  ServiceProcess unknown({BinaryPath("sluice-reward"), "--no-such-flag"});
  EXPECT_EQ(unknown.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(unknown.Log(), HasSubstr("--no-such-flag"));
  ServiceProcess open({BinaryPath("sluice-reward"), "--listen", "0.0.0.0:0"});
  EXPECT_EQ(open.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(open.Log(), HasSubstr("--listen"));
}

TEST(PythonRewardTest, TakesThePlaceOfOurs) {
  ServiceProcess service({"/usr/bin/python3", SourcePath("examples/python_reward/server.py")});
  ASSERT_TRUE(service.AwaitServing());
  RemoteScorer scorer(*Connect(service.address()));
  ExpectVerdicts(scorer);
  auto detail = scorer.Score(AnswerAndForm(), Items(), Soon());
  ASSERT_TRUE(detail.ok());
  EXPECT_THAT((*detail)[0].components[0].detail, HasSubstr("python"));  // it was not ours that answered
  auto refused = scorer.Score({{{"e", 1, ExpressionScorerSpec{}}}}, Items(), Soon());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("expression"));
  EXPECT_EQ(service.Stop().ToString(), "exit code 0");
}

}  // namespace
}  // namespace sluice::system_test
