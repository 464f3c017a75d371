#include "reward/code/message_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/base/internal/endian.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kHeaderBytes = 4, kReadBytes = size_t{1} << 16;

absl::Status Gone() { return absl::UnavailableError("the process at the other end of the channel is gone"); }

// Until the descriptor is ready for `events`.
absl::Status Ready(int fd, short events, absl::Time deadline) {
  while (true) {
    int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left < 0) return absl::DeadlineExceededError("no message came over the channel in time");
    pollfd entry{fd, events, 0};
    int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left + 1, 60000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Gone();
  }
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

bool Says(const TypedValue& message, absl::string_view name, size_t parts) {
  return message.kind == TypedValue::kTuple && message.items.size() >= parts && parts > 0 &&
         message.items[0].IsText(name);
}

std::string TextAt(const TypedValue& message, size_t index) {
  bool there = index < message.items.size() && message.items[index].kind == TypedValue::kText;
  return there ? message.items[index].text : "";
}

absl::Status MessageChannel::Send(const TypedValue& message, absl::Time deadline) {
  std::string bytes(kHeaderBytes, '\0');
  bytes += EncodeTypedValue(message);
  absl::little_endian::Store32(bytes.data(), static_cast<uint32_t>(bytes.size() - kHeaderBytes));
  absl::string_view rest = bytes;
  while (!rest.empty()) {
    ssize_t n = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      rest.remove_prefix(static_cast<size_t>(n));
    } else if (WouldBlock()) {
      SLUICE_RETURN_IF_ERROR(Ready(fd_, POLLOUT, deadline));
    } else {
      return Gone();
    }
  }
  return absl::OkStatus();
}

absl::Status MessageChannel::Fill(size_t bytes, absl::Time deadline) {
  char part[kReadBytes];
  while (pending_.size() < bytes) {
    ssize_t n = recv(fd_, part, sizeof part, MSG_DONTWAIT);
    if (n > 0) {
      pending_.append(part, static_cast<size_t>(n));
    } else if (n == 0) {
      return Gone();
    } else if (WouldBlock()) {
      SLUICE_RETURN_IF_ERROR(Ready(fd_, POLLIN, deadline));
    } else {
      return Gone();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TypedValue> MessageChannel::Receive(absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(Fill(kHeaderBytes, deadline));
  size_t size = absl::little_endian::Load32(pending_.data());
  if (size > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes; at most ", max_bytes_, " are read"));
  }
  SLUICE_RETURN_IF_ERROR(Fill(kHeaderBytes + size, deadline));
  auto message = DecodeTypedValue(absl::string_view(pending_).substr(kHeaderBytes, size));
  pending_.erase(0, kHeaderBytes + size);
  return message;
}

}  // namespace sluice
