// The coordinator role: JobService and FleetService over a Coordinator whose ports are gRPC clients.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/host/host.h"
#include "services/host/run.h"

namespace CLI {
class App;
}

namespace sluice {

struct CoordinatorFlags {
  double lease_seconds = 10;   // a worker that is not heard of for so long is gone
  double stall_seconds = 120;  // a shorter wait is no stall
  uint64_t keep_samples_bytes = uint64_t{8} << 30, keep_free_bytes = uint64_t{256} << 20;
  void Add(CLI::App& app);
};

// FAILED_PRECONDITION: the state directory is in use or was written by a newer version.
absl::StatusOr<std::unique_ptr<HostedRole>> BuildCoordinator(const CoordinatorFlags& flags, Host& host);

}  // namespace sluice
