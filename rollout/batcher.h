// The engine's state machine: one step computes the next rows of all running streams, decoding and prefill in
// chunks mixed. Which streams run is StreamTable's; what a completion is, Completion's. Single-threaded:
// touched by the engine's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_backend.h"
#include "rollout/engine_metrics.h"
#include "rollout/policy_handle.h"
#include "rollout/rollout_group.h"
#include "rollout/stream.h"
#include "rollout/stream_table.h"

namespace sluice {

struct BatcherOptions {
  std::string worker;                       // stamped on trajectories
  const DecoderBackend* backend = nullptr;  // outlives the batcher
  int32_t max_running_sequences = 64;
  int64_t cache_bytes = int64_t{1} << 30;
  int32_t prefill_chunk_tokens = 256;
  bool share_prefixes = true;
};

// What new groups start with; null: nothing is served. Running groups of its job whose policy was served
// before number `continue_from` (PolicyRun::ordinal) go on with it, but for those that want one version only.
struct ServedPolicy {
  std::shared_ptr<PolicyRun> run;  // shared with the engine and the groups on it
  uint64_t continue_from = 0;
};

class Batcher {
 public:
  // All references outlive the batcher.
  Batcher(BatcherOptions options, ThreadPool& pool, Clock& clock, EngineMetrics& metrics,
          std::function<ServedPolicy()> served);

  void Add(std::shared_ptr<RolloutGroup> group);
  bool idle() const { return groups_.empty(); }
  // Ends expired groups, follows a swap, starts waiting groups, and computes the next rows of all running
  // streams.
  void Step();
  // The first half of Step: what also happens while nothing is to be computed.
  void Watch();
  absl::Time next_deadline() const;
  // Ends all groups, after reporting their progress.
  void FailAll(const absl::Status& status);
  // Groups that ended since the last call, and how. Their callers are still to be told: by RolloutGroup::End,
  // after everything that they may look at next is up to date.
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> TakeEnded();
  int32_t running_sequences() const { return streams_.running_sequences(); }
  int32_t queued_sequences() const { return streams_.queued_sequences(); }

 private:
  // The next `count` tokens of a stream.
  struct Feed {
    Age age;
    Stream* stream = nullptr;
    int64_t count = 0;
  };
  // A row of hidden states whose logits are wanted.
  struct WantedRow {
    Feed* feed = nullptr;
    int64_t row = 0;       // -1: nothing is to be computed
    int64_t position = 0;  // of the row's token
    absl::StatusOr<SampledToken> result = SampledToken();
  };
  struct Batch {
    std::shared_ptr<PolicyRun> run;  // shared: its last group may end within the step
    std::vector<Feed> feeds;
  };

  void EndExpired();
  void FollowSwap();
  void Admit();
  absl::Status Pin(RolloutGroup& group, std::shared_ptr<PolicyRun> run);
  absl::Status StartBegun(RolloutGroup& group);

  void BuildBatches();
  std::vector<Feed>& FeedsOf(const std::shared_ptr<PolicyRun>& run);
  void RunBatch(Batch& batch);
  void BuildRows(const std::vector<Feed>& feeds);
  void FindWanted(std::vector<Feed>& feeds);
  absl::Status ComputeWanted(PolicyRun& run);
  void ComputeRow(const float* logits, WantedRow& wanted) const;
  void ApplyWanted();
  void EndGroupsOf(const std::vector<Feed>& feeds, const absl::Status& status);

  void ForkPrompts();
  Streams::iterator ForkPrompt(Streams::iterator it);
  std::unique_ptr<Stream> NewMember(const Stream& prompt, size_t place);
  bool HasRunningMember(const RolloutGroup& group);

  // Adds a sampled token; true when the completion has ended: then it has been handed over.
  bool AddToken(Stream& member, const SampledToken& sampled);
  void HandOver(Stream& member);
  void EndGroup(const std::shared_ptr<RolloutGroup>& group, absl::Status status);

  const BatcherOptions options_;
  ThreadPool& pool_;
  Clock& clock_;
  EngineMetrics& metrics_;
  const std::function<ServedPolicy()> served_;

  StreamTable streams_;
  std::map<uint64_t, std::shared_ptr<RolloutGroup>> groups_;  // shared with their callers
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended_;
  uint64_t followed_ = 0;  // the policy run that the streams were last told of
  // Workspaces of a step, kept for their memory.
  std::vector<Batch> batches_;
  std::vector<DecoderRow> rows_;
  std::vector<WantedRow> wanted_;
  std::vector<float> hidden_, picked_, logits_;
};

}  // namespace sluice
