// A RolloutWorker without a model: tokens are a pure function of the request's random key, failures are
// scripted. Thread-safe. Keeps the port's contract (tests/contract/rollout_worker_contract.h) as far as a
// worker without weights can.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/random.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/sampling_check.h"
#include "core/rl/trajectory_parts.h"

namespace sluice {

class FakeRolloutWorker final : public RolloutWorker {
 public:
  struct Options {
    std::string name = "fake";
    int32_t vocab = 100;
    int64_t max_positions = 1 << 20;
    int32_t max_calls = 1 << 20;  // Generate calls under way at once; more are RESOURCE_EXHAUSTED
    // The completion's text; by default its tokens as decimal numbers.
    std::function<std::string(const RolloutRequest&, uint32_t index, PolicyVersion)> text;
    const Clock* clock = nullptr;  // for deadlines; null: the real one
  };

  FakeRolloutWorker() : FakeRolloutWorker(Options()) {}
  explicit FakeRolloutWorker(Options options) : options_(std::move(options)) {}

  // The next `times` calls of Generate hand over `delivered` trajectories and then fail with `status`, after
  // half of the next one where progress is asked for.
  void FailGenerate(absl::Status status, int times = 1, int delivered = 0) {
    absl::MutexLock lock(&mu_);
    for (int i = 0; i < times; ++i) generate_failures_.push_back({status, delivered});
  }
  // The next `times` calls of LoadPolicy fail with `status` and leave the policy as it is.
  void FailLoad(absl::Status status, int times = 1) {
    absl::MutexLock lock(&mu_);
    for (int i = 0; i < times; ++i) load_failures_.push_back(status);
  }
  // Calls of Generate wait (until Unblock, their deadline or cancellation) before the first trajectory.
  void Block() {
    absl::MutexLock lock(&mu_);
    blocked_ = true;
  }
  void Unblock() {
    absl::MutexLock lock(&mu_);
    blocked_ = false;
  }

