// The calls that the coordinator makes: effects of the running job's scheduler become calls to workers, whose
// answers come back to the actor's thread.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/fail_point.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// Only what is trained on is handed over: of a group with fewer than two rewards nothing.
Group RewardedOnly(Group group) {
  std::erase_if(group.samples, [](const ScoredSample& sample) { return !sample.verdict.HasReward(); });
  if (group.samples.size() < 2) group.samples.clear();
  return group;
}

absl::Status AddGroups(Trainer& trainer, Store& store, const JobId& job, PolicyVersion version,
                       const std::vector<Draw>& draws) {
  for (Draw draw : draws) {
    SLUICE_ASSIGN_OR_RETURN(Group group, store.LoadGroup(job, draw));
    SLUICE_RETURN_IF_ERROR(trainer.AddGroup(job, version, RewardedOnly(std::move(group))));
    SLUICE_FAIL_POINT("coordinator.group_handed_over");
  }
  return absl::OkStatus();
}

// What the worker itself sampled of a completion that is finished.
int64_t NewTokens(const RolloutRequest& request, const Trajectory& trajectory) {
  if (trajectory.finish_reason == FinishReason::kUnspecified) return 0;
  auto tokens = static_cast<int64_t>(trajectory.tokens.size());
  for (const Trajectory& begun : request.begun) {
    if (begun.key.index == trajectory.key.index) tokens -= static_cast<int64_t>(begun.tokens.size());
  }
  return tokens;
}

// One call to the learner, with all that it needs.
struct LearnerCall {
  StartLearner start;
  JobId job;
  JobSpec spec;
  std::vector<SupervisedExample> examples;
  std::shared_ptr<Trainer> trainer;
  std::shared_ptr<Store> store;
  std::optional<ReplaySource> replay = std::nullopt;
};

struct LearnerAnswer {
  LearnerDone done;
  std::map<std::string, double> metrics;
  std::optional<absl::StatusOr<RecordedStep>> recorded;  // of a replay's new version
};

absl::Status ExpectRecorded(const LearnerCall& call, PolicyVersion version, LearnerAnswer& answer) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, call.store->LoadBatch(call.job, version));
  if (batch && batch->committed) answer.done.expected_hash = batch->manifest_hash;
  return absl::OkStatus();
}

absl::Status RunStep(const LearnerCall& call, const std::vector<Draw>& draws, LearnerAnswer& answer) {
  SLUICE_ASSIGN_OR_RETURN(StepResult result, call.trainer->Step(call.job, call.start.number, draws));
  SLUICE_FAIL_POINT("coordinator.step_answered");
  answer.done.policy = std::move(result.policy);
  answer.done.checkpointed = result.checkpointed;
  answer.metrics = std::move(result.metrics.values);
  return absl::OkStatus();
}

void ReadRecorded(const LearnerCall& call, PolicyVersion version, LearnerAnswer& answer) {
  if (call.replay)
    answer.recorded = ReadRecordedStep(*call.store, *call.replay, call.job, version, call.start.draws);
}

