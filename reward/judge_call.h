// One call to judge: its items, its scorers and what they said so far. The pieces of work that are under way
// share it, so that a call can end while a checker hangs.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"
#include "reward/item_scorer.h"
#include "reward/judge_lane.h"

namespace sluice {

// Where a component's items are judged, and how long one of them may take there.
struct LanePlace {
  JudgeLane* lane = nullptr;  // borrowed
  absl::Duration item_timeout = absl::InfiniteDuration();
};

// What judges one component; both null for a group term.
struct ComponentScorer {
  std::unique_ptr<ItemScorer> item;
  std::unique_ptr<BatchScorer> batch;
  LanePlace place;
};

struct JudgeCallOptions {
  JudgePriority priority = JudgePriority::kNormal;
  absl::Time deadline = absl::InfiniteFuture();
  // Longer completions are UNDECIDED.
  size_t max_completion_bytes = size_t{4} << 20;
  // Of a batch for one BatchScorer; a larger item goes alone.
  size_t max_batch_bytes = size_t{32} << 20;
};

// Thread-safe.
class JudgeCall : public std::enable_shared_from_this<JudgeCall> {
 public:
  JudgeCall(const RewardSpec& spec, std::vector<ScoreItem> items, std::vector<ComponentScorer> scorers,
            const JudgeCallOptions& options);

  // Adds the call's pieces to the lanes. Once.
  void Start();
  // Until all is judged, the deadline has passed or `cancel` is raised. A piece that runs past its time is
  // given up for its items only, and its thread is replaced. Afterwards nothing more is begun.
  void Await(const CancelToken& cancel);

  // After Await. What was not judged is INFRASTRUCTURE. One verdict for each item, in order.
  std::vector<Verdict> TakeVerdicts();
  // After Await: items of which everything was judged.
  size_t finished_items() const;
  const std::vector<ScoreItem>& items() const { return items_; }
  const RewardSpec& spec() const { return spec_; }

 private:
  // Components of the same lane for items [first, first + count): what one thread does in one go.
  struct Piece {
    std::vector<size_t> components;
    size_t first = 0, count = 0;
  };
  struct Slot {
    bool done = false;
    ItemJudgement judgement;
  };
  struct Running {
    const Piece* piece;
    JudgeLane* lane;
    std::thread::id thread;
    absl::Time until;
  };

  std::vector<Piece> PiecesOf(const std::vector<size_t>& components) const;
  void Run(const Piece& piece, const LanePlace& place);
  void JudgeComponent(size_t component, const Piece& piece, const JudgeLimits& limits);
  void Store(size_t component, size_t item, ItemJudgement judgement) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUpLate(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return left_ == 0 || over_; }
  Slot& At(size_t component, size_t item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return slots_[component * items_.size() + item];
  }

  const RewardSpec spec_;
  const std::vector<ScoreItem> items_;
  const std::vector<ComponentScorer> scorers_;
  const JudgeCallOptions options_;
  const CancelToken cancel_;                         // raised when the call is over
  std::map<JudgeLane*, std::vector<Piece>> pieces_;  // written by Start only
  absl::Duration shortest_timeout_ = absl::InfiniteDuration();

  mutable absl::Mutex mu_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mu_);      // [components, items]
  std::vector<double> seconds_ ABSL_GUARDED_BY(mu_);  // by item
  std::vector<size_t> waiting_ ABSL_GUARDED_BY(mu_);  // components of each item that are not judged
  size_t left_ ABSL_GUARDED_BY(mu_) = 0;              // slots that are not done
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Running> running_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
