// Load for a coordinator: thousands of simulated rollout workers over a few Work streams, and a learner and a
// checker that cost nothing, so that the whole pipeline runs; what is measured is the coordinator.
//   fleet_load [--workers N] [--streams N] [--rate N] [--seconds N] [--samples N] [--json] [--csv FILE] ...
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "bench/fleet_load/coordinator_process.h"
#include "bench/fleet_load/process_figures.h"
#include "bench/fleet_load/simulated_workers.h"
#include "bench/fleet_load/trivial_services.h"
#include "bench/folder.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/demo/random_model.h"
#include "services/clients/fleet_member.h"
#include "services/clients/job_client.h"
#include "services/host/host.h"
#include "services/rpc/channel.h"
#include "services/servers/reward_adapter.h"
#include "services/servers/trainer_adapter.h"

namespace sluice::bench {
namespace {

struct LoadOptions {
  int workers = 1000, streams = 8, slots = 1, group_size = 8, tokens = 32, groups_per_step = 0;
  int rewards = 1, staleness = 1;
  double rate = 2000, seconds = 60, warm_up = 10;
  int64_t samples = 0, keep_samples_bytes = int64_t{8} << 30;
  std::string coordinator, state, csv;
  int coordinator_pid = 0;
  bool json = false, reader = false;
};

void AddOptions(CLI::App& app, LoadOptions& o) {
  app.add_option("--workers", o.workers, "Simulated rollout workers")->capture_default_str();
  app.add_option("--streams", o.streams, "Work streams that they share")->capture_default_str();
  app.add_option("--slots", o.slots, "Groups that a worker takes at once")->capture_default_str();
  app.add_option("--group-size", o.group_size, "Completions of a group")->capture_default_str();
  app.add_option("--tokens", o.tokens, "Of the longest completion; the shortest has half")
      ->capture_default_str();
  app.add_option("--rate", o.rate,
                 "Completions per second that the workers would make if their next group came at once")
      ->capture_default_str();
  app.add_option("--groups-per-step", o.groups_per_step, "0: as many as the workers take at once")
      ->capture_default_str();
  app.add_option("--staleness", o.staleness, "The job's staleness.max_versions")->capture_default_str();
  app.add_option("--reward-workers", o.rewards, "Checkers")->capture_default_str();
  app.add_option("--warm-up", o.warm_up, "Seconds of load before the measurement")->capture_default_str();
  app.add_option("--seconds", o.seconds, "Of the measurement")->capture_default_str();
  app.add_option("--samples", o.samples, "Ends the measurement after so many completions instead")
      ->capture_default_str();
  app.add_option("--coordinator", o.coordinator, "Address of one that runs; default: one is started");
  app.add_option("--coordinator-pid", o.coordinator_pid, "Its process, for its figures");
  app.add_option("--state", o.state,
                 "Folder of the one that is started, made when it is not there; default: a new one, removed");
  app.add_option("--keep-samples-bytes", o.keep_samples_bytes, "Of the one that is started")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--csv", o.csv, "Figures of each second go here");
  app.add_flag("--reader", o.reader,
               "Beside the load a client lists all jobs, and their samples and attempts, again and again");
  app.add_flag("--json", o.json, "The result as JSON");
}

int GroupsPerStep(const LoadOptions& o) {
  return o.groups_per_step > 0 ? o.groups_per_step : std::max(1, o.workers * o.slots);
}

absl::StatusOr<v1::JobSpec> MakeJob(const LoadOptions& o, const std::string& folder) {
  v1::JobSpec spec;
  if (!FileExists(folder + "/model")) {
    SLUICE_RETURN_IF_ERROR(cli::WriteDemoModel({}, 1, folder + "/model"));
  }
  std::string rows;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&rows, "{\"prompt\": \"", 10000 + i, ":\"}\n");
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(folder + "/prompts.jsonl", rows));
  spec.set_name("load");
  spec.set_seed(1);
  spec.mutable_model()->set_path(folder + "/model");
  spec.mutable_prompts()->set_file(folder + "/prompts.jsonl");
  spec.mutable_sampling()->set_group_size(o.group_size);
  spec.mutable_sampling()->set_max_new_tokens(o.tokens);
  v1::RewardComponent& component = *spec.mutable_reward()->add_component();
  component.set_name("text");
  component.mutable_regex()->set_pattern("right");
  spec.mutable_algorithm()->mutable_grpo();
  spec.mutable_optimizer()->mutable_adamw()->set_learning_rate(1e-6);
  spec.mutable_batch()->set_groups_per_step(GroupsPerStep(o));
  spec.mutable_staleness()->set_max_versions(o.staleness);
  spec.mutable_stop()->set_steps(1000000);
  return spec;
}

