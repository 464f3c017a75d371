#include "services/host/process_metrics.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/file.h"

namespace sluice {
namespace {

prometheus::MetricFamily Gauge(std::string name, std::string help, double value,
                               std::vector<prometheus::ClientMetric::Label> labels = {}) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = prometheus::MetricType::Gauge;
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

ProcessMetrics::ProcessMetrics(std::string role, std::string state_dir)
    : role_(std::move(role)),
      state_dir_(std::move(state_dir)),
      start_time_(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())) {}

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> out = {
      Gauge("process_resident_memory_bytes", "Physical memory of this process.", ResidentMemoryBytes()),
      Gauge("process_start_time_seconds", "When this process started, seconds since 1970.", start_time_),
      Gauge("sluice_build_info", "1, with the version and the role as labels.", 1,
            {{"role", role_}, {"version", SLUICE_VERSION}})};
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(state_dir_, unknown);
  if (state_dir_.empty() || unknown) return out;
  out.push_back(Gauge("sluice_state_free_bytes", "Room on the file system of the state folder.",
                      static_cast<double>(space.available)));
  out.push_back(Gauge("sluice_state_size_bytes", "Size of the file system of the state folder.",
                      static_cast<double>(space.capacity)));
  return out;
}

double ResidentMemoryBytes() {
  const absl::StatusOr<std::string> statm = ReadFile("/proc/self/statm", 4096);  // pages: size resident ...
  if (!statm.ok()) return 0;
  const std::vector<std::string> parts = absl::StrSplit(*statm, ' ');
  int64_t pages = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &pages)) return 0;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace sluice
