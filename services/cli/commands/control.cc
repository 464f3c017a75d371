// sluice pause, resume, cancel, priority, checkpoints, export: what is done to a job.
#include <filesystem>
#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "core/base/file.h"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/panel.h"

namespace sluice::cli {
namespace {

struct ControlOptions {
  ConnectionOptions connection;
  std::string job;
  bool json = false;
};

struct PriorityOptions {
  ControlOptions control;
  int32_t priority = 0;
};

struct ExportOptions {
  ConnectionOptions connection;
  std::string job, directory;
  int64_t version = -1;
};

using Call = absl::StatusOr<v1::Job> (JobClient::*)(const std::string&);

int Show(const ControlOptions& o, const absl::StatusOr<v1::Job>& job) {
  if (!job.ok()) return Report(job.status());
  std::cout << (o.json ? ToJson(*job, /*pretty=*/true) : RenderLine(*job) + "\n");
  return kDone;
}

int Control(const ControlOptions& o, Call call) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  return Show(o, ((**client).*call)(o.job));
}

int Priority(const PriorityOptions& o) {
  const auto client = ConnectToCoordinator(o.control.connection);
  if (!client.ok()) return Report(client.status());
  return Show(o.control, (*client)->SetPriority(o.control.job, o.priority));
}

int Checkpoints(const ControlOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  const auto checkpoints = (*client)->ListCheckpoints(o.job);
  if (!checkpoints.ok()) return Report(checkpoints.status());
  if (o.json) {
    v1::ListCheckpointsResponse all;
    for (const v1::Checkpoint& c : *checkpoints) *all.add_checkpoints() = c;
    std::cout << ToJson(all, /*pretty=*/true);
    return kDone;
  }
  const auto job = (*client)->Get(o.job);
  if (!job.ok()) return Report(job.status());
  std::cout << absl::StrFormat("%8s%16s  %s\n", "version", "bytes", "path");
  for (const v1::Checkpoint& c : *checkpoints) {
    std::cout << absl::StrFormat("%8d%16d  %s%s\n", c.policy_version(), c.bytes(), c.path(),
                                 c.policy_version() == job->promoted_version() ? "  (promoted)" : "");
  }
  return kDone;
}

int Export(const ExportOptions& o) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(o.directory, error).lexically_normal();
  if (error) return Report(ErrnoStatus(error.value(), o.directory));
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  const auto version = (*client)->Export(
      o.job, o.version >= 0 ? std::optional<int64_t>(o.version) : std::nullopt, path.string());
  if (!version.ok()) return Report(version.status());
  std::cout << nlohmann::ordered_json{{"policy_version", *version}, {"path", path.string()}}.dump() << "\n";
  return kDone;
}

void AddControl(CommandLine& line, const char* name, const char* description, Call call) {
  line.Add<ControlOptions>(
      name, description,
      [](CLI::App& command, ControlOptions& o) {
        command.add_option("JOB", o.job, "The job's name")->required();
        command.add_flag("--json", o.json, "Print the Job message as JSON");
        AddConnectionOptions(command, o.connection);
      },
      [call](const ControlOptions& o) { return Control(o, call); });
}

}  // namespace

void AddControlCommands(CommandLine& line) {
  AddControl(line, "pause", "Stops handing out prompts after the current step.", &JobClient::Pause);
  AddControl(line, "resume", "Goes on with a paused job.", &JobClient::Resume);
  AddControl(line, "cancel", "Ends a job for good; its last version and checkpoints stay.",
             &JobClient::Cancel);
  line.Add<PriorityOptions>(
      "priority", "Changes what a job gets of the fleet beside other jobs; the higher number goes first.",
      [](CLI::App& command, PriorityOptions& o) {
        command.add_option("JOB", o.control.job, "The job's name")->required();
        command.add_option("N", o.priority, "Its share.priority from now on, -1000 to 1000")->required();
        command.add_flag("--json", o.control.json, "Print the Job message as JSON");
        AddConnectionOptions(command, o.control.connection);
      },
      Priority);
  line.Add<ControlOptions>(
      "checkpoints", "Lists the full checkpoints of a job, oldest first, and says which version is promoted.",
      [](CLI::App& command, ControlOptions& o) {
        command.add_option("JOB", o.job, "The job's name")->required();
        command.add_flag("--json", o.json, "Print JSON");
        AddConnectionOptions(command, o.connection);
      },
      Checkpoints);
  line.Add<ExportOptions>(
      "export", "Writes a version of a job's policy as a Hugging Face directory, on the learner's machine.",
      [](CLI::App& command, ExportOptions& o) {
        command.add_option("JOB", o.job, "The job's name")->required();
        command.add_option("DIR", o.directory, "Folder to write; must not exist or be empty")->required();
        command
            .add_option(
                "--version", o.version,
                "Policy version (default: the promoted one of a job with evaluation.gate, else the last)")
            ->check(CLI::NonNegativeNumber);
        AddConnectionOptions(command, o.connection);
      },
      Export);
}

}  // namespace sluice::cli
