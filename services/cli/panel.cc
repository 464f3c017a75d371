#include "services/cli/panel.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace sluice::cli {
namespace {

constexpr size_t kMaxRecords = 4096, kLineWidth = 100;
constexpr double kShapingShare = 0.5;  // of the greatest weight
constexpr int kMetricColumn = 14, kValueColumn = 12, kSparkWidth = 40, kEventsShown = 3, kEventsListed = 20,
              kEvaluationsShown = 6;

double MetricOf(const v1::StepRecord& record, const std::string& name) {
  const auto it = record.metrics().find(name);
  return it == record.metrics().end() ? std::nan("") : it->second;
}

// Four significant digits, "-" when there is none.
std::string Number(double value) { return std::isnan(value) ? "-" : absl::StrFormat("%.4g", value); }

std::string MetricLine(const std::string& label, const std::string& metric, const v1::Job& job,
                       const StepHistory& history, int width) {
  const int spark = std::clamp(width - kMetricColumn - kValueColumn - 4, 0, kSparkWidth);
  return absl::StrFormat("  %-*s%*s  %s\n", kMetricColumn, label, kValueColumn,
                         Number(MetricOf(job.last_step(), metric)), Sparkline(history.Series(metric), spark));
}

// The mean of each component before its weight, below the reward; none for a reward of one component.
std::string Components(const v1::Job& job, const StepHistory& history, int width) {
  std::string out;
  const auto& components = job.spec().reward().component();
  for (const v1::RewardComponent& c : components) {
    if (components.size() > 1)
      out +=
          MetricLine("  " + c.name().substr(0, kMetricColumn - 3), "reward_" + c.name(), job, history, width);
  }
  return out;
}

std::string ProgressBar(int64_t done, int64_t total, int width) {
  const int64_t filled = total > 0 ? std::min<int64_t>(width, done * width / total) : 0;
  std::string out;
  for (int64_t i = 0; i < width; ++i) absl::StrAppend(&out, i < filled ? "█" : "░");
  return out;
}

std::string Elapsed(const v1::Job& job, const v1::StepRecord& last) {
  if (!job.has_create_time()) return "";
  const int64_t end = job.has_end_time() ? job.end_time().seconds()
                      : last.has_time()  ? last.time().seconds()
                                         : 0;
  if (end < job.create_time().seconds()) return "";
  return absl::FormatDuration(absl::Seconds(end - job.create_time().seconds()));
}

std::string Header(const v1::Job& job, int width) {
  const int64_t total = StepsOf(job.spec());
  std::string out = absl::StrFormat("%s  \"%s\"  %s\n", job.job(), job.spec().name(), StateName(job.state()));
  if (job.state() == v1::WARMING_UP) {
    const int64_t warm = job.spec().warm_start().steps();
    absl::StrAppend(&out, "  warm start ", job.warm_start_step(), " / ", warm, "  ",
                    ProgressBar(job.warm_start_step(), warm, std::min(width / 2, 40)), "\n");
  } else {
    absl::StrAppend(&out, "  step ", job.step(), " / ", total, "  ",
                    ProgressBar(job.step(), total, std::min(width / 2, 40)), "  ",
                    Elapsed(job, job.last_step()), "\n");
  }
  if (!job.learner().empty() && !HasEnded(job.state())) {
    absl::StrAppend(&out, "  learner ", job.learner(), ", ", job.rollout_workers(),
                    " rollout workers, priority ", job.spec().share().priority(), "\n");
  }
  if (!job.waiting_for().empty()) absl::StrAppend(&out, "  waiting for ", job.waiting_for(), "\n");
  if (!job.stalled().empty()) absl::StrAppend(&out, "  stalled: waits for ", job.stalled(), "\n");
  if (!job.error().empty()) absl::StrAppend(&out, "  error: ", job.error(), "\n");
  return out;
}

std::string Workers(const v1::WatchJobResponse& state) {
  if (state.workers().empty()) return "";
  std::string out = absl::StrFormat("\n  %-14s%-10s%8s%10s%12s  %s\n", "worker", "role", "version",
                                    "requests", "tokens", "");
  for (const v1::WorkerStatus& w : state.workers()) {
    const bool rollout = w.role() == "rollout";
    const std::string elsewhere =
        !w.job().empty() && w.job() != state.job().job() ? absl::StrCat("for ", w.job()) : "";
    absl::StrAppendFormat(&out, "  %-14s%-10s%8s%10d%12s  %s\n", w.name(), w.role(),
                          rollout ? absl::StrCat(w.policy_version()) : "", w.in_flight(),
                          rollout ? absl::StrCat(w.tokens_generated()) : "", w.alive() ? elsewhere : "LOST");
  }
  return out;
}

const char* DecisionName(v1::CanaryVerdict::Decision decision) {
  switch (decision) {
    case v1::CanaryVerdict::PASSED:
      return "passed";
    case v1::CanaryVerdict::REFUSED:
      return "refused";
    case v1::CanaryVerdict::TAKEN:
      return "was refused and taken all the same";
    default:
      return "?";
  }
}

// What is on trial, and what became of the last that was.
std::string Canary(const v1::Job& job) {
  std::string out;
  if (job.has_trial()) {
    const v1::Trial& trial = job.trial();
    absl::StrAppend(&out, "  on trial: version ", trial.policy_version(), " on ",
                    trial.worker().empty() ? "no worker yet" : trial.worker(), ", ", trial.prompts_done(),
                    " of ", job.spec().evaluation().canary().prompts(), " prompts done\n");
  }
  if (job.has_canary()) {
    const v1::CanaryVerdict& canary = job.canary();
    absl::StrAppend(&out, "  canary: version ", canary.policy_version(), " ", DecisionName(canary.decision()),
                    canary.has_score() ? absl::StrCat(", score ", canary.score()) : "",
                    canary.reason().empty() ? "" : absl::StrCat("; ", canary.reason()), "\n");
  }
  return out;
}

// What the job decided by its own signals.
std::string Decisions(const v1::Job& job) {
  std::string out;
  if (job.spec().evaluation().has_gate()) {
    absl::StrAppend(&out, "  promoted: ",
                    job.promoted_version() < 0 ? "none" : absl::StrCat("version ", job.promoted_version()),
                    "\n");
  }
  absl::StrAppend(&out, Canary(job));
  for (const v1::Rollback& rollback : job.rollbacks()) {
    absl::StrAppend(&out, "  rolled back: version ", rollback.policy_version(), " is version ",
                    rollback.parent(), " again; ", rollback.reason(), "\n");
  }
  return out;
}

// One row each, the first and the newest: step, reward, share that is correct, pass@k, shares by kind.
std::string EvaluationTable(const std::vector<const v1::Evaluation*>& all, int limit) {
  if (all.empty()) return "";
  std::set<std::string> kinds;
  std::set<int32_t> pass_at;
  for (const v1::Evaluation* e : all) {
    for (const auto& [kind, accuracy] : e->accuracy_by_kind()) kinds.insert(kind);
    for (const auto& [k, share] : e->pass_at()) pass_at.insert(k);
  }
  std::string out = absl::StrFormat("  %8s%10s%10s", "step", "reward", "correct");
  for (const int32_t k : pass_at) absl::StrAppendFormat(&out, "%10s", absl::StrCat("pass@", k));
  for (const std::string& kind : kinds) absl::StrAppendFormat(&out, "  %14s", kind.substr(0, 14));
  out += "\n";
  const auto share = [](const auto& of, const auto& key) {
    const auto it = of.find(key);
    return it == of.end() ? "-" : absl::StrFormat("%.3f", it->second);
  };
  const size_t newest = all.size() - std::min(all.size(), static_cast<size_t>(std::max(0, limit - 1)));
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && i < newest) continue;
    const v1::Evaluation& e = *all[i];
    absl::StrAppendFormat(&out, "  %8d%10.3f%10.3f", e.step(), e.reward(), e.accuracy());
    for (const int32_t k : pass_at) absl::StrAppendFormat(&out, "%10s", share(e.pass_at(), k));
    for (const std::string& kind : kinds)
      absl::StrAppendFormat(&out, "  %14s", share(e.accuracy_by_kind(), kind));
    out += "\n";
  }
  return out;
}

