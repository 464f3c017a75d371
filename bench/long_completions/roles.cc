#include "bench/long_completions/roles.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/rl/scorer.h"
#include "core/rl/trainer.h"
#include "nlohmann/json.hpp"
#include "services/clients/fleet_member.h"
#include "services/clients/work_adapter.h"
#include "services/rpc/channel.h"
#include "services/rpc/message_watch.h"
#include "services/servers/reward_adapter.h"
#include "services/servers/trainer_adapter.h"

namespace sluice::bench {
namespace {

// Whole lines, also of several processes and of one that is killed.
void Append(const std::string& file, const std::string& lines) {
  const int out = open(file.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644);
  const bool written =
      out >= 0 && write(out, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (out >= 0) close(out);
  if (!written) std::abort();
}

absl::Status Wrong(const RoleOptions& options, const absl::Status& status) {
  if (!status.ok())
    Append(options.folder + "/wrong", absl::StrCat(options.name, ": ", status.message(), "\n"));
  return status;
}

class KnownWorker final : public RolloutWorker {
 public:
  KnownWorker(const RoleOptions& options, Deaths& deaths) : options_(options), deaths_(deaths) {}

  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode, absl::Time) override {
    absl::MutexLock lock(&mu_);
    if (policy.job == policy_.job && policy.version < policy_.version)
      return absl::AbortedError("a newer one is served");
    policy_ = policy;
    return absl::OkStatus();
  }

  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    PolicyRef policy;
    {
      absl::MutexLock lock(&mu_);
      policy = policy_;
    }
    if (policy.job != request.job) return absl::FailedPreconditionError("no policy of that job");
    SLUICE_ASSIGN_OR_RETURN(std::vector<Member> members, Begin(request, policy));
    while (!members.empty()) {
      if (cancel.cancelled()) return absl::CancelledError("told so");
      if (absl::Now() > request.deadline) return absl::DeadlineExceededError("generating");
      absl::SleepFor(options_.piece);
      std::string lines;
      for (Member& m : members) {
        m.next =
            std::min(m.done + std::max(1, request.progress_every_tokens), TokensOf(options_.shape, m.key));
        if (m.next > m.done)
          absl::StrAppend(&lines, m.key.draw, " ", m.key.index, " ", m.done, " ", m.next, "\n");
      }
      Append(absl::StrCat(options_.folder, "/", options_.name, ".generated"), lines);
      for (Member& m : members) {
        if (cancel.cancelled()) return absl::CancelledError("told so");
        deaths_.Reach("worker.report");
        on_trajectory(ReportOf(m, request));
      }
      std::erase_if(members, [&](const Member& m) { return m.done == TokensOf(options_.shape, m.key); });
    }
    return absl::OkStatus();
  }

  absl::Status Control(RolloutCommand, absl::Time) override { return absl::OkStatus(); }
  absl::StatusOr<RolloutWorkerState> GetState() override { return RolloutWorkerState{}; }

 private:
  struct Member {
    SampleKey key;
    int32_t done = 0, next = 0;
    std::vector<VersionSpan> before;  // of what it goes on from
    VersionSpan own;
  };

  absl::StatusOr<std::vector<Member>> Begin(const RolloutRequest& request, const PolicyRef& policy) {
    const auto prompt = static_cast<int32_t>(request.prompt_tokens.size());
    std::vector<Member> out;
    for (uint32_t index : request.indices) {
      Member& m = out.emplace_back();
      m.key = {request.draw, index};
      m.own = {0, 0, policy.version, policy.manifest_hash, "known"};
    }
    for (const Trajectory& begun : request.begun) {
      SLUICE_RETURN_IF_ERROR(Wrong(options_, CheckKnown(options_.shape, prompt, begun)));
      for (Member& m : out) {
        if (m.key != begun.key) continue;
        m.done = static_cast<int32_t>(begun.tokens.size());
        m.before = begun.spans;
      }
    }
    for (Member& m : out) m.own.begin = m.done;
    return out;
  }

