// sluice up, sluice down: a fleet on this machine.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/supervisor/supervisor.h"
#include "services/cli/supervisor/supervisor_record.h"
#include "services/cli/supervisor/up_process.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kDownReserve = absl::Seconds(30);  // beyond what the fleet takes to stop

struct UpOptions {
  std::string state = kDefaultState;
  FleetShape shape;
  bool detach = false;
};

struct DownOptions {
  std::string state = kDefaultState;
};

int ReportUp(const absl::Status& status) {
  const int code = Report(status);
  return absl::IsCancelled(status) ? kInterrupted : code;
}

void SayOnStandardError(const std::string& line) { std::cerr << "sluice up: " << line << std::endl; }

absl::Status RunInForeground(const UpOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::string coordinator, SiblingBinary("sluice-coordinator"));
  std::error_code error;
  const std::string state = std::filesystem::absolute(options.state, error).lexically_normal().string();
  if (error) return ErrnoStatus(error.value(), options.state);
  SupervisorOptions supervisor_options;
  supervisor_options.state = state;
  supervisor_options.binary_folder = std::filesystem::path(coordinator).parent_path().string();
  supervisor_options.shape = options.shape;
  supervisor_options.cores = static_cast<int>(std::thread::hardware_concurrency());
  supervisor_options.say = SayOnStandardError;
  SLUICE_ASSIGN_OR_RETURN(const auto supervisor, Supervisor::Create(std::move(supervisor_options)));
  return supervisor->Run();
}

absl::Status RunDetached(const UpOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(UpProcess up,
                          UpProcess::Start(options.state, options.shape, /*die_with_parent=*/false));
  SLUICE_RETURN_IF_ERROR(up.AwaitServing(absl::Minutes(3)));
  up.Release();
  SLUICE_ASSIGN_OR_RETURN(const std::string address, FindCoordinator("", options.state));
  std::cout << "serving at " << address << "; stop it with `sluice down --state " << options.state << "`\n";
  return absl::OkStatus();
}

// By a supervisor that was killed. What does not end by the deadline is killed.
absl::Status StopLeftOver(const std::vector<RecordedProcess>& processes, absl::Time deadline) {
  const auto signal_all = [&](int signal) {
    bool any = false;
    for (const RecordedProcess& p : processes) {
      if (!IsAlive(p.identity)) continue;
      any = true;
      if (signal != 0) kill(p.identity.pid, signal);
    }
    return any;
  };
  if (!signal_all(SIGTERM)) return absl::OkStatus();
  while (signal_all(absl::Now() < deadline ? 0 : SIGKILL)) {
    if (absl::Now() > deadline + kDownReserve)
      return absl::DeadlineExceededError("processes that the supervisor left do not end, even when killed");
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::OkStatus();
}

absl::Status Down(const DownOptions& options) {
  const auto record = ReadSupervisorRecord(options.state);
  if (!record.ok()) return absl::NotFoundError(absl::StrCat("no fleet in ", options.state));
  // The lock says whether the supervisor lives; its pid may have been used again.
  const std::string lock_path = options.state + "/run/supervisor.lock";
  const absl::Time deadline = absl::Now() + absl::Seconds(record->stop_seconds) + kDownReserve;
  bool told = false;
  while (absl::Now() < deadline) {
    const auto lock = FileLock::Acquire(lock_path);
    if (lock.ok()) {
      SLUICE_RETURN_IF_ERROR(StopLeftOver(record->processes, deadline - kDownReserve));
      std::cout << "stopped\n";
      return absl::OkStatus();
    }
    if (!told) kill(static_cast<pid_t>(record->self), SIGTERM);
    told = true;
    absl::SleepFor(absl::Milliseconds(50));
  }
  return absl::DeadlineExceededError(absl::StrCat("the supervisor (pid ", record->self, ") does not stop"));
}

}  // namespace

void AddUpCommands(CommandLine& line) {
  line.Add<UpOptions>(
      "up",
      "Starts and supervises all services on this machine's loopback.\n"
      "One that dies is started again. STATE/cluster.json names every process; logs are in STATE/logs.\n"
      "Runs until SIGTERM or SIGINT. A killed supervisor leaves the services running; the next `up` adopts "
      "them.",
      [](CLI::App& command, UpOptions& o) {
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
        command.add_flag("--http", o.shape.http,
                         "Rollout workers serve the policy over HTTP too, as the OpenAI API has it; "
                         "STATE/cluster.json has the addresses");
        command.add_option(
            "--scorer", o.shape.scorers,
            "NAME=HOST:PORT: the reward service that remote { service: NAME } of a job asks; may be "
            "repeated");
        command.add_flag(
            "--allow-weaker-sandbox", o.shape.allow_weaker_sandbox,
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
      },
      [](const UpOptions& o) { return ReportUp(o.detach ? RunDetached(o) : RunInForeground(o)); });
  line.Add<DownOptions>(
      "down", "Stops the fleet of a state directory, in order.",
      [](CLI::App& command, DownOptions& o) {
        command.add_option("--state", o.state, "State directory")->capture_default_str();
      },
      [](const DownOptions& o) { return Report(Down(o)); });
}

}  // namespace sluice::cli