std::string Events(const v1::Job& job) {
  std::string out;
  const int first = std::max(0, job.events_size() - kEventsShown);
  for (int i = first; i < job.events_size(); ++i) absl::StrAppend(&out, "  ", job.events(i).text(), "\n");
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string RenderEvents(const v1::Job& job) {
  if (job.events().empty()) return "";
  const int first = std::max(0, job.events_size() - kEventsListed);
  std::string out =
      first > 0 ? absl::StrCat("events (the last ", kEventsListed, "; --json has ", job.events_size(), "):\n")
                : "events:\n";
  for (int i = first; i < job.events_size(); ++i) {
    const absl::Time time = absl::FromUnixSeconds(job.events(i).time().seconds());
    absl::StrAppend(&out, "  ", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()), "  ",
                    job.events(i).text(), "\n");
  }
  return out;
}

void StepHistory::Add(const v1::StepRecord& record) {
  if (record.step() <= 0) return;
  records_[record.step()] = {record.metrics().begin(), record.metrics().end()};
  if (records_.size() > kMaxRecords) records_.erase(records_.begin());
}

std::vector<double> StepHistory::Series(const std::string& metric) const {
  std::vector<double> out;
  for (const auto& [step, metrics] : records_) {
    const auto it = metrics.find(metric);
    if (it != metrics.end() && std::isfinite(it->second)) out.push_back(it->second);
  }
  return out;
}

