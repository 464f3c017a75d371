// Long completions with their experts through every link, and a death at each: a real coordinator, and around
// it processes that stand in for workers, checker and learner over the real wire, know each completion
// beforehand and check what they are handed. Ends well when every sample was trained once and what was
// generated again is no more than what the deaths can have cost.
//   long_completions [--tokens N] [--group-size N] [--steps N] [--no-deaths] ...
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/fleet_load/coordinator_process.h"
#include "bench/fleet_load/process_figures.h"
#include "bench/folder.h"
#include "bench/long_completions/roles.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/demo/random_model.h"
#include "services/cli/supervisor/process.h"
#include "services/clients/job_client.h"
#include "services/rpc/channel.h"

namespace sluice::bench {
namespace {

struct RunOptions {
  int group_size = 64, steps = 4, progress_tokens = 64, piece_millis = 100;
  double minutes = 25, lease_seconds = 10;
  CompletionShape shape;
  std::string state, role, name;
  std::vector<std::string> deaths;
  bool no_deaths = false;
};

void AddOptions(CLI::App& app, RunOptions& o) {
  app.add_option("--tokens", o.shape.tokens, "Of the longest completion; the shortest has three quarters")
      ->check(CLI::Range(16, 1 << 17))
      ->capture_default_str();
  app.add_option("--group-size", o.group_size, "Completions of a group")->capture_default_str();
  app.add_option("--steps", o.steps, "Groups that are trained, one in a step")->capture_default_str();
  app.add_option("--moe-layers", o.shape.moe_layers, "Layers with experts")->capture_default_str();
  app.add_option("--experts-per-token", o.shape.per_token, "In each layer")->capture_default_str();
  app.add_option("--progress-tokens", o.progress_tokens, "The job's checkpoint.progress_tokens")
      ->capture_default_str();
  app.add_option("--piece-millis", o.piece_millis, "That a group takes for so many tokens of each")
      ->capture_default_str();
  app.add_option("--lease-seconds", o.lease_seconds, "Of the coordinator")->capture_default_str();
  app.add_option("--minutes", o.minutes, "It is given up after")->capture_default_str();
  app.add_option("--state", o.state, "Folder of the run; default: a new one, removed");
  app.add_flag("--no-deaths", o.no_deaths, "Nothing is killed");
  app.add_option("--role", o.role, "Of a process that the run starts itself");
  app.add_option("--name", o.name, "Of that process");
  app.add_option("--death", o.deaths, "Of the plan that the run made");
}

// In the first half of what happens at each place, so that a process comes to it in one life.
std::vector<Death> PlanOf(const RunOptions& o) {
  if (o.no_deaths) return {};
  const int64_t tokens = int64_t{o.shape.tokens} * 7 / 8 * o.group_size;
  const int64_t reports = tokens / o.progress_tokens;
  const int64_t pieces = tokens * (12 + 2 * o.shape.moe_layers * o.shape.per_token) >> 20;
  return {{"worker.report", reports / 4},
          {"worker.report", reports / 2, true},
          {"worker.report", reports * 4 / 5},
          {"reward.score", 1},
          {"reward.score", 2, true},
          {"learner.piece", pieces / 3 + 1},
          {"learner.piece", pieces * 2 / 3 + 2, true},
          {"learner.stepping", 1},
          {"learner.stepped", 1},
          {"learner.stepping", 2, true}};
}

absl::StatusOr<v1::JobSpec> MakeJob(const RunOptions& o, const std::string& folder) {
  cli::DemoModel model;
  model.max_positions = o.shape.tokens + 128;
  if (!FileExists(folder + "/model"))
    SLUICE_RETURN_IF_ERROR(cli::WriteDemoModel(model, 1, folder + "/model"));
  std::string rows;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&rows, "{\"prompt\": \"", 10000 + i, ":\"}\n");
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(folder + "/prompts.jsonl", rows));
  v1::JobSpec spec;
  spec.set_name("long");
  spec.set_seed(1);
  spec.mutable_model()->set_path(folder + "/model");
  spec.mutable_prompts()->set_file(folder + "/prompts.jsonl");
  spec.mutable_sampling()->set_group_size(o.group_size);
  spec.mutable_sampling()->set_max_new_tokens(o.shape.tokens);
  spec.mutable_sampling()->set_record_experts(true);
  v1::RewardComponent& component = *spec.mutable_reward()->add_component();
  component.set_name("text");
  component.mutable_regex()->set_pattern("1");
  spec.mutable_algorithm()->mutable_grpo();
  spec.mutable_optimizer()->mutable_adamw()->set_learning_rate(1e-6);
  spec.mutable_batch()->set_groups_per_step(1);
  spec.mutable_staleness()->set_max_versions(1);
  spec.mutable_checkpoint()->set_progress_tokens(o.progress_tokens);
  spec.mutable_stop()->set_steps(o.steps);
  return spec;
}

