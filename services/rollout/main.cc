#include "services/rollout/build.h"

int main(int argc, char** argv) {
  sluice::RolloutFlags flags;
  return sluice::RunRole(argc, argv,
                         {"rollout", sluice::v1::ROLLOUT, "Samples completions from a policy.",
                          [&](CLI::App& app) { flags.Add(app); },
                          [&](sluice::Host& host) { return sluice::BuildRollout(flags, host); }});
}
