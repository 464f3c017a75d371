// sluice demo: the whole loop on a model made on the spot.
#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "google/protobuf/text_format.h"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/demo/demo_job.h"
#include "services/cli/demo/problems.h"
#include "services/cli/demo/random_model.h"
#include "services/cli/demo/report.h"
#include "services/cli/exit_code.h"
#include "services/cli/sample_text.h"
#include "services/cli/screen.h"
#include "services/cli/supervisor/up_process.h"

namespace sluice::cli {
namespace {

constexpr int kSamplesShown = 8;
constexpr int kMaxFolders = 10000;
constexpr absl::Duration kPatience = absl::Minutes(2);  // without a word from the coordinator
constexpr absl::Duration kStartDeadline = absl::Minutes(3);

struct DemoOptions {
  uint64_t seed = 1;
  std::string state;    // empty: a fresh folder in ./sluice-state
  std::string prepare;  // only the files, into this folder
  bool json = false, keep = false;
  DemoHyperparameters settings;
};

// The first of base, base-2, base-3 ... that is not there.
absl::StatusOr<std::string> FreshFolder(const std::string& base) {
  for (int i = 1; i < kMaxFolders; ++i) {
    std::string path = i == 1 ? base : absl::StrCat(base, "-", i);
    if (!FileExists(path)) return path;
  }
  return absl::ResourceExhaustedError(absl::StrCat("too many folders like ", base));
}

absl::Status MakeFiles(const DemoFiles& files, const DemoOptions& o) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(files.folder));
  SLUICE_RETURN_IF_ERROR(WriteDemoModel({}, o.seed, files.model));
  const ProblemSet problems = MakeProblems({}, o.seed);
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(files.train, PromptRows(problems.training, "train")));
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(files.held_out, PromptRows(problems.held_out, "held-out")));
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(files.warm, WarmRows(problems.warm)));
  std::string text;
  google::protobuf::TextFormat::PrintToString(MakeDemoJob(files, o.settings, o.seed), &text);
  return WriteFileAtomically(files.job, text);
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return ErrnoStatus(error.value(), path);
  return absolute.lexically_normal().string();
}

// Where people read: standard output, or standard error when programs read the former.
std::ostream& ForPeople(const DemoOptions& o) { return o.json ? std::cerr : std::cout; }

absl::StatusOr<v1::Job> Follow(const ConnectionOptions& connection, const std::string& job,
                               const DemoOptions& o, UpProcess& up, StepHistory& history) {
  Screen screen(ForPeople(o), o.json ? Screen::Kind::kLines : Screen::KindOf(STDOUT_FILENO));
  return FollowJob(connection, job, kPatience, [&](const v1::WatchJobResponse& state) {
    history.Add(state.job().last_step());
    screen.Show(state, history);
    up.KeepAlive().IgnoreError();
    return true;
  });
}

void ShowSamples(JobClient& client, const std::string& job, std::ostream& out) {
  v1::ListSamplesRequest request;
  request.set_job(job);
  request.set_limit(kSamplesShown);
  request.set_evaluation(true);
  out << "\nSome completions for held-out digits\n";
  const absl::Status status = client.ListSamples(request, [&](const v1::ListSamplesResponse& sample) {
    out << absl::StrFormat("  %-14s -> %-10s %s\n", sample.prompt(), sample.trajectory().text(),
                           VerdictLine(sample.verdict()));
    return true;
  });
  if (!status.ok()) out << "  (not available: " << status.message() << ")\n";
}

