#include "reward/code/row_box.h"

#include <utility>

#include "core/base/status.h"

namespace sluice {
namespace {

// Each test has a deadline of its own, which the judge enforces.
SandboxLimits TestsLimits(int64_t memory_bytes) {
  SandboxLimits limits;
  limits.wall = limits.cpu = absl::Hours(6);
  limits.memory_bytes = memory_bytes;
  return limits;
}

}  // namespace

absl::StatusOr<HarnessRun*> RowBox::Tests(int64_t memory_bytes, const CancelToken& cancel) {
  if (tests_ && memory_bytes_ != memory_bytes) StopTests();
  if (!tests_) {
    SLUICE_ASSIGN_OR_RETURN(tests_, HarnessRun::Start(*box_, HarnessRole::kTests, TestsLimits(memory_bytes)));
    memory_bytes_ = memory_bytes;
  }
  kill_.emplace(cancel.stop_token(), [run = &*tests_] { run->Kill(); });
  return &*tests_;
}

RunResult RowBox::StopTests() {
  kill_.reset();
  RunResult result = tests_ ? tests_->Stop() : RunResult();
  tests_.reset();
  return result;
}

void RowBox::EndUse() {
  kill_.reset();
  ++uses_;
}

SandboxBox& RowBox::Bare() {
  if (tests_) StopTests();
  return *box_;
}

absl::StatusOr<std::unique_ptr<RowBox>> RowBoxPool::Take(absl::Time deadline) {
  {
    absl::MutexLock lock(&mu_);
    if (!free_.empty()) {
      std::unique_ptr<RowBox> box = std::move(free_.back());
      free_.pop_back();
      return box;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxBox> box, sandbox_.Open(deadline));
  return std::make_unique<RowBox>(std::move(box));
}

void RowBoxPool::Give(std::unique_ptr<RowBox> box) {
  box->EndUse();
  if (box->worn()) return;
  absl::MutexLock lock(&mu_);
  free_.push_back(std::move(box));
}

}  // namespace sluice
