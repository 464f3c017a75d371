// Boxes for what rows bring along: the code of their tests and their checkers. They outlive an item, and so
// does the process that runs tests, for that code is the data set's and sees nothing of a program but data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "reward/code/harness.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

// Not thread-safe.
class RowBox {
 public:
  explicit RowBox(std::unique_ptr<SandboxBox> box) : box_(std::move(box)) {}

  // The process that runs tests (HarnessRole::kTests), started where there is none. It ends with the box, and
  // until EndUse when `cancel` is raised.
  absl::StatusOr<HarnessRun*> Tests(int64_t memory_bytes, const CancelToken& cancel);
  // The process is not to be used again.
  RunResult StopTests();
  // The box without that process.
  SandboxBox& Bare();
  // Tells orders to the process apart.
  int64_t NextSerial() { return ++serial_; }
  // Used often enough: another one is to take its place.
  bool worn() const { return uses_ >= kMaxUses; }
  void EndUse();

 private:
  static constexpr int kMaxUses = 100;
  std::unique_ptr<SandboxBox> box_;
  std::optional<HarnessRun> tests_;
  std::optional<std::stop_callback<std::function<void()>>> kill_;  // tests_, which outlives it
  int64_t memory_bytes_ = 0;
  int64_t serial_ = 0;
  int uses_ = 0;
};

// Thread-safe. Keeps at most as many boxes as were in use at once.
class RowBoxPool {
 public:
  explicit RowBoxPool(Sandbox& sandbox) : sandbox_(sandbox) {}
  absl::StatusOr<std::unique_ptr<RowBox>> Take(absl::Time deadline);
  void Give(std::unique_ptr<RowBox> box);

 private:
  Sandbox& sandbox_;
  absl::Mutex mu_;
  std::vector<std::unique_ptr<RowBox>> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
