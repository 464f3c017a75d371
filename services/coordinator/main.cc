#include "CLI/CLI.hpp"
#include "services/coordinator/build.h"

int main(int argc, char** argv) {
  sluice::CoordinatorFlags flags;
  return sluice::RunRole(argc, argv,
                         {"coordinator", sluice::v1::WORKER_ROLE_UNSPECIFIED,
                          "Runs jobs on a fleet of workers.", [&](CLI::App& app) { flags.Add(app); },
                          [&](sluice::Host& host) { return sluice::BuildCoordinator(flags, host); }});
}
