#include "reward/auditor.h"

#include <exception>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "reward/quotation.h"
#include "reward/reward_metrics.h"

namespace sluice {
namespace {

bool Decides(VerdictKind kind) { return kind == VerdictKind::kCorrect || kind == VerdictKind::kWrong; }

ItemJudgement JudgeSafely(const ItemScorer& scorer, const ScoreItem& item, const JudgeLimits& limits) {
  try {
    return scorer.JudgeWithin(item, limits);
  } catch (const std::exception& e) {
    return Infrastructure(e.what());
  }
}

}  // namespace

Auditor::Auditor(ScorerRegistry second, const AuditorOptions& options, prometheus::Registry& metrics)
    : second_(std::move(second)), options_(options) {
  auto& audits = prometheus::BuildCounter()
                     .Name("sluice_reward_audits_total")
                     .Help("Components judged a second time, more strictly.")
                     .Register(metrics);
  for (const char* scorer : {"math", "code"}) {
    const auto add = [&](const char* result) {
      return &audits.Add({{"scorer", scorer}, {"result", result}});
    };
    counters_[scorer] = {add("agree"), add("disagree"), add("undecided"), add("dropped")};
  }
  thread_ = std::thread([this] { Run(); });
}

Auditor::~Auditor() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  cancel_.Cancel();
  thread_.join();
}

void Auditor::Observe(const RewardSpec& spec, const ScoreItem& item, const Verdict& verdict) {
  if (options_.share <= 0) return;
  for (size_t i = 0; i < spec.components.size() && i < verdict.components.size(); ++i) {
    const auto counters = counters_.find(ScorerName(spec.components[i].scorer));
    if (counters == counters_.end() || !Decides(verdict.components[i].kind)) continue;
    absl::MutexLock lock(&mu_);
    if (std::uniform_real_distribution<double>()(random_) >= options_.share) continue;
    if (waiting_.size() >= options_.max_waiting) {
      counters->second.dropped->Increment();
      continue;
    }
    waiting_.push_back({spec.components[i].scorer, item, verdict.components[i]});
  }
}

void Auditor::Drain() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &Auditor::Idle));
}

void Auditor::Run() {
  while (true) {
    Case one;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &Auditor::HasWork));
      if (stopping_) return;
      one = std::move(waiting_.front());
      waiting_.pop_front();
      busy_ = true;
    }
    Judge(one);
    absl::MutexLock lock(&mu_);
    busy_ = false;
  }
}

void Auditor::Judge(const Case& one) {
  const auto scorer = second_.Make(one.scorer);
  if (!scorer.ok()) return;
  const ItemJudgement second = JudgeSafely(**scorer, one.item, {absl::Now() + options_.timeout, cancel_});
  const Counters& counters = counters_.at(ScorerName(one.scorer));
  if (!Decides(second.kind)) return counters.undecided->Increment();
  if (second.kind == one.first.kind) return counters.agree->Increment();
  counters.disagree->Increment();
  const auto answer = one.item.fields.find("answer");
  LogWarning("audit_disagrees",
             {{"component", Quotation(one.first.name)},
              {"scorer", ScorerName(one.scorer)},
              {"verdict", VerdictLabel(one.first.kind)},
              {"detail", Quotation(one.first.detail)},
              {"second", VerdictLabel(second.kind)},
              {"second_detail", Quotation(second.detail)},
              {"answer", Quotation(answer == one.item.fields.end() ? "" : answer->second)}});
}

}  // namespace sluice
