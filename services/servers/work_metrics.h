// What others watch of the Work streams: Prometheus metrics. All series exist at 0 from the start.
// Thread-safe.
#pragma once

#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace sluice {

class WorkMetrics {
 public:
  explicit WorkMetrics(prometheus::Registry &registry);
  void Opened() { streams_.Increment(); }
  void Closed() { streams_.Decrement(); }
  // One message with so many reports.
  void Received(int samples, int progress, int ends);
  // One message with so many orders.
  void Sent(int orders);
  // Bytes that wait to be sent, more by so many.
  void Queued(double bytes) { queued_.Increment(bytes); }
  // From the arrival of the end of an order to the next order for its worker.
  void Dispatched(absl::Duration took) { dispatch_.Observe(absl::ToDoubleSeconds(took)); }

 private:
  prometheus::Gauge &streams_, &queued_;
  prometheus::Family<prometheus::Counter> &messages_, &reports_;
  prometheus::Counter &in_, &out_, &samples_, &progress_, &ends_, &orders_;
  prometheus::Histogram &batch_, &dispatch_;
};

}  // namespace sluice
