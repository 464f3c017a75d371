// A Trainer without weights: a version's "manifest hash" is a hash of its parent's and of the groups trained
// on, in order, so a redo that differs in anything is seen. Restart() forgets what no checkpoint covers, as a
// process that was killed does. Failures are scripted. Thread-safe.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/hash.h"
#include "core/rl/trainer.h"

namespace sluice {

class FakeTrainer final : public Trainer {
 public:
  struct TrainedGroup {
    Draw draw = 0;
    PolicyVersion oldest = kNoPolicyVersion;  // version among its spans
    size_t samples = 0;
  };
  struct TrainedStep {
    JobId job;
    PolicyVersion version = kNoPolicyVersion;
    std::vector<TrainedGroup> groups;
  };

  // As after kill -9 and a new start: back to the last checkpoint, groups gone.
  void Restart() {
    absl::MutexLock lock(&mu_);
    ++incarnation_;
    opened_ = false;
    groups_.clear();
    warm_steps_ = checkpoint_warm_steps_;
    results_.erase(results_.upper_bound(checkpoint_), results_.end());
  }
  // The next calls of Step fail with `status`; with `after`, only after the version was made (its answer is
  // lost).
  void FailStep(absl::Status status, bool after = false) {
    absl::MutexLock lock(&mu_);
    step_failures_.push_back({status, after});
  }
  void FailOpen(absl::Status status, int times = 1) {
    absl::MutexLock lock(&mu_);
    for (int i = 0; i < times; ++i) open_failures_.push_back(status);
  }
  // From now on versions come out different: a learner that cannot redo its steps.
  void ChangeArithmetic() {
    absl::MutexLock lock(&mu_);
    salt_ += "'";
  }
  void RestoreArithmetic() {
    absl::MutexLock lock(&mu_);
    salt_.clear();
  }
  // As when it comes back with an empty state folder.
  void LoseFolder() {
    absl::MutexLock lock(&mu_);
    ++incarnation_;
    opened_ = false;
    groups_.clear();
    results_.clear();
    checkpoints_.clear();
    checkpoint_ = kNoPolicyVersion;
    warm_steps_ = checkpoint_warm_steps_ = 0;
  }
  // Calls of Step wait until Unblock.
  void BlockStep() {
    absl::MutexLock lock(&mu_);
    blocked_ = true;
  }
  void UnblockStep() {
    absl::MutexLock lock(&mu_);
    blocked_ = false;
  }
  std::vector<TrainedStep> steps() const {  // every one computed, redone ones again
    absl::MutexLock lock(&mu_);
    return steps_;
  }
  // The manifests' hashes: each is a function of the one before and of all that was trained on.
  std::map<PolicyVersion, std::string> manifests() const {
    absl::MutexLock lock(&mu_);
    std::map<PolicyVersion, std::string> out;
    for (const auto& [version, result] : results_) out[version] = result.policy.manifest_hash;
    return out;
  }
  // Of a job that may not be the one that is open.
  std::map<PolicyVersion, std::string> manifests(const JobId& job) const {
    {
      absl::MutexLock lock(&mu_);
      if (const auto it = kept_.find(job); job != job_ && it != kept_.end()) {
        std::map<PolicyVersion, std::string> out;
        for (const auto& [version, result] : it->second.results) out[version] = result.policy.manifest_hash;
        return out;
      }
    }
    return manifests();
  }
  int opens() const {
    absl::MutexLock lock(&mu_);
    return opens_;
  }
  // The step that makes `version` reports this metric, instead of what it would.
  void SetMetric(PolicyVersion version, const std::string& name, double value) {
    absl::MutexLock lock(&mu_);
    set_metrics_[version][name] = value;
  }
  // The next calls of RollBack fail with `status`; with `after`, only after the version was made.
  void FailRollBack(absl::Status status, bool after = false) {
    absl::MutexLock lock(&mu_);
    rollback_failures_.push_back({status, after});
  }
  // Each that was made: version -> parent.
  std::map<PolicyVersion, PolicyVersion> rollbacks() const {
    absl::MutexLock lock(&mu_);
    return rollbacks_;
  }
  PolicyVersion promoted() const {
    absl::MutexLock lock(&mu_);
    return promoted_;
  }
  std::vector<std::string> exports() const {
    absl::MutexLock lock(&mu_);
    return exports_;
  }

  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) override {
    absl::MutexLock lock(&mu_);
    if (!open_failures_.empty()) {
      absl::Status failure = open_failures_.front();
      open_failures_.pop_front();
      return failure;
    }
    if (job != job_) Switch(job);
    spec_ = spec;
    opened_ = true;
    ++opens_;
    TrainerState state;
    state.incarnation = absl::StrCat("incarnation-", incarnation_);
    state.warm_start_steps = warm_steps_;
    state.version = Last();
    if (state.version >= 0) state.policy = results_.at(state.version).policy;
    return state;
  }

  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    if (batch.empty()) return absl::InvalidArgumentError("batch: empty");
    if (step != warm_steps_) {
      return absl::FailedPreconditionError(
          absl::StrCat("the next supervised step is ", warm_steps_, ", not ", step));
    }
    ++warm_steps_;
    return StepMetrics{{{"loss", 1.0 / static_cast<double>(warm_steps_)}}};
  }

  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    if (results_.count(0) == 0) {
      results_[0].policy = PolicyRef{job, 0, Sha256Hex(absl::StrCat("first", warm_steps_, salt_)), "fake"};
      results_[0].policy.recorded_job_hash = AsRecorded(results_[0].policy);
      MakeCheckpoint();
    }
    return results_.at(0).policy;
  }

  absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    groups_[{version, group.draw}] = group;
    return absl::OkStatus();
  }

  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> draws) override {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](bool* blocked) { return !*blocked; }, &blocked_));
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    if (auto made = results_.find(version); made != results_.end()) return made->second;
    if (version != Last() + 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("the next version is ", Last() + 1, ", not ", version));
    }
    Failure failure;
    if (!step_failures_.empty()) {
      failure = step_failures_.front();
      step_failures_.pop_front();
      if (!failure.after) return failure.status;
    }
    absl::StatusOr<StepResult> result = Make(version, draws);
    if (!failure.status.ok()) return failure.status;
    return result;
  }

  // A version's hash is then one of its parent's alone.
  absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent, PolicyVersion version) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    Failure failure;
    if (!rollback_failures_.empty()) {
      failure = rollback_failures_.front();
      rollback_failures_.pop_front();
      if (!failure.after) return failure.status;
    }
    if (rollbacks_.count(version) == 0 || Last() < version) {
      if (checkpoints_.count(parent) == 0)
        return absl::NotFoundError(absl::StrCat("there is no checkpoint ", parent));
      StepResult& result = results_[version];
      const std::string content = absl::StrCat("rolled back to ", checkpoints_.at(parent));
      result.policy = PolicyRef{job_, version, Sha256Hex(content), "fake"};
      rollbacks_[version] = parent;
      groups_.clear();
      MakeCheckpoint();
    }
    if (!failure.status.ok()) return failure.status;
    if (rollbacks_.at(version) != parent) return absl::FailedPreconditionError("it has another parent");
    return results_.at(version).policy;
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    if (version != Last()) return absl::FailedPreconditionError("it is not the last version");
    MakeCheckpoint();
    promoted_ = version;
    return Info();
  }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = CheckOpen(job); !status.ok()) return status;
    MakeCheckpoint();
    return Info();
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    if (job != job_ || checkpoint_ < 0) return std::vector<CheckpointInfo>();
    return std::vector<CheckpointInfo>{Info()};
  }
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) override {
    absl::MutexLock lock(&mu_);
    exports_.push_back(absl::StrCat(job, " ", version, " ", path));
    return absl::OkStatus();
  }
  absl::Status Forget(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    if (!forget_failures_.empty()) {
      absl::Status failure = forget_failures_.front();
      forget_failures_.pop_front();
      return failure;
    }
    forgotten_.push_back(job);
    return absl::OkStatus();
  }
  void FailForget(absl::Status status) {
    absl::MutexLock lock(&mu_);
    forget_failures_.push_back(std::move(status));
  }
  // Returns when it was told to forget this job, or `timeout` passed: false.
  bool AwaitForgotten(const JobId& job, absl::Duration timeout) const {
    absl::MutexLock lock(&mu_);
    const auto told = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return std::count(forgotten_.begin(), forgotten_.end(), job) > 0;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&told), timeout);
  }

 private:
  // These manifests do not name their job.
  std::string AsRecorded(const PolicyRef& policy) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return spec_.replay.job.empty() ? "" : policy.manifest_hash;
  }
  struct Failure {
    absl::Status status;
    bool after = false;
  };

  // What a job has on disk while another is open.
  struct Kept {
    std::map<PolicyVersion, StepResult> results;
    PolicyVersion checkpoint = kNoPolicyVersion;
    int64_t warm_steps = 0;
    std::map<PolicyVersion, std::string> checkpoints = {};
    PolicyVersion promoted = kNoPolicyVersion;
  };

  // Of the job that was open only what its last checkpoint covers stays.
  void Switch(const JobId& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    results_.erase(results_.upper_bound(checkpoint_), results_.end());
    kept_[job_] = {std::move(results_), checkpoint_, checkpoint_warm_steps_, std::move(checkpoints_),
                   promoted_};
    Kept& found = kept_[job];
    results_ = std::move(found.results);
    checkpoint_ = found.checkpoint;
    checkpoints_ = std::move(found.checkpoints);
    promoted_ = found.promoted;
    warm_steps_ = checkpoint_warm_steps_ = found.warm_steps;
    groups_.clear();
    job_ = job;
  }

  PolicyVersion Last() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return results_.empty() ? kNoPolicyVersion : results_.rbegin()->first;
  }
  absl::Status CheckOpen(const JobId& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return opened_ && job == job_ ? absl::OkStatus()
                                  : absl::FailedPreconditionError("the job is not open here");
  }
  void MakeCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    checkpoint_ = Last();
    checkpoint_warm_steps_ = warm_steps_;
    if (checkpoint_ < 0) return;
    checkpoints_[checkpoint_] = results_.at(checkpoint_).policy.manifest_hash;
  }
  CheckpointInfo Info() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return {checkpoint_, absl::StrCat("checkpoint-", checkpoint_), 1, absl::UnixEpoch()};
  }

  absl::StatusOr<StepResult> Make(PolicyVersion version, absl::Span<const Draw> draws)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    TrainedStep step{job_, version, {}};
    std::string content = absl::StrCat(results_.at(version - 1).policy.manifest_hash, salt_);
    double compared = 0;
    for (Draw draw : draws) {
      auto group = groups_.find({version, draw});
      if (group == groups_.end())
        return absl::FailedPreconditionError(absl::StrCat("group ", draw, " is missing"));
      TrainedGroup trained{draw, kNoPolicyVersion, group->second.samples.size()};
      absl::StrAppend(&content, ";", draw);
      for (const ScoredSample& sample : group->second.samples) {
        absl::StrAppend(&content, ",", sample.trajectory.text, "=", sample.advantage);
        for (const VersionSpan& span : sample.trajectory.spans) {
          trained.oldest = trained.oldest < 0 ? span.version : std::min(trained.oldest, span.version);
        }
        compared += static_cast<double>(sample.trajectory.tokens.size());
      }
      step.groups.push_back(trained);
    }
    groups_.clear();
    steps_.push_back(std::move(step));
    StepResult result;
    result.policy = PolicyRef{job_, version, Sha256Hex(content), "fake"};
    result.metrics.values = {
        {"loss", 0.5}, {"kl", 0.01}, {"exact_compared", compared}, {"exact_max_difference", 0}};
    if (const auto set = set_metrics_.find(version); set != set_metrics_.end()) {
      for (const auto& [name, value] : set->second) result.metrics.values[name] = value;
    }
    result.checkpointed = version % spec_.checkpoint.every_steps == 0;
    result.policy.recorded_job_hash = AsRecorded(result.policy);
    results_[version] = result;
    if (result.checkpointed) MakeCheckpoint();
    return result;
  }

  mutable absl::Mutex mu_;
  JobId job_ ABSL_GUARDED_BY(mu_);
  JobSpec spec_ ABSL_GUARDED_BY(mu_);
  bool opened_ ABSL_GUARDED_BY(mu_) = false, blocked_ ABSL_GUARDED_BY(mu_) = false;
  int incarnation_ ABSL_GUARDED_BY(mu_) = 1, opens_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t warm_steps_ ABSL_GUARDED_BY(mu_) = 0, checkpoint_warm_steps_ ABSL_GUARDED_BY(mu_) = 0;
  PolicyVersion checkpoint_ ABSL_GUARDED_BY(mu_) = kNoPolicyVersion;
  PolicyVersion promoted_ ABSL_GUARDED_BY(mu_) = kNoPolicyVersion;
  std::map<PolicyVersion, std::string> checkpoints_ ABSL_GUARDED_BY(mu_);  // with their hashes
  std::map<PolicyVersion, PolicyVersion> rollbacks_ ABSL_GUARDED_BY(mu_);
  std::map<PolicyVersion, std::map<std::string, double>> set_metrics_ ABSL_GUARDED_BY(mu_);
  std::map<PolicyVersion, StepResult> results_ ABSL_GUARDED_BY(mu_);
  std::map<JobId, Kept> kept_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<PolicyVersion, Draw>, Group> groups_ ABSL_GUARDED_BY(mu_);
  std::deque<Failure> step_failures_ ABSL_GUARDED_BY(mu_), rollback_failures_ ABSL_GUARDED_BY(mu_);
  std::deque<absl::Status> open_failures_ ABSL_GUARDED_BY(mu_), forget_failures_ ABSL_GUARDED_BY(mu_);
  std::vector<JobId> forgotten_ ABSL_GUARDED_BY(mu_);
  std::vector<TrainedStep> steps_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> exports_ ABSL_GUARDED_BY(mu_);
  std::string salt_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
