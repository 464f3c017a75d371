#include "CLI/CLI.hpp"
#include "core/base/heap.h"
#include "services/reward/build.h"

int main(int argc, char** argv) {
  sluice::ReturnLargeBlocks();
  sluice::RewardFlags flags;
  return sluice::RunRole(
      argc, argv,
      {"reward", sluice::v1::REWARD, "Judges completions.", [&](CLI::App& app) { flags.Add(app); },
       [&](sluice::Host& host) { return sluice::BuildReward(flags, host); }});
}
