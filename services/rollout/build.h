// The rollout role: the engine behind RolloutService. It serves the policies that a coordinator has it load,
// or, in private mode, one model directory as version 0 of the job "local".
#pragma once

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

struct RolloutFlags {
  int threads = 1;
  int64_t cache_bytes = int64_t{1} << 30;
  int max_running = 64, max_queue = 4096;  // sequences
  int max_groups = 64;                     // at once, in a fleet
  std::string device = "cpu";
  std::string model;           // private mode: a Hugging Face directory
  std::string dtype = "bf16";  // of private mode; otherwise the manifest says
  int http_port = -1;          // of the OpenAI API on 127.0.0.1; 0: any free one, -1: none
  bool keep_policies = true;   // those fetched, in the state folder where there is one
  void Add(CLI::App& app);
};

// INVALID_ARGUMENT: flags that contradict each other or a model that cannot be read.
absl::StatusOr<std::unique_ptr<HostedRole>> BuildRollout(const RolloutFlags& flags, Host& host);

}  // namespace sluice
