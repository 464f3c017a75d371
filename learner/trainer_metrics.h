// The learner's Prometheus metrics, all there at 0 from the start. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/rl/trainer.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace sluice {

class TrainerMetrics {
 public:
  explicit TrainerMetrics(prometheus::Registry& registry);
  void ObserveStep(PolicyVersion version, const StepMetrics& metrics);
  void ObserveSupervised(const StepMetrics& metrics);
  void ObserveCheckpoint(int64_t bytes);
  void ObserveDamagedCheckpoints(int count);

 private:
  std::map<std::string, prometheus::Gauge*> gauges_;  // by the metric's name in StepMetrics
  prometheus::Counter& steps_;
  prometheus::Counter& supervised_steps_;
  prometheus::Counter& tokens_;
  prometheus::Counter& skipped_;
  prometheus::Counter& exact_compared_;
  prometheus::Counter& exact_unaudited_;
  prometheus::Counter& checkpoints_;
  prometheus::Counter& checkpoints_damaged_;
  prometheus::Gauge& checkpoint_bytes_;
  prometheus::Gauge& version_;
  prometheus::Histogram& step_seconds_;
};

}  // namespace sluice