// The processes of the run, started again when they die.
class Processes {
 public:
  Processes(const RunOptions& o, std::string folder, std::vector<Death> plan)
      : options_(o), folder_(std::move(folder)), plan_(std::move(plan)) {}
  ~Processes() {
    for (const auto& [name, pid] : pids_) cli::StopChild(pid, absl::Seconds(10));
  }
  absl::Status Start() {
    SLUICE_RETURN_IF_ERROR(StartCoordinator());
    for (const auto& [name, role] : {std::pair("learner", "learner"),
                                     {"reward", "reward"},
                                     {"rollout-0", "worker"},
                                     {"rollout-1", "worker"}}) {
      roles_[name] = role;
      SLUICE_RETURN_IF_ERROR(StartRole(name));
    }
    return absl::OkStatus();
  }
  // Starts again who died by plan. INTERNAL: someone died otherwise.
  absl::Status Look() {
    Measure();
    const auto ended = cli::PollChild(coordinator_.pid());
    if (ended) {
      SLUICE_RETURN_IF_ERROR(Died("coordinator", *ended));
      SLUICE_RETURN_IF_ERROR(StartCoordinator());
    }
    for (auto& [name, pid] : pids_) {
      const auto end = cli::PollChild(pid);
      if (!end) continue;
      SLUICE_RETURN_IF_ERROR(Died(name, *end));
      SLUICE_RETURN_IF_ERROR(StartRole(name));
    }
    return absl::OkStatus();
  }
  const std::string& coordinator() const { return coordinator_.address(); }
  const std::map<std::string, int>& deaths() const { return deaths_; }
  const std::map<std::string, int64_t>& peaks() const { return peaks_; }  // bytes

 private:
  absl::Status StartCoordinator() {
    std::vector<std::string> flags = {"--lease-seconds", absl::StrCat(options_.lease_seconds)};
    if (!coordinator_.address().empty())  // as a supervisor does
      flags.insert(flags.end(), {"--listen", coordinator_.address()});
    SLUICE_RETURN_IF_ERROR(coordinator_.Start(folder_, flags));
    return WriteFileAtomically(folder_ + "/coordinator.pid", absl::StrCat(coordinator_.pid()));
  }
  absl::Status StartRole(const std::string& name) {
    const RunOptions& o = options_;
    cli::SpawnOptions spawn;
    spawn.argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                  "--role",
                  roles_[name],
                  "--name",
                  name,
                  "--state",
                  folder_,
                  "--tokens",
                  absl::StrCat(o.shape.tokens),
                  "--moe-layers",
                  absl::StrCat(o.shape.moe_layers),
                  "--experts-per-token",
                  absl::StrCat(o.shape.per_token),
                  "--piece-millis",
                  absl::StrCat(o.piece_millis)};
    for (const Death& death : plan_) spawn.argv.insert(spawn.argv.end(), {"--death", bench::ToString(death)});
    spawn.log_file = absl::StrCat(folder_, "/", name, ".log");
    spawn.die_with_parent = true;
    SLUICE_ASSIGN_OR_RETURN(pids_[name], cli::Spawn(spawn));
    return absl::OkStatus();
  }
  absl::Status Died(const std::string& name, const cli::ExitStatus& how) {
    std::fprintf(stderr, "%s: %s died: %s\n",
                 absl::FormatTime("%H:%M:%E1S", absl::Now(), absl::UTCTimeZone()).c_str(), name.c_str(),
                 how.ToString().c_str());
    ++deaths_[name];
    if (how.signalled && how.code == SIGKILL && deaths_[name] <= static_cast<int>(plan_.size()))
      return absl::OkStatus();
    return absl::InternalError(absl::StrCat(name, ": ", how.ToString(), "\n",
                                            cli::TailOfFile(absl::StrCat(folder_, "/", name, ".log"), 20)));
  }
  void Measure() {
    const auto keep = [this](const std::string& name, pid_t pid) {
      int64_t& peak = peaks_[name];
      peak = std::max(peak, FiguresOf(pid).peak_resident_bytes);
    };
    keep("coordinator", coordinator_.pid());
    for (const auto& [name, pid] : pids_) keep(name, pid);
  }

  const RunOptions& options_;
  const std::string folder_;
  const std::vector<Death> plan_;
  CoordinatorProcess coordinator_;
  std::map<std::string, std::string> roles_;  // by name
  std::map<std::string, pid_t> pids_;
  std::map<std::string, int> deaths_;
  std::map<std::string, int64_t> peaks_;
};

