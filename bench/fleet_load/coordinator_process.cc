#include "bench/fleet_load/coordinator_process.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/supervisor/process.h"

namespace sluice::bench {

CoordinatorProcess::~CoordinatorProcess() {
  if (started_) cli::StopChild(pid_, absl::Seconds(30));
}

absl::Status CoordinatorProcess::Start(const std::string& folder, const std::vector<std::string>& flags) {
  SLUICE_ASSIGN_OR_RETURN(const std::string binary, cli::SiblingBinary("sluice-coordinator"));
  const std::string file = folder + "/coordinator.json";
  std::filesystem::remove(file);
  cli::SpawnOptions spawn;
  spawn.argv = {binary, "--state", folder + "/coordinator", "--address-file", file, "--log-level", "warning"};
  spawn.argv.insert(spawn.argv.end(), flags.begin(), flags.end());
  spawn.log_file = folder + "/coordinator.log";
  spawn.die_with_parent = true;
  started_ = false;
  SLUICE_ASSIGN_OR_RETURN(pid_, cli::Spawn(spawn));
  started_ = true;
  const absl::Time limit = absl::Now() + absl::Seconds(60);
  while (!FileExists(file)) {
    if (absl::Now() > limit || cli::PollChild(pid_))
      return absl::UnavailableError(cli::TailOfFile(folder + "/coordinator.log", 10));
    absl::SleepFor(absl::Milliseconds(20));
  }
  std::ifstream in(file);
  address_ = nlohmann::json::parse(in).at("grpc");
  return absl::OkStatus();
}

}  // namespace sluice::bench
