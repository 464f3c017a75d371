// One load of an engine: completions of random prompts, all asked for at once, and when things happened.
// Counters are watched from outside (once a millisecond), so that looking does not slow the engine down.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rollout/engine.h"
#include "rollout/engine_metrics.h"

namespace sluice::bench {

struct LoadShape {
  int64_t requests = 1;  // each with a prompt of its own
  int64_t group = 1;     // completions of one prompt
  int64_t prompt_tokens = 128, new_tokens = 128;
  uint64_t seed = 0;        // of the prompts: another seed, other prompts
  bool each_token = false;  // note when each token came; costs a little speed
  int64_t completions() const { return requests * group; }
};

// What the counters had counted since the load began.
struct Reading {
  absl::Duration at;
  double prompt_tokens = 0, new_tokens = 0;
  double running = 0;  // sequences
  double cache_blocks = 0;
};

struct LoadTimes {
  absl::Duration whole;           // until all completions were there
  std::vector<Reading> readings;  // one for each change
  // With each_token: by completion, when each of its tokens came.
  std::vector<std::vector<absl::Duration>> token_times;
};

// Where the engine's counters are.
struct WatchedEngine {
  Engine& engine;
  EngineMetrics& metrics;  // made of the engine's registry
};

// Temperature 1, end-of-sequence ignored. Errors as of Engine::Generate.
absl::StatusOr<LoadTimes> RunLoad(WatchedEngine watched, const LoadShape& shape);

}  // namespace sluice::bench
