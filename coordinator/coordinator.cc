#include "coordinator/coordinator.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "coordinator/coordinator_impl.h"
#include "coordinator/jobs/reward_patterns.h"
#include "coordinator/prompts/prompt_source.h"
#include "coordinator/workers/reward_offers.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kInboxCapacity = 4096;
constexpr int kGenerateThreads = 200, kScoreThreads = 64, kLoadThreads = 64, kLearnerThreads = 32,
              kReadThreads = 4;
constexpr int32_t kMaxSamplesListed = 100000;
constexpr absl::Duration kRewardOffersPatience = absl::Seconds(5);

// A readable name that no other job has: the learner's files are named by it too, which takes 128 characters.
// Names of one stem differ at their ends, so both ends of a long one stay.
JobId NewJobId(const std::string& name) {
  constexpr size_t kLongest = 120, kEnd = 40;
  const bool fits = name.size() <= kLongest;
  std::string slug;
  for (char c : fits ? name : absl::StrCat(name.substr(0, kLongest - kEnd), name.substr(name.size() - kEnd)))
    slug.push_back(absl::ascii_isalnum(c) ? absl::ascii_tolower(c) : '-');
  std::random_device random;
  return absl::StrCat(slug, "-", absl::StrFormat("%06x", random() & 0xffffff));
}

