#include "learner/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/kernels/kernels.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/tensors/manifest.h"
#include "core/weights/fetch_policy.h"
#include "learner/audit.h"
#include "learner/batch.h"
#include "learner/checkpoint.h"
#include "learner/gang.h"
#include "learner/trainer_metrics.h"

namespace sluice {
namespace {

constexpr size_t kResultsKept = 16;   // steps whose result can be asked for again
constexpr size_t kHashesKept = 2048;  // versions that trajectories may name; staleness is at most 1000
constexpr PolicyVersion kVersionsAhead = 16;  // of groups handed over before their turn

absl::Status CheckJobName(const JobId& job) {
  const bool fits = !job.empty() && job.size() <= 128 && job[0] != '.' &&
                    job.find('/') == std::string::npos && job.find('\0') == std::string::npos;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError("job: 1 to 128 characters, no '/', not beginning with '.'");
}

std::string HashOf(const LearningSpec& spec) {
  ByteWriter bytes;
  Put(spec, &bytes);
  return Sha256Hex(bytes.Finish());
}

template <typename Map>
void KeepNewest(Map* map, size_t count) {
  while (map->size() > count) map->erase(map->begin());
}

}  // namespace

class LocalTrainer::Impl {
 public:
  Impl(const TrainerOptions& options, prometheus::Registry& registry)
      : options_(options),
        metrics_(registry),
        gang_({options.collectives, options.threads, options.collective_timeout, options.keep_alive}) {}

