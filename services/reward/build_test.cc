// The reward role over gRPC in one process, as a job sees it.
#include "services/reward/build.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "reward/canary.h"
#include "services/clients/remote_scorer.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

// A serving role, and a client.
class RewardProcess {
 public:
  explicit RewardProcess(const RewardFlags& flags) {
    ServerOptions options;
    options.listen = options.metrics_listen = "127.0.0.1:0";
    auto host = Host::Create("reward", options);
    EXPECT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
    auto role = BuildReward(flags, *host_);
    status_ = role.status();
    if (!role.ok()) return;
    role_ = *std::move(role);
    for (grpc::Service* service : role_->Services()) host_->AddService(service);
    EXPECT_TRUE(host_->Start().ok());
    scorer_ = std::make_unique<RemoteScorer>(*Connect(host_->address()));
  }
  ~RewardProcess() {
    scorer_.reset();
    host_->Shutdown(absl::Seconds(1));
  }
  const absl::Status& status() const { return status_; }
  std::string address() const { return host_->address(); }
  Scorer& scorer() { return *scorer_; }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(host_->registry().Collect()); }
  v1::GetInfoResponse Info() {
    const auto stub = v1::RewardService::NewStub(Connect(address())->channel);
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(stub->GetInfo(&context, v1::GetInfoRequest(), &info).ok());
    return info;
  }

 private:
  std::unique_ptr<Host> host_;
  absl::Status status_;
  std::unique_ptr<HostedRole> role_;
  std::unique_ptr<RemoteScorer> scorer_;
};

RewardFlags WithoutSandbox() {
  RewardFlags flags;
  flags.sandbox = "off";
  return flags;
}

ScoreItem Item(std::string completion, std::map<std::string, std::string> fields) {
  return {"p", std::move(completion), std::move(fields)};
}

RewardSpec Code() { return {{{"code", 1, CodeScorerSpec{}}}}; }

TEST(RewardRole, JudgesAndKeepsComponentsApart) {
  RewardProcess process(WithoutSandbox());
  ASSERT_TRUE(process.status().ok()) << process.status();
  RewardSpec spec{{{"answer", 1, MathScorerSpec{}},
                   {"form", 0, TagsScorerSpec{{"think"}}, 1, -1},
                   {"short", 0.5, GroupLengthScorerSpec{"answer"}}}};
  const auto verdicts =
      process.scorer().Score(spec,
                             {Item("<think>hm</think> \\boxed{1/2}", {{"answer", "0.5"}}),
                              Item("\\boxed{1/2}", {{"answer", "0.5"}}), Item("\\boxed{1/2}", {})},
                             Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect) << (*verdicts)[0].detail;
  EXPECT_EQ((*verdicts)[0].value, 1);
  ASSERT_EQ((*verdicts)[0].components.size(), 3u);
  EXPECT_EQ((*verdicts)[1].value, -1);
  EXPECT_EQ((*verdicts)[2].components[0].outcome, "invalid_row");
  EXPECT_THAT(process.Metrics(), HasSubstr("sluice_reward_requests_total{verdict=\"correct\"} 1"));
}