// Null: it is not there.
std::shared_ptr<Trainer> LearnerPortOf(const absl::StatusOr<RegisteredWorker>& member) {
  return member.ok() && member->alive ? member->learner : nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Open(CoordinatorOptions options) {
  if (options.state_dir.empty()) return absl::InvalidArgumentError("state_dir: is needed");
  StoreOptions kept{.keep_bytes = options.keep_samples_bytes, .fault = options.disk_fault};
  std::unique_ptr<StoreMetrics> metrics;
  if (options.registry != nullptr) {
    metrics = std::make_unique<StoreMetrics>(*options.registry);
    kept.on_commit = [seen = metrics.get()](absl::Duration took) { seen->Committed(took); };
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::Open(options.state_dir, std::move(kept)));
  SLUICE_ASSIGN_OR_RETURN(std::vector<JobRow> rows, store->LoadJobs());
  SLUICE_FAIL_POINT("coordinator.opening");
  return std::make_unique<CoordinatorImpl>(std::move(options), std::move(metrics),
                                           std::shared_ptr<Store>(std::move(store)), std::move(rows));
}

CoordinatorImpl::CoordinatorImpl(CoordinatorOptions options, std::unique_ptr<StoreMetrics> store_metrics,
                                 std::shared_ptr<Store> store, std::vector<JobRow> rows)
    : options_(std::move(options)),
      store_metrics_(std::move(store_metrics)),
      store_(std::move(store)),
      inbox_(std::make_shared<Inbox>(kInboxCapacity)),
      registry_(options_.ports, options_.lease, [this] { return store_->NextEpoch(options_.clock->Now()); }),
      views_({[store = store_.get()](const JobId& job) -> absl::StatusOr<JobView> {
                SLUICE_ASSIGN_OR_RETURN(JobRow row, store->LoadJob(job));
                if (IsTerminal(row.view.state)) return std::move(row.view);
                return absl::NotFoundError("it has not ended");
              },
              [store = store_.get()](int64_t limit, const JobPlace& after) {
                return store->ListEndedJobs(limit, after);
              }}),
      metrics_(options_.registry == nullptr ? nullptr
                                            : std::make_unique<CoordinatorMetrics>(*options_.registry)),
      generate_pool_(kGenerateThreads),
      score_pool_(kScoreThreads),
      load_pool_(kLoadThreads),
      learner_pool_(kLearnerThreads),
      read_pool_(kReadThreads),
      shares_(options_.settle) {
  for (JobRow& row : rows) {
    views_.Publish(row.view);
    order_.push_back(row.view.job);
    waiting_[row.view.job] = std::move(row);
  }
  actor_ = std::thread([this] { Loop(); });
}

CoordinatorImpl::~CoordinatorImpl() { Shutdown(); }

void CoordinatorImpl::Drain(absl::Time deadline) {
  struct Unsaved {
    JobId job;
    std::string learner;
    absl::Notification done;
  };
  auto unsaved = std::make_shared<std::vector<std::unique_ptr<Unsaved>>>();  // shared with calls left behind
  const absl::Status asked = OnActor([this, unsaved] {
    draining_ = true;
    for (const auto& [number, run] : runs_) {
      const SchedulerState& state = run->job->state();
      if (state.checkpointed >= state.version) continue;
      unsaved->push_back(std::make_unique<Unsaved>());
      unsaved->back()->job = run->name();
      unsaved->back()->learner = run->learner;
    }
    return absl::OkStatus();
  });
  if (!asked.ok()) return;
  for (const auto& one : *unsaved) {
    learner_pool_.Run([port = LearnerPortOf(registry_.Find(one->learner)), unsaved, &one = *one] {
      const absl::Status made =
          port == nullptr ? absl::UnavailableError("the learner left") : port->Checkpoint(one.job).status();
      LogInfo("last_checkpoint", {{"job", one.job}, {"status", made.ToString()}});
      one.done.Notify();
    });
  }
  for (const auto& one : *unsaved) {
    if (one->done.WaitForNotificationWithTimeout(deadline - absl::Now())) continue;
    LogWarning("no_last_checkpoint", {{"job", one->job}, {"waited_for", one->learner}});
  }
}

void CoordinatorImpl::Shutdown() {
  inbox_->Stop();
  views_.Stop();
  if (!actor_.joinable()) return;
  actor_.join();
  for (const auto& [number, run] : runs_) {
    for (const auto& [attempt, cancel] : run->cancels) cancel.Cancel();
  }
  for (CallPool* pool : {&generate_pool_, &score_pool_, &load_pool_, &learner_pool_, &read_pool_})
    pool->Stop(absl::Seconds(5));
  runs_.clear();
}

absl::Status CoordinatorImpl::OnActor(std::function<absl::Status()> body) {
  struct Call {
    absl::Notification done;
    absl::Status status;
  };
  auto call = std::make_shared<Call>();  // shared: the caller may give up before the actor comes to it
  const bool posted = inbox_->PostControl([call, body = std::move(body)] {
    call->status = body();
    call->done.Notify();
  });
  if (!posted) return absl::UnavailableError("the coordinator is shutting down");
  if (!call->done.WaitForNotificationWithTimeout(absl::Seconds(10))) {
    return absl::UnavailableError("the coordinator does not answer: see what its jobs wait for");
  }
  return call->status;
}

absl::StatusOr<CheckedJob> CoordinatorImpl::Check(const JobSpec& spec, const CancelToken& cancel) {
  SLUICE_RETURN_IF_ERROR(Validate(spec));
  SLUICE_RETURN_IF_ERROR(CheckPatterns(spec.reward));
  SLUICE_ASSIGN_OR_RETURN(const auto encoder, options_.encoder(spec));
  SLUICE_ASSIGN_OR_RETURN(const PromptSet prompts, LoadPrompts(spec, *encoder, cancel));
  SLUICE_RETURN_IF_ERROR(CheckGroupSize(spec, prompts, encoder->expert_bytes_per_token()));
  SLUICE_RETURN_IF_ERROR(CheckWarmStartBatch(spec, prompts));
  CheckedJob out;
  out.spec = spec;
  std::string learner;
  SLUICE_RETURN_IF_ERROR(PrepareFrom(out.spec, learner));
  SLUICE_ASSIGN_OR_RETURN(
      out.warnings, CheckRewardOffers(spec.reward, registry_.Workers(), absl::Now() + kRewardOffersPatience));
  out.plan = encoder->Describe();
  if (const FromSpec& from = out.spec.from; !from.job.empty()) {
    out.plan.push_back(
        absl::StrCat("begins with version ", from.version, " of ", from.job,
                     from.continue_training ? ", its optimizer, schedule and place in the prompts" : ""));
  }
  size_t longest = 0;
  for (const Prompt& prompt : prompts.training) longest = std::max(longest, prompt.tokens.size());
  const int64_t samples = int64_t{spec.batch.groups_per_step} * spec.sampling.group_size;
  out.plan.push_back(
      absl::StrCat("prompts: ", prompts.training.size(), " rows, the longest ", longest, " tokens"));
  if (!spec.warm_start.file.empty()) {
    out.plan.push_back(absl::StrCat("warm start: ", spec.warm_start.steps, " steps of ",
                                    spec.warm_start.batch_size, " of ", prompts.warm_start.size(), " rows"));
  }
  out.plan.push_back(absl::StrCat("each of ", spec.stop_steps, " steps: ", spec.batch.groups_per_step,
                                  " groups x ", spec.sampling.group_size, " = ", samples,
                                  " samples, at most ", samples * spec.sampling.params.max_new_tokens,
                                  " completion tokens; ",
                                  absl::StrFormat("%.2f", static_cast<double>(spec.batch.groups_per_step) *
                                                              static_cast<double>(spec.stop_steps) /
                                                              static_cast<double>(prompts.training.size())),
                                  " passes over the prompts in all"));
  out.plan.push_back(absl::StrCat("staleness: at most ", spec.staleness.max_versions, " versions; at most ",
                                  int64_t{spec.batch.groups_per_step} * (spec.staleness.max_versions + 1),
                                  " groups outstanding"));
  for (size_t i = 0; i < prompts.evaluation_sizes.size(); ++i) {
    const EvaluationSpec& e = i == 0 ? spec.evaluation : spec.more_evaluations.at(i - 1);
    out.plan.push_back(absl::StrCat("evaluation", i == 0 ? "" : absl::StrCat(" \"", e.name, "\""), ": ",
                                    prompts.evaluation_sizes[i], " prompts x ", e.samples_per_prompt,
                                    " every ", e.every_steps, " steps"));
  }
  if (spec.evaluation.canary.on()) {
    out.plan.push_back(absl::StrCat("canary: one worker tries each new version on ",
                                    spec.evaluation.canary.prompts, " of them before the others load it"));
  }
  return out;
}

absl::StatusOr<JobId> CoordinatorImpl::Submit(const JobSpec& spec, const std::string& request_id,
                                              const CancelToken& cancel) {
  if (request_id.size() > 256) return absl::InvalidArgumentError("request_id: at most 256 characters");
  if (!request_id.empty()) {
    SLUICE_ASSIGN_OR_RETURN(JobId before, store_->FindRequest(request_id));
    if (!before.empty()) return before;
  }
  SLUICE_RETURN_IF_ERROR(Validate(spec));
  SLUICE_RETURN_IF_ERROR(CheckPatterns(spec.reward));
  SLUICE_ASSIGN_OR_RETURN(const auto encoder, options_.encoder(spec));
  SLUICE_ASSIGN_OR_RETURN(const PromptSet prompts, LoadPrompts(spec, *encoder, cancel));
  SLUICE_RETURN_IF_ERROR(CheckGroupSize(spec, prompts, encoder->expert_bytes_per_token()));
  SLUICE_RETURN_IF_ERROR(CheckWarmStartBatch(spec, prompts));
  SLUICE_RETURN_IF_ERROR(
      CheckRewardOffers(spec.reward, registry_.Workers(), absl::Now() + kRewardOffersPatience).status());
  JobRow row;
  row.view.job = NewJobId(spec.name);
  row.view.spec = spec;
  row.view.create_time = absl::FromUnixMicros(absl::ToUnixMicros(options_.clock->Now()));  // as it is kept
  row.view.waiting_for = "its turn";
  row.files_hash = prompts.files_hash;
  SLUICE_RETURN_IF_ERROR(PrepareReplay(row.view.spec, row.files_hash));
  SLUICE_RETURN_IF_ERROR(PrepareFrom(row.view.spec, row.view.learner));
  row.policy.job = row.view.job;
  auto job = std::make_shared<JobId>(row.view.job);  // shared with the actor, which may come to it late
  SLUICE_RETURN_IF_ERROR(OnActor([this, row, request_id, job, cancel]() -> absl::Status {
    if (cancel.cancelled()) return absl::CancelledError("who asked for the job went away");
    JobId before;
    SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(before, tx.FindRequest(request_id));
      if (!before.empty()) return absl::OkStatus();
      const JobSpec& spec = row.view.spec;  // of which a job may have been deleted meanwhile
      for (const JobId& needed : {spec.replay.job, spec.from.job, spec.from.reference})
        if (!needed.empty()) SLUICE_RETURN_IF_ERROR(tx.NeedJob(needed));
      return tx.InsertJob(row, request_id);
    }));
    if (!before.empty()) {
      *job = before;
      return absl::OkStatus();
    }
    SLUICE_FAIL_POINT("coordinator.job_inserted");
    LogInfo("job_submitted", {{"job", row.view.job}});
    views_.Publish(row.view);
    order_.push_back(row.view.job);
    waiting_[row.view.job] = row;
    WaitingChanged();
    PublishWaiting();
    return absl::OkStatus();
  }));
  return *job;
}

