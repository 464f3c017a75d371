// The reward role: the scorers behind RewardService, with canaries and an auditor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/host/host.h"
#include "services/host/run.h"

namespace CLI {
class App;
}

namespace sluice {

struct RewardFlags {
  int threads = 1;
  int64_t max_items = 32768;
  int compute_timeout = 10, item_timeout = 300;  // seconds
  std::string sandbox = "auto";
  bool allow_weaker_sandbox = false;
  std::string python = "/usr/bin/python3", compiler = "/usr/bin/g++";
  std::string cache;                 // folder; empty: in the state directory
  int boxes = 0;                     // 0: two for each processor
  std::vector<std::string> scorers;  // NAME=HOST:PORT
  int scorer_concurrency = 4;
  int64_t canary_every = 500;
  double audit_share = 0.01;
  void Add(CLI::App& app);
};

// INVALID_ARGUMENT names the flag. FAILED_PRECONDITION: --sandbox on without a working sandbox.
absl::StatusOr<std::unique_ptr<HostedRole>> BuildReward(const RewardFlags& flags, Host& host);

}  // namespace sluice
