// sluice up, sluice down: a fleet on this machine.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/supervisor/fleet_flags.h"
#include "services/cli/supervisor/supervisor.h"
#include "services/cli/supervisor/supervisor_record.h"
#include "services/cli/supervisor/up_process.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kDownReserve = absl::Seconds(30);  // beyond what the fleet takes to stop

struct UpOptions {
  std::string state = kDefaultState;
  FleetShape shape;
  bool detach = false, forget = false;
  std::string log;
  const CLI::App* command = nullptr;  // knows which options were given
};

struct DownOptions {
  std::string state = kDefaultState;
  bool json = false;
};

int ReportUp(const absl::Status& status) {
  const int code = Report(status);
  return absl::IsCancelled(status) ? kInterrupted : code;
}

void SayOnStandardError(const std::string& line) { std::cerr << "sluice up: " << line << std::endl; }

// With the flags that were not given as they were at the last start; says which, and what is different now.
absl::StatusOr<FleetShape> DecideShape(const UpOptions& options) {
  const auto record = ReadSupervisorRecord(options.state);
  if (!record.ok() || record->flags.empty()) return options.shape;
  FlagValues now = FlagsOf(options.shape);
  if (!options.forget) {
    std::vector<std::string> given;
    for (const CLI::Option* option : options.command->get_options()) {
      if (option->count() > 0) given.push_back(option->get_name());
    }
    now = WithRemembered(std::move(now), given, record->flags);
    const FlagValues defaults = FlagsOf(options.shape);
    std::vector<std::string> taken;
    for (const auto& [name, values] : now) {
      if (!defaults.contains(name) || defaults.at(name) != values)
        taken.push_back(absl::StrJoin(ArgumentsOf({{name, values}}), " "));
    }
    if (!taken.empty()) {
      SayOnStandardError(absl::StrCat("as at the last start: ", absl::StrJoin(taken, " "),
                                      " (give other flags, or --forget)"));
    }
  }
  for (const std::string& difference : Differences(record->flags, now)) SayOnStandardError(difference);
  auto shape = ShapeOf(now);
  if (!shape.ok())
    return Annotate(shape.status(), "the flags of the last start (--forget starts without them)");
  return shape;
}

absl::StatusOr<SupervisorOptions> OptionsFor(const std::string& folder, const FleetShape& shape) {
  SLUICE_ASSIGN_OR_RETURN(const std::string coordinator, SiblingBinary("sluice-coordinator"));
  std::error_code error;
  const std::string state = std::filesystem::absolute(folder, error).lexically_normal().string();
  if (error) return ErrnoStatus(error.value(), folder);
  SupervisorOptions out;
  out.state = state;
  out.binary_folder = std::filesystem::path(coordinator).parent_path().string();
  out.shape = shape;
  out.cores = static_cast<int>(std::thread::hardware_concurrency());
  out.say = SayOnStandardError;
  return out;
}

absl::Status RunInForeground(const UpOptions& options, const FleetShape& shape) {
  SLUICE_ASSIGN_OR_RETURN(SupervisorOptions supervisor_options, OptionsFor(options.state, shape));
  supervisor_options.log_file = options.log;
  SLUICE_ASSIGN_OR_RETURN(const auto supervisor, Supervisor::Create(std::move(supervisor_options)));
  return supervisor->Run();
}

absl::Status RunDetached(const UpOptions& options, const FleetShape& shape) {
  SLUICE_ASSIGN_OR_RETURN(UpProcess up, UpProcess::Start(options.state, shape, /*die_with_parent=*/false));
  SLUICE_RETURN_IF_ERROR(up.AwaitServing(absl::Minutes(3)));
  up.Release();
  SLUICE_ASSIGN_OR_RETURN(const std::string address, FindCoordinator("", options.state));
  std::cout << "serving at " << address << "; stop it with `sluice down --state " << options.state << "`\n";
  return absl::OkStatus();
}