absl::StatusOr<v1::Job> RunJob(const DemoOptions& o, const std::string& state, const DemoFiles& files,
                               absl::Time started) {
  std::ostream& out = ForPeople(o);
  const DemoFleet fleet;
  SLUICE_ASSIGN_OR_RETURN(UpProcess up, UpProcess::Start(state,
                                                         {.rollout_workers = fleet.rollout_workers,
                                                          .reward_workers = fleet.reward_workers,
                                                          .learner_ranks = fleet.learner_ranks},
                                                         /*die_with_parent=*/!o.keep));
  SLUICE_RETURN_IF_ERROR(up.AwaitServing(kStartDeadline));
  out << absl::StrFormat(
             "fleet: 1 coordinator, %d rollout workers, %d reward worker, a learner of %d ranks "
             "(%s/cluster.json)\n",
             fleet.rollout_workers, fleet.reward_workers, fleet.learner_ranks, state)
      << std::flush;
  const ConnectionOptions connection{"", state};
  SLUICE_ASSIGN_OR_RETURN(const std::string job,
                          SubmitJob(connection, MakeDemoJob(files, o.settings, o.seed), kPatience));
  DemoReport report;
  SLUICE_ASSIGN_OR_RETURN(report.job, Follow(connection, job, o, up, report.history));
  out << "\n" << DemoTable(report.job);
  if (auto fresh = ConnectToCoordinator(connection); fresh.ok()) ShowSamples(**fresh, job, out);
  out << "\nledger: " << LedgerLine(report.job.ledger()) << "\n";
  const std::string flags = absl::StrFormat("--rollout %d --reward %d --learner-ranks %d",
                                            fleet.rollout_workers, fleet.reward_workers, fleet.learner_ranks);
  out << DemoNextSteps({program_invocation_name, state, files.folder, o.keep, flags}, job) << std::flush;
  if (o.keep) {
    up.Release();
  } else {
    up.Stop();
  }
  report.seconds = absl::ToDoubleSeconds(absl::Now() - started);
  if (o.json) std::cout << DemoJson(report).dump() << std::endl;
  return report.job;
}

absl::StatusOr<v1::Job> Demo(const DemoOptions& o) {
  const absl::Time started = absl::Now();
  SLUICE_RETURN_IF_ERROR(MakeDirectories(o.state.empty() ? kDefaultState : o.state));
  std::string state = o.state;
  if (state.empty()) {
    SLUICE_ASSIGN_OR_RETURN(state, FreshFolder(absl::StrCat(kDefaultState, "/demo")));
  }
  SLUICE_ASSIGN_OR_RETURN(state, AbsolutePath(state));
  ForPeople(o) << "making a model with random weights and problems in " << state << "\n" << std::flush;
  SLUICE_ASSIGN_OR_RETURN(const std::string folder, FreshFolder(state + "/demo-files"));
  const DemoFiles files(folder);
  SLUICE_RETURN_IF_ERROR(MakeFiles(files, o));
  return RunJob(o, state, files, started);
}

absl::Status Prepare(const DemoOptions& o) {
  SLUICE_ASSIGN_OR_RETURN(const std::string folder, AbsolutePath(o.prepare));
  const DemoFiles files(folder);
  SLUICE_RETURN_IF_ERROR(MakeFiles(files, o));
  std::cout << "the job is " << files.job << "\n";
  return absl::OkStatus();
}

int Run(const DemoOptions& o) {
  if (!o.prepare.empty()) return Report(Prepare(o));
  const auto job = Demo(o);
  if (!job.ok()) return Report(job.status());
  if (job->state() == v1::SUCCEEDED) return kDone;
  return Report(
      absl::InternalError(absl::StrCat("the job ended ", StateName(job->state()), ": ", job->error())));
}

}  // namespace

void AddDemoCommand(CommandLine& line) {
  line.Add<DemoOptions>(
      "demo",
      "Runs the whole loop on this machine with a small model made on the spot.\n"
      "No network, GPU or download. The model is first taught the form of an answer (some order of the "
      "digits it is\n"
      "given), then it has to find by reinforcement that the judge wants them in rising order (5 2 8: -> "
      "258).\n"
      "Shows held-out accuracy before and after.",
      [](CLI::App& command, DemoOptions& o) {
        command.add_option("--seed", o.seed, "Of weights, problems and samples")->capture_default_str();
        command.add_option("--state", o.state,
                           "State directory (default: a fresh one in ./sluice-state); stays");
        command.add_flag(
            "--json", o.json,
            "Print the figures as one JSON object in the last line; all else goes to standard error");
        command
            .add_option("--learning-rate", o.settings.learning_rate, "Of the reinforcement; 0 learns nothing")
            ->capture_default_str()
            ->check(CLI::NonNegativeNumber);
        command.add_option("--steps", o.settings.steps, "Steps of reinforcement")
            ->capture_default_str()
            ->check(CLI::Range(1, 1000000));
        command.add_option("--prepare", o.prepare,
                           "Only make the model, the problems and the job in this folder; start nothing");
        command.add_flag("--keep", o.keep, "Leave the services running at the end");
      },
      Run);
}

}  // namespace sluice::cli