// The learner and the checkers, served and registered.
class Services {
 public:
  Services(SimulatedWorkers*& workers, int rewards)
      : trainer_([&workers] {
          if (workers != nullptr) workers->StepUnderWay(true);
        }),
        rewards_(rewards) {}
  ~Services() {
    members_.clear();
    if (host_ != nullptr) host_->Shutdown();
  }
  absl::Status Start(const ConnectCoordinator& connect) {
    ServerOptions options;
    SLUICE_ASSIGN_OR_RETURN(host_, Host::Create("load", options));
    learner_ = std::make_unique<TrainerAdapter>(trainer_, host_->executor());
    reward_ = std::make_unique<RewardAdapter>(scorer_, host_->executor());
    host_->AddService(learner_.get());
    host_->AddService(reward_.get());
    SLUICE_RETURN_IF_ERROR(host_->Start());
    Join(connect, "learner", v1::LEARNER);
    for (int i = 0; i < rewards_; ++i) Join(connect, absl::StrCat("reward-", i), v1::REWARD);
    for (const auto& member : members_) {
      if (!member->AwaitRegistered(absl::Now() + absl::Seconds(30)))
        return absl::UnavailableError("the coordinator does not take the learner or a checker");
    }
    return absl::OkStatus();
  }
  const std::string& address() const { return host_->address(); }

 private:
  void Join(const ConnectCoordinator& connect, const std::string& name, v1::WorkerRole role) {
    FleetMemberOptions options;
    options.name = name;
    options.role = role;
    options.address = host_->address();
    members_.push_back(std::make_unique<FleetMember>(connect, std::move(options)));
  }

  TrivialTrainer trainer_;
  TrivialScorer scorer_;
  const int rewards_;
  std::unique_ptr<TrainerAdapter> learner_;
  std::unique_ptr<RewardAdapter> reward_;
  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<FleetMember>> members_;
};

// One look at everything.
struct Figures {
  absl::Time time;
  int64_t completions = 0, trained = 0, step = 0;
  ProcessFigures coordinator, load;
};

class Watch {
 public:
  Watch(const LoadOptions& options, const SimulatedWorkers& workers, JobClient& jobs, std::string job,
        pid_t coordinator)
      : workers_(workers), jobs_(jobs), job_(std::move(job)), coordinator_(coordinator), start_(absl::Now()) {
    if (options.csv.empty()) return;
    csv_.open(options.csv);
    csv_ << "seconds,completions,trained,step,coordinator_cpu,coordinator_rss,coordinator_fds,load_cpu,load_"
            "rss,"
            "load_fds\n";
  }
  absl::StatusOr<Figures> Look() {
    SLUICE_ASSIGN_OR_RETURN(const v1::Job job, jobs_.Get(job_));
    if (job.state() == v1::FAILED) return absl::InternalError(absl::StrCat("the job failed: ", job.error()));
    Figures out{absl::Now(), workers_.completions(),  job.ledger().trained(),
                job.step(),  FiguresOf(coordinator_), FiguresOf(getpid())};
    if (csv_.is_open()) {
      csv_ << absl::StrFormat("%.1f,%d,%d,%d,%.2f,%d,%d,%.2f,%d,%d\n",
                              absl::ToDoubleSeconds(out.time - start_), out.completions, out.trained,
                              out.step, out.coordinator.cpu_seconds, out.coordinator.resident_bytes,
                              out.coordinator.descriptors, out.load.cpu_seconds, out.load.resident_bytes,
                              out.load.descriptors)
           << std::flush;
    }
    return out;
  }
  // A look each second for so long, or until so many completions.
  absl::StatusOr<Figures> For(double seconds, int64_t completions) {
    const absl::Time end = absl::Now() + absl::Seconds(seconds);
    const int64_t wanted = workers_.completions() + completions;
    while (completions > 0 ? workers_.completions() < wanted : absl::Now() < end) {
      absl::SleepFor(absl::Seconds(1));
      SLUICE_RETURN_IF_ERROR(Look().status());
    }
    return Look();
  }

