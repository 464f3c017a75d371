// Gauges that every process has: process_resident_memory_bytes, process_start_time_seconds,
// sluice_build_info{version, role} 1, and of one with a state folder sluice_state_free_bytes and
// sluice_state_size_bytes of its file system. All are read when the metrics are. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace sluice {

class ProcessMetrics final : public prometheus::Collectable {
 public:
  // An empty `state_dir`: the process has none.
  ProcessMetrics(std::string role, std::string state_dir);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string role_, state_dir_;
  const double start_time_;  // seconds since 1970
};

// Bytes of physical memory that this process has; 0 where the kernel does not say.
double ResidentMemoryBytes();

}  // namespace sluice
