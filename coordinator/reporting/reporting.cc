#include "coordinator/reporting/reporting.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/reporting/event_file.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "nlohmann/json.hpp"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"

namespace sluice {
namespace {

void Report(const absl::Status& status) {
  if (!status.ok()) LogWarning("report_not_written", {{"error", status.ToString()}});
}

}  // namespace

JobLog::JobLog(const std::string& folder) : folder_(folder) {
  Report(MakeDirectories(folder + "/tensorboard"));
}

void JobLog::Write(const std::string& kind, int64_t step, const std::map<std::string, double>& values,
                   absl::Time now) {
  nlohmann::json row = {{"kind", kind}, {"step", step}, {"time", absl::FormatTime(now, absl::UTCTimeZone())}};
  std::map<std::string, double> scalars;
  for (const auto& [name, value] : values) {
    if (!std::isfinite(value)) continue;
    row[name] = value;
    scalars[absl::StrCat(kind, "/", name)] = value;
  }
  Report(AppendToFile(folder_ + "/metrics.jsonl",
                      row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  std::string events;
  if (event_file_.empty()) {
    event_file_ = absl::StrCat(folder_, "/tensorboard/events.out.tfevents.", absl::ToUnixSeconds(now),
                               ".sluice.", getpid());
    if (!FileExists(event_file_)) events = EventFileHeader(now);
  }
  events += EventFileScalars(step, scalars, now);
  Report(AppendToFile(event_file_, events));
}

void JobLog::Step(const StepRecordView& record) { Write("train", record.step, record.metrics, record.time); }

void JobLog::WarmStart(int64_t step, const std::map<std::string, double>& metrics, absl::Time now) {
  Write("warm_start", step, metrics, now);
}

void JobLog::Evaluation(const EvaluationView& e, absl::Time now) {
  std::map<std::string, double> values = {{"reward", e.reward},
                                          {"accuracy", e.accuracy},
                                          {"samples", static_cast<double>(e.samples)},
                                          {"mean_tokens", e.mean_tokens}};
  for (const auto& [kind, accuracy] : e.accuracy_by_kind) values[absl::StrCat("accuracy_", kind)] = accuracy;
  for (const auto& [k, share] : e.pass_at) values[absl::StrCat("pass_at_", k)] = share;
  Write(e.name.empty() ? "evaluation" : absl::StrCat("evaluation_", e.name), e.step, values, now);
  for (const EvaluationView& other : e.others) Evaluation(other, now);
}

using GaugeFamily = prometheus::Family<prometheus::Gauge>;

struct CoordinatorMetrics::Job {
  std::vector<std::pair<GaugeFamily*, prometheus::Gauge*>> all;
  std::map<std::string, prometheus::Gauge*> by_metric;  // step metric -> gauge
  std::map<std::string, prometheus::Gauge*> ledger, queues;
  std::map<JobState, prometheus::Gauge*> states;
  std::map<std::pair<std::string, std::string>, prometheus::Gauge*> held_out;  // by evaluation and figure
  prometheus::Gauge *version = nullptr, *held = nullptr, *last_step = nullptr, *difference = nullptr,
                    *canary = nullptr;
  uint64_t used = 0;  // when it was, last
};

struct CoordinatorMetrics::Series {
  std::map<std::string, GaugeFamily*> metric_families;  // by step metric
  GaugeFamily *ledger = nullptr, *queues = nullptr, *states = nullptr, *version = nullptr, *held = nullptr,
              *last_step = nullptr, *difference = nullptr, *canary = nullptr, *held_out = nullptr;
  std::map<JobId, Job> jobs;
  uint64_t uses = 0;
  prometheus::Gauge* events = nullptr;
  std::map<std::string, prometheus::Histogram*> phases;
  prometheus::Histogram* staleness = nullptr;
  prometheus::Counter* steps = nullptr;
  prometheus::Counter* compared = nullptr;
  prometheus::Counter* expired = nullptr;
  prometheus::Counter *rollbacks = nullptr, *refused = nullptr;
  prometheus::Counter *resumed = nullptr, *lost = nullptr;
  std::map<WaitKind, prometheus::Gauge*> stalls;
  std::map<Straggling, prometheus::Counter*> straggling;
};

namespace {

// Not "job", which Prometheus itself gives each series.
constexpr char kJobLabel[] = "training_job";
constexpr size_t kJobsKept = 32;

GaugeFamily* MakeFamily(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Counter* MakeCounter(prometheus::Registry& registry, const std::string& name,
                                 const std::string& help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

constexpr const char* kQueues[] = {"generate", "score", "ready"};

}  // namespace

CoordinatorMetrics::CoordinatorMetrics(prometheus::Registry& registry) : series_(std::make_shared<Series>()) {
  Series& s = *series_;
  const auto gauge = [&](const char* metric, const char* name, const char* help) {
    s.metric_families[metric] = MakeFamily(registry, name, help);
  };
  gauge("reward", "sluice_reward", "Mean reward of the last step.");
  gauge("kl", "sluice_kl_nats",
        "Mean KL of the last step: to the frozen reference where kl_coefficient is above 0, "
        "else to the behaviour policy.");
  gauge("entropy", "sluice_entropy_nats", "Mean entropy of the policy in the last step.");
  gauge("clip_fraction", "sluice_ratio_clip_fraction",
        "Share of tokens whose ratio was clipped in the last step.");
  gauge("completion_tokens", "sluice_completion_tokens", "Mean tokens of a completion in the last step.");
  gauge("completion_tokens_p50", "sluice_completion_tokens_p50",
        "Median tokens of a completion in the last step.");
  gauge("completion_tokens_p95", "sluice_completion_tokens_p95",
        "Tokens that 95 of 100 completions of the last step are not above.");
  gauge("completion_tokens_max", "sluice_completion_tokens_max",
        "Tokens of the longest completion in the last step.");
  gauge("truncated_share", "sluice_completions_truncated_ratio",
        "Share of the last step's completions that were cut off at sampling.max_new_tokens.");
  gauge("staleness_max", "sluice_staleness_versions", "Greatest staleness of a group in the last step.");
  gauge("group_ties", "sluice_group_zero_variance_ratio",
        "Share of the groups completed for the last step whose rewards all tie, filtered ones included.");
  gauge("tokens_per_second", "sluice_tokens_per_second",
        "Completion tokens trained on per second, last step.");
  s.ledger = MakeFamily(registry, "sluice_ledger_samples", "Samples of the job by column.");
  s.queues = MakeFamily(registry, "sluice_queue_depth",
                        "Things that wait, by queue; `events` are the coordinator's, not one job's.");
  s.states = MakeFamily(registry, "sluice_job_state",
                        "1 for the state that the job is in, 0 for the others, by state.");
  s.events = &s.queues->Add({{"queue", "events"}});
  auto& phases = prometheus::BuildHistogram()
                     .Name("sluice_step_duration_seconds")
                     .Help("Time of a step by phase: waiting for groups, training.")
                     .Register(registry);
  for (const char* phase : {"wait", "train"}) {
    s.phases[phase] = &phases.Add(
        {{"phase", phase}},
        prometheus::Histogram::BucketBoundaries{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000});
  }
  s.staleness = &prometheus::BuildHistogram()
                     .Name("sluice_group_staleness_versions")
                     .Help("Groups trained on by their staleness: versions since the oldest of their tokens.")
                     .Register(registry)
                     .Add({}, prometheus::Histogram::BucketBoundaries{0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64});
  s.held =
      MakeFamily(registry, "sluice_held_sample_bytes",
                 "Bytes of finished samples whose groups are not complete, in the coordinator's memory.");
  s.version = MakeFamily(registry, "sluice_policy_version", "Last committed version of the job.");
  s.last_step =
      MakeFamily(registry, "sluice_last_step_timestamp_seconds", "When the last step was committed.");
  s.steps = MakeCounter(registry, "sluice_job_steps_total", "Steps committed.");
  s.compared =
      MakeCounter(registry, "sluice_exact_compared_tokens_total",
                  "Tokens whose engine log-probability was compared with the learner's at equal version.");
  s.difference =
      MakeFamily(registry, "sluice_exact_max_difference", "Greatest difference among them, last step.");
  auto& stalls =
      prometheus::BuildGauge()
          .Name("sluice_stall_seconds")
          .Help("How long a running job has waited for one thing longer than it should take, by kind.")
          .Register(registry);
  for (int kind = 0; kind < kWaitKinds; ++kind) {
    const auto wait = static_cast<WaitKind>(kind);
    s.stalls[wait] = &stalls.Add({{"waiting_for", WaitKindName(wait)}});
  }
  auto& hedges = prometheus::BuildCounter()
                     .Name("sluice_hedges_total")
                     .Help(
                         "Second attempts at what a slow one missed, by event: started, won (the first was "
                         "cancelled), lost (the second was).")
                     .Register(registry);
  s.straggling[Straggling::kHedgeStarted] = &hedges.Add({{"event", "started"}});
  s.straggling[Straggling::kHedgeWon] = &hedges.Add({{"event", "won"}});
  s.straggling[Straggling::kHedgeLost] = &hedges.Add({{"event", "lost"}});
  s.straggling[Straggling::kGroupLate] =
      MakeCounter(registry, "sluice_groups_late_total",
                  "Groups that went on with what there was after timeout.group_seconds.");
  s.straggling[Straggling::kGroupOverSampled] =
      MakeCounter(registry, "sluice_groups_over_sampled_total",
                  "Groups that were cancelled because their batch was full without them.");
  s.resumed = MakeCounter(registry, "sluice_tokens_resumed_total",
                          "Tokens of unfinished completions that another attempt went on after.");
  s.lost = MakeCounter(registry, "sluice_tokens_lost_total",
                       "Reported tokens of unfinished completions that were begun anew or given up.");
  s.rollbacks =
      MakeCounter(registry, "sluice_rollbacks_total",
                  "Times that a job went back to an older version because a limit of its guard was broken.");
  s.canary =
      MakeFamily(registry, "sluice_canary_score",
                 "Score of the last version that was tried on one worker; NaN: no sample had a reward.");
  s.held_out = MakeFamily(registry, "sluice_evaluation",
                          "Last evaluation of the job, by evaluation (empty: the first) and figure: reward, "
                          "accuracy, pass_at_K.");
  s.refused =
      MakeCounter(registry, "sluice_canary_refused_total", "Versions that were refused by their canary.");
  s.expired = MakeCounter(registry, "sluice_lease_expired_total", "Leases of workers that ran out.");
  Of("");  // of no job: the families show before the first
}

CoordinatorMetrics::Job& CoordinatorMetrics::Of(const JobId& job) {
  Series& s = *series_;
  auto [it, fresh] = s.jobs.try_emplace(job);
  it->second.used = ++s.uses;
  if (!fresh) return it->second;
  Job& of = it->second;
  const auto add = [&](GaugeFamily* family, prometheus::Labels labels = {}) {
    labels[kJobLabel] = job;
    of.all.emplace_back(family, &family->Add(labels));
    return of.all.back().second;
  };
  for (const auto& [metric, family] : s.metric_families) of.by_metric[metric] = add(family);
  of.ledger["issued"] = add(s.ledger, {{"column", "issued"}});
  for (int c = 0; c < kLedgerColumns; ++c) {
    const std::string name = LedgerColumnName(static_cast<LedgerColumn>(c));
    of.ledger[name] = add(s.ledger, {{"column", name}});
  }
  for (const JobState state :
       {JobState::kPending, JobState::kWarmingUp, JobState::kRunning, JobState::kPaused, JobState::kSucceeded,
        JobState::kFailed, JobState::kCancelled}) {
    of.states[state] = add(s.states, {{"state", JobStateName(state)}});
  }
  for (const char* queue : kQueues) of.queues[queue] = add(s.queues, {{"queue", queue}});
  of.version = add(s.version);
  of.held = add(s.held);
  of.last_step = add(s.last_step);
  of.difference = add(s.difference);
  of.canary = add(s.canary);
  of.canary->Set(std::numeric_limits<double>::quiet_NaN());
  if (s.jobs.size() > kJobsKept) ForgetOne();
  return of;
}

// The job that was reported on longest ago.
void CoordinatorMetrics::ForgetOne() {
  auto& jobs = series_->jobs;
  const auto oldest = std::min_element(
      jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  for (const auto& [family, gauge] : oldest->second.all) family->Remove(gauge);
  jobs.erase(oldest);
}

void CoordinatorMetrics::Events(int64_t waiting) { series_->events->Set(static_cast<double>(waiting)); }

void CoordinatorMetrics::Stall(WaitKind kind, absl::Duration lasted) {
  series_->stalls.at(kind)->Set(absl::ToDoubleSeconds(lasted));
}

void CoordinatorMetrics::Resumed(int64_t resumed, int64_t lost) {
  series_->resumed->Increment(static_cast<double>(resumed));
  series_->lost->Increment(static_cast<double>(lost));
}

void CoordinatorMetrics::RollingBack() { series_->rollbacks->Increment(); }

void CoordinatorMetrics::Canary(const JobId& job, const CanaryRecord& record) {
  Of(job).canary->Set(record.score);
  if (record.verdict == CanaryVerdict::kRefused) series_->refused->Increment();
}

void CoordinatorMetrics::Evaluation(const JobId& job, const EvaluationView& evaluation) {
  Job& of = Of(job);
  const auto set = [&](const std::string& figure, double value) {
    prometheus::Gauge*& gauge = of.held_out[{evaluation.name, figure}];
    if (gauge == nullptr) {
      gauge =
          &series_->held_out->Add({{kJobLabel, job}, {"evaluation", evaluation.name}, {"figure", figure}});
      of.all.emplace_back(series_->held_out, gauge);
    }
    gauge->Set(value);
  };
  set("reward", evaluation.reward);
  set("accuracy", evaluation.accuracy);
  for (const auto& [k, share] : evaluation.pass_at) set(absl::StrCat("pass_at_", k), share);
  for (const EvaluationView& other : evaluation.others) Evaluation(job, other);
}

void CoordinatorMetrics::Count(Straggling what) { series_->straggling.at(what)->Increment(); }

void CoordinatorMetrics::LeaseExpired() { series_->expired->Increment(); }

void CoordinatorMetrics::Step(const JobId& job, const StepRecordView& record) {
  Series& s = *series_;
  Job& of = Of(job);
  const auto value = [&](const char* name) {
    auto it = record.metrics.find(name);
    return it == record.metrics.end() || !std::isfinite(it->second) ? 0.0 : it->second;
  };
  for (auto& [name, gauge] : of.by_metric) gauge->Set(value(name.c_str()));
  s.phases["wait"]->Observe(value("wait_seconds"));
  s.phases["train"]->Observe(value("step_seconds"));
  s.steps->Increment();
  s.compared->Increment(std::max(0.0, value("exact_compared")));
  of.difference->Set(value("exact_max_difference"));
  of.last_step->Set(absl::ToDoubleSeconds(record.time - absl::UnixEpoch()));
}

void CoordinatorMetrics::Staleness(const std::vector<int64_t>& groups) {
  for (int64_t staleness : groups) series_->staleness->Observe(static_cast<double>(staleness));
}

void CoordinatorMetrics::Totals(const JobId& job, JobState now, PolicyVersion version, const Ledger& ledger,
                                const std::map<std::string, int64_t>& queues, int64_t held_bytes) {
  Job& s = Of(job);
  s.ledger["issued"]->Set(static_cast<double>(ledger.issued));
  for (int c = 0; c < kLedgerColumns; ++c) {
    const auto column = static_cast<LedgerColumn>(c);
    s.ledger[LedgerColumnName(column)]->Set(static_cast<double>(ledger[column]));
  }
  for (const auto& [state, gauge] : s.states) gauge->Set(state == now ? 1 : 0);
  for (const auto& [name, depth] : queues) {
    if (auto it = s.queues.find(name); it != s.queues.end()) it->second->Set(static_cast<double>(depth));
  }
  s.version->Set(static_cast<double>(version));
  s.held->Set(static_cast<double>(held_bytes));
}

}  // namespace sluice
