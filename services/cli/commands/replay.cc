// sluice replay: a recorded job once more, step by step beside the record.
#include <iostream>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/panel.h"
#include "services/cli/replay_table.h"
#include "services/cli/rows/interruption.h"
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kReplayPatience = absl::Minutes(5);  // while the coordinator is away

struct ReplayOptions {
  ConnectionOptions connection;
  std::string job;
  int64_t steps = 0;
  bool json = false;
};

// The steps that were compared so far, shown as they come.
class ReplaySteps {
 public:
  ReplaySteps(const ReplayOptions& options, std::string replay) : o_(options), replay_(std::move(replay)) {}

  absl::Status Fetch() {
    SLUICE_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator(o_.connection));
    while (true) {
      const int64_t last = steps_.empty() ? -1 : steps_.back().step();
      SLUICE_ASSIGN_OR_RETURN(const v1::ListReplayStepsResponse more, client->ListReplaySteps(replay_, last));
      if (more.steps().empty()) return absl::OkStatus();
      for (const v1::ReplayStep& step : more.steps()) Show(steps_.emplace_back(step));
    }
  }
  const std::vector<v1::ReplayStep>& all() const { return steps_; }

 private:
  void Show(const v1::ReplayStep& step) const {
    if (o_.json) return;
    if (steps_.size() == 1) std::cout << ReplayHeading();
    std::cout << RenderReplayStep(step) << std::flush;
  }
  const ReplayOptions& o_;
  const std::string replay_;
  std::vector<v1::ReplayStep> steps_;
};

// Only where the fleet is one of `sluice up` that we know the folder of.
std::string LayoutDifferenceOf(const ReplayOptions& o, const v1::Job& recorded) {
  if (!o.connection.coordinator.empty()) return "";
  const auto record = ReadSupervisorRecord(o.connection.state);
  return record.ok() ? LayoutDifference(record->layouts, recorded.create_time().seconds()) : "";
}

// `layout` is what is known to differ before anything is computed.
absl::StatusOr<std::string> SubmitReplay(const ReplayOptions& o, std::string& layout) {
  SLUICE_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator(o.connection));
  SLUICE_ASSIGN_OR_RETURN(const v1::Job recorded, client->Get(o.job));
  layout = LayoutDifferenceOf(o, recorded);
  if (!layout.empty()) std::cerr << "sluice: " << layout << std::endl;
  v1::JobSpec spec = recorded.spec();
  if (spec.has_replay()) {
    return absl::InvalidArgumentError(o.job + " is a replay itself; replay " + spec.replay().job());
  }
  spec.mutable_replay()->set_job(o.job);
  spec.mutable_replay()->set_steps(o.steps);
  return SubmitJob(o.connection, spec, absl::Seconds(2));
}

void Cancel(const ReplayOptions& o, const std::string& replay) {
  const auto client = ConnectToCoordinator(o.connection);
  const absl::Status done = client.ok() ? (*client)->Cancel(replay).status() : client.status();
  std::cerr << "sluice: " << (done.ok() ? "cancels " + replay : std::string(done.message())) << std::endl;
}

void PrintJson(const ReplayOptions& o, const std::string& replay, const std::vector<v1::ReplayStep>& steps,
               const std::string& layout) {
  v1::ListReplayStepsResponse all;
  all.mutable_steps()->Add(steps.begin(), steps.end());
  nlohmann::ordered_json out = {{"job", o.job}, {"replay", replay}, {"equal", AllEqual(steps)}};
  out["steps"] = nlohmann::ordered_json::parse(ToJson(all, /*pretty=*/false))["steps"];
  if (!layout.empty()) out["layout"] = layout;
  std::cout << out.dump(2) << "\n";
}

int Conclude(const ReplayOptions& o, const v1::Job& ended, const std::vector<v1::ReplayStep>& steps,
             const std::string& layout) {
  if (o.json) {
    PrintJson(o, ended.job(), steps, layout);
  } else {
    std::cout << RenderReplaySummary(o.job, steps);
    if (!layout.empty() && !AllEqual(steps)) std::cout << layout << "\n";
  }
  if (ended.state() != v1::SUCCEEDED) {
    std::cerr << "sluice: " << ended.job() << " " << StateName(ended.state())
              << (ended.error().empty() ? "" : ": " + ended.error()) << "\n";
    return kFailed;
  }
  return AllEqual(steps) ? kDone : kFailed;
}

int Replay(const ReplayOptions& o) {
  const Interruption interruption;
  std::string layout;
  const auto replay = SubmitReplay(o, layout);
  if (!replay.ok()) return Report(replay.status());
  std::cerr << "replays " << o.job << " as " << *replay << std::endl;
  const OnInterruption cancel(interruption, [&] { Cancel(o, *replay); });
  ReplaySteps steps(o, *replay);
  std::string waits;
  const auto ended =
      FollowJob(o.connection, *replay, kReplayPatience, [&](const v1::WatchJobResponse& state) {
        const v1::Job& job = state.job();
        if (job.state() == v1::PENDING && std::exchange(waits, job.waiting_for()) != job.waiting_for()) {
          std::cerr << "waits for " << job.waiting_for() << std::endl;
        }
        const int64_t last = steps.all().empty() ? -1 : steps.all().back().step();
        if (job.policy_version() > last)
          (void)steps.Fetch();  // what fails now comes with the next state, or in the end
        return true;
      });
  if (interruption.token().cancelled()) return kInterrupted;
  if (!ended.ok()) return Report(ended.status());
  if (const absl::Status fetched = steps.Fetch(); !fetched.ok()) return Report(fetched);
  return Conclude(o, *ended, steps.all(), layout);
}

}  // namespace

void AddReplayCommand(CommandLine& line) {
  line.Add<ReplayOptions>(
      "replay",
      "Does the steps of a recorded job again and compares weights, samples and metrics step by step.\n"
      "It is a job of its own, on the same fleet. Equal results need the kernel path, learner ranks and "
      "threads of the "
      "recorded job. Exit code 0 when all is equal, 1 when something differs: the first step, draw and token "
      "are named. "
      "Ctrl-C cancels the replay.",
      [](CLI::App& command, ReplayOptions& o) {
        command.add_option("JOB", o.job, "The recorded job's name")->required();
        command.add_option("--steps", o.steps, "Only the first so many steps (default: all that there are)")
            ->check(CLI::Range(int64_t{1}, int64_t{1000000000}));
        command.add_flag("--json", o.json, "Print one JSON object in the end");
        AddConnectionOptions(command, o.connection);
      },
      Replay);
}

}  // namespace sluice::cli
