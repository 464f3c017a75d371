#include "services/cli/supervisor/fleet.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::cli {

namespace {

std::string GangName(int gang) { return gang == 0 ? "learner" : absl::StrCat("learner-g", gang); }

}  // namespace

std::vector<FleetProcess> ProcessesOf(const FleetShape& shape) {
  std::vector<FleetProcess> out = {{"coordinator", 0, "coordinator"}};
  const auto add = [&](const std::string& role, int count) {
    for (int i = 0; i < count; ++i) out.push_back({role, i, absl::StrCat(role, "-", i)});
  };
  for (int gang = 0; gang < shape.learner_gangs; ++gang) {
    for (int rank = 0; rank < shape.learner_ranks; ++rank) {
      out.push_back({"learner", rank, absl::StrCat(GangName(gang), "-", rank), gang});
    }
  }
  add("rollout", shape.rollout_workers);
  add("reward", shape.reward_workers);
  return out;
}

int ThreadsPerProcess(const FleetShape& shape, int cores) {
  if (shape.threads > 0) return shape.threads;
  return std::max(1, cores / std::max({1, shape.rollout_workers, shape.learner_ranks * shape.learner_gangs}));
}

const std::vector<StopStage>& StopStages() {
  static const std::vector<StopStage> stages = {
      {{"rollout", "reward"}, 0.3}, {{"learner"}, 0.85}, {{"coordinator"}, 1.0}};
  return stages;
}

double StopSecondsOf(const std::string& role, double stop_seconds) {
  double before = 0;
  for (const StopStage& stage : StopStages()) {
    if (std::count(stage.roles.begin(), stage.roles.end(), role) > 0) {
      return 0.9 * (stage.until - before) * stop_seconds;  // the rest is for the process to end
    }
    before = stage.until;
  }
  return stop_seconds;
}

std::string LogPath(const std::string& state, const FleetProcess& member) {
  return absl::StrCat(state, "/logs/", member.name, ".log");
}

std::string AddressPath(const std::string& state, const FleetProcess& member) {
  return absl::StrCat(state, "/run/", member.name, ".json");
}

std::string StopPath(const std::string& state, const FleetProcess& member) {
  return AddressPath(state, member) + ".stop";
}

std::vector<std::string> CommandOf(const FleetProcess& member, const StartContext& context) {
  std::vector<std::string> argv = {
      absl::StrCat(context.binary_folder, "/sluice-", member.role), "--listen", context.listen,
      "--metrics-listen", context.metrics_listen, "--address-file", AddressPath(context.state, member),
      "--name", member.name,
      // A worker's folder is its own; the ranks of a learner share one.
      "--state",
      absl::StrCat(context.state, "/", member.role == "learner" ? GangName(member.gang) : member.name)};
  const auto add = [&](const char* flag, const std::string& value) {
    argv.insert(argv.end(), {flag, value});
  };
  add("--stop-seconds", absl::StrCat(StopSecondsOf(member.role, context.stop_seconds)));
  if (member.role != "coordinator") add("--coordinator", context.coordinator);
  if (member.role == "coordinator") {
    if (context.keep_samples_bytes) add("--keep-samples-bytes", absl::StrCat(*context.keep_samples_bytes));
    if (context.keep_free_bytes) add("--keep-free-bytes", absl::StrCat(*context.keep_free_bytes));
  }
  if (member.role == "rollout" || member.role == "learner") add("--threads", absl::StrCat(context.threads));
  if (member.role == "rollout") add("--device", context.device);
  if (member.role == "rollout" && !context.http_port.empty()) add("--http-port", context.http_port);
  if (member.role == "reward") {
    for (const std::string& scorer : context.scorers) add("--scorer", scorer);
    if (context.allow_weaker_sandbox) argv.push_back("--allow-weaker-sandbox");
  }
  if (member.role == "learner") {
    add("--rank", absl::StrCat(member.index));
    add("--world", absl::StrCat(context.world));
    add("--gang-epoch", absl::StrCat(context.gang_epoch));
    if (!context.rendezvous.empty()) add("--rendezvous", context.rendezvous);
  }
  return argv;
}

}  // namespace sluice::cli
