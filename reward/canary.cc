#include "reward/canary.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "reward/reward_metrics.h"

namespace sluice {
namespace {

bool IsProgram(const Canary& canary) { return std::holds_alternative<CodeScorerSpec>(canary.scorer); }

prometheus::Gauge* NewGauge(prometheus::Registry& metrics, const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(metrics).Add({});
}

}  // namespace

CanaryProbe::CanaryProbe(std::vector<Canary> canaries, const CanaryOptions& options, Judge judge,
                         prometheus::Registry& metrics)
    : canaries_(std::move(canaries)), options_(options), judge_(std::move(judge)) {
  auto& results = prometheus::BuildCounter()
                      .Name("sluice_reward_canary_total")
                      .Help("Canaries judged: completions whose verdict is known.")
                      .Register(metrics);
  pass_ = &results.Add({{"result", "pass"}});
  fail_ = &results.Add({{"result", "fail"}});
  unavailable_ = &results.Add({{"result", "unavailable"}});
  failing_ =
      NewGauge(metrics, "sluice_reward_canary_failing", "Canaries whose last verdict was not the known one.");
  last_failure_ = NewGauge(metrics, "sluice_reward_canary_last_failure_seconds",
                           "When a canary last failed, Unix time; 0: never.");
  if (options_.every_items == 0) return;
  {
    absl::MutexLock lock(&mu_);
    due_ = true;
  }
  watcher_ = std::thread([this] { Watch(); });
}

CanaryProbe::~CanaryProbe() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  cancel_.Cancel();
  if (watcher_.joinable()) watcher_.join();
}

void CanaryProbe::CountItem() {
  if (options_.every_items == 0) return;
  absl::MutexLock lock(&mu_);
  if (++items_ < options_.every_items) return;
  items_ = 0;
  due_ = true;
}

void CanaryProbe::Watch() {
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &CanaryProbe::Due));
      if (stopping_) return;
    }
    RunSome(NextOnes());
    absl::MutexLock lock(&mu_);
    due_ = false;
  }
}

void CanaryProbe::Run() {
  std::vector<size_t> all;
  for (size_t i = 0; i < canaries_.size(); ++i) all.push_back(i);
  RunSome(all);
}

std::vector<size_t> CanaryProbe::NextOnes() {
  absl::MutexLock lock(&mu_);
  std::vector<size_t> out, programs;
  for (size_t i = 0; i < canaries_.size(); ++i) {
    if (first_ || !IsProgram(canaries_[i])) out.push_back(i);
    if (IsProgram(canaries_[i])) programs.push_back(i);
  }
  if (!first_ && !programs.empty()) out.push_back(programs[next_program_++ % programs.size()]);
  first_ = false;
  return out;
}

void CanaryProbe::RunSome(const std::vector<size_t>& which) {
  for (size_t i : which) {
    if (cancel_.cancelled()) return;
    const Canary& canary = canaries_[i];
    const RewardSpec spec{{{"canary", 1, canary.scorer}}};
    const auto verdicts = judge_(spec, {canary.item}, absl::Now() + options_.timeout, cancel_);
    if (cancel_.cancelled()) return;
    Verdict failed;
    failed.kind = VerdictKind::kInfrastructure;
    failed.detail = verdicts.ok() ? "no verdict" : std::string(verdicts.status().message());
    Record(canary, verdicts.ok() && verdicts->size() == 1 ? verdicts->front() : failed);
  }
}

void CanaryProbe::Record(const Canary& canary, const Verdict& verdict) {
  const bool passed = verdict.kind == canary.expected;
  const bool unavailable = !passed && verdict.kind == VerdictKind::kInfrastructure;
  (passed ? pass_ : unavailable ? unavailable_ : fail_)->Increment();
  absl::MutexLock lock(&mu_);
  const auto last = last_.find(canary.name);
  const VerdictKind before = last == last_.end() ? canary.expected : last->second;
  if (before != verdict.kind) {
    Log(passed ? LogLevel::kInfo : LogLevel::kError, "canary_changed",
        {{"canary", canary.name},
         {"expected", VerdictLabel(canary.expected)},
         {"before", VerdictLabel(before)},
         {"now", VerdictLabel(verdict.kind)},
         {"detail", verdict.detail.substr(0, 200)}});
  }
  last_[canary.name] = verdict.kind;
  if (!passed && !unavailable) last_failure_->Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  int failing = 0;
  for (const Canary& c : canaries_) {
    const auto known = last_.find(c.name);
    if (known == last_.end() || known->second == VerdictKind::kInfrastructure) continue;
    failing += known->second != c.expected;
  }
  failing_->Set(failing);
}

}  // namespace sluice