  Gang& gang() { return gang_; }

  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedRankZero());
    SLUICE_RETURN_IF_ERROR(CheckJobName(job));
    if (IsOpen(job)) return State();
    Close();
    const auto newest = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) { return NewestCheckpoint(); };
    SLUICE_RETURN_IF_ERROR(Annotate(Load(job, spec, newest), absl::StrCat("opening job ", job)));
    SLUICE_FAIL_POINT("learner.job_opened");
    SetOpen(job);
    LogInfo("job_open",
            {{"job", job}, {"version", version_}, {"ranks", gang_.size()}, {"threads", options_.threads}});
    return State();
  }

  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    if (version_ != kNoPolicyVersion) {
      return absl::FailedPreconditionError("the supervised stage is over: version 0 is published");
    }
    if (step != warm_start_steps_) {
      return absl::FailedPreconditionError(
          absl::StrCat("supervised step ", step, " is not the next one, ", warm_start_steps_));
    }
    if (batch.empty()) return absl::InvalidArgumentError("a supervised batch without rows");
    for (size_t i = 0; i < batch.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(Annotate(CheckExample(batch[i], limits_), absl::StrCat("row ", i)));
    }
    const absl::Time start = absl::Now();
    SLUICE_ASSIGN_OR_RETURN(StepMetrics metrics, gang_.Supervise(step, batch));
    SLUICE_FAIL_POINT("learner.supervised");
    ++warm_start_steps_;
    metrics.values["step_seconds"] = absl::ToDoubleSeconds(absl::Now() - start);
    metrics_.ObserveSupervised(metrics);
    return metrics;
  }

  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    if (version_ != kNoPolicyVersion) return Lookup(0);
    if (!spec_.from.continue_training) SLUICE_RETURN_IF_ERROR(gang_.BeginReinforcement());
    SLUICE_FAIL_POINT("learner.reinforcement_begun");
    SLUICE_RETURN_IF_ERROR(Publish(0, kNoPolicyVersion));
    const auto rest = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) -> absl::Status {
      if (!spec_.from.job.empty()) SLUICE_RETURN_IF_ERROR(SetReference());
      SLUICE_FAIL_POINT("learner.first_published");
      return MakeCheckpoint().status();
    };
    const absl::Status made = rest();
    // Opening it again begins before this: nobody takes a version for first that has no reference or
    // checkpoint.
    if (!made.ok()) Close();
    SLUICE_RETURN_IF_ERROR(made);
    return policy_;
  }

  absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) {
    absl::MutexLock lock(&pending_mu_);
    SLUICE_RETURN_IF_ERROR(gang_.broken());
    if (job_.empty() || job != job_)
      return absl::FailedPreconditionError(absl::StrCat("job ", job, " is not open"));
    if (version <= published_) return absl::OkStatus();  // trained on already
    if (published_ == kNoPolicyVersion || version > published_ + kVersionsAhead) {
      return absl::FailedPreconditionError(
          absl::StrCat("a group for version ", version, "; the last one is ", published_));
    }
    SLUICE_ASSIGN_OR_RETURN(TrainingGroup made, MakeTrainingGroup(group, limits_));
    SLUICE_RETURN_IF_ERROR(CheckVersions(made));
    std::map<Draw, TrainingGroup>& batch = pending_[version];
    const bool fresh = batch.count(made.draw) == 0;
    if (fresh && pending_groups_ >= options_.max_pending_groups) {
      return absl::ResourceExhaustedError(
          absl::StrCat("max_pending_groups: ", pending_groups_, " groups wait to be trained on"));
    }
    pending_groups_ += fresh ? 1 : 0;
    batch[made.draw] = std::move(made);
    SLUICE_FAIL_POINT("learner.group_taken");
    return absl::OkStatus();
  }

  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version, absl::Span<const Draw> draws) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    if (version >= 1 && version <= version_) return ResultOf(version);
    if (version_ == kNoPolicyVersion || version != version_ + 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("version ", version, " is not the next one after ", version_));
    }
    const std::vector<Draw> order(draws.begin(), draws.end());
    if (trained_version_ == version && trained_draws_ != order) {
      return absl::FailedPreconditionError(
          absl::StrCat("version ", version, " was trained on other draws already and waits to be published"));
    }
    if (trained_version_ != version) SLUICE_RETURN_IF_ERROR(TrainOn(version, order));
    SLUICE_FAIL_POINT("learner.step_trained");
    SLUICE_RETURN_IF_ERROR(Publish(version, version - 1));
    SLUICE_FAIL_POINT("learner.step_published");
    results_[version] = trained_metrics_;
    KeepNewest(&results_, kResultsKept);
    trained_version_ = kNoPolicyVersion;
    metrics_.ObserveStep(version, trained_metrics_);
    StepResult result{policy_, trained_metrics_, false};
    if (version % std::max<int64_t>(spec_.checkpoint.every_steps, 1) == 0) {
      const absl::Status made = MakeCheckpoint().status();
      result.checkpointed = made.ok();
      if (!made.ok()) LogError("checkpoint_failed", {{"version", version}, {"reason", made.message()}});
    }
    Tidy();
    SLUICE_FAIL_POINT("learner.step_answering");
    return result;
  }

  // A failure in between leaves the job closed: opening it resumes before the rollback, which is then tried
  // again and comes to the same.
  absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent, PolicyVersion version) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    if (parent < 0 || parent >= version) {
      return absl::InvalidArgumentError(
          absl::StrCat("version ", version, " cannot be made of version ", parent));
    }
    if (version <= version_) return RolledBack(parent, version);
    Close();
    const JobSpec spec = spec_;
    const auto read = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) -> FoundCheckpoint {
      SLUICE_ASSIGN_OR_RETURN(CheckpointContent content, ReadCheckpoint(Root(), layout_, parent));
      return std::optional<CheckpointContent>(std::move(content));
    };
    SLUICE_RETURN_IF_ERROR(Annotate(Load(job, spec, read), absl::StrCat("rolling back to version ", parent)));
    SLUICE_FAIL_POINT("learner.rollback_loaded");
    absl::Status published = Publish(version, parent);
    if (absl::IsAlreadyExists(published)) {
      // By a step whose answer was lost: nobody has heard of it.
      SLUICE_RETURN_IF_ERROR(Withdraw(version));
      published = Publish(version, parent);
    }
    SLUICE_RETURN_IF_ERROR(published);
    SLUICE_FAIL_POINT("learner.rollback_published");
    SLUICE_RETURN_IF_ERROR(MakeCheckpoint().status());
    SLUICE_FAIL_POINT("learner.rollback_answering");
    SetOpen(job);
    LogWarning("rolled_back", {{"job", job}, {"parent", parent}, {"version", version}});
    return policy_;
  }

  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    if (version != version_) {
      return absl::FailedPreconditionError(
          absl::StrCat("version ", version, " is not the last one, ", version_));
    }
    SLUICE_ASSIGN_OR_RETURN(CheckpointInfo info, EnsureCheckpoint());
    SLUICE_RETURN_IF_ERROR(WritePromoted(Root(), version));
    promoted_ = version;
    SLUICE_FAIL_POINT("learner.promoted");
    LogInfo("promoted", {{"job", job}, {"version", version}});
    return info;
  }

  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedOpen(job));
    return EnsureCheckpoint();
  }

  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedRankZero());
    SLUICE_RETURN_IF_ERROR(CheckJobName(job));
    return FindCheckpoints(RootOf(job));
  }

  // Of any job whose versions are in the store, open or ended.
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<PolicyVersion> kept, options_.policies->ListVersions(job));
    if (kept.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("no version of job ", job, " is published"));
    }
    const PolicyVersion wanted = version == kNoPolicyVersion ? kept.back() : version;
    if (std::find(kept.begin(), kept.end(), wanted) == kept.end()) {
      return absl::NotFoundError(absl::StrCat("version ", wanted, " of job ", job, " is not kept; kept are ",
                                              absl::StrJoin(kept, ", ")));
    }
    SLUICE_ASSIGN_OR_RETURN(const PolicyRef ref, options_.policies->Lookup(job, wanted));
    SLUICE_ASSIGN_OR_RETURN(FetchedPolicy policy,
                            FetchPolicy(*options_.policies, ref, absl::Now() + options_.collective_timeout));
    return WriteModelDirectory(path, policy.files, policy.tensors, StoredDType(policy.tensors));
  }

  absl::Status Forget(const JobId& job) {
    absl::MutexLock lock(&call_mu_);
    SLUICE_RETURN_IF_ERROR(NeedRankZero());
    SLUICE_RETURN_IF_ERROR(CheckJobName(job));
    if (IsOpen(job)) Close();
    SLUICE_RETURN_IF_ERROR(options_.policies->Remove(job));
    SLUICE_RETURN_IF_ERROR(RemoveTree(absl::StrCat(options_.state_dir, "/", job)));
    LogInfo("job_forgotten", {{"job", job}});
    return absl::OkStatus();
  }

 private:
  // bf16 where anything is (correction biases are always float32).
  static DType StoredDType(const TensorMap& tensors) {
    const bool bf16 = std::any_of(tensors.begin(), tensors.end(),
                                  [](const auto& named) { return named.second.dtype == DType::kBF16; });
    return bf16 ? DType::kBF16 : DType::kF32;
  }
  static DType DTypeOf(const LearningSpec& spec) {
    return spec.dtype == ModelDtype::kBF16 ? DType::kBF16 : DType::kF32;
  }
  std::string RootOf(const JobId& job) const {
    return absl::StrCat(options_.state_dir, "/", job, "/checkpoints");
  }
  std::string Root() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) { return RootOf(job_name_); }

  absl::Status NeedRankZero() const {
    if (options_.collectives->rank() != 0) return absl::FailedPreconditionError("only rank 0 is the trainer");
    return gang_.broken();
  }
  bool IsOpen(const JobId& job) const {
    absl::MutexLock lock(&pending_mu_);
    return !job_.empty() && job_ == job;
  }
  absl::Status NeedOpen(const JobId& job) const {
    SLUICE_RETURN_IF_ERROR(NeedRankZero());
    if (IsOpen(job)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("job ", job, " is not open"));
  }
  TrainerState State() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    return {options_.incarnation, warm_start_steps_, version_, policy_};
  }

  using FoundCheckpoint = absl::StatusOr<std::optional<CheckpointContent>>;

  // No job is open then, and what was handed over is forgotten.
  void Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    absl::MutexLock pending(&pending_mu_);
    job_.clear();
    pending_.clear();
    pending_groups_ = 0;
  }
  void SetOpen(const JobId& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    absl::MutexLock pending(&pending_mu_);
    job_ = job;
  }

  FoundCheckpoint NewestCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    int damaged = 0;
    FoundCheckpoint found = ReadNewestCheckpoint(Root(), layout_, &damaged);
    metrics_.ObserveDamagedCheckpoints(damaged);
    return found;
  }

  // Reads the model and the checkpoint that `find` gives, and starts all ranks on it; nothing: on the model.
  template <typename Find>
  absl::Status Load(const JobId& job, const JobSpec& spec, const Find& find)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(ModelDirectory model, ReadModelDirectory(spec.model.path));
    layout_ = ParameterLayout(model.config);
    job_name_ = job;
    spec_ = spec;
    learning_ = LearningSpecOf(spec);
    files_ = model.files;
    version_ = trained_version_ = checkpoint_version_ = kNoPolicyVersion;
    warm_start_steps_ = 0;
    policy_ = PolicyRef{job, kNoPolicyVersion, "", options_.source};
    results_.clear();
    GangStart start;
    start.config_json = files_["config.json"];
    start.generation_config_json =
        files_.count("generation_config.json") > 0 ? files_["generation_config.json"] : "";
    start.spec = learning_;
    start.first_step = spec.from.first_step;
    SLUICE_ASSIGN_OR_RETURN(start.frozen, layout_.Flatten(layout_.frozen(), model.tensors));
    SLUICE_ASSIGN_OR_RETURN(promoted_, ReadPromoted(Root()));
    SLUICE_ASSIGN_OR_RETURN(std::optional<CheckpointContent> found, find());
    {
      absl::MutexLock lock(&pending_mu_);
      limits_ = LimitsOf(model.config);
      known_.clear();
      published_ = kNoPolicyVersion;
    }
    if (!found.has_value()) {
      if (spec.from.job.empty()) {
        SLUICE_ASSIGN_OR_RETURN(start.state.masters, layout_.Flatten(layout_.trained(), model.tensors));
      } else {
        SLUICE_ASSIGN_OR_RETURN(start.state, StateFrom(spec.from));
      }
      return gang_.Start(std::move(start));
    }
    return Resume(*std::move(found), std::move(start));
  }

  absl::Status Resume(CheckpointContent found, GangStart start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    if (found.job != job_name_ || found.spec_hash != HashOf(learning_)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint of version ", found.version, " in ", Root(), " is of job ", found.job,
                       " with other settings of learning; use another job name or remove the folder"));
    }
    start.state = std::move(found.state);
    checkpoint_version_ = found.version;
    SLUICE_RETURN_IF_ERROR(gang_.Start(std::move(start)));
    warm_start_steps_ = found.warm_start_steps;
    results_ = std::move(found.results);
    {
      absl::MutexLock lock(&pending_mu_);
      known_ = std::move(found.known_hashes);
    }
    // Publishing again costs little, checks the tensors against those published before, and heals a lost
    // folder.
    SLUICE_RETURN_IF_ERROR(Publish(found.version, found.parent));
    SLUICE_FAIL_POINT("learner.resumed");
    if (policy_.manifest_hash != found.manifest_hash) {
      return absl::DataLossError(absl::StrCat("the checkpoint of version ", found.version, " gives manifest ",
                                              policy_.manifest_hash, ", not the published ",
                                              found.manifest_hash));
    }
    return SetReference();
  }

  // Version 0, of this job or of the one whose reference it keeps.
  absl::Status SetReference() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    if (learning_.grpo.kl_coefficient <= 0) return absl::OkStatus();
    const JobId& other = spec_.from.reference;
    SLUICE_ASSIGN_OR_RETURN(std::vector<float> values, PublishedValues(other.empty() ? job_name_ : other, 0));
    return gang_.SetReference(std::move(values));
  }

  // Of the parameters that are trained.
  absl::StatusOr<std::vector<float>> PublishedValues(const JobId& job, PolicyVersion version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(PolicyRef ref, options_.policies->Lookup(job, version));
    SLUICE_ASSIGN_OR_RETURN(FetchedPolicy policy,
                            FetchPolicy(*options_.policies, ref, absl::Now() + options_.collective_timeout));
    return layout_.Flatten(layout_.trained(), policy.tensors);
  }

  // What a job begins with that goes on from another: its full checkpoint, where there is one, else (of the
  // weights alone) the version as it was published.
  absl::StatusOr<TrainingState> StateFrom(const FromSpec& from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    // What is not kept any more does not come back: the job is refused, as one with a wrong field is.
    const auto refused = [&](const absl::Status& status) {
      const std::string what = absl::StrCat("from version ", from.version, " of job ", from.job);
      if (!absl::IsNotFound(status)) return Annotate(status, what);
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", status.message(), "; `sluice checkpoints ",
                                                     from.job, "` lists those that are kept whole"));
    };
    absl::StatusOr<CheckpointContent> found = ReadCheckpoint(RootOf(from.job), layout_, from.version);
    if (from.continue_training && !found.ok()) return refused(found.status());
    TrainingState state;
    if (from.continue_training) {
      state = std::move(found->state);
    } else if (found.ok()) {
      state.masters = std::move(found->state.masters);
    } else {
      absl::StatusOr<std::vector<float>> published = PublishedValues(from.job, from.version);
      if (!published.ok()) return refused(published.status());
      state.masters = *std::move(published);
    }
    return state;
  }

  // The store's ref, with the address that workers are to use.
  absl::StatusOr<PolicyRef> Lookup(PolicyVersion version) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(PolicyRef ref, options_.policies->Lookup(job_name_, version));
    if (!options_.source.empty()) ref.source = options_.source;
    SLUICE_RETURN_IF_ERROR(NameAsRecorded(ref));
    return ref;
  }

  // Of a replay: what the version would be called in the job that it repeats. A manifest names its job.
  absl::Status NameAsRecorded(PolicyRef& ref) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    if (spec_.replay.job.empty()) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(
        const std::string text,
        options_.policies->ReadManifest(ref.job, ref.version, absl::Now() + options_.collective_timeout));
    SLUICE_ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(text));
    manifest.job = spec_.replay.job;
    ref.recorded_job_hash = ManifestHash(SerializeManifest(manifest));
    return absl::OkStatus();
  }

  // What RollBack returned before.
  absl::StatusOr<PolicyRef> RolledBack(PolicyVersion parent, PolicyVersion version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(
        const std::string json,
        options_.policies->ReadManifest(job_name_, version, absl::Now() + options_.collective_timeout));
    SLUICE_ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(json));
    if (manifest.parent == parent) return Lookup(version);
    return absl::FailedPreconditionError(absl::StrCat("version ", version, " was made of version ",
                                                      manifest.parent, " already, not of ", parent));
  }

  absl::Status Publish(PolicyVersion version, PolicyVersion parent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    absl::StatusOr<PolicyRef> ref =
        options_.policies->Publish(job_name_, version, parent, gang_.replica()->tensors(), files_);
    if (ref.status().code() == absl::StatusCode::kAlreadyExists) {
      return Annotate(
          ref.status(),
          absl::StrCat("version ", version, " was made again after a restart and came out different, which ",
                       "other ranks, threads or processors explain"));
    }
    SLUICE_RETURN_IF_ERROR(Annotate(ref.status(), absl::StrCat("publishing version ", version)));
    policy_ = *std::move(ref);
    if (!options_.source.empty()) policy_.source = options_.source;
    SLUICE_RETURN_IF_ERROR(NameAsRecorded(policy_));
    version_ = version;
    parent_ = parent;
    absl::MutexLock lock(&pending_mu_);
    published_ = version;
    known_[version] = policy_.manifest_hash;
    KeepNewest(&known_, kHashesKept);
    while (!pending_.empty() && pending_.begin()->first <= version) {
      pending_groups_ -= static_cast<int>(pending_.begin()->second.size());
      pending_.erase(pending_.begin());
    }
    return absl::OkStatus();
  }

  // Invariant ATTEST: a trajectory may only name versions that were published, by their manifests.
  absl::Status CheckVersions(const TrainingGroup& group) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(pending_mu_) {
    for (const TrainingSequence& s : group.sequences) {
      for (const VersionSpan& span : s.spans) {
        auto known = known_.find(span.version);
        if (known != known_.end() && known->second == span.manifest_hash) continue;
        return absl::InvalidArgumentError(absl::StrCat("draw ", group.draw, ": a trajectory names version ",
                                                       span.version, " with manifest '", span.manifest_hash,
                                                       "', which was not published"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TrainOn(PolicyVersion version, const std::vector<Draw>& draws)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(std::vector<TrainingGroup> groups, Collect(version, draws));
    const absl::Time start = absl::Now();
    HoldAudited(version, groups);
    SLUICE_ASSIGN_OR_RETURN(StepMetrics metrics, gang_.Step(version, policy_.manifest_hash, groups));
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
    metrics.values["step_seconds"] = seconds;
    metrics.values["tokens_per_second"] = seconds > 0 ? metrics.values["tokens"] / seconds : 0;
    if (metrics.values["skipped_nonfinite"] != 0)
      LogWarning("step_skipped_nonfinite", {{"version", version}});
    if (metrics.values["exact_max_difference"] != 0) {
      LogError("exact_difference",
               {{"version", version}, {"max_difference", metrics.values["exact_max_difference"]}});
    }
    trained_version_ = version;
    trained_draws_ = draws;
    trained_metrics_ = std::move(metrics);
    return absl::OkStatus();
  }

  // Gives the ranks the older versions that the step's audit needs and they do not have: after a restart, or
  // of a large model. One that is gone is not audited, and counted by the step.
  void HoldAudited(PolicyVersion version, absl::Span<const TrainingGroup> groups)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    std::set<std::pair<PolicyVersion, std::string>> needed;
    for (const AuditPiece& piece : PlanAudit(groups, version, kernels::KernelPath())) {
      if (gang_.replica()->Holds(piece.version, piece.manifest_hash)) continue;
      needed.insert({piece.version, piece.manifest_hash});
    }
    for (const auto& [older, hash] : needed) {
      const absl::Status held = Hold(older, hash);
      if (!held.ok()) LogWarning("version_not_audited", {{"version", older}, {"reason", held.message()}});
    }
  }

  absl::Status Hold(PolicyVersion version, const std::string& manifest_hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(PolicyRef ref, options_.policies->Lookup(job_name_, version));
    ref.manifest_hash = manifest_hash;  // what the trajectories name
    SLUICE_ASSIGN_OR_RETURN(FetchedPolicy policy,
                            FetchPolicy(*options_.policies, ref, absl::Now() + options_.collective_timeout));
    SLUICE_ASSIGN_OR_RETURN(std::vector<float> values, layout_.Flatten(layout_.trained(), policy.tensors));
    return gang_.Hold(version, manifest_hash, std::move(values));
  }

  absl::StatusOr<std::vector<TrainingGroup>> Collect(PolicyVersion version, const std::vector<Draw>& draws) {
    if (std::set<Draw>(draws.begin(), draws.end()).size() != draws.size()) {
      return absl::InvalidArgumentError("a step's draws must differ from each other");
    }
    absl::MutexLock lock(&pending_mu_);
    std::vector<TrainingGroup> groups;
    std::vector<Draw> missing;
    auto batch = pending_.find(version);
    for (Draw draw : draws) {
      if (batch != pending_.end() && batch->second.count(draw) > 0) {
        groups.push_back(batch->second.at(draw));
      } else if (missing.size() < 10) {
        missing.push_back(draw);
      }
    }
    if (missing.empty()) return groups;
    return absl::FailedPreconditionError(absl::StrCat("groups not handed over for version ", version,
                                                      ": draws ", absl::StrJoin(missing, ", "),
                                                      missing.size() == 10 ? ", ..." : ""));
  }

  absl::StatusOr<StepResult> ResultOf(PolicyVersion version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(PolicyRef ref, Lookup(version));
    StepResult result{ref, {}, false};
    auto known = results_.find(version);
    if (known != results_.end()) result.metrics = known->second;
    SLUICE_ASSIGN_OR_RETURN(std::vector<CheckpointInfo> checkpoints, FindCheckpoints(Root()));
    for (const CheckpointInfo& c : checkpoints) result.checkpointed |= c.version == version;
    return result;
  }

  // Removes versions that nobody should need: those before the ones that the next steps, or the steps redone
  // from the newest checkpoint, train on. Newer ones than the last, left by a run before, are about to be
  // made again. After the last step, once it has its checkpoint, only those that can be gone back to stay.
  void Tidy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    auto versions = options_.policies->ListVersions(job_name_);
    if (!versions.ok()) return;
    const bool over = version_ >= spec_.stop_steps && checkpoint_version_ == version_;
    const PolicyVersion kept = over ? 1 : std::max<PolicyVersion>(4, spec_.staleness.max_versions + 2);
    std::set<PolicyVersion> keep;
    if (over) {
      auto checkpoints = FindCheckpoints(Root());
      if (!checkpoints.ok()) return;
      for (const CheckpointInfo& checkpoint : *checkpoints) keep.insert(checkpoint.version);
    }
    for (PolicyVersion v : *versions) {
      const bool redone = v > checkpoint_version_ - kept && v <= checkpoint_version_;
      if (v == 0 || v > version_ - kept || redone || v == promoted_) keep.insert(v);
    }
    const absl::Status pruned = options_.policies->Prune(job_name_, keep);
    if (!pruned.ok()) LogWarning("prune_failed", {{"reason", pruned.message()}});
  }

  absl::Status Withdraw(PolicyVersion version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<PolicyVersion> versions,
                            options_.policies->ListVersions(job_name_));
    std::set<PolicyVersion> keep(versions.begin(), versions.end());
    keep.erase(version);
    return options_.policies->Prune(job_name_, keep);
  }

  // Of the last version.
  absl::StatusOr<CheckpointInfo> EnsureCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    if (version_ == kNoPolicyVersion) {
      return absl::FailedPreconditionError("no version is published yet: there is nothing to go on from");
    }
    if (trained_version_ != kNoPolicyVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("version ", trained_version_, " is trained and not published: repeat the step first"));
    }
    SLUICE_ASSIGN_OR_RETURN(std::vector<CheckpointInfo> found, FindCheckpoints(Root()));
    if (!found.empty() && found.back().version == version_) return found.back();
    SLUICE_ASSIGN_OR_RETURN(CheckpointInfo made, MakeCheckpoint());
    Tidy();
    return made;
  }

  absl::StatusOr<CheckpointInfo> MakeCheckpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mu_) {
    CheckpointContent content;
    content.job = job_name_;
    content.version = version_;
    content.parent = parent_;
    content.manifest_hash = policy_.manifest_hash;
    content.spec_hash = HashOf(learning_);
    content.warm_start_steps = warm_start_steps_;
    content.results = results_;
    {
      absl::MutexLock lock(&pending_mu_);
      content.known_hashes = known_;
    }
    SLUICE_ASSIGN_OR_RETURN(content.state, gang_.GatherState());
    SLUICE_RETURN_IF_ERROR(MakeDirectories(Root()));
    SLUICE_ASSIGN_OR_RETURN(CheckpointInfo info, WriteCheckpoint(Root(), layout_, content));
    SLUICE_FAIL_POINT("learner.checkpoint_made");
    const absl::Status pruned =
        PruneCheckpoints(Root(), {spec_.checkpoint.keep, RollBackFloor(spec_, version_), promoted_});
    if (!pruned.ok()) LogWarning("prune_failed", {{"reason", pruned.message()}});
    checkpoint_version_ = info.version;
    metrics_.ObserveCheckpoint(info.bytes);
    LogInfo("checkpoint", {{"job", job_name_}, {"version", info.version}, {"bytes", info.bytes}});
    return info;
  }

  const TrainerOptions options_;
  TrainerMetrics metrics_;
  Gang gang_;

  mutable absl::Mutex call_mu_;  // calls take turns; before pending_mu_
  JobId job_name_ ABSL_GUARDED_BY(call_mu_);
  JobSpec spec_ ABSL_GUARDED_BY(call_mu_);
  LearningSpec learning_ ABSL_GUARDED_BY(call_mu_);
  ParameterLayout layout_ ABSL_GUARDED_BY(call_mu_);
  ModelFiles files_ ABSL_GUARDED_BY(call_mu_);
  PolicyVersion version_ ABSL_GUARDED_BY(call_mu_) = kNoPolicyVersion;
  PolicyVersion parent_ ABSL_GUARDED_BY(call_mu_) = kNoPolicyVersion;  // of version_
  PolicyVersion promoted_ ABSL_GUARDED_BY(call_mu_) = kNoPolicyVersion;
  PolicyRef policy_ ABSL_GUARDED_BY(call_mu_);
  PolicyVersion checkpoint_version_ ABSL_GUARDED_BY(call_mu_) = kNoPolicyVersion;
  int64_t warm_start_steps_ ABSL_GUARDED_BY(call_mu_) = 0;
  std::map<PolicyVersion, StepMetrics> results_ ABSL_GUARDED_BY(call_mu_);
  // Trained and not yet published: repeating the step publishes without training twice.
  PolicyVersion trained_version_ ABSL_GUARDED_BY(call_mu_) = kNoPolicyVersion;
  std::vector<Draw> trained_draws_ ABSL_GUARDED_BY(call_mu_);
  StepMetrics trained_metrics_ ABSL_GUARDED_BY(call_mu_);

  mutable absl::Mutex pending_mu_;  // what AddGroup needs, so that it does not wait for a step
  JobId job_ ABSL_GUARDED_BY(pending_mu_);
  TokenLimits limits_ ABSL_GUARDED_BY(pending_mu_);
  PolicyVersion published_ ABSL_GUARDED_BY(pending_mu_) = kNoPolicyVersion;
  std::map<PolicyVersion, std::string> known_ ABSL_GUARDED_BY(pending_mu_);
  std::map<PolicyVersion, std::map<Draw, TrainingGroup>> pending_ ABSL_GUARDED_BY(pending_mu_);
  int pending_groups_ ABSL_GUARDED_BY(pending_mu_) = 0;
};

