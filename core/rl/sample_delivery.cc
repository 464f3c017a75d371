#include "core/rl/sample_delivery.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/rl/trajectory_parts.h"

namespace sluice {

SampleDelivery::SampleDelivery(const RolloutRequest& request)
    : draw_(request.draw), progress_(request.progress_every_tokens > 0), parts_(request.progress_in_parts) {
  for (uint32_t index : request.indices) missing_[index] = 0;
}

absl::Status SampleDelivery::Take(const Trajectory& trajectory) {
  const std::string name = absl::StrCat("sample ", trajectory.key.draw, "/", trajectory.key.index);
  const auto found = missing_.find(trajectory.key.index);
  if (trajectory.key.draw != draw_ || found == missing_.end()) {
    return absl::InternalError(absl::StrCat(name, " was not asked for or came twice"));
  }
  const bool finished = trajectory.finish_reason != FinishReason::kUnspecified;
  if (FirstToken(trajectory) > 0 && (finished || !parts_)) {
    return absl::InternalError(absl::StrCat(name, " is not whole"));
  }
  if (EndToken(trajectory) < found->second) {
    return absl::InternalError(absl::StrCat(name, " lost tokens that were reported"));
  }
  found->second = EndToken(trajectory);
  if (finished) {
    missing_.erase(found);
  } else if (!progress_) {
    return absl::InternalError(absl::StrCat(name, " is not finished, and progress was not asked for"));
  }
  return absl::OkStatus();
}

}  // namespace sluice
