#include "rollout/engine_metrics.h"

#include <string>

namespace sluice {
namespace {

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const std::string& name,
                                 const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const std::string& name,
                             const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& MakeHistogram(prometheus::Registry& registry, const std::string& name,
                                     const std::string& help,
                                     prometheus::Histogram::BucketBoundaries bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, std::move(bounds));
}

}  // namespace

EngineMetrics::EngineMetrics(prometheus::Registry& registry)
    : tokens_generated(MakeCounter(registry, "sluice_tokens_generated_total", "Tokens sampled.")),
      prompt_tokens(MakeCounter(registry, "sluice_prompt_tokens_total",
                                "Given tokens computed; again after a preemption.")),
      preemptions(MakeCounter(registry, "sluice_preemptions_total",
                              "Sequences whose cache was taken away for an older one.")),
      prefix_hits(MakeCounter(registry, "sluice_prefix_cache_hits_total",
                              "Full cache blocks that a sequence took over instead of computing them.")),
      prefix_misses(MakeCounter(registry, "sluice_prefix_cache_misses_total",
                                "Full cache blocks that a starting sequence did not find.")),
      prefix_tokens_saved(MakeCounter(registry, "sluice_prefix_cache_tokens_saved_total",
                                      "Tokens that were not computed because their blocks were kept.")),
      weight_sync_bytes(
          MakeCounter(registry, "sluice_weight_sync_bytes_total", "Bytes of policies received.")),
      weight_patched_bytes(
          MakeCounter(registry, "sluice_weight_patched_bytes_total",
                      "Bytes of tensors that were made from an older version's and not received whole.")),
      weights_refused(MakeCounter(registry, "sluice_weights_refused_total",
                                  "Policies that were not what their manifest says, and never served.")),
      sequences_running(MakeGauge(registry, "sluice_sequences_running", "Sequences in the batch.")),
      sequences_queued(MakeGauge(registry, "sluice_sequences_queued", "Sequences waiting for a place.")),
      cache_blocks_used(MakeGauge(registry, "sluice_cache_blocks_used",
                                  "Cache blocks in use, those kept as prefixes included.")),
      cache_blocks_capacity(MakeGauge(registry, "sluice_cache_blocks_capacity",
                                      "Blocks of the served model that the cache limit allows.")),
      prefix_blocks(MakeGauge(registry, "sluice_prefix_cache_blocks",
                              "Cache blocks kept as prefixes; given up when sequences need them.")),
      policy_version(
          MakeGauge(registry, "sluice_policy_version", "Version served to new sequences; -1: none.")),
      weight_sync_seconds(MakeHistogram(registry, "sluice_weight_sync_seconds",
                                        "From the request to load a policy until it is served.",
                                        {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000})),
      step_seconds(MakeHistogram(registry, "sluice_engine_step_seconds", "One step of the engine.",
                                 {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30})),
      first_token_seconds(MakeHistogram(registry, "sluice_time_to_first_token_seconds",
                                        "From the arrival of a call to the first token of a completion.",
                                        {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300})),
      token_seconds(MakeHistogram(registry, "sluice_token_seconds",
                                  "Between a completion's token and the one before.",
                                  {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10})) {
  auto& family = prometheus::BuildCounter()
                     .Name("sluice_rollouts_total")
                     .Help("Completions that ended, by reason.")
                     .Register(registry);
  rollouts_ = {&family.Add({{"finish_reason", "stop"}}), &family.Add({{"finish_reason", "length"}}),
               &family.Add({{"finish_reason", "cancelled"}})};
  policy_version.Set(static_cast<double>(kNoPolicyVersion));
}

void EngineMetrics::CountRollout(FinishReason reason) {
  const size_t which = reason == FinishReason::kStop ? 0 : reason == FinishReason::kLength ? 1 : 2;
  rollouts_[which]->Increment();
}

}  // namespace sluice