absl::Status Up(const UpOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const FleetShape shape, DecideShape(options));
  return options.detach ? RunDetached(options, shape) : RunInForeground(options, shape);
}

// What a supervisor that was killed left: another adopts it and stops it in order.
absl::Status StopLeftOver(const DownOptions& options, const SupervisorRecord& record) {
  const bool any = std::any_of(record.processes.begin(), record.processes.end(),
                               [](const RecordedProcess& p) { return IsAlive(p.identity); });
  if (!any) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const FleetShape shape, ShapeOf(record.flags));
  SLUICE_ASSIGN_OR_RETURN(SupervisorOptions supervisor_options, OptionsFor(options.state, shape));
  SLUICE_ASSIGN_OR_RETURN(const auto supervisor, Supervisor::Create(std::move(supervisor_options)));
  const absl::Status stopped = supervisor->StopAll();
  return absl::IsAborted(stopped) ? absl::OkStatus() : stopped;  // the record has it
}

// Until the supervisor has ended, which the lock says: its pid may have been used again.
absl::Status AwaitDown(const DownOptions& options, const SupervisorRecord& first) {
  const std::string lock_path = options.state + "/run/supervisor.lock";
  absl::Time deadline = absl::Now() + absl::Seconds(first.stop_seconds) + kDownReserve;
  bool told = false;
  while (absl::Now() < deadline) {
    auto lock = FileLock::Acquire(lock_path);
    const auto record = ReadSupervisorRecord(options.state);
    if (!record.ok()) return record.status();
    if (lock.ok()) {
      lock->reset();
      return StopLeftOver(options, *record);
    }
    if (!told) kill(static_cast<pid_t>(first.self), SIGTERM);
    told = true;
    // A process that finishes something long has said how long.
    if (record->stop_until > 0)
      deadline = std::max(deadline, absl::FromUnixSeconds(record->stop_until) + kDownReserve);
    absl::SleepFor(absl::Milliseconds(50));
  }
  return absl::DeadlineExceededError(absl::StrCat("the supervisor (pid ", first.self, ") does not stop"));
}

int Down(const DownOptions& options) {
  const auto before = ReadSupervisorRecord(options.state);
  if (!before.ok()) return Report(absl::NotFoundError(absl::StrCat("no fleet in ", options.state)));
  const absl::Status down = AwaitDown(options, *before);
  if (!down.ok()) return Report(down);
  const auto record = ReadSupervisorRecord(options.state);
  if (!record.ok()) return Report(record.status());
  const bool orderly = record->stopped && record->unclean.empty();
  if (options.json) {
    auto processes = nlohmann::ordered_json::array();
    for (const UncleanEnd& end : record->unclean) processes.push_back({{"name", end.name}, {"how", end.how}});
    std::cout << nlohmann::ordered_json{{"stopped", true}, {"orderly", orderly}, {"not_in_order", processes}}
              << "\n";
  } else if (orderly) {
    std::cout << "stopped\n";
  }
  if (orderly) return kDone;
  std::cerr << "sluice: "
            << (record->stopped ? SayUncleanStop(record->unclean)
                                : "nothing runs any more, but nobody stopped it in order: the supervisor was "
                                  "killed, and its processes have ended since")
            << "\n";
  return kFailed;
}

}  // namespace