absl::Status RunLearnerCall(const LearnerCall& call, LearnerAnswer& answer) {
  switch (call.start.op) {
    case LearnerOp::kOpen: {
      SLUICE_ASSIGN_OR_RETURN(answer.done.state, call.trainer->Open(call.job, call.spec));
      SLUICE_FAIL_POINT("coordinator.learner_opened");
      return ExpectRecorded(call, answer.done.state.version, answer);
    }
    case LearnerOp::kSupervise: {
      SLUICE_ASSIGN_OR_RETURN(StepMetrics metrics,
                              call.trainer->Supervise(call.job, call.start.number, call.examples));
      answer.metrics = std::move(metrics.values);
      return absl::OkStatus();
    }
    case LearnerOp::kPublishFirst: {
      SLUICE_ASSIGN_OR_RETURN(answer.done.policy, call.trainer->PublishFirst(call.job));
      SLUICE_FAIL_POINT("coordinator.first_published");
      ReadRecorded(call, 0, answer);
      return ExpectRecorded(call, 0, answer);
    }
    case LearnerOp::kAddGroups:
      return AddGroups(*call.trainer, *call.store, call.job, call.start.number, call.start.draws);
    case LearnerOp::kStep:
      SLUICE_RETURN_IF_ERROR(RunStep(call, call.start.draws, answer));
      ReadRecorded(call, call.start.number, answer);
      return absl::OkStatus();
    case LearnerOp::kRedo: {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch,
                              call.store->LoadBatch(call.job, call.start.number));
      if (!batch)
        return absl::DataLossError(
            absl::StrCat("the batch of step ", call.start.number, " is not in the store"));
      SLUICE_RETURN_IF_ERROR(
          AddGroups(*call.trainer, *call.store, call.job, call.start.number, batch->draws));
      SLUICE_RETURN_IF_ERROR(RunStep(call, batch->draws, answer));
      answer.done.expected_hash = batch->manifest_hash;
      return absl::OkStatus();
    }
    case LearnerOp::kCheckpoint:
      return call.trainer->Checkpoint(call.job).status();
    case LearnerOp::kRollBack: {
      SLUICE_ASSIGN_OR_RETURN(answer.done.policy,
                              call.trainer->RollBack(call.job, call.start.parent, call.start.number));
      SLUICE_FAIL_POINT("coordinator.rollback_answered");
      return ExpectRecorded(call, call.start.number, answer);
    }
    case LearnerOp::kPromote:
      return call.trainer->Promote(call.job, call.start.number).status();
    case LearnerOp::kFindCheckpoint: {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> kept,
                              call.trainer->ListCheckpoints(call.job));
      for (const CheckpointInfo& info : kept) {
        if (info.version <= call.start.number) answer.done.found = std::max(answer.done.found, info.version);
      }
      return absl::OkStatus();
    }
  }
  return absl::InternalError("an unknown call to the learner");
}

}  // namespace

void CoordinatorImpl::Start(ActiveRun& run, const CancelGenerate& a) {
  if (orders_.Cancel(run.number, a.attempt)) return;
  auto it = run.cancels.find(a.attempt);
  if (it == run.cancels.end()) return;
  it->second.Cancel();
  run.cancels.erase(it);
}

// A read of the disk, beside the actor.
void CoordinatorImpl::Start(ActiveRun& run, const TakeRecorded& a) {
  read_pool_.Run([this, inbox = inbox_, store = store_, recorded = run.job->replay()->source().recorded, a,
                  number = run.number] {
    auto group = std::make_shared<absl::StatusOr<Group>>(store->LoadGroup(recorded, a.draw));
    inbox->PostData([this, group, a, number] {
      if (ActiveRun* to = RunOf(number)) to->job->HandleRecorded(options_.clock->Now(), a, std::move(*group));
    });
  });
}

// Answers come back as work for this thread; those of an earlier run are dropped there. The calls own what
// they use except `this`, which only the posted work touches.
void CoordinatorImpl::Start(ActiveRun& run, const StartGenerate& a) {
  auto member = registry_.Find(a.worker);
  if (!member.ok()) return;  // its end is reported by the attempt's deadline
  RolloutRequest request = run.job->RequestFor(a);
  SLUICE_FAIL_POINT("coordinator.generate_starting");
  if (member->work != nullptr) return Order(run, a, *member, request);
  if (member->rollout == nullptr) return;
  const CancelToken cancel;
  run.cancels.emplace(a.attempt, cancel);
  generate_pool_.Run([this, inbox = inbox_, port = member->rollout, request = std::move(request), cancel,
                      number = run.number, attempt = a.attempt, name = a.worker, epoch = member->epoch] {
    const absl::Status status = port->Generate(request, cancel, [&](Trajectory trajectory) {
      const int64_t tokens = NewTokens(request, trajectory);
      auto shared =
          std::make_shared<Trajectory>(std::move(trajectory));  // std::function wants what it holds copyable
      inbox->PostData([this, shared, tokens, number, attempt, name, epoch] {
        if (Fenced(name, epoch)) return;
        registry_.CountTokens(name, tokens);
        if (ActiveRun* to = RunOf(number)) {
          to->job->HandleSample(options_.clock->Now(), attempt, std::move(*shared), tokens);
        }
      });
    });
    inbox->PostData([this, status, number, attempt] {
      ActiveRun* to = RunOf(number);
      if (to == nullptr) return;
      to->cancels.erase(attempt);
      to->job->Handle({options_.clock->Now(), GenerateEnded{attempt, status}});
    });
  });
}

