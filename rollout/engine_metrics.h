// The metrics of one engine, all present from the start. Thread-safe.
#pragma once

#include <array>

#include "core/rl/types.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace sluice {

class EngineMetrics {
 public:
  explicit EngineMetrics(prometheus::Registry& registry);
  void CountRollout(FinishReason reason);  // kStop, kLength or kCancelled

  // Owned by the registry.
  prometheus::Counter& tokens_generated;
  prometheus::Counter& prompt_tokens;
  prometheus::Counter& preemptions;
  prometheus::Counter& prefix_hits;
  prometheus::Counter& prefix_misses;
  prometheus::Counter& prefix_tokens_saved;
  prometheus::Counter& weight_sync_bytes;
  prometheus::Counter& weight_patched_bytes;
  prometheus::Counter& weights_refused;
  prometheus::Gauge& sequences_running;
  prometheus::Gauge& sequences_queued;
  prometheus::Gauge& cache_blocks_used;
  prometheus::Gauge& cache_blocks_capacity;
  prometheus::Gauge& prefix_blocks;
  prometheus::Gauge& policy_version;
  prometheus::Histogram& weight_sync_seconds;
  prometheus::Histogram& step_seconds;
  prometheus::Histogram& first_token_seconds;
  prometheus::Histogram& token_seconds;

 private:
  std::array<prometheus::Counter*, 3> rollouts_;  // stop, length, cancelled; owned by the registry
};

}  // namespace sluice
