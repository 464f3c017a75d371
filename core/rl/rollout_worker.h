// The port to a rollout worker: samples completions from a policy. Implementations: the engine itself
// (rollout/engine), the gRPC client (services/clients), a fake (tests/fakes). Thread-safe: calls may overlap.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/rl/types.h"

namespace sluice {

// Completions `indices` of one prompt. The prompt is prefilled once for all of them.
struct RolloutRequest {
  JobId job;
  RandomDomain domain = RandomDomain::kTraining;
  uint64_t seed = 0;  // of the job
  Draw draw = 0;
  std::vector<uint32_t> indices;
  uint32_t attempt = 0;
  std::vector<int32_t> prompt_tokens;
  SamplingParams sampling;
  // Completions that another worker began, by key.index: each goes on after its last token with the same
  // result as if it had never moved. Its spans, log-probabilities, alternatives and experts are taken over;
  // where another version is served now, the spans say so. One that has ended is handed over as it is.
  std::vector<Trajectory> begun;
  // Tokens between reports of progress; 0: none.
  int32_t progress_every_tokens = 0;
  // A report of progress may be what is new since the one before, or since `begun`
  // (core/rl/trajectory_parts), so that all of them together are as long as the completion. Finished ones are
  // whole.
  bool progress_in_parts = false;
  // The only version that may sample it, from its first token to its last: FAILED_PRECONDITION where another
  // is served when it starts, and SwapMode::kContinue does not move it. kNoPolicyVersion: any.
  PolicyVersion only_version = kNoPolicyVersion;
  absl::Time deadline = absl::InfiniteFuture();
};

// kPause: nothing is computed after the current step, caches stay, calls wait (their deadlines pass). kAbort:
// ends all calls with ABORTED after reporting their progress; later ones are taken. kDrain: takes no new
// calls (UNAVAILABLE) and returns when the running ones have ended. kResume ends a pause and a drain.
enum class RolloutCommand { kPause, kResume, kAbort, kDrain };

struct RolloutWorkerState {
  JobId job;                                 // whose policy is loaded; empty: none
  PolicyVersion version = kNoPolicyVersion;  // that new sequences start with
  std::string kernel_path;
  int32_t running = 0, queued = 0;  // sequences
  int64_t tokens_generated = 0;     // since start
  bool paused = false, draining = false;
};

class RolloutWorker {
 public:
  virtual ~RolloutWorker() = default;

  // Fetches a policy, checks every hash, then serves it to sequences that start from now on; `mode` says what
  // running ones do. Returns when it is served. Loading what is served already
  // is OK and free. DATA_LOSS on a hash mismatch (the old policy stays); ABORTED when a newer version of the
  // job is served already.
  virtual absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) = 0;

  // Samples all of the request's completions; `on_trajectory` is called once for each as it finishes, and,
  // when progress is asked for, with what there is or what is new of it (finish_reason kUnspecified) every so
  // many tokens and before an error; never after the call returned, one call at a time. FAILED_PRECONDITION
  // without a policy of that job; INVALID_ARGUMENT when the prompt and max_new_tokens do not fit the context;
  // RESOURCE_EXHAUSTED when the queue is full; DEADLINE_EXCEEDED; CANCELLED. Trajectories handed over before
  // an error are good.
  virtual absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                                const std::function<void(Trajectory)>& on_trajectory) = 0;

  // Idempotent. DEADLINE_EXCEEDED when it did not happen in time.
  virtual absl::Status Control(RolloutCommand command, absl::Time deadline) = 0;

  virtual absl::StatusOr<RolloutWorkerState> GetState() = 0;
};

}  // namespace sluice