  std::vector<RolloutRequest> requests() const {  // all calls of Generate, in order
    absl::MutexLock lock(&mu_);
    return requests_;
  }
  // The first for which `wanted` holds, as soon as there is one; after `deadline` (real time) an empty one.
  RolloutRequest AwaitRequest(const std::function<bool(const RolloutRequest&)>& wanted,
                              absl::Time deadline) const {
    absl::MutexLock lock(&mu_);
    const auto came = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return std::any_of(requests_.begin(), requests_.end(), wanted);
    };
    mu_.AwaitWithDeadline(absl::Condition(&came), deadline);
    const auto found = std::find_if(requests_.begin(), requests_.end(), wanted);
    return found == requests_.end() ? RolloutRequest() : *found;
  }
  std::vector<PolicyRef> loads() const {  // policies that were loaded
    absl::MutexLock lock(&mu_);
    return loads_;
  }

  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) override {
    absl::MutexLock lock(&mu_);
    if (!load_failures_.empty()) {
      absl::Status failure = load_failures_.front();
      load_failures_.pop_front();
      return failure;
    }
    if (policy.job.empty() || policy.version < 0)
      return absl::InvalidArgumentError("policy: job or version is missing");
    if (clock().Now() > deadline) return absl::DeadlineExceededError("loading the policy");
    if (policy.job == policy_.job && policy.version < policy_.version) {
      return absl::AbortedError(
          absl::StrCat("version ", policy_.version, " is served; asked for ", policy.version));
    }
    if (policy == policy_) return absl::OkStatus();
    policy_ = policy;
    continues_ = mode == SwapMode::kContinue;
    loads_.push_back(policy);
    return absl::OkStatus();
  }

  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    PolicyRef policy;
    Failure failure;
    {
      absl::MutexLock lock(&mu_);
      requests_.push_back(request);
      if (absl::Status status = Check(request); !status.ok()) return status;
      if (!generate_failures_.empty()) {
        failure = generate_failures_.front();
        generate_failures_.pop_front();
      }
      policy = policy_;
      ++running_;
    }
    absl::Status status = Run(request, cancel, policy, failure, on_trajectory);
    absl::MutexLock lock(&mu_);
    --running_;
    return status;
  }

  absl::Status Control(RolloutCommand command, absl::Time deadline) override {
    absl::MutexLock lock(&mu_);
    if (command == RolloutCommand::kPause) paused_ = true;
    if (command == RolloutCommand::kResume) paused_ = draining_ = false;
    if (command == RolloutCommand::kAbort) ++aborts_;
    if (command == RolloutCommand::kDrain) draining_ = true;
    if (command == RolloutCommand::kPause || command == RolloutCommand::kResume) return absl::OkStatus();
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return running_ == 0; };
    if (mu_.AwaitWithTimeout(absl::Condition(&none), deadline - clock().Now())) return absl::OkStatus();
    return absl::DeadlineExceededError("waiting for calls to end");
  }

  absl::StatusOr<RolloutWorkerState> GetState() override {
    absl::MutexLock lock(&mu_);
    RolloutWorkerState state;
    state.job = policy_.job;
    state.version = policy_.version;
    state.kernel_path = "fake";
    state.running = running_;
    state.tokens_generated = tokens_;
    state.paused = paused_;
    state.draining = draining_;
    return state;
  }

  // The token that any fake gives at this place.
  static int32_t TokenAt(const RolloutRequest& request, uint32_t index, uint32_t position, int32_t vocab) {
    const float u = UniformAt(request.seed, request.domain, request.draw, index, position);
    return std::min(vocab - 1, static_cast<int32_t>(u * static_cast<float>(vocab)));
  }

 private:
  struct Failure {
    absl::Status status;
    int delivered = 0;
  };

  const Clock& clock() const { return options_.clock != nullptr ? *options_.clock : Clock::Real(); }

  absl::Status CheckSampling(const SamplingParams& params) const {
    if (absl::Status status = Validate(params); !status.ok()) return status;
    for (const auto& [token, bias] : params.logit_bias) {
      if (token >= options_.vocab) return absl::InvalidArgumentError("logit_bias: not in the vocabulary");
    }
    return absl::OkStatus();
  }

  static absl::Status CheckBegun(const RolloutRequest& request) {
    if (request.progress_every_tokens < 0) return absl::InvalidArgumentError("progress_every_tokens");
    for (const Trajectory& begun : request.begun) {
      const size_t tokens = begun.tokens.size();
      const auto& indices = request.indices;
      if (begun.key.draw != request.draw ||
          std::find(indices.begin(), indices.end(), begun.key.index) == indices.end() ||
          begun.raw_logprobs.size() != tokens || begun.processed_logprobs.size() != tokens ||
          tokens > static_cast<size_t>(request.sampling.max_new_tokens) ||
          (begun.spans.empty() ? 0 : begun.spans.back().end) != static_cast<int32_t>(tokens)) {
        return absl::InvalidArgumentError("begun: not a part of this request");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Check(const RolloutRequest& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (policy_.job.empty() || policy_.job != request.job) {
      return absl::FailedPreconditionError(absl::StrCat("no policy of job \"", request.job, "\" is loaded"));
    }
    if (request.indices.empty()) return absl::InvalidArgumentError("indices: none");
    if (request.prompt_tokens.empty()) return absl::InvalidArgumentError("prompt_tokens: none");
    for (int32_t token : request.prompt_tokens) {
      if (token < 0 || token >= options_.vocab)
        return absl::InvalidArgumentError("prompt_tokens: not in the vocabulary");
    }
    if (absl::Status status = CheckSampling(request.sampling); !status.ok()) return status;
    if (absl::Status status = CheckBegun(request); !status.ok()) return status;
    if (static_cast<int64_t>(request.prompt_tokens.size()) + request.sampling.max_new_tokens >
        options_.max_positions) {
      return absl::InvalidArgumentError("prompt and max_new_tokens do not fit the context");
    }
    if (draining_) return absl::UnavailableError("the worker is being drained");
    if (running_ >= options_.max_calls) return absl::ResourceExhaustedError("the queue is full");
    return absl::OkStatus();
  }

  absl::Status Run(const RolloutRequest& request, const CancelToken& cancel, PolicyRef policy,
                   const Failure& failure, const std::function<void(Trajectory)>& on_trajectory) {
    const int64_t aborts = [&] {
      absl::MutexLock lock(&mu_);
      return aborts_;
    }();
    while (true) {
      if (cancel.cancelled()) return absl::CancelledError("generating");
      if (clock().Now() > request.deadline) return absl::DeadlineExceededError("generating");
      absl::MutexLock lock(&mu_);
      if (aborts_ != aborts) return absl::AbortedError("the worker was told to abort its calls");
      const auto goes_on = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !blocked_ && !paused_; };
      // A CancelToken wakes nobody, hence the short turns.
      if (mu_.AwaitWithTimeout(absl::Condition(&goes_on), absl::Milliseconds(1))) {
        if (continues_ && policy_.job == policy.job) policy = policy_;
        break;
      }
    }
    int delivered = 0;
    for (uint32_t index : request.indices) {
      const Trajectory whole = Make(request, index, policy);
      const size_t every = static_cast<size_t>(request.progress_every_tokens);
      if (!failure.status.ok() && delivered == failure.delivered) {
        if (every > 0 && whole.tokens.size() / 2 > BegunTokens(request, index))
          on_trajectory(Unfinished(whole, BegunTokens(request, index), whole.tokens.size() / 2, request));
        return failure.status;
      }
      if (cancel.cancelled()) return absl::CancelledError("generating");
      size_t reported = BegunTokens(request, index);
      for (size_t n = every; every > 0 && n < whole.tokens.size(); n += every) {
        if (n <= reported) continue;
        on_trajectory(Unfinished(whole, std::exchange(reported, n), n, request));
      }
      on_trajectory(whole);
      ++delivered;
    }
    return failure.status;
  }

  static size_t BegunTokens(const RolloutRequest& request, uint32_t index) {
    for (const Trajectory& begun : request.begun) {
      if (begun.key.index == index) return begun.tokens.size();
    }
    return 0;
  }
  // What is reported of a completion after its first `tokens`, when `reported` of them were before.
  static Trajectory Unfinished(const Trajectory& whole, size_t reported, size_t tokens,
                               const RolloutRequest& request) {
    Trajectory out = PartOf(whole, request.progress_in_parts ? std::min(reported, tokens) : 0, tokens);
    out.text.clear();
    return out;
  }

  Trajectory Make(const RolloutRequest& request, uint32_t index, const PolicyRef& policy) {
    Trajectory out;
    out.key = {request.draw, index};
    const std::vector<int32_t>& stops = request.sampling.stop_token_ids;
    out.finish_reason = FinishReason::kLength;
    Trajectory begun;
    for (const Trajectory& part : request.begun) {
      if (part.key.index == index) begun = part;
    }
    for (int32_t position = 0; position < request.sampling.max_new_tokens; ++position) {
      const int32_t token = TokenAt(request, index, static_cast<uint32_t>(position), options_.vocab);
      const float logprob = -0.25f - 0.5f * static_cast<float>(token) / static_cast<float>(options_.vocab);
      out.tokens.push_back(token);
      out.raw_logprobs.push_back(logprob);
      out.processed_logprobs.push_back(request.sampling.temperature == 0 ? 0.0f : logprob);
      for (int32_t i = 0; i < request.sampling.top_logprobs; ++i) {
        out.alternatives.push_back({(token + i) % options_.vocab, logprob - static_cast<float>(i)});
      }
      if (position + 1 > request.sampling.min_new_tokens &&
          std::find(stops.begin(), stops.end(), token) != stops.end()) {
        out.finish_reason = FinishReason::kStop;
        break;
      }
    }
    AddSpans(begun, policy, &out);
    if (request.sampling.record_experts) {
      out.experts.moe_layers = out.experts.per_token = 1;
      for (int32_t token : request.prompt_tokens) out.experts.ids.push_back(static_cast<uint16_t>(token % 4));
      for (size_t i = 0; i + 1 < out.tokens.size(); ++i) {
        out.experts.ids.push_back(static_cast<uint16_t>(out.tokens[i] % 4));
      }
    }
    if (options_.text) {
      out.text = options_.text(request, index, policy.version);
    } else {
      for (int32_t token : out.tokens) absl::StrAppend(&out.text, out.text.empty() ? "" : " ", token);
    }
    out.worker = options_.name;
    out.attempt = request.attempt;
    absl::MutexLock lock(&mu_);
    tokens_ += static_cast<int64_t>(out.tokens.size());
    return out;
  }

  static void AddSpans(const Trajectory& begun, const PolicyRef& policy, Trajectory* out) {
    const auto end = static_cast<int32_t>(out->tokens.size());
    const auto begin = static_cast<int32_t>(begun.tokens.size());
    out->spans = begun.spans;
    if (begin == end) return;
    const VersionSpan own = {begin, end, policy.version, policy.manifest_hash, "fake"};
    if (!out->spans.empty() && out->spans.back().version == own.version &&
        out->spans.back().manifest_hash == own.manifest_hash) {
      out->spans.back().end = end;
    } else {
      out->spans.push_back(own);
    }
  }

  const Options options_;
  mutable absl::Mutex mu_;
  PolicyRef policy_ ABSL_GUARDED_BY(mu_);
  std::deque<Failure> generate_failures_ ABSL_GUARDED_BY(mu_);
  std::deque<absl::Status> load_failures_ ABSL_GUARDED_BY(mu_);
  bool blocked_ ABSL_GUARDED_BY(mu_) = false;
  bool paused_ ABSL_GUARDED_BY(mu_) = false, draining_ ABSL_GUARDED_BY(mu_) = false;
  bool continues_ ABSL_GUARDED_BY(mu_) = false;  // calls under way take the newest policy
  int64_t aborts_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<RolloutRequest> requests_ ABSL_GUARDED_BY(mu_);
  std::vector<PolicyRef> loads_ ABSL_GUARDED_BY(mu_);
  int32_t running_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t tokens_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice
