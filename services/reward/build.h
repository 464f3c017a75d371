// The reward role: the built-in scorers behind RewardService.
#pragma once

#include <memory>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "services/host/host.h"
#include "services/host/run.h"

namespace sluice {

struct RewardFlags {
  int threads = 1;
  void Add(CLI::App& app);
};

absl::StatusOr<std::unique_ptr<HostedRole>> BuildReward(const RewardFlags& flags, Host& host);

}  // namespace sluice
