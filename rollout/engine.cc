#include "rollout/engine.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/fail_point.h"
#include "core/base/heap.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/weights/fetch_policy.h"
#include "core/weights/policy_store.h"
#include "rollout/request_check.h"

namespace sluice {
namespace {

constexpr char kLocalJob[] = "local";

absl::Status CheckOptions(const EngineOptions& o) {
  if (o.max_running_sequences < 1)
    return absl::InvalidArgumentError("max_running_sequences: must be at least 1");
  if (o.max_queued_sequences < 1)
    return absl::InvalidArgumentError("max_queued_sequences: must be at least 1");
  if (o.cache_bytes < 1) return absl::InvalidArgumentError("cache_bytes: must be at least 1");
  if (o.prefill_chunk_tokens < 1)
    return absl::InvalidArgumentError("prefill_chunk_tokens: must be at least 1");
  if (o.threads < 1 || o.threads > 1024) return absl::InvalidArgumentError("threads: must be in [1, 1024]");
  if (o.dtype.has_value() && *o.dtype != DType::kBF16 && *o.dtype != DType::kF32) {
    return absl::InvalidArgumentError("dtype: must be BF16 or F32");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(EngineOptions options, prometheus::Registry& registry,
                                                       Clock& clock) {
  SLUICE_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<Engine>(new Engine(std::move(options), registry, clock));
}

Engine::Engine(EngineOptions options, prometheus::Registry& registry, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      metrics_(registry),
      pool_(options_.threads),
      backend_(options_.backend != nullptr ? options_.backend : std::make_shared<const KernelBackend>()),
      batcher_(BatcherOptions{options_.name, backend_.get(), options_.max_running_sequences,
                              options_.cache_bytes, options_.prefill_chunk_tokens, options_.share_prefixes},
               pool_, clock_, metrics_, [this] { return served(); }),
      thread_([this] { Work(); }) {}

Engine::~Engine() { Shutdown(); }

void Engine::Shutdown() {
  std::thread thread;
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
    std::swap(thread, thread_);
  }
  if (thread.joinable()) thread.join();
}

void Engine::Work() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stop_ || woken_ || aborts_wanted_ != aborts_done_ || !arrived_.empty() ||
           (!paused_ && !batcher_idle_);
  };
  bool paused = false;
  while (true) {
    uint64_t aborts = 0;
    bool aborting = false;
    // While paused only the calls' deadlines pass. They are the batcher's of the pass before, which a pause,
    // like an arrival, brings about.
    absl::Duration patience = absl::InfiniteDuration();
    if (paused) patience = batcher_.next_deadline() - clock_.Now() + absl::Milliseconds(1);
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&has_work), patience);
      for (std::shared_ptr<RolloutGroup>& group : arrived_) batcher_.Add(std::move(group));
      arrived_.clear();
      arrived_sequences_ = 0;
      queued_ = batcher_.queued_sequences();
      paused = paused_;
      aborts = aborts_wanted_;
      woken_ = false;
      if (stop_) break;
      stepping_ = true;
      aborting = aborts != aborts_done_;
    }
    if (aborting) batcher_.FailAll(absl::AbortedError("the worker was told to abort its calls"));
    const absl::Time start = absl::Now();
    if (paused) {
      batcher_.Watch();
    } else {
      batcher_.Step();
      metrics_.step_seconds.Observe(absl::ToDoubleSeconds(absl::Now() - start));
    }
    FinishStep(aborts);
  }
  batcher_.FailAll(absl::CancelledError("the worker shuts down"));
  FinishStep(0);
}

void Engine::FinishStep(uint64_t aborts) {
  {
    absl::MutexLock lock(&mu_);
    batcher_idle_ = batcher_.idle();
    running_ = batcher_.running_sequences();
    queued_ = batcher_.queued_sequences();
  }
  for (auto& [group, status] : batcher_.TakeEnded()) group->End(std::move(status));
  absl::MutexLock lock(&mu_);
  stepping_ = false;
  aborts_done_ = std::max(aborts_done_, aborts);
}

void Engine::Wake() {
  absl::MutexLock lock(&mu_);
  woken_ = true;
}

ServedPolicy Engine::served() const {
  absl::MutexLock lock(&mu_);
  return served_;
}

PolicyHandle Engine::policy() const {
  const std::shared_ptr<PolicyRun> run = served().run;
  return run == nullptr ? nullptr : run->policy;
}

// ---- Policies ----

absl::Status Engine::LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) {
  if (policy.job.empty()) return absl::InvalidArgumentError("policy.job is empty");
  if (policy.version < 0) return absl::InvalidArgumentError("policy.policy_version is negative");
  if (policy.manifest_hash.size() != 64) {
    return absl::InvalidArgumentError("policy.manifest_hash is no SHA-256 in hexadecimal");
  }
  bool served = false;
  SLUICE_RETURN_IF_ERROR(CheckOrder(policy, &served));
  if (served) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(BeginLoad(deadline));
  absl::Cleanup end_load = [this] { EndLoad(); };
  SLUICE_RETURN_IF_ERROR(CheckOrder(policy, &served));  // another load may have been first
  if (served) return absl::OkStatus();
  return FetchAndServe(policy, mode, deadline);
}

absl::Status Engine::CheckOrder(const PolicyRef& policy, bool* served) const {
  const PolicyHandle current = this->policy();
  *served = false;
  if (current == nullptr || current->job != policy.job) return absl::OkStatus();
  if (current->version > policy.version) {
    return absl::AbortedError(absl::StrCat("version ", current->version, " of job ", policy.job,
                                           " is served; not going back to version ", policy.version));
  }
  if (current->version < policy.version) return absl::OkStatus();
  if (current->manifest_hash != policy.manifest_hash) {
    return absl::DataLossError(absl::StrCat("version ", policy.version, " of job ", policy.job,
                                            " is served as ", current->manifest_hash, "; it is announced as ",
                                            policy.manifest_hash));
  }
  *served = true;
  return absl::OkStatus();
}

absl::Status Engine::BeginLoad(absl::Time deadline) {
  const absl::Duration left = deadline - clock_.Now();
  const auto free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !loading_ || stop_; };
  absl::MutexLock lock(&mu_);
  if (!mu_.AwaitWithTimeout(absl::Condition(&free), left)) {
    return absl::DeadlineExceededError("waiting for another policy to be loaded");
  }
  if (stop_) return absl::CancelledError("the worker shuts down");
  loading_ = true;
  return absl::OkStatus();
}

void Engine::EndLoad() {
  absl::MutexLock lock(&mu_);
  loading_ = false;
}

absl::StatusOr<FetchedPolicy> Engine::Fetch(const PolicyRef& policy, absl::Time deadline) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<WeightChannel> channel, options_.open_channel(policy.source));
  PolicyCache* const cache = options_.policy_cache.get();
  absl::StatusOr<FetchedPolicy> fetched =
      cache != nullptr ? cache->Fetch(*channel, policy, deadline)
                       : FetchPolicy(*channel, policy, deadline, FetchLimits(), clock_);
  if (!fetched.ok()) {
    if (absl::IsDataLoss(fetched.status())) metrics_.weights_refused.Increment();
    return fetched;
  }
  metrics_.weight_sync_bytes.Increment(static_cast<double>(fetched->bytes));
  metrics_.weight_patched_bytes.Increment(static_cast<double>(fetched->patched_bytes));
  if (cache == nullptr) return fetched;
  if (const absl::Status kept = cache->Keep(*fetched); !kept.ok()) {
    LogWarning("policy_not_kept", {{"policy_version", policy.version}, {"why", kept.message()}});
  }
  return fetched;
}

absl::Status Engine::FetchAndServe(const PolicyRef& policy, SwapMode mode, absl::Time deadline) {
  if (options_.open_channel == nullptr) {
    return absl::FailedPreconditionError("this worker was started without a way to fetch policies");
  }
  const absl::Time start = absl::Now();
  SLUICE_FAIL_POINT("rollout.load_begun");
  SLUICE_ASSIGN_OR_RETURN(FetchedPolicy fetched, Fetch(policy, deadline));
  SLUICE_FAIL_POINT("rollout.load_fetched");
  SLUICE_ASSIGN_OR_RETURN(PolicyHandle handle, MakePolicy(policy, fetched.files, std::move(fetched.tensors),
                                                          {*backend_, options_.dtype}, this->policy().get()));
  SLUICE_FAIL_POINT("rollout.load_verified");
  Serve(std::move(handle), mode);
  SLUICE_FAIL_POINT("rollout.load_installed");
  ReturnFreedMemory();  // the tensors as they were fetched
  metrics_.weight_sync_seconds.Observe(absl::ToDoubleSeconds(absl::Now() - start));
  return absl::OkStatus();
}

absl::Status Engine::LoadDirectory(const std::string& path, std::optional<DType> dtype) {
  SLUICE_ASSIGN_OR_RETURN(ModelDirectory model, ReadModelDirectory(path));
  SLUICE_ASSIGN_OR_RETURN(const std::string manifest,
                          BuildManifest(kLocalJob, 0, kNoPolicyVersion, model.tensors, model.files));
  const PolicyRef ref = {kLocalJob, 0, ManifestHash(manifest), path};
  SLUICE_ASSIGN_OR_RETURN(
      PolicyHandle handle,
      MakePolicy(ref, model.files, std::move(model.tensors),
                 {*backend_, dtype.has_value() ? dtype : options_.dtype}, policy().get()));
  Serve(std::move(handle), SwapMode::kFinish);
  ReturnFreedMemory();  // the tensors as they were read
  return absl::OkStatus();
}

void Engine::Serve(PolicyHandle policy, SwapMode mode) {
  LogInfo("policy_served",
          {{"job", policy->job}, {"policy_version", policy->version}, {"manifest", policy->manifest_hash}});
  uint64_t ordinal = 0;
  {
    absl::MutexLock lock(&mu_);
    ordinal = next_run_++;
  }
  // Shared with the groups that start on it.
  auto run = std::make_shared<PolicyRun>(std::move(policy), ordinal, *backend_, &pool_);
  metrics_.cache_blocks_capacity.Set(static_cast<double>(options_.cache_bytes / run->block_bytes()));
  metrics_.policy_version.Set(static_cast<double>(run->policy->version));
  absl::MutexLock lock(&mu_);
  // What an earlier load of another job said is not about this one's groups.
  if (served_.run != nullptr && served_.run->policy->job != run->policy->job) served_.continue_from = 0;
  served_.run.swap(run);  // the old one, if nothing runs on it, is freed after the lock
  if (mode == SwapMode::kContinue) served_.continue_from = ordinal;
  woken_ = true;  // what is kept of the old one goes at once
}

// ---- Calls ----

absl::Status Engine::Check(const RolloutGroup& group) const {
  const PolicyHandle current = policy();
  if (current == nullptr || current->job != group.request.job) {
    return absl::FailedPreconditionError(
        absl::StrCat("no policy of job \"", group.request.job, "\" is loaded",
                     current == nullptr ? "" : absl::StrCat("; job \"", current->job, "\" is served")));
  }
  if (group.kind == GroupKind::kSample) return CheckRolloutRequest(group.request, *current);
  return CheckPromptTokens(group.request.prompt_tokens, 0, *current);
}

absl::Status Engine::Enqueue(const std::shared_ptr<RolloutGroup>& group) {
  SLUICE_RETURN_IF_ERROR(Check(*group));
  absl::MutexLock lock(&mu_);
  if (stop_) return absl::CancelledError("the worker shuts down");
  if (draining_) return absl::UnavailableError("the worker is being drained and takes no new calls");
  // A group larger than the queue is taken when nothing waits: else it could never run.
  const size_t waiting = arrived_sequences_ + static_cast<size_t>(queued_);
  if (waiting > 0 && waiting + group->sequences() > static_cast<size_t>(options_.max_queued_sequences)) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", waiting, " sequences wait, ",
                                                     group->sequences(), " were to be added, the limit is ",
                                                     options_.max_queued_sequences));
  }
  group->ordinal = next_ordinal_++;
  group->arrival = absl::Now();
  arrived_sequences_ += group->sequences();
  arrived_.push_back(group);
  SLUICE_FAIL_POINT("rollout.call_taken");
  return absl::OkStatus();
}

absl::Status Engine::Generate(const RolloutRequest& request, const CancelToken& cancel,
                              const std::function<void(Trajectory)>& on_trajectory) {
  // Shared with the engine's thread, which may let go of it after this call returned.
  auto group = std::make_shared<RolloutGroup>();
  group->request = request;
  group->cancel = cancel;
  SLUICE_RETURN_IF_ERROR(Enqueue(group));
  const std::stop_callback on_cancel(cancel.stop_token(), [this] { Wake(); });
  const auto news = [&group]() { return group->done || !group->ready.empty(); };
  while (true) {
    std::deque<Trajectory> ready;
    absl::Status status;
    bool done = false;
    {
      absl::MutexLock lock(&group->mu);
      group->mu.Await(absl::Condition(&news));  // bounded by the deadline, which the engine's thread watches
      ready.swap(group->ready);
      done = group->done;
      status = group->status;
    }
    for (Trajectory& trajectory : ready) on_trajectory(std::move(trajectory));
    SLUICE_FAIL_POINT("rollout.completion_reported");
    if (done) return status;
  }
}

absl::StatusOr<TokenScores> Engine::ScoreTokens(const JobId& job, const std::vector<int32_t>& tokens,
                                                absl::Time deadline, const CancelToken& cancel) {
  auto group = std::make_shared<RolloutGroup>();  // shared as in Generate
  group->kind = GroupKind::kScore;
  group->request.job = job;
  group->request.prompt_tokens = tokens;
  group->request.deadline = deadline;
  group->cancel = cancel;
  SLUICE_RETURN_IF_ERROR(Enqueue(group));
  const std::stop_callback on_cancel(cancel.stop_token(), [this] { Wake(); });
  absl::MutexLock lock(&group->mu);
  group->mu.Await(absl::Condition(&group->done));
  if (!group->status.ok()) return group->status;
  return TokenScores{group->scores, group->version};
}

// ---- Commands ----

absl::Status Engine::AwaitOr(absl::FunctionRef<bool()> condition, absl::Time deadline,
                             absl::string_view what) {
  const absl::Duration left = deadline - clock_.Now();
  const auto over = [this, condition]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stop_ || condition(); };
  absl::MutexLock lock(&mu_);
  if (!mu_.AwaitWithTimeout(absl::Condition(&over), left)) {
    return absl::DeadlineExceededError(absl::StrCat("waiting for ", what));
  }
  return condition() ? absl::OkStatus() : absl::CancelledError("the worker shuts down");
}

absl::Status Engine::Control(RolloutCommand command, absl::Time deadline) {
  uint64_t abort = 0;
  {
    absl::MutexLock lock(&mu_);
    if (command == RolloutCommand::kPause) paused_ = true;
    if (command == RolloutCommand::kResume) paused_ = draining_ = false;
    if (command == RolloutCommand::kAbort) abort = ++aborts_wanted_;
    if (command == RolloutCommand::kDrain) draining_ = true;
    woken_ = true;
  }
  switch (command) {
    case RolloutCommand::kPause:
      return AwaitOr([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !stepping_; }, deadline,
                     "the current step to end");
    case RolloutCommand::kResume:
      return absl::OkStatus();
    case RolloutCommand::kAbort:
      return AwaitOr([this, abort]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return aborts_done_ >= abort; },
                     deadline, "the calls to be aborted");
    case RolloutCommand::kDrain:
      return AwaitOr(
          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return arrived_.empty() && batcher_idle_ && !stepping_; },
          deadline, "the running calls to end");
  }
  return absl::InvalidArgumentError("no such command");
}

absl::StatusOr<RolloutWorkerState> Engine::GetState() {
  RolloutWorkerState state;
  absl::MutexLock lock(&mu_);
  if (served_.run != nullptr) {
    state.job = served_.run->policy->job;
    state.version = served_.run->policy->version;
  }
  state.paused = paused_;
  state.draining = draining_;
  state.kernel_path = backend_->kernel_path();
  state.running = running_;
  state.queued = queued_ + static_cast<int32_t>(arrived_sequences_);
  state.tokens_generated = static_cast<int64_t>(metrics_.tokens_generated.Value());
  return state;
}

}  // namespace sluice
