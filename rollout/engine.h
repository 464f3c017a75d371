// The rollout worker itself: one thread that runs the decoder over rows of many sequences at once, in steps
// (continuous batching: Yu et al., "Orca", OSDI 2022), over a paged cache. A group's prompt is computed once
// for all of its members, and full blocks of tokens that were computed before are found again. Policies are
// fetched and packed on the caller's thread: a swap is one pointer to the engine's. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/base/clock.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_backend.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/weight_channel.h"
#include "core/spec/tensors/tensor.h"
#include "core/weights/policy_cache.h"
#include "prometheus/registry.h"
#include "rollout/batcher.h"
#include "rollout/engine_metrics.h"
#include "rollout/policy_handle.h"

namespace sluice {

struct EngineOptions {
  std::string name = "rollout-0";  // stamped on trajectories
  // What matrices are rounded to; empty: as the policy's tensors are stored.
  std::optional<DType> dtype;
  int32_t max_running_sequences = 64;
  int32_t max_queued_sequences = 4096;
  int64_t cache_bytes = int64_t{1} << 30;
  int32_t prefill_chunk_tokens = 256;  // of prompts, in one step
  int threads = 1;
  // What models run on; null: this processor, with the kernels of core/kernels. Shared by engines.
  std::shared_ptr<const DecoderBackend> backend;
  bool share_prefixes = true;  // false: each sequence computes its prompt for itself
  // Opens the channel to a PolicyRef's source. Called on the thread of LoadPolicy.
  std::function<absl::StatusOr<std::unique_ptr<WeightChannel>>(const std::string& source)> open_channel;
  // Where policies are kept that were fetched; null: nowhere.
  std::shared_ptr<PolicyCache> policy_cache;
};

// log p(token t+1 | tokens 0..t) for each token after the first, at temperature 1.
struct TokenScores {
  std::vector<float> logprobs;
  PolicyVersion version = kNoPolicyVersion;
};

class Engine final : public RolloutWorker {
 public:
  // `registry` and `clock` outlive the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(EngineOptions options, prometheus::Registry& registry,
                                                        Clock& clock = Clock::Real());
  ~Engine() override;

  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) override;
  // A Hugging Face directory as version 0 of the job "local".
  absl::Status LoadDirectory(const std::string& path, std::optional<DType> dtype = std::nullopt);
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override;
  // Errors as of Generate.
  absl::StatusOr<TokenScores> ScoreTokens(const JobId& job, const std::vector<int32_t>& tokens,
                                          absl::Time deadline = absl::InfiniteFuture(),
                                          const CancelToken& cancel = CancelToken());
  absl::Status Control(RolloutCommand command, absl::Time deadline) override;
  absl::StatusOr<RolloutWorkerState> GetState() override;
  // What is served to new sequences; null before the first load.
  PolicyHandle policy() const;

  // Ends all calls of Generate and ScoreTokens with CANCELLED and refuses new ones. Idempotent; the
  // destructor does it too, but calls must have returned by then.
  void Shutdown();

 private:
  Engine(EngineOptions options, prometheus::Registry& registry, Clock& clock);

  void Work();  // the engine's thread
  // Publishes the batcher's state, then tells callers that their groups ended. `aborts` are done.
  void FinishStep(uint64_t aborts);
  void Wake();  // has the engine's thread look at its calls
  // Runs `condition`, of members under mu_, to true. DEADLINE_EXCEEDED says what was waited for.
  absl::Status AwaitOr(absl::FunctionRef<bool()> condition, absl::Time deadline, absl::string_view what);
  absl::StatusOr<FetchedPolicy> Fetch(const PolicyRef& policy, absl::Time deadline);
  absl::Status FetchAndServe(const PolicyRef& policy, SwapMode mode, absl::Time deadline);
  // Takes the turn to load; loads are rare and large, so there is one at a time.
  absl::Status BeginLoad(absl::Time deadline);
  void EndLoad();
  // OK with `served` set when there is nothing to do.
  absl::Status CheckOrder(const PolicyRef& policy, bool* served) const;
  void Serve(PolicyHandle policy, SwapMode mode);
  ServedPolicy served() const;
  // INVALID_ARGUMENT and FAILED_PRECONDITION, as far as they can be told at once.
  absl::Status Check(const RolloutGroup& group) const;
  absl::Status Enqueue(const std::shared_ptr<RolloutGroup>& group);

  const EngineOptions options_;
  Clock& clock_;
  EngineMetrics metrics_;
  ThreadPool pool_;
  const std::shared_ptr<const DecoderBackend> backend_;  // shared as the options say

  mutable absl::Mutex mu_;
  ServedPolicy served_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<RolloutGroup>> arrived_ ABSL_GUARDED_BY(mu_);  // shared with their callers
  size_t arrived_sequences_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_run_ ABSL_GUARDED_BY(mu_) = 1;
  uint64_t next_ordinal_ ABSL_GUARDED_BY(mu_) = 0;
  bool loading_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool paused_ ABSL_GUARDED_BY(mu_) = false, draining_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;     // a call was cancelled, a policy swapped, a command given
  bool stepping_ ABSL_GUARDED_BY(mu_) = false;  // the engine's thread is at work
  uint64_t aborts_wanted_ ABSL_GUARDED_BY(mu_) = 0, aborts_done_ ABSL_GUARDED_BY(mu_) = 0;
  // Of the batcher, as of its last step.
  bool batcher_idle_ ABSL_GUARDED_BY(mu_) = true;
  int32_t running_ ABSL_GUARDED_BY(mu_) = 0, queued_ ABSL_GUARDED_BY(mu_) = 0;

  Batcher batcher_;  // touched by the engine's thread only
  std::thread thread_;
};

}  // namespace sluice
