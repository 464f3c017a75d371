// Which streams run and which wait, and the cache that they have. Older streams go first: where blocks run
// out, kept prefixes are given up, then the youngest running stream loses its cache and waits, to be computed
// again from its known tokens. What is sampled depends on none of this (invariant INVARIANT). Touched by the
// engine's thread only.
#pragma once

#include <cstdint>

#include "core/model/decoder_backend.h"
#include "rollout/engine_metrics.h"
#include "rollout/paged_cache.h"
#include "rollout/prefix_cache.h"
#include "rollout/stream.h"

namespace sluice {

class StreamTable {
 public:
  // `backend` and `metrics` outlive the table. Without `share_prefixes` no block is kept for others.
  StreamTable(const DecoderBackend* backend, int64_t cache_bytes, bool share_prefixes,
              EngineMetrics& metrics);

  Streams& running() { return running_; }
  Streams& waiting() { return waiting_; }
  const Streams& running() const { return running_; }
  int32_t running_sequences() const;
  int32_t queued_sequences() const;
  BlockPool* blocks() { return &blocks_; }

  // The prefixes kept are of this policy (PolicyRun::ordinal); those of another are dropped.
  void KeepPrefixesOf(uint64_t run_ordinal);

  // Gives a waiting stream, whose group is pinned, blocks for its known tokens and lets it run. False without
  // blocks: then it waits on; a place is never taken from a running stream for a waiting one.
  bool Start(Streams::iterator it);
  // Room for positions [0, positions) of a running stream, from younger ones if need be. False when it is the
  // youngest itself and has to be preempted.
  bool MakeRoom(Streams::iterator it, int64_t positions);
  void Preempt(Streams::iterator it);
  // Drops what was computed. The group may have been pinned to another policy since.
  void Reset(Stream& stream);
  void EraseGroup(uint64_t ordinal);

  // Takes blocks that are kept for the next known tokens instead of computing them. At least one token
  // remains to be computed, and every token whose experts are still to be recorded. Returns the blocks taken.
  int64_t TakePrefix(Stream& stream);
  // Keeps the full blocks that were computed.
  void KeepPrefix(Stream& stream);
  // Whether its next full block is the prompt's, and can be shared with the group once somebody computed it.
  bool LacksPrompt(const Stream& stream) const;

  void UpdateGauges();

 private:
  bool Shares(const Stream& stream) const;
  int64_t PrefixLimit(const Stream& stream) const;

  const bool share_prefixes_;
  EngineMetrics& metrics_;
  BlockPool blocks_;  // outlives the prefixes and streams
  PrefixCache prefixes_;
  uint64_t prefix_run_ = 0;
  Streams running_, waiting_;
};

}  // namespace sluice