int64_t BytesIn(const std::string& folder) {
  int64_t out = 0;
  std::error_code gone;
  for (auto it = std::filesystem::recursive_directory_iterator(folder, gone);
       !gone && it != std::filesystem::recursive_directory_iterator(); it.increment(gone)) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(it->path(), none);
    if (!none) out += static_cast<int64_t>(bytes);
  }
  return out;
}

// What was sampled, and how much of it more than once.
struct Generated {
  int64_t tokens = 0, again = 0;
};

Generated CountGenerated(const std::string& folder) {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<bool>> known;
  Generated out;
  for (const char* name : {"rollout-0", "rollout-1"}) {
    std::ifstream in(absl::StrCat(folder, "/", name, ".generated"));
    uint64_t draw = 0;
    uint32_t index = 0;
    size_t begin = 0, end = 0;
    while (in >> draw >> index >> begin >> end) {
      std::vector<bool>& tokens = known[{draw, index}];
      if (tokens.size() < end) tokens.resize(end);
      for (size_t t = begin; t < end; ++t) {
        ++out.tokens;
        if (tokens[t]) ++out.again;
        tokens[t] = true;
      }
    }
  }
  return out;
}

// Each sample once.
absl::StatusOr<int64_t> CountTrained(const RunOptions& o, const std::string& folder) {
  std::set<std::pair<uint64_t, uint32_t>> seen;
  for (int version = 1; version <= o.steps; ++version) {
    std::ifstream in(absl::StrCat(folder, "/trained.", version));
    uint64_t draw = 0;
    uint32_t index = 0;
    int samples = 0;
    while (in >> draw >> index) {
      ++samples;
      if (!seen.insert({draw, index}).second)
        return absl::DataLossError(absl::StrCat(draw, "/", index, " was trained twice"));
    }
    if (samples != o.group_size)
      return absl::DataLossError(absl::StrCat(samples, " samples in version ", version));
  }
  return static_cast<int64_t>(seen.size());
}

int64_t LargestMessage(const std::string& folder) {
  int64_t out = 0;
  for (const char* name : {"learner", "reward", "rollout-0", "rollout-1"}) {
    int64_t bytes = 0;
    std::ifstream(absl::StrCat(folder, "/", name, ".largest")) >> bytes;
    out = std::max(out, bytes);
  }
  return out;
}

// Words of the logs that say that something did not fit.
std::string Complaints(const std::string& folder) {
  std::string out;
  for (const char* name : {"coordinator", "learner", "reward", "rollout-0", "rollout-1"}) {
    std::ifstream in(absl::StrCat(folder, "/", name, ".log"));
    for (std::string line; std::getline(in, line);) {
      for (const char* word :
           {"RESOURCE_EXHAUSTED", "begun_anew", "report_refused", "trajectory_refused", "progress_lost"}) {
        if (absl::StrContains(line, word)) absl::StrAppend(&out, name, ": ", line, "\n");
      }
    }
  }
  return out;
}

class Run {
 public:
  explicit Run(const RunOptions& o)
      : o_(o), folder_(o.state, "long_completions"), plan_(PlanOf(o)), processes_(o, folder_.path(), plan_) {}

  absl::Status Go() {
    SLUICE_ASSIGN_OR_RETURN(const v1::JobSpec spec, MakeJob(o_, folder_.path()));
    SLUICE_RETURN_IF_ERROR(processes_.Start());
    const absl::Time start = absl::Now();
    SLUICE_ASSIGN_OR_RETURN(const std::string job,
                            JobClient(*Connect(processes_.coordinator())).Submit(spec));
    SLUICE_ASSIGN_OR_RETURN(const v1::Job ended, AwaitEnd(job, start + absl::Minutes(o_.minutes)));
    return Judge(ended, absl::Now() - start);
  }

