#include <cstring>

#include "CLI/CLI.hpp"
#include "services/rollout/bench/bench.h"
#include "services/rollout/build.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "bench") == 0) return sluice::bench::RunBench(argc - 1, argv + 1);
  sluice::RolloutFlags flags;
  return sluice::RunRole(argc, argv,
                         {"rollout", sluice::v1::ROLLOUT, "Samples completions from a policy.",
                          [&](CLI::App& app) { flags.Add(app); },
                          [&](sluice::Host& host) { return sluice::BuildRollout(flags, host); }});
}
