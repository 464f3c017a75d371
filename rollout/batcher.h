// The engine's state machine: which sequences run, wait and are preempted, and one step of all of them.
// Single-threaded: touched by the engine's thread only.
//
// A stream is something whose tokens are fed to the decoder: a prompt shared by the members of a group that
// have not started, a member, or tokens to be scored. Streams have an age (arrival of the group, then place
// in the group; a prompt after its members). Older ones go first; where blocks run out the youngest loses its
// cache, and is computed again later from its known tokens. What is sampled depends on none of this
// (invariant INVARIANT).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_backend.h"
#include "rollout/completion_text.h"
#include "rollout/engine_metrics.h"
#include "rollout/paged_cache.h"
#include "rollout/policy_handle.h"
#include "rollout/rollout_group.h"
#include "rollout/sampler.h"

namespace sluice {

struct BatcherOptions {
  std::string worker;                       // stamped on trajectories
  const DecoderBackend* backend = nullptr;  // outlives the batcher
  int32_t max_running_sequences = 64;
  int64_t cache_bytes = int64_t{1} << 30;
  int32_t prefill_chunk_tokens = 256;
  bool share_prefixes = true;
};

class Batcher {
 public:
  // `served` gives what new groups start with, or null. All references outlive the batcher.
  Batcher(BatcherOptions options, ThreadPool& pool, Clock& clock, EngineMetrics& metrics,
          std::function<std::shared_ptr<PolicyRun>()> served);

  void Add(std::shared_ptr<RolloutGroup> group);
  bool idle() const { return groups_.empty(); }
  // Ends expired groups, starts waiting ones, and computes the next rows of all running streams.
  void Step();
  void FailAll(const absl::Status& status);
  // Groups that ended since the last call, and how. Their callers are still to be told: by RolloutGroup::End,
  // after everything that they may look at next is up to date.
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> TakeEnded();
  int32_t running_sequences() const;
  int32_t queued_sequences() const;

 private:
  enum class StreamKind { kPrompt, kMember, kScore };
  struct Stream {
    StreamKind kind = StreamKind::kPrompt;
    std::shared_ptr<RolloutGroup> group;
    std::vector<size_t> pending;           // kPrompt: members to start, as places in request.indices
    size_t place = 0;                      // kMember: in request.indices
    std::vector<int32_t> known;            // tokens to be in the cache: given, then sampled
    int64_t cached = 0;                    // of them computed
    std::unique_ptr<SequenceCache> cache;  // null before the first start
    std::vector<float> logits;             // kPrompt: after its last token [vocab]
    std::vector<float> raw_logprobs, processed_logprobs;
    std::unique_ptr<CompletionText> text;  // kMember

    int64_t remaining() const { return static_cast<int64_t>(known.size()) - cached; }
  };
  using Age = std::pair<uint64_t, size_t>;
  using Streams = std::map<Age, std::unique_ptr<Stream>>;
  static constexpr size_t kPromptPlace = std::numeric_limits<size_t>::max();

  // The next `count` tokens of a stream.
  struct Feed {
    Age age;
    Stream* stream = nullptr;
    int64_t count = 0;
  };
  // A row of hidden states whose logits are wanted.
  struct WantedRow {
    Feed* feed = nullptr;
    int64_t row = 0;
    int64_t position = 0;  // of the row's token
    absl::StatusOr<SampledToken> result = SampledToken();
  };

  void EndExpired();
  void Admit();
  absl::Status Pin(RolloutGroup& group);
  size_t Weight(const Stream& stream) const;  // sequences that it is or will become
  bool MakeRoom(Streams::iterator it, int64_t positions);
  void Preempt(Streams::iterator it);
  void ResetCache(Stream& stream);

  std::vector<std::pair<PolicyRun*, std::vector<Feed>>> BuildBatches();
  void RunBatch(PolicyRun& run, std::vector<Feed>& feeds);
  void EndGroupsOf(const std::vector<Feed>& feeds, const absl::Status& status);
  std::vector<WantedRow> WantedRows(std::vector<Feed>& feeds) const;
  absl::Status ComputeRows(PolicyRun& run, std::vector<WantedRow>& wanted);
  void ComputeRow(const float* logits, WantedRow& wanted) const;
  void ApplyRows(std::vector<WantedRow>& wanted);

  void ForkPrompts();
  Streams::iterator ForkPrompt(Streams::iterator it);
  std::unique_ptr<Stream> NewMember(const Stream& prompt, size_t place);
  bool HasRunningMember(const RolloutGroup& group) const;

  absl::StatusOr<SampledToken> Sample(const Stream& member, absl::Span<const float> logits) const;
  // Adds a sampled token; true when the completion has ended: then it has been handed over.
  bool AddToken(Stream& member, const SampledToken& sampled);
  void HandOver(Stream& member, FinishReason reason, bool drop_last_from_text);
  void EndGroup(const std::shared_ptr<RolloutGroup>& group, absl::Status status);
  void UpdateGauges();

  const BatcherOptions options_;
  ThreadPool& pool_;
  Clock& clock_;
  EngineMetrics& metrics_;
  const std::function<std::shared_ptr<PolicyRun>()> served_;

  BlockPool blocks_;  // outlives the streams
  std::map<uint64_t, std::shared_ptr<RolloutGroup>> groups_;
  Streams running_, waiting_;
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended_;
  std::vector<float> hidden_, picked_, logits_;  // workspaces
};

}  // namespace sluice
