#include "reward/code/timed_box.h"

#include <algorithm>
#include <functional>
#include <stop_token>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr absl::Duration kShortestRun = absl::Milliseconds(10);

class CancellableRun final : public SandboxRun {
 public:
  CancellableRun(std::unique_ptr<SandboxRun> run, const CancelToken& cancel)
      : run_(std::move(run)), kill_(cancel.stop_token(), [this] { run_->Kill(); }) {}
  int channel() const override { return run_->channel(); }
  void Kill() override { run_->Kill(); }
  RunResult Wait() override { return run_->Wait(); }

 private:
  const std::unique_ptr<SandboxRun> run_;
  std::stop_callback<std::function<void()>> kill_;
};

}  // namespace

absl::Status TimeIsLeft(const JudgeLimits& limits) {
  if (limits.cancel.cancelled()) return absl::CancelledError("nobody waits for the judgement any more");
  if (absl::Now() >= limits.deadline) {
    return absl::DeadlineExceededError("the program was not judged within the deadline");
  }
  return absl::OkStatus();
}

absl::Status TimedBox::WriteFile(absl::string_view name, absl::string_view content, bool executable) {
  if (!used_) SLUICE_RETURN_IF_ERROR(box_.WriteFile(name, content, executable));
  files_[std::string(name)] = {std::string(content), executable};
  return absl::OkStatus();
}

absl::Status TimedBox::Clear() {
  SLUICE_RETURN_IF_ERROR(box_.Clear());
  files_.clear();
  used_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SandboxRun>> TimedBox::Start(const RunRequest& request) {
  SLUICE_RETURN_IF_ERROR(TimeIsLeft(limits_));
  if (used_) {
    SLUICE_RETURN_IF_ERROR(box_.Clear());
    for (const auto& [name, file] : files_) {
      SLUICE_RETURN_IF_ERROR(box_.WriteFile(name, file.content, file.executable));
    }
  }
  used_ = true;
  RunRequest timed = request;
  timed.limits.wall = std::min(request.limits.wall, std::max(kShortestRun, limits_.deadline - absl::Now()));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box_.Start(timed));
  return std::make_unique<CancellableRun>(std::move(run), limits_.cancel);
}

}  // namespace sluice
