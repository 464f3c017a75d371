#include "reward/judge_lane.h"

#include <utility>

namespace sluice {
namespace {
constexpr int kNormalInARow = 64;
}

JudgeLane::JudgeLane(int threads) : size_(static_cast<size_t>(threads)) {
  absl::MutexLock lock(&mu_);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

JudgeLane::~JudgeLane() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void JudgeLane::Add(LaneWork work) {
  if (work.count == 0) return;
  absl::MutexLock lock(&mu_);
  waiting_ += work.count;
  auto& queue = work.priority == JudgePriority::kNormal ? normal_ : background_;
  queue.push_back(std::make_shared<Turn>(Turn{std::move(work)}));
}

void JudgeLane::ReplaceThread(std::thread::id hung) {
  absl::MutexLock lock(&mu_);
  if (stopping_ || replaced_.size() >= size_ || !replaced_.insert(hung).second) return;
  threads_.emplace_back([this] { Run(); });
}

size_t JudgeLane::waiting() const {
  absl::MutexLock lock(&mu_);
  return waiting_;
}

std::deque<std::shared_ptr<JudgeLane::Turn>>& JudgeLane::NextQueue() {
  if (background_.empty()) return normal_;
  if (!normal_.empty() && ++in_a_row_ < kNormalInARow) return normal_;
  in_a_row_ = 0;
  return background_;
}

void JudgeLane::Run() {
  while (true) {
    std::shared_ptr<Turn> turn;  // shared: several threads run pieces of it at a time
    size_t piece;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &JudgeLane::HasNews));
      if (stopping_) return;
      auto& queue = NextQueue();
      turn = queue.front();
      queue.pop_front();
      piece = turn->next++;
      --waiting_;
      if (turn->next < turn->work.count) queue.push_back(turn);
    }
    turn->work.run(piece);
    turn.reset();
    absl::MutexLock lock(&mu_);
    if (replaced_.erase(std::this_thread::get_id()) > 0) return;
  }
}

}  // namespace sluice
