#include "services/host/stop_control.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace sluice {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

StopControl::StopControl(absl::Duration limit)
    : limit_(limit), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { Watch(); }) {}

StopControl::~StopControl() {
  {
    absl::MutexLock lock(&mu_);
    over_ = true;
  }
  Wake();
  thread_.join();
  if (wake_ >= 0) close(wake_);
}

void StopControl::Wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));  // fails only when it is set
}

void StopControl::OnRequest(std::function<void()> on_request) {
  {
    absl::MutexLock lock(&mu_);
    on_request_ = std::move(on_request);
    if (!requested_) return;
  }
  Wake();  // the request came before
}

void StopControl::Begin() {
  {
    absl::MutexLock lock(&mu_);
    deadline_ = std::min(deadline_, absl::Now() + limit_);
    on_request_ = nullptr;
  }
  Wake();
}

void StopControl::ReportExtensionsTo(std::string path) {
  absl::MutexLock lock(&mu_);
  report_path_ = std::move(path);
}

void StopControl::Extend(absl::Duration by) {
  std::string path, report;
  {
    absl::MutexLock lock(&mu_);
    if (deadline_ == absl::InfiniteFuture()) return;
    deadline_ += by;
    extended_ += by;
    LogInfo("stop_extended", {{"seconds", absl::ToDoubleSeconds(by)}, {"waiting_for", waiting_for_}});
    path = report_path_;
    // The text is ours and has no quotes.
    report = absl::StrCat("{\"pid\":", getpid(), ",\"until\":", absl::ToUnixSeconds(deadline_) + 1,
                          ",\"waiting_for\":\"", waiting_for_, "\"}\n");
  }
  Wake();
  if (path.empty()) return;
  const absl::Status written = WriteFileAtomically(path, report);
  if (!written.ok()) LogWarning("stop_not_reported", {{"error", written.ToString()}});
}

absl::Time StopControl::deadline() const {
  absl::MutexLock lock(&mu_);
  return deadline_;
}

void StopControl::WaitingFor(std::string what) {
  absl::MutexLock lock(&mu_);
  waiting_for_ = std::move(what);
}

int StopControl::TimeoutMillis() const {
  absl::MutexLock lock(&mu_);
  if (deadline_ == absl::InfiniteFuture()) return -1;
  const absl::Duration left = std::clamp(deadline_ - absl::Now(), absl::ZeroDuration(), absl::Hours(1));
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

void StopControl::Requested(const char* signal) {
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(requested_, true)) return;
    deadline_ = std::min(deadline_, absl::Now() + limit_);
  }
  LogInfo("stopping", {{"signal", signal}, {"limit_seconds", absl::ToDoubleSeconds(limit_)}});
}

void StopControl::TimedOut() {
  absl::MutexLock lock(&mu_);
  if (over_) return;
  LogError("stop_timed_out",
           {{"seconds", absl::ToDoubleSeconds(limit_ + extended_)}, {"waiting_for", waiting_for_}});
  _exit(kTimedOut);
}

void StopControl::CallOnRequest() {
  absl::MutexLock lock(&mu_);
  if (!requested_ || on_request_ == nullptr) return;
  on_request_();
  on_request_ = nullptr;
}

void StopControl::Watch() {
  const sigset_t signals = StopSignals();
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  pollfd fds[2] = {{wake_, POLLIN, 0}, {signal_fd, POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, TimeoutMillis()) < 0 && errno != EINTR) break;
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t woken = read(wake_, &count, sizeof(count));
    bool stopping = false;
    {
      absl::MutexLock lock(&mu_);
      if (over_) break;
      stopping = deadline_ != absl::InfiniteFuture();
    }
    for (signalfd_siginfo info; read(signal_fd, &info, sizeof(info)) == sizeof(info);) {
      if (stopping && info.ssi_signo == SIGINT) {
        LogWarning("stopped_at_once", {{"signal", "SIGINT"}});
        _exit(kInterrupted);
      }
      Requested(info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
      stopping = true;
    }
    CallOnRequest();
    if (absl::Now() >= deadline()) TimedOut();
  }
  if (signal_fd >= 0) close(signal_fd);
}

}  // namespace sluice