absl::StatusOr<JobView> CoordinatorImpl::Control(const JobId& job, JobState wanted) {
  SLUICE_ASSIGN_OR_RETURN(const JobSnapshot before, views_.Get(job));
  std::function<absl::Status()> body = [this, job, wanted] { return ControlOnActor(job, wanted); };
  if (IsTerminal(before->state)) {
    if (before->state == wanted) return *before;
    if (before->state != JobState::kFailed || wanted != JobState::kRunning) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", job, " has ended: ", JobStateName(before->state)));
    }
    body = [this, job] { return TakeUp(job); };
  }
  SLUICE_RETURN_IF_ERROR(OnActor([body = std::move(body)] {
    SLUICE_FAIL_POINT("coordinator.controlling");
    const absl::Status done = body();
    SLUICE_FAIL_POINT("coordinator.controlled");
    return done;
  }));
  return Snapshot(job);
}

absl::StatusOr<JobView> CoordinatorImpl::Pause(const JobId& job) { return Control(job, JobState::kPaused); }
absl::StatusOr<JobView> CoordinatorImpl::Resume(const JobId& job) { return Control(job, JobState::kRunning); }
absl::StatusOr<JobView> CoordinatorImpl::Cancel(const JobId& job) {
  return Control(job, JobState::kCancelled);
}