TEST(RewardRole, RefusesProgramsWithoutASandboxAndSaysWhy) {
  RewardProcess process(WithoutSandbox());
  const absl::Status refused = process.scorer().Score(Code(), {Item("x", {})}, Soon()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--sandbox off"));
  const v1::GetInfoResponse info = process.Info();
  EXPECT_THAT(info.code_refused(), HasSubstr("--sandbox off"));
  EXPECT_THAT(info.scorers(), Contains("math"));
  EXPECT_THAT(info.scorers(), Not(Contains("code")));
}

TEST(RewardRole, DoesNotStartWhereTheSandboxIsDemandedAndCannotBeHad) {
  RewardFlags flags;
  flags.sandbox = "on";
  flags.python = "/nonexistent/python3";
  RewardProcess process(flags);
  EXPECT_EQ(process.status().code(), absl::StatusCode::kFailedPrecondition) << process.status();
  EXPECT_THAT(std::string(process.status().message()), HasSubstr("/nonexistent/python3"));
}

TEST(RewardRole, GoesOnWithoutProgramsWhereTheSandboxCannotBeHad) {
  RewardFlags flags;
  flags.python = "/nonexistent/python3";
  RewardProcess process(flags);
  ASSERT_TRUE(process.status().ok()) << process.status();
  EXPECT_THAT(process.Info().code_refused(), HasSubstr("/nonexistent/python3"));
  const RewardSpec math{{{"m", 1, MathScorerSpec{}}}};
  EXPECT_TRUE(process.scorer().Score(math, {Item("\\boxed{4}", {{"answer", "4"}})}, Soon()).ok());
  EXPECT_EQ(process.scorer().Score(Code(), {Item("x", {})}, Soon()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RewardRole, JudgesProgramsBesideMathematics) {
  RewardFlags flags;
  flags.sandbox = "on";
  flags.canary_every = 0;
  RewardProcess process(flags);
  ASSERT_TRUE(process.status().ok()) << process.status();
  RewardSpec spec = Code();
  spec.components.push_back({"length", 0, LengthScorerSpec{10, 1000}});
  const std::string tests = R"({"setup": "", "asserts": ["assert f(2) == 4", "assert f(3) == 6"]})";
  const auto verdicts = process.scorer().Score(
      spec,
      {Item("def f(x):\n    return 2 * x\n", {{"tests", tests}}),
       Item("def f(x):\n    return 4\n", {{"tests", tests}}), Item("def f(x): pass", {})},
      Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect) << (*verdicts)[0].detail;
  EXPECT_EQ((*verdicts)[0].components[0].tests.size(), 2u);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kWrong) << (*verdicts)[1].detail;
  EXPECT_EQ((*verdicts)[2].kind, VerdictKind::kUndecided);
  EXPECT_THAT(process.Metrics(), HasSubstr("sluice_sandbox_runs_total{outcome=\"passed\"} 3"));
  const v1::GetInfoResponse info = process.Info();
  EXPECT_THAT(info.scorers(), Contains("code"));
  ASSERT_GT(info.sandbox_size(), 5);
  for (const v1::SandboxProperty& property : info.sandbox()) {
    EXPECT_THAT(process.Metrics(),
                HasSubstr(absl::StrCat("sluice_sandbox_property{property=\"", property.name(), "\"} 1")));
  }
}

TEST(RewardRole, GivesCanariesOfProgramsTheirVerdicts) {
  RewardFlags flags;
  flags.sandbox = "on";
  RewardProcess process(flags);
  ASSERT_TRUE(process.status().ok()) << process.status();
  for (const Canary& canary : CodeCanaries()) {
    const auto verdicts = process.scorer().Score({{{"c", 1, canary.scorer}}}, {canary.item}, Soon());
    ASSERT_TRUE(verdicts.ok()) << verdicts.status();
    EXPECT_EQ((*verdicts)[0].kind, canary.expected) << canary.name << ": " << (*verdicts)[0].detail;
  }
}

TEST(RewardRole, AsksOtherServicesByTheirNames) {
  RewardProcess other(WithoutSandbox());
  RewardFlags flags = WithoutSandbox();
  flags.scorers = {absl::StrCat("other=", other.address()), "gone=127.0.0.1:1"};
  RewardProcess process(flags);
  ASSERT_TRUE(process.status().ok()) << process.status();
  EXPECT_THAT(process.Info().services(), testing::ElementsAre("gone", "other"));
  // The other one has no scorers of its own to ask: its refusal is this component's failure.
  const RewardSpec spec{{{"answer", 1, MathScorerSpec{}}, {"rm", 1, RemoteScorerSpec{"other"}}}};
  auto verdicts = process.scorer().Score(spec, {Item("\\boxed{4}", {{"answer", "4"}})}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kInfrastructure);
  EXPECT_EQ((*verdicts)[0].components[0].kind, VerdictKind::kCorrect);
  EXPECT_THAT((*verdicts)[0].components[1].detail, HasSubstr("--scorer other=HOST:PORT"));
  RemoteScorerSpec gone{"gone"};
  gone.timeout_seconds = 1;
  gone.max_attempts = 2;
  verdicts = process.scorer().Score({{{"rm", 1, gone}}}, {Item("x", {})}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_THAT((*verdicts)[0].components[0].detail, HasSubstr("gone: UNAVAILABLE"));
}

TEST(RewardRole, NamesTheFlagThatIsWrong) {
  for (const char* scorer : {"judge", "=127.0.0.1:1", "judge=", "judge=192.0.2.1:1"}) {
    RewardFlags flags = WithoutSandbox();
    flags.scorers = {scorer};
    RewardProcess process(flags);
    EXPECT_EQ(process.status().code(), absl::StatusCode::kInvalidArgument) << scorer;
    EXPECT_THAT(std::string(process.status().message()), HasSubstr("--scorer")) << scorer;
  }
  RewardFlags twice = WithoutSandbox();
  twice.scorers = {"a=127.0.0.1:1", "a=127.0.0.1:2"};
  EXPECT_THAT(std::string(RewardProcess(twice).status().message()), HasSubstr("given twice"));
}

TEST(RewardRole, TellsABadItemFromABadCall) {
  RewardProcess process(WithoutSandbox());
  const RewardSpec math{{{"m", 1, MathScorerSpec{}}}};
  std::vector<ScoreItem> items(3, Item("\\boxed{4}", {{"answer", "4"}}));
  items[1].fields["tests"] = std::string((4 << 20) + 1, 'x');
  items[2].completion = std::string(10 << 20, 'x');
  const auto verdicts = process.scorer().Score(math, items, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kUndecided);
  EXPECT_THAT((*verdicts)[1].detail, HasSubstr("fields[\"tests\"]"));
  EXPECT_EQ((*verdicts)[2].kind, VerdictKind::kUndecided);
  EXPECT_THAT((*verdicts)[2].detail, HasSubstr("10485760 bytes"));
}

}  // namespace
}  // namespace sluice
