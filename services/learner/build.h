// The learner role: one rank. Rank 0 serves LearnerService, WeightService and RendezvousService; the others
// dial rank 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "services/host/host.h"
#include "services/host/run.h"

namespace CLI {
class App;
}

namespace sluice {

struct LearnerFlags {
  int rank = 0, world = 1;
  std::string rendezvous;  // address of rank 0; for the other ranks
  int64_t gang_epoch = 0;  // changes with each start of the gang
  int threads = 1;
  double collective_seconds = 600;   // the longest that one rank may be behind the others
  double rank_silence_seconds = 20;  // a rank not heard of for so long is lost
  void Add(CLI::App& app);
};

// `gang_failed` becomes true when the gang breaks: the process has then to exit with an error. It outlives
// the role.
absl::StatusOr<std::unique_ptr<HostedRole>> BuildLearner(const LearnerFlags& flags, Host& host,
                                                         std::atomic<bool>* gang_failed);

}  // namespace sluice
