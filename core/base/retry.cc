#include "core/base/retry.h"

#include <stop_token>
#include <string>

#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace sluice {
namespace {

constexpr char kPayload[] = "sluice/retry-after";

}  // namespace

void SetRetryAfter(absl::Duration pause, absl::Status& status) {
  status.SetPayload(kPayload, absl::Cord(absl::FormatDuration(pause)));
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  absl::Duration pause;
  if (!payload || !absl::ParseDuration(std::string(*payload), &pause)) return std::nullopt;
  return pause;
}

bool PauseBeforeRetry(absl::Duration pause, absl::Time deadline, const CancelToken& cancel) {
  if (absl::Now() + pause >= deadline) return false;
  absl::Notification cancelled;
  const std::stop_callback on_cancel(cancel.stop_token(), [&] { cancelled.Notify(); });
  return !cancelled.WaitForNotificationWithTimeout(pause);
}

}  // namespace sluice
