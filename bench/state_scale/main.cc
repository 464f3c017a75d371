// What a coordinator's history costs: makes a state directory of so many jobs that ended, with so many
// samples in all, by the store's own code, and measures on it what must not grow with them: a start, the
// first page of jobs, one job, its samples and attempts, and the turns of the coordinator's thread while a
// job runs.
//   state_scale [--jobs N] [--waiting N] [--samples N] [--state DIR] [--make-only] [--steps N] [--runs N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/fleet_load/trivial_services.h"
#include "bench/folder.h"
#include "coordinator/coordinator.h"
#include "coordinator/store/store.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "prometheus/registry.h"
#include "tests/fakes/fake_rollout_worker.h"

namespace sluice::bench {
namespace {

constexpr uint32_t kGroupSize = 8;
constexpr int64_t kGroupsPerStep = 64, kTokens = 16;

struct Options {
  int64_t jobs = 200, waiting = 0, samples = 100000, steps = 100;
  int runs = 5;
  std::string state;
  bool make_only = false;
};

class ByteEncoder final : public PromptEncoder {
 public:
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override {
    std::vector<int32_t> tokens;
    for (char c : text) tokens.push_back(static_cast<unsigned char>(c) % 97);  // the fake knows a hundred
    return tokens;
  }
  absl::StatusOr<std::string> RenderChat(const std::vector<PromptMessage>&) const override {
    return absl::UnimplementedError("no chats here");
  }
  int64_t max_positions() const override { return 4096; }
  int32_t eos_token() const override { return 0; }
};

JobSpec SpecOf(const std::string& folder) {
  JobSpec spec;
  spec.name = "history";
  spec.model.path = "none";
  spec.prompts.file = folder + "/prompts.jsonl";
  spec.sampling.group_size = kGroupSize;
  spec.sampling.params.max_new_tokens = kTokens;
  spec.reward.components = {{"answer", 1, MathScorerSpec{}}};
  spec.batch.groups_per_step = kGroupsPerStep;
  spec.staleness.max_versions = 2;
  return spec;
}

Group GroupOf(Draw draw, PolicyVersion version) {
  Group group;
  group.draw = draw;
  group.prompt.text = absl::StrCat("prompt ", draw);
  group.samples.resize(kGroupSize);
  for (uint32_t i = 0; i < kGroupSize; ++i) {
    Trajectory& t = group.samples[i].trajectory;
    t.key = {draw, i};
    t.tokens.assign(kTokens, static_cast<int32_t>(i));
    t.raw_logprobs.assign(kTokens, -1);
    t.spans = {{0, kTokens, version, "manifest", "cpu"}};
    t.text = "an answer of some words";
    t.finish_reason = FinishReason::kStop;
    group.samples[i].verdict.kind = i % 2 == 0 ? VerdictKind::kCorrect : VerdictKind::kWrong;
  }
  return group;
}

// One step of a job: its groups are issued, tried, complete and trained on.
absl::Status AddStep(Store& store, const JobId& job, int64_t step, int64_t groups) {
  return store.Transact([&](StoreTransaction& tx) -> absl::Status {
    std::vector<Draw> draws;
    const absl::Time now = absl::UnixEpoch() + absl::Seconds(step);
    for (int64_t g = 0; g < groups; ++g) {
      const auto draw = static_cast<Draw>((step - 1) * kGroupsPerStep + g);
      draws.push_back(draw);
      SLUICE_RETURN_IF_ERROR(tx.IssueGroup(job, draw, step, kGroupSize));
      SLUICE_RETURN_IF_ERROR(
          tx.AddAttempt(job, {draw, 0, absl::StrCat("rollout-", g % 16), 1, kGroupSize, now}));
      SLUICE_RETURN_IF_ERROR(tx.EndAttempt(job, draw, 0, AttemptOutcome::kDone, kGroupSize * kTokens, now));
      SLUICE_RETURN_IF_ERROR(tx.CompleteGroup(job, GroupOf(draw, step - 1)));
    }
    SLUICE_RETURN_IF_ERROR(tx.RecordBatch(job, step, draws));
    StepRecordView record{step, step, {}, now};
    for (int m = 0; m < 40; ++m) record.metrics[absl::StrCat("metric_", m)] = 0.5;
    return tx.CommitBatch(job, {job, step, "manifest", "learner"}, draws, record);
  });
}

absl::Status AddJob(Store& store, const std::string& folder, const JobId& job, int64_t samples,
                    int64_t place) {
  JobRow row;
  row.view.job = job;
  row.view.spec = SpecOf(folder);
  row.view.create_time = absl::UnixEpoch() + absl::Seconds(place);
  SLUICE_RETURN_IF_ERROR(store.Transact([&](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(tx.InsertJob(row, absl::StrCat("request of ", job)));
    SLUICE_RETURN_IF_ERROR(
        tx.CommitBatch(job, {job, 0, "manifest", "learner"}, {}, {0, 0, {}, row.view.create_time}));
    for (int e = 0; e < 100; ++e)
      SLUICE_RETURN_IF_ERROR(tx.AddEvent(job, {row.view.create_time, absl::StrCat("event number ", e)}));
    for (int e = 0; e < 10; ++e)
      SLUICE_RETURN_IF_ERROR(tx.AddEvaluation(job, {e, e, 0.5, 0.5, 64, 16, {{"even", 0.5}, {"odd", 0.5}}}));
    return absl::OkStatus();
  }));
  const int64_t groups = std::max<int64_t>(1, samples / kGroupSize);
  int64_t step = 0;
  for (int64_t done = 0; done < groups; done += kGroupsPerStep)
    SLUICE_RETURN_IF_ERROR(AddStep(store, job, ++step, std::min(kGroupsPerStep, groups - done)));
  row.view.state = JobState::kSucceeded;
  row.view.version = row.view.step = step;
  row.view.end_time = row.view.create_time + absl::Hours(1);
  row.next_draw = static_cast<Draw>(groups);
  row.policy = {job, step, "manifest", "learner"};
  return store.Transact([&](StoreTransaction& tx) { return tx.UpdateJob(row); });
}

absl::Status AddWaiting(Store& store, const std::string& folder, int64_t jobs) {
  return store.Transact([&](StoreTransaction& tx) -> absl::Status {
    for (int64_t i = 0; i < jobs; ++i) {
      JobRow row;
      row.view.job = absl::StrCat("waiting-", i);
      row.view.spec = SpecOf(folder);
      row.view.create_time = absl::UnixEpoch() + absl::Hours(1000) + absl::Seconds(i);
      SLUICE_RETURN_IF_ERROR(tx.InsertJob(row, ""));
      row.paused = true;
      row.view.state = JobState::kPaused;
      SLUICE_RETURN_IF_ERROR(tx.UpdateJob(row));
    }
    return absl::OkStatus();
  });
}

JobId Ended(int64_t i) { return absl::StrCat("ended-", i); }

absl::Status MakeState(const Options& o, const std::string& folder) {
  const auto began = std::chrono::steady_clock::now();
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                          Store::Open(folder + "/coordinator", {.keep_bytes = int64_t{1} << 40}));
  for (int64_t i = 0; i < o.jobs; ++i)
    SLUICE_RETURN_IF_ERROR(AddJob(*store, folder, Ended(i), o.samples / o.jobs, i));
  SLUICE_RETURN_IF_ERROR(AddWaiting(*store, folder, o.waiting));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::fprintf(stderr, "%d jobs that ended with %d samples in all: made in %.0f s\n",
               static_cast<int>(o.jobs), static_cast<int>(o.samples), took.count());
  return absl::OkStatus();
}

// Milliseconds.
struct Spread {
  std::vector<double> values;
  void Add(std::chrono::steady_clock::duration took) {
    values.push_back(std::chrono::duration<double, std::milli>(took).count());
  }
  std::string Text() {
    std::sort(values.begin(), values.end());
    return absl::StrFormat("%.2f [%.2f-%.2f]", values[values.size() / 2], values.front(), values.back());
  }
};

class Measured {
 public:
  explicit Measured(const Options& options, std::string folder) : o_(options), folder_(std::move(folder)) {}