std::string Sparkline(const std::vector<double>& values, int width) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty() || width <= 0) return "";
  const size_t first = values.size() > static_cast<size_t>(width) ? values.size() - width : 0;
  const auto [low, high] = std::minmax_element(values.begin() + first, values.end());
  std::string out;
  for (size_t i = first; i < values.size(); ++i) {
    const double share = *high > *low ? (values[i] - *low) / (*high - *low) : 0;
    out += kBars[std::min(7, static_cast<int>(share * 8))];
  }
  return out;
}

int64_t StepsOf(const v1::JobSpec& spec) {
  return spec.has_replay() ? spec.replay().steps() : spec.stop().steps();
}

std::string StateName(v1::JobState state) {
  return state == v1::JOB_CANCELLED ? "CANCELLED" : v1::JobState_Name(state);
}

bool HasEnded(v1::JobState state) {
  return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::JOB_CANCELLED;
}

std::string LedgerLine(const v1::Ledger& ledger) {
  const std::pair<const char*, int64_t> columns[] = {{"in_flight", ledger.in_flight()},
                                                     {"trained", ledger.trained()},
                                                     {"dropped_stale", ledger.dropped_stale()},
                                                     {"dropped_failed", ledger.dropped_failed()},
                                                     {"dropped_filtered", ledger.dropped_filtered()},
                                                     {"quarantined", ledger.quarantined()},
                                                     {"cancelled", ledger.cancelled()},
                                                     {"rolled_back", ledger.rolled_back()}};
  std::vector<std::string> parts;
  int64_t sum = 0;
  for (const auto& [name, count] : columns) {
    sum += count;
    if (count != 0) parts.push_back(absl::StrCat(name, " ", count));
  }
  return absl::StrCat("issued ", ledger.issued(), sum == ledger.issued() ? " = " : " != ",
                      parts.empty() ? "0" : absl::StrJoin(parts, " + "));
}

std::string RenderEvaluations(const v1::Job& job, int limit) {
  std::vector<const v1::Evaluation*> all;
  for (const v1::Evaluation& e : job.evaluations()) all.push_back(&e);
  std::string out = EvaluationTable(all, limit);
  for (const v1::EvaluationSpec& more : job.spec().more_evaluations()) {
    all.clear();
    for (const v1::Evaluation& e : job.evaluations()) {
      for (const v1::Evaluation& other : e.others()) {
        if (other.name() == more.name()) all.push_back(&other);
      }
    }
    if (!all.empty()) absl::StrAppend(&out, "  ", more.name(), "\n", EvaluationTable(all, limit));
  }
  return out;
}

