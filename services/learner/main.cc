#include <atomic>
#include <cstring>

#include "CLI/CLI.hpp"
#include "core/base/heap.h"
#include "services/learner/build.h"
#include "services/learner/score_file.h"

int main(int argc, char** argv) {
  sluice::ShareHeapAmongThreads();
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--score-model", 13) == 0) return sluice::ScoreFileMain(argc, argv);
  }
  sluice::LearnerFlags flags;
  std::atomic<bool> gang_failed{false};
  sluice::RoleMain role{"learner", sluice::v1::LEARNER, "Trains policies; one rank of a gang."};
  role.add_flags = [&](CLI::App& app) { flags.Add(app); };
  role.build = [&](sluice::Host& host) {
    if (flags.rank != 0)
      role.worker_role = sluice::v1::WORKER_ROLE_UNSPECIFIED;  // rank 0 speaks for the gang
    return sluice::BuildLearner(flags, host, &gang_failed);
  };
  const int code = sluice::RunRole(argc, argv, role);
  return code == 0 && gang_failed ? 1 : code;
}