absl::StatusOr<std::unique_ptr<LocalTrainer>> LocalTrainer::Create(const TrainerOptions& options,
                                                                   prometheus::Registry& registry) {
  if (options.collectives == nullptr)
    return absl::InvalidArgumentError("TrainerOptions.collectives is missing");
  if (options.threads < 1 || options.threads > 1024) return absl::InvalidArgumentError("threads: 1 to 1024");
  if (options.collectives->rank() == 0 && (options.policies == nullptr || options.state_dir.empty())) {
    return absl::InvalidArgumentError("rank 0 needs TrainerOptions.policies and state_dir");
  }
  if (options.keep_alive * 2 > options.collective_timeout) {
    return absl::InvalidArgumentError("keep_alive must be less than half of collective_timeout");
  }
  return std::unique_ptr<LocalTrainer>(new LocalTrainer(std::make_unique<Impl>(options, registry)));
}

LocalTrainer::LocalTrainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LocalTrainer::~LocalTrainer() = default;

absl::Status LocalTrainer::RunFollower() {
  if (impl_->gang().rank() == 0) return absl::FailedPreconditionError("rank 0 does not follow");
  return impl_->gang().Follow();
}
absl::Status LocalTrainer::health() const { return impl_->gang().broken(); }

absl::StatusOr<TrainerState> LocalTrainer::Open(const JobId& job, const JobSpec& spec) {
  return impl_->Open(job, spec);
}
absl::StatusOr<StepMetrics> LocalTrainer::Supervise(const JobId& job, int64_t step,
                                                    absl::Span<const SupervisedExample> batch) {
  return impl_->Supervise(job, step, batch);
}
absl::StatusOr<PolicyRef> LocalTrainer::PublishFirst(const JobId& job) { return impl_->PublishFirst(job); }
absl::Status LocalTrainer::AddGroup(const JobId& job, PolicyVersion version, const Group& group) {
  return impl_->AddGroup(job, version, group);
}
absl::StatusOr<StepResult> LocalTrainer::Step(const JobId& job, PolicyVersion version,
                                              absl::Span<const Draw> draws) {
  return impl_->Step(job, version, draws);
}
absl::StatusOr<PolicyRef> LocalTrainer::RollBack(const JobId& job, PolicyVersion parent,
                                                 PolicyVersion version) {
  return impl_->RollBack(job, parent, version);
}
absl::StatusOr<CheckpointInfo> LocalTrainer::Promote(const JobId& job, PolicyVersion version) {
  return impl_->Promote(job, version);
}
absl::StatusOr<CheckpointInfo> LocalTrainer::Checkpoint(const JobId& job) { return impl_->Checkpoint(job); }
absl::StatusOr<std::vector<CheckpointInfo>> LocalTrainer::ListCheckpoints(const JobId& job) {
  return impl_->ListCheckpoints(job);
}
absl::Status LocalTrainer::Forget(const JobId& job) { return impl_->Forget(job); }
absl::Status LocalTrainer::Export(const JobId& job, PolicyVersion version, const std::string& path) {
  return impl_->Export(job, version, path);
}

}  // namespace sluice