 private:
  const SimulatedWorkers& workers_;
  JobClient& jobs_;
  const std::string job_;
  const pid_t coordinator_;
  const absl::Time start_;
  std::ofstream csv_;
};

// Lists all that there is, until it goes.
class Reader {
 public:
  explicit Reader(const std::string& coordinator)
      : jobs_(*Connect(coordinator)), thread_([this] {
          while (!stop_.HasBeenNotified()) ReadAll();
        }) {}
  ~Reader() {
    stop_.Notify();
    thread_.join();
    std::fprintf(stderr, "the reader listed %d jobs and %d samples\n", static_cast<int>(listed_),
                 static_cast<int>(samples_));
  }

 private:
  void ReadAll() {
    const auto jobs = jobs_.List();
    if (!jobs.ok()) return;
    for (const v1::Job& job : *jobs) {
      if (stop_.HasBeenNotified()) return;
      ++listed_;
      v1::ListSamplesRequest samples;
      samples.set_job(job.job());
      samples.set_limit(100000);
      // What cannot be listed any more is passed over.
      (void)jobs_.ListSamples(samples, [this](const v1::ListSamplesResponse&) {
        ++samples_;
        return !stop_.HasBeenNotified();
      });
      v1::ListAttemptsRequest attempts;
      attempts.set_job(job.job());
      attempts.set_limit(10000);
      (void)jobs_.ListAttempts(attempts);
    }
  }

  JobClient jobs_;
  absl::Notification stop_;
  int64_t listed_ = 0, samples_ = 0;
  std::thread thread_;  // the last: it uses the others
};

nlohmann::json Result(const LoadOptions& o, const SimulatedWorkers& workers, const Figures& from,
                      const Figures& to) {
  const double seconds = absl::ToDoubleSeconds(to.time - from.time);
  const auto milliseconds = [](const LatencyRecord& latency) {
    return nlohmann::json{{"count", latency.count()},
                          {"p50", absl::ToDoubleMilliseconds(latency.Quantile(0.5))},
                          {"p99", absl::ToDoubleMilliseconds(latency.Quantile(0.99))},
                          {"max", absl::ToDoubleMilliseconds(latency.max())}};
  };
  const auto process = [&](const ProcessFigures& a, const ProcessFigures& b) {
    return nlohmann::json{{"cpu", (b.cpu_seconds - a.cpu_seconds) / seconds},
                          {"rss_bytes", b.resident_bytes},
                          {"rss_bytes_before", a.resident_bytes},
                          {"descriptors", b.descriptors},
                          {"threads", b.threads}};
  };
  return {{"workers", o.workers},
          {"streams", o.streams},
          {"group_size", o.group_size},
          {"groups_per_step", GroupsPerStep(o)},
          {"seconds", seconds},
          {"completions", to.completions - from.completions},
          {"completions_per_second", static_cast<double>(to.completions - from.completions) / seconds},
          {"trained", to.trained - from.trained},
          {"steps", to.step - from.step},
          {"dispatch_ms", milliseconds(workers.steady())},
          {"dispatch_with_steps_ms", milliseconds(workers.dispatch())},
          {"coordinator", process(from.coordinator, to.coordinator)},
          {"load", process(from.load, to.load)}};
}

void Print(const nlohmann::json& r, bool json) {
  if (json) {
    std::printf("%s\n", r.dump(1).c_str());
    return;
  }
  std::printf(
      "%s\n%s\n",
      "| workers | streams | completions/s | steps | dispatch p50, p99, max ms | with steps | coordinator: "
      "CPU, MiB, fds | load: CPU, MiB |",
      "|---|---|---|---|---|---|---|---|");
  const auto three = [](const nlohmann::json& l) {
    return absl::StrFormat("%.1f, %.1f, %.0f", l["p50"].get<double>(), l["p99"].get<double>(),
                           l["max"].get<double>());
  };
  std::printf(
      "%s\n",
      absl::StrFormat(
          "| %d | %d | %.0f | %d | %s | %s | %.2f, %.0f, %d | %.2f, %.0f |", r["workers"].get<int>(),
          r["streams"].get<int>(), r["completions_per_second"].get<double>(), r["steps"].get<int>(),
          three(r["dispatch_ms"]), three(r["dispatch_with_steps_ms"]), r["coordinator"]["cpu"].get<double>(),
          r["coordinator"]["rss_bytes"].get<double>() / (1 << 20), r["coordinator"]["descriptors"].get<int>(),
          r["load"]["cpu"].get<double>(), r["load"]["rss_bytes"].get<double>() / (1 << 20))
          .c_str());
}