std::string WarnOfShaping(const v1::JobSpec& spec) {
  const auto by_all = [](const v1::EvaluationSpec& e) {
    return !e.file().empty() && e.correct_by().empty() && !e.has_correct_at();
  };
  const bool counted = by_all(spec.evaluation()) ||
                       std::any_of(spec.more_evaluations().begin(), spec.more_evaluations().end(), by_all);
  if (!counted) return "";
  const auto weight = [](const v1::RewardComponent& c) {
    return c.has_weight() ? std::abs(c.weight()) : 1.0;
  };
  double greatest = 0;
  for (const v1::RewardComponent& c : spec.reward().component()) greatest = std::max(greatest, weight(c));
  std::vector<std::string> small;
  for (const v1::RewardComponent& c : spec.reward().component()) {
    // A graded value is CORRECT at its best alone, and the whole is CORRECT only where all that count are.
    const bool shapes =
        c.has_length() || c.has_tags() || c.has_repetition() || c.has_language() || c.has_group_length();
    if (shapes && weight(c) > 0 && weight(c) < kShapingShare * greatest)
      small.push_back(absl::StrFormat("\"%s\" (weight %g)", c.name(), c.weight()));
  }
  if (small.empty()) return "";
  return absl::StrCat(
      "a sample is CORRECT, which held-out accuracy counts, only where every component with a weight "
      "says so: ",
      absl::StrJoin(small, ", "),
      " may leave none. Let evaluation.correct_by name the component that tells, or give "
      "evaluation.correct_at");
}

std::string RenderPanel(const v1::WatchJobResponse& state, const StepHistory& history, int width) {
  const v1::Job& job = state.job();
  std::string out = Header(job, width) + "\n";
  out += MetricLine("reward", "reward", job, history, width) + Components(job, history, width);
  const std::pair<const char*, const char*> metrics[] = {{"kl", "kl"},
                                                         {"entropy", "entropy"},
                                                         {"tokens", "completion_tokens"},
                                                         {"tokens p50", "completion_tokens_p50"},
                                                         {"tokens p95", "completion_tokens_p95"},
                                                         {"cut off", "truncated_share"},
                                                         {"clipped", "clip_fraction"},
                                                         {"gradient norm", "grad_norm"},
                                                         {"tied groups", "group_ties"},
                                                         {"tokens/s", "tokens_per_second"},
                                                         {"step seconds", "step_seconds"},
                                                         {"waited", "wait_seconds"},
                                                         {"staleness", "staleness_mean"}};
  for (const auto& [label, metric] : metrics) out += MetricLine(label, metric, job, history, width);
  absl::StrAppend(&out, "\n  max staleness ", job.max_staleness(), "; ", job.exact_compared(),
                  " tokens compared with the engine, largest difference ", Number(job.exact_max_difference()),
                  "\n");
  absl::StrAppend(&out, "  ", LedgerLine(job.ledger()), "\n", Decisions(job));
  out += Workers(state);
  const std::string evaluations = RenderEvaluations(job, kEvaluationsShown);
  if (!evaluations.empty()) absl::StrAppend(&out, "\n  held out\n", evaluations);
  return out + Events(job);
}

std::string RenderLine(const v1::Job& job) {
  std::string out = absl::StrCat(job.job(), " ", StateName(job.state()));
  if (job.state() == v1::WARMING_UP) {
    return absl::StrCat(out, " warm_start ", job.warm_start_step(), "/", job.spec().warm_start().steps());
  }
  absl::StrAppend(&out, " step ", job.step(), "/", StepsOf(job.spec()));
  const std::pair<const char*, const char*> metrics[] = {
      {"reward", "reward"},           {"kl", "kl"},
      {"entropy", "entropy"},         {"tokens", "completion_tokens"},
      {"cut_off", "truncated_share"}, {"tok/s", "tokens_per_second"},
      {"stale", "staleness_max"}};
  for (const auto& [label, metric] : metrics) {
    const double value = MetricOf(job.last_step(), metric);
    if (!std::isnan(value)) absl::StrAppend(&out, " ", label, " ", Number(value));
  }
  if (!job.evaluations().empty()) {
    const v1::Evaluation& last = *job.evaluations().rbegin();
    absl::StrAppendFormat(&out, " held_out %.3f@%d", last.accuracy(), last.step());
    for (const v1::Evaluation& other : last.others())
      absl::StrAppendFormat(&out, " %s %.3f", other.name(), other.accuracy());
  }
  // What is long has a line of its own.
  const auto text = [&out](absl::string_view label, const std::string& said) {
    if (said.empty()) return;
    const size_t last_line = out.size() - (out.rfind('\n') + 1);  // of the whole where there is none
    const bool fits = last_line + label.size() + said.size() + 2 <= kLineWidth;
    absl::StrAppend(&out, fits ? " " : "\n  ", label, " ", said);
  };
  text("waiting for", job.waiting_for());
  text("stalled: waits for", job.stalled());
  text("error:", job.error());
  return out;
}

}  // namespace sluice::cli
