// Gauges that every process has: process_resident_memory_bytes, process_start_time_seconds and
// sluice_build_info{version, role} 1. The memory is read when the metrics are. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace sluice {

class ProcessMetrics final : public prometheus::Collectable {
 public:
  explicit ProcessMetrics(std::string role);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string role_;
  const double start_time_;  // seconds since 1970
};

// Bytes of physical memory that this process has; 0 where the kernel does not say.
double ResidentMemoryBytes();

}  // namespace sluice