// Of a job that has ended: nothing is under way, and the columns are all that was issued.
absl::Status CheckLedger(const v1::Ledger& l) {
  const int64_t sum = l.in_flight() + l.trained() + l.dropped_stale() + l.dropped_failed() +
                      l.dropped_filtered() + l.quarantined() + l.cancelled() + l.rolled_back();
  if (l.issued() == sum && l.in_flight() == 0 && l.dropped_failed() == 0 && l.quarantined() == 0)
    return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the ledger: ", l.ShortDebugString()));
}

SimulatedFleet FleetOf(const LoadOptions& o, const std::string& address, ConnectCoordinator connect) {
  // A group ends with the last of its completions: the longest of group_size draws.
  const double longest = 0.5 + static_cast<double>(o.group_size) / (o.group_size + 1);
  const double seconds = static_cast<double>(o.workers) * o.slots * o.group_size / o.rate / longest;
  return {o.workers, o.streams, o.slots, o.tokens, absl::Seconds(seconds), address, std::move(connect)};
}

absl::Status RunLoad(const LoadOptions& o) {
  const Folder folder(o.state, "fleet_load");
  CoordinatorProcess coordinator;
  if (o.coordinator.empty()) {
    SLUICE_RETURN_IF_ERROR(
        coordinator.Start(folder.path(), {"--keep-samples-bytes", absl::StrCat(o.keep_samples_bytes)}));
  } else {
    coordinator.Use(o.coordinator, o.coordinator_pid);
  }
  const ConnectCoordinator connect = [&] { return *MakeChannel(coordinator.address()); };
  SimulatedWorkers* simulated = nullptr;
  Services services(simulated, o.rewards);
  SLUICE_RETURN_IF_ERROR(services.Start(connect));
  const absl::Time joining = absl::Now();
  SimulatedWorkers workers(FleetOf(o, services.address(), connect));
  simulated = &workers;
  if (!workers.AwaitJoined(absl::Now() + absl::Seconds(120)))
    return absl::UnavailableError("not all workers were taken within 120 s");
  std::fprintf(stderr, "%d workers joined in %.2f s\n", o.workers,
               absl::ToDoubleSeconds(absl::Now() - joining));
  SLUICE_ASSIGN_OR_RETURN(const v1::JobSpec spec, MakeJob(o, folder.path()));
  JobClient jobs(*Connect(coordinator.address()));
  SLUICE_ASSIGN_OR_RETURN(const std::string job, jobs.Submit(spec));
  Watch watch(o, workers, jobs, job, coordinator.pid());
  SLUICE_ASSIGN_OR_RETURN(const Figures from, watch.For(o.warm_up, 0));
  std::optional<Reader> reader;
  if (o.reader) reader.emplace(coordinator.address());
  workers.Measure();
  SLUICE_ASSIGN_OR_RETURN(const Figures to, watch.For(o.seconds, o.samples));
  reader.reset();
  Print(Result(o, workers, from, to), o.json);
  SLUICE_ASSIGN_OR_RETURN(const v1::Job ended, jobs.Cancel(job));
  workers.Leave(absl::Now() + absl::Seconds(10));
  simulated = nullptr;
  if (to.completions == from.completions) return absl::UnavailableError(ended.waiting_for());
  return CheckLedger(ended.ledger());
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  sluice::SetLogRole("load");
  CLI::App app("Load for a coordinator: simulated rollout workers over Work streams", "fleet_load");
  sluice::bench::LoadOptions options;
  sluice::bench::AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  if (const auto quiet = sluice::ApplyLogLevel("warning"); !quiet.ok()) return 1;
  const absl::Status status = sluice::bench::RunLoad(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
