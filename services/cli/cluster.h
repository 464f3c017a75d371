// STATE/cluster.json: which processes of a fleet run where.
//   {"processes":[{"role","index","pid","grpc","metrics","http" (where it is served)}]}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::cli {

struct ClusterProcess {
  std::string role;  // "coordinator", "rollout", "reward", "learner"
  int index = 0;     // of the role; of learners the ranks of the first gang, then those of the second, ...
  int64_t pid = 0;
  std::string grpc, metrics;  // "host:port"
  std::string http;           // of the OpenAI API; empty: none
  friend bool operator==(const ClusterProcess&, const ClusterProcess&) = default;
};

std::string ClusterPath(const std::string& state);
std::string SerializeCluster(const std::vector<ClusterProcess>& processes);
// `path` is for the error's text.
absl::StatusOr<std::vector<ClusterProcess>> ParseCluster(absl::string_view json, const std::string& path);
absl::StatusOr<std::vector<ClusterProcess>> ReadCluster(const std::string& state);

// The coordinator's address: `coordinator` when given, else from STATE/cluster.json. UNAVAILABLE with the
// remedy when there is none.
absl::StatusOr<std::string> FindCoordinator(const std::string& coordinator, const std::string& state);

// What a serving process writes to its --address-file.
struct ServiceAddress {
  std::string role, name;
  int64_t pid = 0;
  std::string grpc, metrics, http;  // http may be empty
};
absl::StatusOr<ServiceAddress> ReadAddressFile(const std::string& path);

}  // namespace sluice::cli
