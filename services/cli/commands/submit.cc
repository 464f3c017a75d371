// sluice check, sluice submit: a job file on its way to the coordinator.
#include <unistd.h>

#include <iostream>
#include <optional>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/job_file.h"
#include "services/cli/panel.h"
#include "services/cli/rows/interruption.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kSubmitPatience = absl::Seconds(2);  // while the coordinator is away

struct SubmitOptions {
  ConnectionOptions connection;
  std::string file;
  std::vector<std::string> set;
  std::string request_id, from;
  bool wait = false, json = false, continue_training = false, keep_reference = false;
};

// Says once, while it lives, that the coordinator is at work.
class SlowNotice {
 public:
  SlowNotice()
      : thread_([this] {
          if (over_.WaitForNotificationWithTimeout(kQuiet)) return;
          std::cerr << "sluice: the coordinator reads and tokenises the prompts; a large file takes minutes "
                       "(Ctrl-C: no job is made)"
                    << std::endl;
        }) {}
  ~SlowNotice() {
    over_.Notify();
    thread_.join();
  }
  SlowNotice(const SlowNotice&) = delete;
  SlowNotice& operator=(const SlowNotice&) = delete;

 private:
  static constexpr absl::Duration kQuiet = absl::Seconds(3);
  absl::Notification over_;
  std::thread thread_;
};

void AddJobFileOptions(CLI::App& command, SubmitOptions& o) {
  command.add_option(
      "FILE", o.file,
      "The job: text format of sluice.v1.JobSpec, or JSON when it ends in .json; with --from it may be left "
      "out: that job's, changed by --set");
  command.add_option(
      "--from", o.from,
      "JOB or JOB@VERSION: begin with the weights of that version (default: the promoted one, else the "
      "last)");
  command.add_flag(
      "--continue-training", o.continue_training,
      "With --from: its optimizer, its place in the learning rate's schedule and in the prompts too; needs a "
      "full checkpoint of the version (sluice checkpoints JOB)");
  command.add_flag(
      "--keep-reference", o.keep_reference,
      "With --from: the KL term's reference stays that job's, and is not the weights that this one begins "
      "with");
  command
      .add_option(
          "--set", o.set,
          "FIELD=VALUE, for example sampling.group_size=16; over the file; paths are relative to this folder")
      ->take_all();
  AddConnectionOptions(command, o.connection);
}

// The job of the file, or, with --from and no file, that of the job that it goes on from, changed.
absl::StatusOr<v1::JobSpec> SpecOf(const SubmitOptions& o) {
  if (o.from.empty()) {
    if (o.file.empty()) return absl::InvalidArgumentError("FILE or --from is needed");
    if (o.continue_training || o.keep_reference)
      return absl::InvalidArgumentError("--continue-training and --keep-reference go with --from");
    return ReadJob(o.file, o.set);
  }
  SLUICE_ASSIGN_OR_RETURN(const JobVersion from, ParseJobVersion(o.from));
  v1::JobSpec spec;
  if (o.file.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator(o.connection));
    SLUICE_ASSIGN_OR_RETURN(const v1::Job job, client->Get(from.job));
    SLUICE_ASSIGN_OR_RETURN(spec, GoOnFrom(job.spec(), o.set));
  } else {
    SLUICE_ASSIGN_OR_RETURN(spec, ReadJob(o.file, o.set));
  }
  // What the flag says takes the place of what the file says: a version there is another job's.
  const bool goes_on = o.continue_training || spec.from().continue_training();
  spec.clear_from();
  spec.mutable_from()->set_job(from.job);
  if (from.version) spec.mutable_from()->set_policy_version(*from.version);
  if (goes_on) spec.mutable_from()->set_continue_training(true);
  if (o.keep_reference) spec.mutable_from()->set_reference(from.job);
  return spec;
}

// Where a job file was given, the place in it.
absl::Status Located(const absl::Status& status, const SubmitOptions& o) {
  return o.file.empty() ? status : LocateMistake(status, o.file, o.set);
}

int ExitCodeOfJob(const v1::Job& job) {
  if (job.state() == v1::SUCCEEDED) return kDone;
  std::cerr << "sluice: " << job.job() << " " << StateName(job.state())
            << (job.error().empty() ? "" : ": " + job.error()) << "\n";
  return kFailed;
}

// Ends the process: the job is the coordinator's.
void LeaveJob(const std::string& job) {
  std::cerr << "sluice: " << job << " goes on without this command: `sluice watch " << job
            << "` shows it, `sluice cancel " << job << "` ends it" << std::endl;
  _exit(kInterrupted);
}

int Submit(const SubmitOptions& o) {
  std::optional<Interruption> interruption;
  if (o.wait) interruption.emplace();  // before there are other threads
  const auto spec = SpecOf(o);
  if (!spec.ok()) return Report(spec.status());
  const auto job = [&] {
    const SlowNotice notice;
    std::optional<OnInterruption> stop;
    if (o.wait) stop.emplace(*interruption, [] { _exit(kInterrupted); });
    return SubmitJob(o.connection, *spec, kSubmitPatience, o.request_id);
  }();
  if (!job.ok()) return Report(Located(job.status(), o));
  std::cout << nlohmann::json{{"job", *job}}.dump() << std::endl;
  if (!o.wait) return kDone;
  const OnInterruption leave(*interruption, [&] { LeaveJob(*job); });
  std::string shown;
  const auto ended = FollowJob(o.connection, *job, absl::Minutes(5), [&](const v1::WatchJobResponse& state) {
    const std::string line = RenderLine(state.job());
    if (line != shown) std::cerr << line << std::endl;
    shown = line;
    return true;
  });
  return ended.ok() ? ExitCodeOfJob(*ended) : Report(ended.status());
}

int Check(const SubmitOptions& o) {
  const auto spec = SpecOf(o);
  if (!spec.ok()) return Report(spec.status());
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  const auto checked = [&] {
    const SlowNotice notice;
    return (*client)->Check(*spec);
  }();
  if (!checked.ok()) return Report(Located(checked.status(), o));
  const std::string warning = WarnOfShaping(checked->resolved_spec());
  if (!warning.empty()) std::cerr << "sluice: warning: " << warning << "\n";
  for (const std::string& line : checked->warnings()) std::cerr << "sluice: warning: " << line << "\n";
  if (o.json) {
    std::cout << ToJson(*checked, /*pretty=*/true);
    return kDone;
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(checked->resolved_spec(), &text);
  std::cout << text << "\n";
  for (const std::string& line : checked->plan()) std::cout << "# " << line << "\n";
  return kDone;
}

}  // namespace

void AddSubmitCommands(CommandLine& line) {
  line.Add<SubmitOptions>(
      "check",
      "Checks a job as `submit` would and prints it with every default filled in, and its plan. Changes "
      "nothing.",
      [](CLI::App& command, SubmitOptions& o) {
        AddJobFileOptions(command, o);
        command.add_flag("--json", o.json, "Print JSON instead of text format");
      },
      Check);
  line.Add<SubmitOptions>(
      "submit",
      "Submits a job and prints {\"job\": NAME}.\n"
      "Relative paths in FILE are relative to FILE's folder. Mistakes are told with file, line and column.",
      [](CLI::App& command, SubmitOptions& o) {
        AddJobFileOptions(command, o);
        command.add_option("--request-id", o.request_id,
                           "Names this submission: whoever is left without an answer submits again under the "
                           "same name, and gets the job that there is");
        command.add_flag(
            "--wait", o.wait,
            "Stay until the job has ended, with progress on standard error; exit 1 when it failed");
      },
      Submit);
}

}  // namespace sluice::cli