void AddUpCommands(CommandLine& line) {
  line.Add<UpOptions>(
      "up",
      "Starts and supervises all services on this machine's loopback.\n"
      "One that dies is started again. STATE/cluster.json names every process; logs are in STATE/logs.\n"
      "Runs until SIGTERM or SIGINT. A killed supervisor leaves the services running; the next `up` adopts "
      "them.\n"
      "Flags that are not given are those of the last start on the state directory; what is taken from it "
      "and "
      "what differs is said.",
      [](CLI::App& command, UpOptions& o) {
        o.command = &command;
        command.add_option("--state", o.state, "State directory; made when it is not there")
            ->capture_default_str();
        command.add_option("--rollout", o.shape.rollout_workers, "Rollout workers")
            ->capture_default_str()
            ->check(CLI::Range(1, 256));
        command
            .add_option("--reward", o.shape.reward_workers,
                        "Reward workers; 0 where a service of your own joins")
            ->capture_default_str()
            ->check(CLI::Range(0, 256));
        command.add_option("--learner-ranks", o.shape.learner_ranks, "Ranks of each learner gang")
            ->capture_default_str()
            ->check(CLI::Range(1, 64));
        command
            .add_option("--learner-gangs", o.shape.learner_gangs,
                        "Learner gangs: so many jobs run at once and share the other workers")
            ->capture_default_str()
            ->check(CLI::Range(1, 64));
        command
            .add_option("--threads", o.shape.threads,
                        "Threads of each rollout worker and learner rank (default: the cores, shared out)")
            ->check(CLI::Range(1, 1024));
        command
            .add_option("--device", o.shape.device,
                        "Of the rollout workers: cpu, cuda or cuda:N (cuda needs a build of the preset cuda)")
            ->capture_default_str();
        command.add_flag("--http,!--no-http", o.shape.http,
                         "Rollout workers serve the policy over HTTP too, as the OpenAI API has it; "
                         "STATE/cluster.json has the addresses");
        command.add_option(
            "--scorer", o.shape.scorers,
            "NAME=HOST:PORT: the reward service that remote { service: NAME } of a job asks; may be "
            "repeated");
        command.add_flag(
            "--allow-weaker-sandbox,!--no-allow-weaker-sandbox", o.shape.allow_weaker_sandbox,
            "Reward workers run programs although their sandbox lacks properties; each verdict is "
            "stamped with them");
        command
            .add_option(
                "--stop-seconds", o.shape.stop_seconds,
                "From SIGTERM or SIGINT until everything has ended: workers, then the learner with a "
                "checkpoint, then the coordinator; what takes longer is killed. A second SIGINT kills "
                "all at once")
            ->capture_default_str()
            ->check(CLI::Range(1.0, 86400.0));
        command
            .add_option("--hang-seconds", o.shape.hang_seconds,
                        "A process that does not answer for so long, on its metrics' port, is killed and "
                        "started again; 0: never (where one is stopped in a debugger)")
            ->capture_default_str()
            ->check(CLI::Range(0.0, 86400.0));
        command
            .add_option(
                "--keep-samples-bytes", o.shape.keep_samples_bytes,
                "Above this the coordinator removes the files of the oldest samples, but none that may "
                "be trained on (default: 8 GiB)")
            ->transform(CLI::AsSizeValue(false))
            ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 60));
        command
            .add_option(
                "--keep-free-bytes", o.shape.keep_free_bytes,
                "With less room on the coordinator's disk, or less than a twentieth of it, nothing new "
                "begins (default: 256 MiB)")
            ->transform(CLI::AsSizeValue(false))
            ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 60));
        command.add_flag("--detach", o.detach, "Return when everything serves and leave it running");
        command.add_flag("--forget", o.forget,
                         "Do not take flags that are not given from the last start on this state directory");
        command.add_option("--log", o.log, "Once the state directory is taken, write there instead")
            ->group("");
      },
      [](const UpOptions& o) { return ReportUp(Up(o)); });
  line.Add<DownOptions>(
      "down",
      "Stops the fleet of a state directory, in order.\n"
      "Exit code 0 when every process ended in order, 1 when one did not: a learner may then have missed its "
      "checkpoint.",
      [](CLI::App& command, DownOptions& o) {
        command.add_option("--state", o.state, "State directory")->capture_default_str();
        command.add_flag("--json", o.json,
                         "Print {\"stopped\", \"orderly\", \"not_in_order\": [{\"name\", \"how\"}]}");
      },
      Down);
}

}  // namespace sluice::cli
