// What a refused call says about another try, and the wait before it. Thread-safe.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"

namespace sluice {

// Kept in the status, also by Annotate, and by services on their way to the client (gRPC's metadata
// grpc-retry-pushback-ms). InfiniteDuration: not at all. Nothing is kept in an OK status.
void SetRetryAfter(absl::Duration pause, absl::Status& status);
// Nothing where the status does not say.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

// Waits. At once false when `deadline` comes first, false as soon as `cancel` is raised.
bool PauseBeforeRetry(absl::Duration pause, absl::Time deadline, const CancelToken& cancel);

}  // namespace sluice
