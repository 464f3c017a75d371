#include "services/rpc/grpc_status.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {
constexpr size_t kMaxStatusBytes =
    2048;  // of the 8 KiB that gRPC allows all headers; it may triple when escaped
constexpr absl::Duration kMaxPushback = absl::Hours(1);
}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kMaxStatusBytes)));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int code = static_cast<int>(status.error_code());
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      status.error_message());
}

std::string PushbackOf(absl::Duration pause) {
  return pause == absl::InfiniteDuration() ? "-1" : absl::StrCat(absl::ToInt64Milliseconds(pause));
}

absl::Duration ReadPushback(absl::string_view text) {
  int64_t milliseconds = 0;
  if (!absl::SimpleAtoi(text, &milliseconds) || milliseconds < 0) return absl::InfiniteDuration();
  return std::min(absl::Milliseconds(milliseconds), kMaxPushback);
}

}  // namespace sluice
