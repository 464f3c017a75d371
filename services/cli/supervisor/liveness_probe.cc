#include "services/cli/supervisor/liveness_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace sluice::cli {
namespace {

// A page that no service has: the answer is short.
constexpr absl::string_view kQuestion = "GET /alive HTTP/1.0\r\n\r\n";

bool ParseAddress(absl::string_view text, sockaddr_in& out) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return false;
  }
  out = {};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<uint16_t>(port));
  return inet_pton(AF_INET, std::string(text.substr(0, colon)).c_str(), &out.sin_addr) == 1;
}

bool ComesLater(int error) { return error == EAGAIN || error == EINPROGRESS || error == ENOTCONN; }

}  // namespace

LivenessProbe::LivenessProbe(std::string address, absl::Duration interval, absl::Duration limit)
    : address_(std::move(address)), interval_(interval), limit_(limit) {}

LivenessProbe::~LivenessProbe() { Close(); }

bool LivenessProbe::Look(absl::Time now) {
  if (socket_ < 0) {
    if (now < next_) return true;
    Ask();
    silence_ = absl::ZeroDuration();
    last_look_ = now;
  }
  silence_ += std::clamp(now - last_look_, absl::ZeroDuration(), kLongestGap);
  last_look_ = now;
  if (Hear() == Answer::kSilence) return silence_ <= limit_;
  Close();
  next_ = now + interval_;
  return true;
}

void LivenessProbe::Ask() {
  sockaddr_in to;
  if (!ParseAddress(address_, to)) return;
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 && !ComesLater(errno))
    Close();
}

LivenessProbe::Answer LivenessProbe::Hear() {
  if (socket_ < 0) return Answer::kNone;
  if (!asked_) {
    if (send(socket_, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0)
      return ComesLater(errno) ? Answer::kSilence : Answer::kCame;
    asked_ = true;
  }
  char byte = 0;
  if (recv(socket_, &byte, 1, 0) < 0) return ComesLater(errno) ? Answer::kSilence : Answer::kCame;
  return Answer::kCame;
}

void LivenessProbe::Close() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  asked_ = false;
}

}  // namespace sluice::cli
