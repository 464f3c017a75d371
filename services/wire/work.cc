#include "services/wire/work.h"

#include <algorithm>
#include <string>

#include "core/base/retry.h"
#include "services/rpc/duration.h"
#include "services/wire/utf8.h"

namespace sluice {
namespace {

constexpr size_t kMaxMessageBytes = 2048;
constexpr absl::Duration kLongestPause = absl::Hours(1), kNever = absl::Hours(24);

}  // namespace

v1::WorkEnd WorkEndOf(const absl::Status& status) {
  v1::WorkEnd out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(ToValidUtf8(status.message().substr(0, kMaxMessageBytes)));
  if (const auto pause = RetryAfter(status)) *out.mutable_retry_after() = ToProto(std::min(*pause, kNever));
  return out;
}

absl::Status StatusOf(const v1::WorkEnd& end) {
  if (end.code() == 0) return absl::OkStatus();
  const bool known = end.code() > 0 && end.code() <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  absl::Status out(known ? static_cast<absl::StatusCode>(end.code()) : absl::StatusCode::kUnknown,
                   end.message().substr(0, kMaxMessageBytes));
  if (end.has_retry_after()) {
    const absl::Duration pause = FromProto(end.retry_after());
    const bool never = pause >= kNever || pause < absl::ZeroDuration();
    SetRetryAfter(never ? absl::InfiniteDuration() : std::min(pause, kLongestPause), out);
  }
  return out;
}

}  // namespace sluice
