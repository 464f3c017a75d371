// A Scorer without rules of its own: verdicts come from a function of the item, failures are scripted.
// Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/hash.h"
#include "core/rl/scorer.h"

namespace sluice {

class FakeScorer final : public Scorer {
 public:
  using Judge = std::function<Verdict(const ScoreItem&)>;

  // Half of all completions are right, by a hash of prompt and completion.
  static Verdict JudgeByHash(const ScoreItem& item) {
    const bool right = Sha256Hex(item.prompt + "\n" + item.completion)[0] < '8';
    Verdict verdict;
    verdict.kind = right ? VerdictKind::kCorrect : VerdictKind::kWrong;
    verdict.value = right ? 1 : 0;
    verdict.components = {{"fake", verdict.kind, verdict.value, 1, ""}};
    return verdict;
  }
  static Verdict Infrastructure() {
    Verdict verdict;
    verdict.kind = VerdictKind::kInfrastructure;
    verdict.detail = "scripted failure";
    return verdict;
  }

  FakeScorer() : judge_(JudgeByHash) {}
  explicit FakeScorer(Judge judge) : judge_(std::move(judge)) {}

  // The next `times` calls fail with `status`.
  void FailScore(absl::Status status, int times = 1) {
    absl::MutexLock lock(&mu_);
    for (int i = 0; i < times; ++i) failures_.push_back(status);
  }
  // The next `items` items get an INFRASTRUCTURE verdict.
  void FailItems(int items) {
    absl::MutexLock lock(&mu_);
    failing_items_ += items;
  }
  int64_t items_judged() const {
    absl::MutexLock lock(&mu_);
    return judged_;
  }
  std::vector<size_t> call_sizes() const {  // items of each call, in order
    absl::MutexLock lock(&mu_);
    return call_sizes_;
  }

  using Scorer::Score;
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override {
    if (spec.components.empty()) return absl::InvalidArgumentError("reward.component: none");
    absl::MutexLock lock(&mu_);
    call_sizes_.push_back(items.size());
    if (!failures_.empty()) {
      absl::Status failure = failures_.front();
      failures_.pop_front();
      return failure;
    }
    std::vector<Verdict> out;
    for (const ScoreItem& item : items) {
      if (failing_items_ > 0) {
        --failing_items_;
        out.push_back(Infrastructure());
        continue;
      }
      ++judged_;
      out.push_back(judge_(item));
    }
    return out;
  }

 private:
  const Judge judge_;
  mutable absl::Mutex mu_;
  std::deque<absl::Status> failures_ ABSL_GUARDED_BY(mu_);
  int failing_items_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t judged_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<size_t> call_sizes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