  // What is new of it, or all of one that is finished.
  Trajectory ReportOf(Member& m, const RolloutRequest& request) const {
    const bool whole = m.next == TokensOf(options_.shape, m.key) || !request.progress_in_parts;
    const int32_t begin = whole ? 0 : std::exchange(m.done, m.next);
    m.done = m.next;
    Trajectory out =
        KnownPart(options_.shape, m.key, static_cast<int32_t>(request.prompt_tokens.size()), begin, m.next);
    std::vector<VersionSpan> spans = m.before;
    spans.push_back(m.own);
    spans.back().end = m.next;
    for (VersionSpan& span : spans) {
      span.begin = std::max(span.begin, begin);
      if (span.begin < span.end) out.spans.push_back(span);
    }
    out.worker = options_.name;
    out.attempt = request.attempt;
    return out;
  }

  const RoleOptions& options_;
  Deaths& deaths_;
  absl::Mutex mu_;
  PolicyRef policy_ ABSL_GUARDED_BY(mu_);
};

class SlowScorer final : public Scorer {
 public:
  explicit SlowScorer(Deaths& deaths) : deaths_(deaths) {}
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time, const CancelToken&) override {
    deaths_.Reach("reward.score");
    std::vector<Verdict> out(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const bool right = items[i].completion.size() % 2 == 0;
      out[i].kind = right ? VerdictKind::kCorrect : VerdictKind::kWrong;
      out[i].value = right ? 1 : 0;
      for (const auto& component : spec.components)
        out[i].components.push_back({component.name, out[i].kind, out[i].value, component.weight});
    }
    return out;
  }

 private:
  Deaths& deaths_;
};

// Versions are files; groups that no version has are lost with the process.
class CheckingTrainer final : public Trainer {
 public:
  CheckingTrainer(const RoleOptions& options, Deaths& deaths) : options_(options), deaths_(deaths) {
    while (FileExists(FileOf(version_ + 1))) ++version_;
  }
  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec&) override {
    return TrainerState{absl::StrCat("life-", getpid()), 0, version_,
                        version_ < 0 ? PolicyRef{} : PolicyOf(job)};
  }
  absl::StatusOr<StepMetrics> Supervise(const JobId&, int64_t, absl::Span<const SupervisedExample>) override {
    return absl::UnimplementedError("there is no warm start here");
  }
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override {
    if (version_ < 0) SLUICE_RETURN_IF_ERROR(Commit(0, ""));
    return PolicyOf(job);
  }
  absl::Status AddGroup(const JobId&, PolicyVersion, const Group& group) override {
    std::string lines;
    for (const ScoredSample& sample : group.samples) {
      const Trajectory& t = sample.trajectory;
      const auto prompt = static_cast<int32_t>(group.prompt.tokens.size());
      SLUICE_RETURN_IF_ERROR(Wrong(options_, CheckKnown(options_.shape, prompt, t)));
      if (static_cast<int32_t>(t.tokens.size()) != TokensOf(options_.shape, t.key) ||
          t.key.draw != group.draw)
        return Wrong(options_,
                     absl::DataLossError(absl::StrCat(group.draw, "/", t.key.index, ": not all of it")));
      absl::StrAppend(&lines, t.key.draw, " ", t.key.index, "\n");
    }
    groups_[group.draw] = lines;
    return absl::OkStatus();
  }
  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> draws) override {
    std::string lines;
    if (version == version_ + 1) {
      for (Draw draw : draws) {
        if (groups_.count(draw) == 0)
          return absl::FailedPreconditionError(absl::StrCat("draw ", draw, " is missing"));
        lines += groups_[draw];
      }
      deaths_.Reach("learner.stepping");
      SLUICE_RETURN_IF_ERROR(Commit(version, lines));
      groups_.clear();
      deaths_.Reach("learner.stepped");
    }
    return StepResult{PolicyOf(job), {}, true};
  }
  absl::StatusOr<PolicyRef> RollBack(const JobId&, PolicyVersion, PolicyVersion) override {
    return absl::UnimplementedError("there is nothing to go back to here");
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion) override { return Checkpoint(job); }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId&) override {
    return CheckpointInfo{version_, "nowhere", 0, absl::UnixEpoch()};
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId&) override {
    return std::vector<CheckpointInfo>();
  }
  absl::Status Export(const JobId&, PolicyVersion, const std::string&) override {
    return absl::UnimplementedError("there are no weights here");
  }
  absl::Status Forget(const JobId&) override { return absl::OkStatus(); }

 private:
  std::string FileOf(PolicyVersion version) const {
    return absl::StrCat(options_.folder, "/trained.", version);
  }
  PolicyRef PolicyOf(const JobId& job) const {
    return {job, version_, Sha256Hex(absl::StrCat(job, version_)), "127.0.0.1:1"};
  }
  absl::Status Commit(PolicyVersion version, const std::string& lines) {
    SLUICE_RETURN_IF_ERROR(WriteFileAtomically(FileOf(version), lines));
    version_ = version;
    return absl::OkStatus();
  }

  const RoleOptions& options_;
  Deaths& deaths_;
  PolicyVersion version_ = kNoPolicyVersion;
  std::map<Draw, std::string> groups_;
};