  absl::Status Run() {
    for (int run = 0; run < o_.runs; ++run) {
      coordinator_.reset();
      registry_ = std::make_unique<prometheus::Registry>();
      const auto began = std::chrono::steady_clock::now();
      SLUICE_RETURN_IF_ERROR(Open());
      start_.Add(std::chrono::steady_clock::now() - began);
      for (int i = 0; i < 20; ++i) SLUICE_RETURN_IF_ERROR(Read());
      SLUICE_RETURN_IF_ERROR(RunJob());
    }
    std::printf("| %d | %d | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", static_cast<int>(o_.jobs),
                static_cast<int>(o_.waiting), static_cast<int>(o_.samples), start_.Text().c_str(),
                page_.Text().c_str(), show_.Text().c_str(), samples_.Text().c_str(), step_.Text().c_str(),
                attempts_.Text().c_str(), turn_.Text().c_str(), commit_.Text().c_str());
    return absl::OkStatus();
  }

 private:
  absl::Status Open() {
    CoordinatorOptions options;
    options.state_dir = folder_ + "/coordinator";
    options.registry = registry_.get();
    options.keep_samples_bytes = int64_t{1} << 40;
    options.encoder = [](const JobSpec&) { return std::make_unique<ByteEncoder>(); };
    options.ports.rollout = [](const std::string&) {
      FakeRolloutWorker::Options fake;
      fake.text = [](const RolloutRequest&, uint32_t index, PolicyVersion) {
        return index % 2 == 0 ? "right" : "wrong";
      };
      return std::make_unique<FakeRolloutWorker>(std::move(fake));
    };
    options.ports.reward = [](const std::string&) { return std::make_unique<TrivialScorer>(); };
    options.ports.learner = [](const std::string&, uint64_t) {
      return std::make_unique<TrivialTrainer>([] {});
    };
    SLUICE_ASSIGN_OR_RETURN(coordinator_, Coordinator::Open(std::move(options)));
    return absl::OkStatus();
  }

