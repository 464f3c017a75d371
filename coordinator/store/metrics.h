// What others watch of the store and of what is refused: Prometheus metrics. All series exist at 0 from the
// start. Thread-safe.
#pragma once

#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace sluice {

class StoreMetrics {
 public:
  explicit StoreMetrics(prometheus::Registry& registry);
  void Committed(absl::Duration took) { commits_.Observe(absl::ToDoubleSeconds(took)); }
  void Turned(absl::Duration took) { turns_.Observe(absl::ToDoubleSeconds(took)); }
  void Stalled(bool stalled) { stalled_.Set(stalled ? 1 : 0); }
  void Free(int64_t bytes) { free_.Set(static_cast<double>(bytes)); }
  void Fenced() { fenced_.Increment(); }

 private:
  prometheus::Histogram& commits_;
  prometheus::Histogram& turns_;
  prometheus::Gauge& stalled_;
  prometheus::Gauge& free_;
  prometheus::Counter& fenced_;
};

}  // namespace sluice