// Where the coordinator is now: it comes back at another port.
std::string CoordinatorOf(const std::string& folder) {
  const nlohmann::json file =
      nlohmann::json::parse(std::ifstream(folder + "/coordinator.json"), nullptr, false);
  return file.is_object() ? file.value("grpc", "127.0.0.1:1") : "127.0.0.1:1";
}

ConnectCoordinator Connecting(const RoleOptions& options, LargestMessage& largest) {
  return [&options, &largest] {
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        CoordinatorOf(options.folder), grpc::InsecureChannelCredentials(), MakeChannelArguments(),
        ClientWatch([&largest](const std::string&, int64_t bytes, bool) { largest.Saw(bytes); }));
  };
}

void AwaitStop() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  int which = 0;
  sigwait(&stop, &which);
}

absl::Status Serve(const RoleOptions& options, v1::WorkerRole role, grpc::Service& service, Deaths& deaths) {
  LargestMessage largest(options.folder, options.name);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  for (const auto& [name, value] : ServerKeepalive()) builder.AddChannelArgument(name, value);
  builder.experimental().SetInterceptorCreators(
      ServerWatch([&](const std::string& method, int64_t bytes, bool received) {
        largest.Saw(bytes);
        if (received && absl::EndsWith(method, "/AddGroup")) deaths.Reach("learner.piece");
      }));
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("no port");
  FleetMemberOptions member;
  member.name = options.name;
  member.role = role;
  member.address = absl::StrCat("127.0.0.1:", port);
  {
    FleetMember membership(Connecting(options, largest), member);
    AwaitStop();
  }
  server->Shutdown(absl::ToChronoTime(absl::Now()));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunWorker(const RoleOptions& options) {
  Deaths deaths(options.folder, options.deaths);
  LargestMessage largest(options.folder, options.name);
  KnownWorker worker(options, deaths);
  v1::RegisterWorkerRequest registration;
  registration.set_name(options.name);
  registration.set_role(v1::ROLLOUT);
  registration.set_address("127.0.0.1:1");
  WorkAdapter adapter(worker, Connecting(options, largest), registration, 1);
  AwaitStop();
  return absl::OkStatus();
}

absl::Status RunReward(const RoleOptions& options) {
  Deaths deaths(options.folder, options.deaths);
  SlowScorer scorer(deaths);
  Executor executor;
  RewardAdapter adapter(scorer, executor);
  return Serve(options, v1::REWARD, adapter, deaths);
}

absl::Status RunLearner(const RoleOptions& options) {
  Deaths deaths(options.folder, options.deaths);
  CheckingTrainer trainer(options, deaths);
  Executor executor;
  TrainerAdapter adapter(trainer, executor);
  return Serve(options, v1::LEARNER, adapter, deaths);
}

}  // namespace sluice::bench