absl::StatusOr<JobView> CoordinatorImpl::SetPriority(const JobId& job, int32_t priority) {
  SLUICE_ASSIGN_OR_RETURN(JobView view, Snapshot(job));
  view.spec.share.priority = priority;
  SLUICE_RETURN_IF_ERROR(Validate(view.spec));
  SLUICE_RETURN_IF_ERROR(OnActor([this, job, priority] { return SetPriorityOnActor(job, priority); }));
  return Snapshot(job);
}

std::vector<WorkerView> CoordinatorImpl::Workers() {
  std::vector<WorkerView> out;
  for (const RegisteredWorker& member : registry_.Workers()) {
    WorkerView view;
    absl::MutexLock lock(&served_mu_);
    if (auto it = served_.find(member.name); it != served_.end() && member.alive) view = it->second;
    view.name = member.name;
    view.address = member.address;
    view.role = WorkerRoleName(member.role);
    view.alive = member.alive;
    view.tokens_generated = member.tokens;
    out.push_back(std::move(view));
  }
  return out;
}

absl::Status CoordinatorImpl::ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                                          const std::function<bool(const SampleView&)>& on_sample) {
  SLUICE_RETURN_IF_ERROR(views_.Get(job).status());
  if (limit < 0 || limit > kMaxSamplesListed) {
    return absl::InvalidArgumentError(absl::StrCat("limit: must be between 0 and ", kMaxSamplesListed));
  }
  return store_->ListSamples(job, limit == 0 ? 20 : limit, step, evaluation, on_sample);
}

absl::StatusOr<RegisteredWorker> CoordinatorImpl::LearnerFor(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(const JobSnapshot view, views_.Get(job));
  if (view->learner.empty()) return registry_.Learner();
  auto member = registry_.Find(view->learner);
  if (!member.ok() || !member->alive) {
    return absl::UnavailableError(
        absl::StrCat("learner ", view->learner, ", which has job ", job, ", is not registered"));
  }
  return member;
}

absl::StatusOr<std::vector<CheckpointInfo>> CoordinatorImpl::ListCheckpoints(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(const RegisteredWorker learner, LearnerFor(job));
  return learner.learner->ListCheckpoints(job);
}

absl::StatusOr<PolicyVersion> CoordinatorImpl::Export(const JobId& job, PolicyVersion version,
                                                      const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const RegisteredWorker learner, LearnerFor(job));
  SLUICE_ASSIGN_OR_RETURN(const JobView view, Snapshot(job));
  const PolicyVersion latest = view.promoted != kNoPolicyVersion ? view.promoted : view.version;
  const PolicyVersion wanted = version == kNoPolicyVersion ? latest : version;
  if (wanted < 0) return absl::FailedPreconditionError(absl::StrCat("job ", job, " has no version yet"));
  if (wanted > view.version) {
    return absl::NotFoundError(
        absl::StrCat("job ", job, " has no version ", wanted, "; its last is ", view.version));
  }
  SLUICE_RETURN_IF_ERROR(learner.learner->Export(job, wanted, path));
  return wanted;
}

absl::StatusOr<Lease> CoordinatorImpl::JoinFleet(const WorkerOffer& offer) {
  SLUICE_ASSIGN_OR_RETURN(const RegisteredWorker member,
                          registry_.Register(offer, options_.lease_clock->Now()));
  LogInfo("worker_registered", {{"worker", offer.name},
                                {"role", WorkerRoleName(offer.role)},
                                {"address", offer.address},
                                {"epoch", member.epoch}});
  SLUICE_FAIL_POINT("coordinator.worker_registered");
  if (!inbox_->PostControl([this, member] { DeliverWorker(member); })) {
    return absl::UnavailableError("the coordinator is shutting down");
  }
  return Lease{member.epoch, registry_.lease()};
}

absl::StatusOr<Lease> CoordinatorImpl::RenewLease(const std::string& name, uint64_t epoch) {
  SLUICE_RETURN_IF_ERROR(registry_.Renew(name, epoch, options_.lease_clock->Now()));
  SLUICE_FAIL_POINT("coordinator.lease_renewed");
  return Lease{epoch, registry_.lease()};
}

absl::Status CoordinatorImpl::WorkerGone(const std::string& name, uint64_t epoch, const std::string& why) {
  const auto member = registry_.Leave(name, epoch);
  if (!member.ok()) return absl::OkStatus();
  LogInfo("worker_left", {{"worker", name}, {"epoch", epoch}, {"why", why}});
  const bool posted = inbox_->PostControl([this, worker = *member, why] { LoseWorker(worker, why); });
  return posted ? absl::OkStatus() : absl::UnavailableError("the coordinator is shutting down");
}

}  // namespace sluice
