#include "services/cli/chat/terminal_input.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

namespace sluice::cli {
namespace {

constexpr int kPeriodMs = 50;

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

TerminalInput::TerminalInput(int fd) : fd_(fd) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

TerminalInput::~TerminalInput() {
  if (signals_ >= 0) close(signals_);
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

int TerminalInput::TakeSignal() {
  signalfd_siginfo info;
  return read(signals_, &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

std::optional<std::string> TerminalInput::ReadLine() {
  while (!left_) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (ended_) {
      if (buffer_.empty()) return std::nullopt;
      return std::exchange(buffer_, "");
    }
    pollfd fds[2] = {{fd_, POLLIN, 0}, {signals_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    if (TakeSignal() != 0) left_ = true;
    if (fds[0].revents == 0) continue;
    char bytes[4096];
    const ssize_t got = read(fd_, bytes, sizeof(bytes));
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
    ended_ = got == 0 || (got < 0 && errno != EINTR);
  }
  return std::nullopt;
}

void TerminalInput::RunInterruptible(absl::FunctionRef<void(const CancelToken&)> body) {
  const CancelToken token;
  std::atomic<bool> done{false};
  std::thread watch([&] {
    while (!done) {
      pollfd fd = {signals_, POLLIN, 0};
      poll(&fd, 1, kPeriodMs);
      const int signal = TakeSignal();
      if (signal == 0) continue;
      if (token.cancelled() || signal == SIGTERM) left_ = true;
      token.Cancel();
    }
  });
  body(token);
  done = true;
  watch.join();
}

}  // namespace sluice::cli
