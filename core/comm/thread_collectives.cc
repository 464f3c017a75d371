#include "core/comm/thread_collectives.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// Where the ranks of one gang meet: all post a buffer, all read what was posted, all leave.
class MeetingPoint {
 public:
  struct Posted {
    const char* operation = nullptr;
    const void* data = nullptr;
    size_t bytes = 0;
  };

  explicit MeetingPoint(int size) : size_(size), posted_(size) {}
  int size() const { return size_; }

  // Posts `mine`, waits until every rank has posted, calls read(all ranks' postings), and leaves when all
  // have read.
  absl::Status Meet(int rank, Posted mine, absl::Time deadline,
                    const std::function<void(const std::vector<Posted>&)>& read) {
    absl::MutexLock lock(&mu_);
    // The round before may not be over for others yet.
    while (!broken_ && leaving_ > 0) {
      if (changed_.WaitWithDeadline(&mu_, deadline)) break;
    }
    if (leaving_ > 0 && !broken_) return Break(rank, "the ranks to finish the operation before");
    if (broken_) return Broken();
    posted_[rank] = mine;
    const int64_t round = round_;
    if (++arrived_ == size_) Open();
    while (!broken_ && round_ == round) {
      if (changed_.WaitWithDeadline(&mu_, deadline)) break;
    }
    if (round_ == round) {
      if (broken_) return Broken();
      return Break(rank, absl::StrCat(size_ - arrived_, " of ", size_, " ranks to start ", mine.operation));
    }
    const bool fits = !mismatch_;
    if (fits) {
      mu_.Unlock();
      read(posted_);  // nobody posts before all have left
      mu_.Lock();
    }
    const int64_t opened = round_;
    --leaving_;
    changed_.SignalAll();
    // A buffer must stay until every rank has read it; they are only copying, so this ends.
    while (leaving_ > 0 && round_ == opened) changed_.Wait(&mu_);
    if (!fits)
      return absl::InvalidArgumentError(absl::StrCat(mine.operation, ": ranks called with different sizes"));
    return absl::OkStatus();
  }

  void Leave() {
    absl::MutexLock lock(&mu_);
    broken_ = true;
    changed_.SignalAll();
  }

 private:
  void Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    mismatch_ = std::any_of(posted_.begin(), posted_.end(), [&](const Posted& p) {
      return p.bytes != posted_[0].bytes || std::strcmp(p.operation, posted_[0].operation) != 0;
    });
    arrived_ = 0;
    leaving_ = size_;
    ++round_;
    changed_.SignalAll();
  }
  absl::Status Break(int rank, const std::string& waited_for) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    broken_ = true;
    changed_.SignalAll();
    return absl::DeadlineExceededError(absl::StrCat("rank ", rank, " waited for ", waited_for));
  }
  static absl::Status Broken() { return absl::UnavailableError("the gang is broken: a rank failed or left"); }

  const int size_;
  absl::Mutex mu_;
  absl::CondVar changed_;
  std::vector<Posted> posted_;  // guarded by the rounds: written before a round opens, read while it is open
  int arrived_ ABSL_GUARDED_BY(mu_) = 0;
  int leaving_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t round_ ABSL_GUARDED_BY(mu_) = 0;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
  bool mismatch_ ABSL_GUARDED_BY(mu_) = false;
};

class ThreadCollectives final : public Collectives {
 public:
  ThreadCollectives(std::shared_ptr<MeetingPoint> point, int rank) : point_(std::move(point)), rank_(rank) {}
  ~ThreadCollectives() override { point_->Leave(); }
  int rank() const override { return rank_; }
  int size() const override { return point_->size(); }

  absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckBroadcast(size(), root));
    return point_->Meet(rank_, {"Broadcast", bytes.data(), bytes.size()}, deadline, [&](const auto& all) {
      if (rank_ != root && !bytes.empty()) std::memcpy(bytes.data(), all[root].data, bytes.size());
    });
  }

  absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all_bytes,
                         absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("AllGather", size(), mine.size(), all_bytes.size()));
    return point_->Meet(rank_, {"AllGather", mine.data(), mine.size()}, deadline, [&](const auto& all) {
      for (size_t r = 0; r < all.size() && !mine.empty(); ++r) {
        std::memcpy(all_bytes.data() + r * mine.size(), all[r].data, mine.size());
      }
    });
  }

  absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("ReduceScatterSum", size(), mine.size(), values.size()));
    return point_->Meet(rank_, {"ReduceScatterSum", values.data(), values.size()}, deadline,
                        [&](const auto& all) {
                          for (size_t r = 0; r < all.size(); ++r) {
                            const float* from = static_cast<const float*>(all[r].data) + rank_ * mine.size();
                            for (size_t i = 0; i < mine.size(); ++i)
                              mine[i] = r == 0 ? from[i] : mine[i] + from[i];
                          }
                        });
  }

  absl::Status AllReduceSum(absl::Span<double> values, absl::Time deadline) override {
    const std::vector<double> mine(values.begin(), values.end());
    return point_->Meet(rank_, {"AllReduceSum", mine.data(), mine.size()}, deadline, [&](const auto& all) {
      for (size_t r = 0; r < all.size(); ++r) {
        const double* from = static_cast<const double*>(all[r].data);
        for (size_t i = 0; i < values.size(); ++i) values[i] = r == 0 ? from[i] : values[i] + from[i];
      }
    });
  }

  absl::Status Barrier(absl::Time deadline) override {
    return point_->Meet(rank_, {"Barrier", nullptr, 0}, deadline, [](const auto&) {});
  }

 private:
  const std::shared_ptr<MeetingPoint> point_;  // shared by the ranks of the gang
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Collectives>> MakeThreadCollectives(int size) {
  auto point = std::make_shared<MeetingPoint>(size);
  std::vector<std::unique_ptr<Collectives>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<ThreadCollectives>(point, r));
  return ranks;
}

}  // namespace sluice