 private:
  absl::StatusOr<v1::Job> AwaitEnd(const std::string& job, absl::Time deadline) {
    absl::Time next = absl::Now();
    std::string said;
    while (absl::Now() < deadline) {
      SLUICE_RETURN_IF_ERROR(processes_.Look());
      absl::SleepFor(absl::Milliseconds(20));
      if (absl::Now() < next) continue;
      next = absl::Now() + absl::Milliseconds(500);
      store_bytes_ = std::max(store_bytes_, BytesIn(folder_.path() + "/coordinator"));
      JobClientOptions options;
      options.timeout = absl::Seconds(5);
      const absl::StatusOr<v1::Job> now = JobClient(*Connect(processes_.coordinator()), options).Get(job);
      if (!now.ok()) continue;  // it is being killed
      const std::string saying = absl::StrCat("step ", now->step(), ", waits for: ", now->waiting_for());
      if (saying != said)
        std::fprintf(stderr, "%s: %s\n",
                     absl::FormatTime("%H:%M:%E1S", absl::Now(), absl::UTCTimeZone()).c_str(),
                     saying.c_str());
      said = saying;
      last_ = now->ShortDebugString();
      if (now->state() == v1::SUCCEEDED) return *now;
      if (now->state() == v1::FAILED) break;
    }
    return absl::InternalError(absl::StrCat("the job did not end: ", last_));
  }

  absl::Status Judge(const v1::Job& job, absl::Duration took) {
    const Generated generated = CountGenerated(folder_.path());
    const int64_t largest = LargestMessage(folder_.path());
    nlohmann::json out = {{"seconds", absl::ToDoubleSeconds(took)},
                          {"tokens_generated", generated.tokens},
                          {"tokens_generated_again", generated.again},
                          {"largest_message_bytes", largest},
                          {"store_bytes", BytesIn(folder_.path() + "/coordinator")},
                          {"store_peak_bytes", store_bytes_},
                          {"peak_resident_bytes", processes_.peaks()},
                          {"deaths", processes_.deaths()}};
    std::printf("%s\n", out.dump(1).c_str());
    for (const Death& death : plan_) {
      if (!Deaths::Happened(folder_.path(), death))
        return absl::InternalError(bench::ToString(death) + " did not happen");
    }
    if (FileExists(folder_.path() + "/wrong"))
      return absl::DataLossError(cli::TailOfFile(folder_.path() + "/wrong", 10));
    SLUICE_ASSIGN_OR_RETURN(const int64_t trained, CountTrained(o_, folder_.path()));
    const v1::Ledger& l = job.ledger();
    if (l.trained() != trained ||
        l.in_flight() + l.dropped_stale() + l.dropped_failed() + l.dropped_filtered() + l.quarantined() != 0)
      return absl::DataLossError(absl::StrCat("the ledger: ", l.ShortDebugString()));
    if (const std::string complaints = Complaints(folder_.path()); !complaints.empty())
      return absl::ResourceExhaustedError(complaints);
    if (largest > kMaxMessageBytes) return absl::ResourceExhaustedError("a message above the limit");
    if (generated.again > MayBeLost())
      return absl::DataLossError(
          absl::StrCat(generated.again, " tokens were generated again; the deaths explain ", MayBeLost()));
    return absl::OkStatus();
  }

  // A worker loses what it had not reported or what was on its way, of one group; a coordinator what it had
  // not made durable: a fifth of each completion of both groups, and as the worker.
  int64_t MayBeLost() const {
    const int64_t pieces = int64_t{8} * o_.group_size * o_.progress_tokens;
    int64_t out = 0;
    for (const auto& [name, times] : processes_.deaths()) {
      if (absl::StartsWith(name, "rollout")) out += times * pieces;
      if (name == "coordinator") out += times * 2 * (pieces + int64_t{o_.group_size} * o_.shape.tokens / 5);
    }
    return out;
  }

  const RunOptions& o_;
  const Folder folder_;
  const std::vector<Death> plan_;
  Processes processes_;
  int64_t store_bytes_ = 0;
  std::string last_;
};

absl::Status RunRole(const RunOptions& o) {
  RoleOptions options{o.name, o.state, o.shape, absl::Milliseconds(o.piece_millis), {}};
  for (const std::string& text : o.deaths) {
    SLUICE_ASSIGN_OR_RETURN(Death death, DeathOf(text));
    options.deaths.push_back(std::move(death));
  }
  sigset_t stop;  // awaited by the role
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  if (o.role == "worker") return RunWorker(options);
  if (o.role == "reward") return RunReward(options);
  if (o.role == "learner") return RunLearner(options);
  return absl::InvalidArgumentError(absl::StrCat("--role ", o.role));
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("Long completions through every link, with deaths", "long_completions");
  sluice::bench::RunOptions options;
  sluice::bench::AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  sluice::SetLogRole(options.name.empty() ? "long" : options.name);
  const absl::Status status =
      options.role.empty() ? sluice::bench::Run(options).Go() : sluice::bench::RunRole(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