void CoordinatorImpl::Start(ActiveRun& run, const StartScore& a) {
  auto member = registry_.Find(a.worker);
  if (!member.ok() || member->reward == nullptr) return;
  score_pool_.Run([this, inbox = inbox_, port = member->reward, items = run.job->ItemsFor(a),
                   spec = run.job->row().view.spec.reward, deadline = a.deadline, number = run.number,
                   call = a.call, name = a.worker, epoch = member->epoch] {
    auto verdicts =
        std::make_shared<absl::StatusOr<std::vector<Verdict>>>(port->Score(spec, items, deadline));
    SLUICE_FAIL_POINT("coordinator.verdicts_arrived");
    inbox->PostData([this, verdicts, number, call, name, epoch] {
      ActiveRun* to = RunOf(number);
      if (to == nullptr || Fenced(name, epoch)) return;
      to->job->HandleVerdicts(options_.clock->Now(), call, verdicts->status(),
                              verdicts->ok() ? **std::move(verdicts) : std::vector<Verdict>());
    });
  });
}

void CoordinatorImpl::Start(ActiveRun& run, const StartLoad& a) {
  auto member = registry_.Find(a.worker);
  const auto worker = rollouts_.find(a.worker);
  if (!member.ok()) return;
  if (worker == rollouts_.end() || worker->second.run != run.number) return;  // gone, or given to another job
  PolicyRef policy = a.policy;
  if (const auto giver = registry_.Find(a.source); giver.ok()) policy.source = giver->address;
  SLUICE_FAIL_POINT("coordinator.version_announcing");
  if (member->work != nullptr) return Order(run, a, *member, policy, worker->second.turn);
  if (member->rollout == nullptr) return;
  load_pool_.Run([this, inbox = inbox_, port = member->rollout, a, policy = std::move(policy),
                  mode = run.job->row().view.spec.staleness.on_new_version, turn = worker->second.turn,
                  number = run.number] {
    const absl::Status status = port->LoadPolicy(policy, mode, a.deadline);
    inbox->PostData([this, a, status, number, turn] {
      const auto worker = rollouts_.find(a.worker);
      if (worker == rollouts_.end() || worker->second.turn != turn) return;  // another job had it meanwhile
      if (ActiveRun* to = RunOf(number)) {
        to->job->Handle({options_.clock->Now(), PolicyLoaded{a.worker, a.epoch, a.policy.version, status}});
      }
    });
  });
}

void CoordinatorImpl::Start(ActiveRun& run, const StartLearner& a) {
  auto member = registry_.Find(a.worker);
  LearnerCall call{a, run.name(), run.job->row().view.spec, {}, nullptr, store_};
  if (a.op == LearnerOp::kSupervise) call.examples = run.job->ExamplesFor(a.number);
  if (member.ok()) call.trainer = member->learner;
  if (run.job->replay() != nullptr) call.replay = run.job->replay()->source();
  SLUICE_FAIL_POINT("coordinator.learner_call_starting");
  ++learner_calls_[a.worker];
  learner_pool_.Run([this, inbox = inbox_, call = std::move(call), number = run.number] {
    auto answer = std::make_shared<LearnerAnswer>();
    answer->done.call = call.start.call;
    answer->done.status =
        call.trainer == nullptr ? absl::UnavailableError("the learner left") : RunLearnerCall(call, *answer);
    inbox->PostData([this, answer, number, learner = call.start.worker] {
      if (--learner_calls_[learner] == 0) learner_calls_.erase(learner);
      turns_due_ = true;
      if (ActiveRun* to = RunOf(number)) {
        to->job->HandleLearner(options_.clock->Now(), std::move(answer->done), std::move(answer->metrics),
                               std::move(answer->recorded));
      }
    });
  });
}

}  // namespace sluice
