#include "reward/remote_batch_scorer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/retry.h"
#include "core/rl/reward_check.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr size_t kMaxParts = 10000, kMaxStamps = 16;  // as types.proto allows
constexpr absl::string_view kVersion = "version=";

bool MayHelp(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

bool InOrder(const std::vector<StepScore>& steps, size_t completion_bytes) {
  int64_t before = 0;
  for (const StepScore& step : steps) {
    if (!std::isfinite(step.score) || step.end_offset < before) return false;
    if (step.end_offset > static_cast<int64_t>(completion_bytes)) return false;
    before = step.end_offset;
  }
  return true;
}

// "" where the verdict has no version.
std::string VersionOf(const ItemJudgement& judgement) {
  for (const std::string& stamp : judgement.stamps) {
    if (absl::string_view(stamp).substr(0, kVersion.size()) == kVersion) return stamp.substr(kVersion.size());
  }
  return "";
}

void TakeParts(std::vector<VerdictComponent>& components, ItemJudgement& out) {
  for (VerdictComponent& c : components) {
    if (out.outcome.empty()) out.outcome = std::move(c.outcome);
    if (out.steps.empty()) out.steps = std::move(c.steps);
    if (out.tests.empty()) out.tests = std::move(c.tests);
    for (std::string& stamp : c.stamps) {
      const bool known = std::find(out.stamps.begin(), out.stamps.end(), stamp) != out.stamps.end();
      if (!known && out.stamps.size() < kMaxStamps) out.stamps.push_back(std::move(stamp));
    }
  }
}

}  // namespace

RemoteBatchScorer::RemoteBatchScorer(std::shared_ptr<Scorer> service, const RemoteScorerSpec& spec,
                                     const RetryPauses& pauses)
    : service_(std::move(service)), spec_(spec), asked_{{{"remote", 1, spec}}}, pauses_(pauses) {}

absl::StatusOr<std::vector<Verdict>> RemoteBatchScorer::Ask(absl::Span<const ScoreItem> items,
                                                            const JudgeLimits& limits) const {
  absl::Duration pause = pauses_.first;
  for (int attempt = 1;; ++attempt) {
    const absl::Time until = std::min(limits.deadline, absl::Now() + absl::Seconds(spec_.timeout_seconds));
    absl::StatusOr<std::vector<Verdict>> verdicts = service_->Score(asked_, items, until, limits.cancel);
    if (verdicts.ok() || !MayHelp(verdicts.status()) || attempt >= spec_.max_attempts) return verdicts;
    const absl::Duration asked = RetryAfter(verdicts.status()).value_or(absl::ZeroDuration());
    if (!PauseBeforeRetry(std::max(pause, asked), limits.deadline, limits.cancel)) return verdicts;
    pause = std::min(2 * pause, pauses_.longest);
  }
}

// "unavailable": no fault of the items, which may be judged when the service is back.
ItemJudgement RemoteBatchScorer::NotJudged(const absl::Status& status) const {
  ItemJudgement out = Infrastructure(absl::StrCat(spec_.service, ": ", status.ToString()));
  if (MayHelp(status)) out.outcome = "unavailable";
  return out;
}

std::vector<ItemJudgement> RemoteBatchScorer::Judge(absl::Span<const ScoreItem* const> items,
                                                    const JudgeLimits& limits) const {
  std::vector<ScoreItem> copies;
  for (const ScoreItem* item : items) copies.push_back(*item);
  absl::StatusOr<std::vector<Verdict>> verdicts = Ask(copies, limits);
  if (verdicts.ok() && verdicts->size() != items.size()) {
    verdicts = absl::InternalError(absl::StrCat(verdicts->size(), " verdicts for ", items.size(), " items"));
  }
  std::vector<ItemJudgement> out;
  for (size_t i = 0; i < items.size(); ++i) {
    out.push_back(verdicts.ok() ? JudgementOf(std::move((*verdicts)[i]), *items[i])
                                : NotJudged(verdicts.status()));
  }
  return out;
}

ItemJudgement RemoteBatchScorer::JudgementOf(Verdict verdict, const ScoreItem& item) const {
  const auto failed = [&](absl::string_view what) {
    return Infrastructure(absl::StrCat(spec_.service, ": ", what));
  };
  ItemJudgement out{verdict.kind, verdict.value, std::move(verdict.detail)};
  if (out.detail.empty() && verdict.components.size() == 1) out.detail = verdict.components[0].detail;
  TakeParts(verdict.components, out);
  if (out.kind == VerdictKind::kUnspecified) return failed("a verdict without a kind");
  if (!std::isfinite(out.value) || std::abs(out.value) > kMaxRemoteValue)
    return failed(
        absl::StrCat("the value is ", out.value, "; at most ", kMaxRemoteValue, " either way is taken"));
  if (out.steps.size() > kMaxParts || out.tests.size() > kMaxParts) return failed("too many steps or tests");
  if (!InOrder(out.steps, item.completion.size()))
    return failed("steps that are not in order within the completion");
  if (!spec_.expect_version.empty() && VersionOf(out) != spec_.expect_version) {
    return failed(
        absl::StrCat("is version ", Quotation(VersionOf(out)), ", not ", Quotation(spec_.expect_version)));
  }
  if (!verdict.HasReward()) out.value = 0;
  return out;
}

ScorerRegistry::BatchFactory RemoteScorerFactory(std::map<std::string, std::shared_ptr<Scorer>> services,
                                                 const RetryPauses& pauses) {
  return [services = std::move(services),
          pauses](const ScorerSpec& spec) -> absl::StatusOr<std::unique_ptr<BatchScorer>> {
    const auto& remote = std::get<RemoteScorerSpec>(spec);
    const auto service = services.find(remote.service);
    if (service != services.end())
      return std::make_unique<RemoteBatchScorer>(service->second, remote, pauses);
    const std::string known =
        absl::StrJoin(services, ", ", [](std::string* out, const auto& s) { out->append(s.first); });
    return absl::InvalidArgumentError(absl::StrCat("remote.service: this service knows no ",
                                                   Quotation(remote.service),
                                                   "; start sluice-reward with --scorer ", remote.service,
                                                   "=HOST:PORT. It knows: ", known.empty() ? "none" : known));
  };
}

}  // namespace sluice
