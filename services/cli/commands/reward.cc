// sluice reward: verdicts on a file of completions, without a job.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/reward/scoring_run.h"
#include "services/cli/reward/spec_file.h"
#include "services/cli/rows/interruption.h"
#include "services/cli/rows/json_lines.h"
#include "services/cli/rows/private_worker.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kServiceStartDeadline = absl::Minutes(2);
constexpr int kMaxBoxes = 1024;
constexpr int kComputeSeconds = 10;  // for an item that is only computed

struct RewardOptions {
  std::string spec, input = "-", output = "-", worker;
  std::vector<std::string> scorers;
  int threads = 0;
  double deadline_seconds = 300;
  bool explain = false, json = false, summary = false, resume = false, weaker = false;
};

absl::Status CheckUsage(const RewardOptions& o) {
  if (o.json && o.output == "-")
    return absl::InvalidArgumentError("--json prints on standard output: name a file with --output");
  if (o.resume && o.output == "-") return absl::InvalidArgumentError("--resume needs a file as --output");
  if (!o.worker.empty() && (o.weaker || !o.scorers.empty() || o.threads > 0)) {
    return absl::InvalidArgumentError(
        "--threads, --scorer and --allow-weaker-sandbox are settings of a service of our own; the one that "
        "--worker names has its own");
  }
  SLUICE_RETURN_IF_ERROR(RowOutput::Check(o.output));
  return CheckDistinct(o.input, o.output);
}

// Where compiled programs are kept from command to command; empty where the user has no such place.
std::string CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache != nullptr && *cache == '/') {
    folder = absl::StrCat(cache, "/sluice/reward");
  } else if (home != nullptr && *home == '/') {
    folder = absl::StrCat(home, "/.cache/sluice/reward");
  }
  return !folder.empty() && MakeDirectories(folder).ok() ? folder : "";
}

// Without what a service of many days has: canaries, audits, and a sandbox where nothing runs in it.
std::vector<std::string> ServiceFlags(const RewardOptions& o, const RewardSpec& spec) {
  const int threads = o.threads > 0 ? o.threads : std::max(1u, std::thread::hardware_concurrency());
  const int seconds = std::max(1, static_cast<int>(std::ceil(o.deadline_seconds)));
  std::vector<std::string> flags = {"--threads",         absl::StrCat(threads),
                                    "--item-timeout",    absl::StrCat(seconds),
                                    "--compute-timeout", absl::StrCat(std::min(seconds, kComputeSeconds)),
                                    "--canary-every",    "0",
                                    "--audit-share",     "0",
                                    "--sandbox",         RunsPrograms(spec) ? "auto" : "off"};
  if (o.threads > 0) flags.insert(flags.end(), {"--boxes", absl::StrCat(std::min(2 * o.threads, kMaxBoxes))});
  for (const std::string& scorer : o.scorers) flags.insert(flags.end(), {"--scorer", scorer});
  if (o.weaker) flags.push_back("--allow-weaker-sandbox");
  if (const std::string folder = RunsPrograms(spec) ? CacheFolder() : ""; !folder.empty())
    flags.insert(flags.end(), {"--cache", folder});
  return flags;
}

// A running service, or one of our own, which takes the place of one that has ended.
absl::StatusOr<Peer> ConnectToService(const RewardOptions& o, const RewardSpec& spec,
                                      std::optional<PrivateWorker>& own) {
  if (!o.worker.empty()) return Connect(o.worker);
  own.reset();
  SLUICE_ASSIGN_OR_RETURN(PrivateWorker started,
                          PrivateWorker::Start("reward", ServiceFlags(o, spec), kServiceStartDeadline));
  own.emplace(std::move(started));
  return Connect(own->address());
}

// The address of a private service says nothing to the user, and its flags are this command's.
absl::Status InOwnTerms(const absl::Status& status, const std::optional<PrivateWorker>& own) {
  if (!own) return status;
  absl::string_view text = status.message();
  absl::ConsumePrefix(&text, own->address() + ": ");
  return absl::Status(status.code(), absl::StrReplaceAll(text, {{"start sluice-reward with --", "give --"},
                                                                {"--item-timeout", "--deadline"}}));
}

int TellEnd(const RewardOptions& o, const RewardSummary& summary, absl::Duration taken, bool interrupted) {
  if (o.summary) std::cerr << summary.ToText(taken);
  if (o.json) std::cout << summary.ToJson(taken).dump() << std::endl;
  if (interrupted) {
    std::cerr << "sluice: interrupted after " << summary.new_rows() << " rows";
    if (o.output != "-")
      std::cerr << ", which are in " << o.output << "; the same command with --resume goes on";
    std::cerr << std::endl;
    return kInterrupted;
  }
  if (summary.failed() == 0) return kDone;
  std::cerr << "sluice: " << summary.failed() << " of " << summary.rows() << " rows could not be judged\n";
  return kFailed;
}

