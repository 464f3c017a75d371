// What the store's rows say of a job, for clients: attempts and the quarantine; and their end.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/coordinator_impl.h"
#include "coordinator/replay/replay_run.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kForgottenAtOnce = 64;
constexpr int32_t kRowsListed = 1000, kMaxRowsListed = 10000;

absl::StatusOr<int32_t> RowsWanted(int32_t limit) {
  if (limit < 0 || limit > kMaxRowsListed) {
    return absl::InvalidArgumentError(absl::StrCat("limit: must be between 0 and ", kMaxRowsListed));
  }
  return limit == 0 ? kRowsListed : limit;
}

absl::Status ForgetOn(Trainer& learner, Store& store, const std::string& name) {
  while (true) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<JobId> jobs, store.ListKeptByLearner(name, kForgottenAtOnce));
    if (jobs.empty()) return absl::OkStatus();
    absl::Status first;  // what cannot be removed of one job does not keep the others
    for (const JobId& job : jobs) {
      const absl::Status forgotten = learner.Forget(job);
      if (absl::IsUnimplemented(forgotten) || absl::IsUnavailable(forgotten)) return forgotten;
      first.Update(forgotten);
      if (forgotten.ok())
        SLUICE_RETURN_IF_ERROR(store.Transact([&](StoreTransaction& tx) { return tx.LearnerForgot(job); }));
    }
    SLUICE_RETURN_IF_ERROR(first);
  }
}

}  // namespace

absl::StatusOr<std::vector<AttemptView>> CoordinatorImpl::ListAttempts(const JobId& job,
                                                                       std::optional<Draw> draw,
                                                                       int32_t limit) {
  SLUICE_RETURN_IF_ERROR(views_.Get(job).status());
  SLUICE_ASSIGN_OR_RETURN(const int32_t rows, RowsWanted(limit));
  return store_->ListAttempts(job, draw, rows);
}

absl::StatusOr<std::vector<QuarantineView>> CoordinatorImpl::ListQuarantine(const JobId& job, int32_t limit) {
  SLUICE_RETURN_IF_ERROR(views_.Get(job).status());
  SLUICE_ASSIGN_OR_RETURN(const int32_t rows, RowsWanted(limit));
  return store_->ListQuarantine(job, rows);
}

absl::StatusOr<std::vector<ReplayStepView>> CoordinatorImpl::ListReplaySteps(const JobId& job,
                                                                             PolicyVersion after,
                                                                             int32_t limit) {
  SLUICE_ASSIGN_OR_RETURN(const JobView view, Snapshot(job));
  if (view.spec.replay.job.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job, " is no replay"));
  }
  SLUICE_ASSIGN_OR_RETURN(const int32_t rows, RowsWanted(limit));
  return store_->ListReplaySteps(job, after, rows);
}

absl::Status CoordinatorImpl::Delete(const JobId& job) {
  const absl::StatusOr<JobSnapshot> view = views_.Get(job);
  if (!view.ok()) {
    SLUICE_ASSIGN_OR_RETURN(const bool before, store_->WasDeleted(job));
    return before ? absl::OkStatus() : view.status();
  }
  if (!IsTerminal((*view)->state)) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job, " has not ended (",
                                                      JobStateName((*view)->state), "): `sluice cancel ", job,
                                                      "` ends it"));
  }
  return OnActor([this, job] { return DeleteOnActor(job); });
}

absl::Status CoordinatorImpl::DeleteOnActor(const JobId& job) {
  for (const JobId& other : order_) {
    const ActiveRun* run = RunOfJob(other);
    const JobRow& row = run != nullptr ? run->job->row() : waiting_.at(other);
    const FromSpec& from = row.view.spec.from;
    if (from.reference == job || (from.job == job && row.view.version < 0)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", other, ", which has not ended, needs the weights of ", job));
    }
    if (row.view.spec.replay.job != job) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("job ", other, ", which has not ended, is a replay of ", job, " and reads its samples"));
  }
  SLUICE_RETURN_IF_ERROR(
      store_->Transact([&](StoreTransaction& tx) { return tx.DeleteJob(job, options_.clock->Now()); }));
  views_.Remove(job);
  for (const auto& [name, member] : learners_) ForgetDeleted(name);
  LogInfo("job_deleted", {{"job", job}});
  return absl::OkStatus();
}

