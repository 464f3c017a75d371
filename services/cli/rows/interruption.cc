#include "services/cli/rows/interruption.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "services/cli/exit_code.h"

namespace sluice::cli {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void Raise(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event, &one, sizeof(one));  // fails only when it is raised
}

}  // namespace

Interruption::Interruption() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch_ = std::thread([this] { Watch(); });
}

Interruption::~Interruption() {
  Raise(end_);
  watch_.join();
  for (const int fd : {signals_, event_, end_}) close(fd);
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Interruption::Watch() {
  pollfd fds[2] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if ((fds[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) continue;
    if (token_.cancelled()) _exit(kInterrupted);
    token_.Cancel();
    Raise(event_);
  }
}

OnInterruption::OnInterruption(const Interruption& interruption, std::function<void()> react)
    : over_(eventfd(0, EFD_CLOEXEC)), wait_([this, fd = interruption.fd(), react = std::move(react)] {
        pollfd fds[2] = {{fd, POLLIN, 0}, {over_, POLLIN, 0}};
        while (poll(fds, 2, -1) < 0) {
        }
        if ((fds[0].revents & POLLIN) != 0) react();
      }) {}

OnInterruption::~OnInterruption() {
  Raise(over_);
  wait_.join();
  close(over_);
}

}  // namespace sluice::cli