absl::StatusOr<int> ScoreInto(const RewardOptions& o, const RewardSpec& spec, const ScoringOptions& options,
                              RowSource& source, RowScorer& scorer, const CancelToken& cancel) {
  RowSource::Done done;
  RewardSummary summary(spec);
  if (o.resume) {
    SLUICE_ASSIGN_OR_RETURN(done, source.SkipDone(o.output, summary));
    summary.EndOfEarlier();
    if (done.rows > 0) std::cerr << "sluice: " << done.rows << " rows are in " << o.output << " already\n";
  }
  SLUICE_ASSIGN_OR_RETURN(const auto output, RowOutput::Open(o.output, done.bytes));
  const absl::Time begin = absl::Now();
  SLUICE_RETURN_IF_ERROR(ScoreRows(source, scorer, spec, options, cancel, *output, summary));
  return TellEnd(o, summary, absl::Now() - begin, cancel.cancelled());
}

// Nothing is written before the spec is known to be right.
absl::StatusOr<int> Score(const RewardOptions& o, const Interruption& interruption) {
  SLUICE_RETURN_IF_ERROR(CheckUsage(o));
  SLUICE_ASSIGN_OR_RETURN(const RewardSpec spec, ReadRewardSpec(o.spec));
  SLUICE_ASSIGN_OR_RETURN(const auto source, RowSource::Open(o.input, spec, interruption.fd()));
  ScoringOptions options;
  options.input_name = o.input == "-" ? "standard input" : o.input;
  options.explain = o.explain;
  options.sample_deadline = absl::Seconds(o.deadline_seconds);
  std::optional<PrivateWorker> own;
  SLUICE_ASSIGN_OR_RETURN(Peer peer, ConnectToService(o, spec, own));
  RowScorer::Restart restart;
  if (own) restart = [&] { return ConnectToService(o, spec, own); };
  RowScorer scorer(std::move(peer), spec, options, interruption.token(), restart);
  if (const absl::Status probed = scorer.Probe(); !probed.ok())
    return Annotate(InOwnTerms(probed, own), o.spec);
  const auto code = ScoreInto(o, spec, options, *source, scorer, interruption.token());
  if (!code.ok()) return InOwnTerms(code.status(), own);
  return code;
}

int Reward(const RewardOptions& o) {
  const Interruption interruption;
  const absl::StatusOr<int> code = Score(o, interruption);
  if (absl::IsCancelled(code.status()) && interruption.token().cancelled()) return kInterrupted;
  return code.ok() ? *code : Report(code.status());
}

}  // namespace

void AddRewardCommand(CommandLine& line) {
  line.Add<RewardOptions>(
      "reward",
      "Scores a file of completions without a job.\n"
      "SPEC is text format or JSON: a scorer (math {}), components, a reward or a whole job. docs/rewards.md "
      "has the "
      "scorers,\n"
      "the fields that each needs in a row, and what the verdicts mean.\n"
      "Input: JSON Lines {\"id\"?, \"prompt\"?, \"completion\", \"answer\" | \"tests\" | ..., \"group\"?}; "
      "of "
      "math { mode: PAIR }\n"
      "{\"gold\", \"prediction\"}. Output, in the same order: {\"id\", \"verdict\", \"value\", \"class\", "
      "\"components\", \"detail\",\n"
      "\"seconds\"}, verdict one of CORRECT, WRONG, GRADED, UNDECIDED, INFRASTRUCTURE; the last two have no "
      "value "
      "(null).\n"
      "A row that cannot be judged is UNDECIDED with \"error\" and \"line\"; the others go on. Exit codes: 0 "
      "all rows "
      "were judged,\n"
      "1 some were not, 2 wrong usage or spec, 3 a service cannot be reached, 130 interrupted.",
      [](CLI::App& command, RewardOptions& o) {
        command.add_option("--spec", o.spec, "What a completion is worth")->required();
        command.add_option("--input", o.input, "JSON Lines; - is standard input")->required();
        command
            .add_option("--output", o.output, "JSON Lines, written as they are known; - is standard output")
            ->capture_default_str();
        command.add_flag("--resume", o.resume,
                         "Go on where an earlier run with the same spec and input stopped");
        command.add_flag("--explain", o.explain, "Details say all that led to a verdict");
        command.add_flag("--summary", o.summary, "Counts and means at the end, on standard error");
        command.add_flag("--json", o.json, "The summary as one line of JSON on standard output");
        command.add_option("--deadline", o.deadline_seconds, "Seconds for one sample")
            ->capture_default_str()
            ->check(CLI::Range(0.1, 86400.0));
        command.add_option("--threads", o.threads, "Threads that judge (default: the machine's)")
            ->check(CLI::Range(1, 1024));
        command.add_option("--worker", o.worker,
                           "HOST:PORT of a running reward service, instead of one of our own");
        command.add_option("--scorer", o.scorers,
                           "NAME=HOST:PORT: where remote { service: NAME } is asked; may be repeated");
        command.add_flag(
            "--allow-weaker-sandbox", o.weaker,
            "Run programs although the sandbox lacks properties; each verdict is stamped with them");
      },
      Reward);
}

}  // namespace sluice::cli