// Tells a learner, beside the actor, to remove what it has of jobs that were deleted; again until it did.
void CoordinatorImpl::ForgetDeleted(const std::string& learner) {
  if (const auto under_way = forgetting_.find(learner); under_way != forgetting_.end()) {
    under_way->second = true;
    return;
  }
  forget_again_.erase(learner);
  const auto member = learners_.find(learner);
  if (member == learners_.end()) return;  // when it registers
  forgetting_[learner] = false;
  learner_pool_.Run([this, store = store_, inbox = inbox_, name = learner, port = member->second.learner] {
    const absl::Status told = ForgetOn(*port, *store, name);
    if (!told.ok()) LogWarning("learner_keeps_deleted_job", {{"learner", name}, {"why", told.ToString()}});
    inbox->PostControl([this, name, ok = told.ok()] {
      const bool more = forgetting_.extract(name).mapped();
      if (!ok) forget_again_[name] = absl::Now() + options_.forget_retry;
      if (ok && more) ForgetDeleted(name);
    });
  });
}

absl::Status CoordinatorImpl::PrepareReplay(JobSpec& spec, const std::string& files_hash) {
  if (spec.replay.job.empty()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const JobView recorded, Snapshot(spec.replay.job));
  SLUICE_ASSIGN_OR_RETURN(const std::string before, store_->LoadFilesHash(spec.replay.job));
  if (before != files_hash) {
    return absl::FailedPreconditionError(
        absl::StrCat("the prompt files changed since ", recorded.job,
                     " was submitted: it can be replayed with those it had"));
  }
  if (recorded.version < 1) {
    return absl::FailedPreconditionError(absl::StrCat("job ", recorded.job, " has no step to replay yet"));
  }
  if (spec.replay.steps == 0) spec.replay.steps = recorded.version;
  return CheckReplay(*store_, spec, recorded).status();
}

absl::Status CoordinatorImpl::PrepareFrom(JobSpec& spec, std::string& learner) {
  FromSpec& from = spec.from;
  from.first_step = 0;
  from.first_prompt = 0;
  if (from.job.empty()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const JobView other, Snapshot(from.job));
  if (from.version == kNoPolicyVersion) from.version = other.promoted >= 0 ? other.promoted : other.version;
  if (from.version < 0 || from.version > other.version) {
    return absl::FailedPreconditionError(absl::StrCat(
        "from.policy_version: job ", from.job,
        other.version < 0 ? " has no version yet" : absl::StrCat("'s last version is ", other.version)));
  }
  learner = other.learner;
  if (!from.reference.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const JobView reference, Snapshot(from.reference));
    if (!reference.spec.from.reference.empty()) {
      from.reference = reference.spec.from.reference;
      const absl::Status kept = Snapshot(from.reference).status();
      if (!kept.ok()) return Annotate(kept, absl::StrCat("from.reference: that of job ", reference.job));
    }
  }
  if (!from.continue_training) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const Draw drawn, store_->DrawnUntil(from.job, from.version));
  from.first_step = other.spec.from.first_step + from.version;
  from.first_prompt = other.spec.from.first_prompt + drawn;
  return CheckCheckpoint(from);
}

// Where the learner can be asked; else it says so when the job's turn comes.
absl::Status CoordinatorImpl::CheckCheckpoint(const FromSpec& from) {
  const auto found = ListCheckpoints(from.job);
  if (!found.ok()) return absl::OkStatus();
  std::vector<std::string> versions;
  for (const CheckpointInfo& checkpoint : *found) {
    if (checkpoint.version == from.version) return absl::OkStatus();
    versions.push_back(absl::StrCat(checkpoint.version));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "from.continue_training: there is no full checkpoint of version ", from.version, " of job ", from.job,
      "; there are those of ", versions.empty() ? "none" : absl::StrJoin(versions, ", "),
      ": choose one, or begin with the weights alone"));
}

absl::StatusOr<int64_t> CoordinatorImpl::ReleaseQuarantine(const JobId& job,
                                                           const std::vector<uint64_t>& rows) {
  SLUICE_ASSIGN_OR_RETURN(const JobSnapshot view, views_.Get(job));
  if (IsTerminal(view->state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job, " has ended: nothing is handed out any more"));
  }
  auto released = std::make_shared<int64_t>(0);  // shared with the actor, which may come to it late
  SLUICE_RETURN_IF_ERROR(OnActor([this, job, rows, released]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<uint64_t> barred, store_->LoadQuarantinedRows(job));
    for (uint64_t row : rows) {
      if (std::count(barred.begin(), barred.end(), row) == 0) {
        return absl::NotFoundError(absl::StrCat("row ", row, " of job ", job, " is not in quarantine"));
      }
    }
    SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(*released, tx.ReleaseQuarantine(job, rows));
      return absl::OkStatus();
    }));
    ActiveRun* active = RunOfJob(job);
    prepared_.erase(job);  // what was read has them barred
    if (active == nullptr) return absl::OkStatus();
    active->job->ReleasePrompts(rows);
    active->job->AddEvent(options_.clock->Now(),
                          absl::StrCat("prompts released from quarantine: ", *released));
    return absl::OkStatus();
  }));
  return *released;
}

}  // namespace sluice