  template <typename Call>
  static absl::Status Time(Spread& spread, const Call& call) {
    const auto began = std::chrono::steady_clock::now();
    const absl::Status status = call();
    spread.Add(std::chrono::steady_clock::now() - began);
    return status;
  }

  // Of a job that none asked for before, as a rule.
  absl::Status Read() {
    const auto i = static_cast<int64_t>(random_() % static_cast<uint64_t>(o_.jobs));
    const JobId job = Ended(i);
    const auto any = [](const SampleView&) { return true; };
    SLUICE_RETURN_IF_ERROR(Time(page_, [&] { return coordinator_->List(100).status(); }));
    SLUICE_RETURN_IF_ERROR(Time(show_, [&] { return coordinator_->Get(job).status(); }));
    SLUICE_RETURN_IF_ERROR(Time(samples_, [&] { return coordinator_->ListSamples(job, 20, 0, false, any); }));
    SLUICE_RETURN_IF_ERROR(Time(step_, [&] { return coordinator_->ListSamples(job, 20, 1, false, any); }));
    return Time(attempts_, [&] { return coordinator_->ListAttempts(job, std::nullopt, 100).status(); });
  }

  absl::Status RunJob() {
    SLUICE_RETURN_IF_ERROR(coordinator_->RegisterWorker("learner", WorkerRole::kLearner, "l", "i").status());
    SLUICE_RETURN_IF_ERROR(coordinator_->RegisterWorker("reward", WorkerRole::kReward, "r", "i").status());
    for (int i = 0; i < 4; ++i) {
      SLUICE_RETURN_IF_ERROR(
          coordinator_->RegisterWorker(absl::StrCat("rollout-", i), WorkerRole::kRollout, "w", "i").status());
    }
    JobSpec spec = SpecOf(folder_);
    spec.batch.groups_per_step = 8;
    spec.stop_steps = o_.steps;
    SLUICE_ASSIGN_OR_RETURN(const JobId job, coordinator_->Submit(spec, ""));
    uint64_t seen = 0;
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_->WaitForChange(job, seen, absl::Seconds(30)));
      if (view.revision == seen) return absl::UnavailableError(absl::StrCat("waits for ", view.waiting_for));
      seen = view.revision;
      if (view.state == JobState::kSucceeded) break;
      if (IsTerminal(view.state)) return absl::InternalError(view.error);
    }
    turn_.values.push_back(MeanMilliseconds("sluice_turn_seconds"));
    commit_.values.push_back(MeanMilliseconds("sluice_store_commit_seconds"));
    SLUICE_RETURN_IF_ERROR(coordinator_->Delete(job));
    return absl::OkStatus();
  }

  double MeanMilliseconds(const std::string& histogram) {
    for (const auto& family : registry_->Collect()) {
      if (family.name != histogram) continue;
      const auto& found = family.metric.at(0).histogram;
      return 1e3 * found.sample_sum / static_cast<double>(std::max<uint64_t>(1, found.sample_count));
    }
    return -1;
  }

  const Options& o_;
  const std::string folder_;
  std::mt19937_64 random_{7};
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Coordinator> coordinator_;
  Spread start_, page_, show_, samples_, step_, attempts_, turn_, commit_;
};

absl::Status Main(const Options& o) {
  const Folder made(o.state, "state_scale");
  const std::string& folder = made.path();
  if (folder.empty()) return absl::UnavailableError("no room for a folder");
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  std::ofstream prompts(folder + "/prompts.jsonl");
  for (int i = 0; i < 1000; ++i)
    prompts << "{\"prompt\": \"what is " << i << "\", \"answer\": \"" << i << "\"}\n";
  prompts.close();
  absl::Status status;
  if (!FileExists(folder + "/coordinator/sluice.db")) status = MakeState(o, folder);
  if (status.ok() && !o.make_only) status = Measured(o, folder).Run();
  return status;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  CLI::App app("What a coordinator's history costs", "state_scale");
  sluice::bench::Options o;
  app.add_option("--jobs", o.jobs, "That ended")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--waiting", o.waiting, "Jobs that are paused and wait beside them")->capture_default_str();
  app.add_option("--samples", o.samples, "Of all jobs that ended")->capture_default_str();
  app.add_option("--steps", o.steps, "Of the job that runs in each run")->capture_default_str();
  app.add_option("--runs", o.runs, "Starts, each followed by 20 reads and a job")->capture_default_str();
  app.add_option("--state", o.state, "Folder; made when it is not there, used as it is when it is, and kept");
  app.add_flag("--make-only", o.make_only, "Nothing is measured");
  CLI11_PARSE(app, argc, argv);
  sluice::SetLogLevel(sluice::LogLevel::kError);
  const absl::Status status = sluice::bench::Main(o);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
