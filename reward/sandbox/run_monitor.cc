#include "reward/sandbox/run_monitor.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "reward/sandbox/jail/message.h"

namespace sluice {
namespace {

constexpr int64_t kErrorOutputKept = 64 << 10;
constexpr absl::Duration kLongestTick = absl::Milliseconds(100);
constexpr absl::Duration kKillPatience = absl::Seconds(2);
constexpr WatchedRun::Source kSources[] = {WatchedRun::Source::kOutput, WatchedRun::Source::kErrorOutput,
                                           WatchedRun::Source::kSlot, WatchedRun::Source::kTimer};

}  // namespace

absl::Duration MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

void WatchedRun::SetTimer(absl::Duration after) {
  const timespec when = absl::ToTimespec(std::max(after, absl::Microseconds(50)));
  const itimerspec once{{0, 0}, when};
  timerfd_settime(setup_.timer.get(), 0, &once, nullptr);
}

void WatchedRun::ArmTimer() {
  absl::MutexLock lock(&mu_);
  SetTimer(std::min(tick_, setup_.limits.wall));
}

int WatchedRun::descriptor(Source source) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  switch (source) {
    case Source::kOutput:
      return setup_.output.get();
    case Source::kErrorOutput:
      return setup_.error_output.get();
    case Source::kSlot:
      return setup_.slot_socket;
    case Source::kTimer:
      return setup_.timer.get();
  }
  return -1;
}

bool WatchedRun::decided() {
  absl::MutexLock lock(&mu_);
  return decided_;
}

CgroupUsage WatchedRun::Used() const {
  return setup_.group == nullptr ? CgroupUsage{} : setup_.group->Usage();
}

bool WatchedRun::MemoryIsOver(const CgroupUsage& used) const {
  return used.memory_kills > setup_.before.memory_kills ||
         (setup_.memory_unbounded && used.memory_bytes > setup_.limits.memory_bytes);
}

void WatchedRun::Kill(RunEnd reason) {
  absl::MutexLock lock(&mu_);
  KillLocked(reason);
}

void WatchedRun::KillLocked(RunEnd reason) {
  if (decided_) return;
  if (!killed_) {
    killed_ = true;
    kill_reason_ = reason;
    kill_deadline_ = MonotonicNow() + kKillPatience;
    SetTimer(kKillPatience);
  }
  // Before the slot has sent it there is nothing to signal: ReceiveFromSlot comes back here.
  if (tree_.valid()) syscall(SYS_pidfd_send_signal, tree_.get(), SIGKILL, nullptr, 0);
}

void WatchedRun::Announce() {
  absl::MutexLock lock(&mu_);
  ended_ = true;
}

bool WatchedRun::AwaitEnd(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithDeadline(absl::Condition(&ended_), deadline);
}

RunResult WatchedRun::TakeResult() {
  absl::MutexLock lock(&mu_);
  return std::move(result_);
}

void WatchedRun::Drain(FileDescriptor& from, std::string& into, int64_t keep, int64_t& seen, bool& closed) {
  char buffer[64 << 10];
  while (!closed) {
    const ssize_t got = read(from.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      closed = true;
      return;
    }
    const int64_t room = keep - static_cast<int64_t>(into.size());
    if (room > 0) into.append(buffer, static_cast<size_t>(std::min<int64_t>(room, got)));
    seen += got;
    if (seen > setup_.limits.output_bytes) {
      result_.output_cut = true;
      KillLocked(RunEnd::kOutputLimit);
      if (killed_) return;  // the rest is nobody's
    }
  }
}

void WatchedRun::DrainAll() {
  Drain(setup_.output, result_.output, setup_.limits.output_bytes, output_seen_, output_closed_);
  Drain(setup_.error_output, result_.error_output, std::min(kErrorOutputKept, setup_.limits.output_bytes),
        error_seen_, error_closed_);
}

bool WatchedRun::Handle(Source source) {
  absl::MutexLock lock(&mu_);
  if (decided_) return true;
  switch (source) {
    case Source::kOutput:
      Drain(setup_.output, result_.output, setup_.limits.output_bytes, output_seen_, output_closed_);
      return output_closed_ || result_.output_cut;
    case Source::kErrorOutput:
      Drain(setup_.error_output, result_.error_output, std::min(kErrorOutputKept, setup_.limits.output_bytes),
            error_seen_, error_closed_);
      return error_closed_ || result_.output_cut;
    case Source::kSlot:
      ReceiveFromSlot();
      return decided_;
    case Source::kTimer: {
      uint64_t expirations;
      (void)!read(setup_.timer.get(), &expirations, sizeof expirations);
      CheckLimits();
      return decided_;
    }
  }
  return true;
}

void WatchedRun::CheckLimits() {
  const absl::Duration now = MonotonicNow();
  if (killed_) {
    if (now < kill_deadline_) return SetTimer(kill_deadline_ - now);
    if (setup_.group != nullptr) setup_.group->Kill();
    return Fail("the sandbox could not end the process tree in time");
  }
  const CgroupUsage used = Used();
  const absl::Duration cpu = used.cpu - setup_.before.cpu;
  const absl::Duration wall_left = setup_.start + setup_.limits.wall - now;
  if (MemoryIsOver(used)) return KillLocked(RunEnd::kMemoryLimit);
  if (wall_left <= absl::ZeroDuration() || cpu >= setup_.limits.cpu) return KillLocked(RunEnd::kTimeLimit);
  tick_ = std::min(tick_ * 2, kLongestTick);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const absl::Duration cpu_left = std::max((setup_.limits.cpu - cpu) / cores, absl::Milliseconds(1));
  SetTimer(std::min({tick_, wall_left, cpu_left}));
}

void WatchedRun::ReceiveFromSlot() {
  jail::Outcome record{};
  jail::Descriptors fds;
  const long got = jail::Receive(setup_.slot_socket, &record, sizeof record, fds, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    setup_.watcher->SlotFailed();
    if (Used().memory_kills > setup_.before.memory_kills) {
      record.outcome = jail::OutcomeKind::kVanished;
      return Finish(record);
    }
    return Fail("the sandbox's slot has ended");
  }
  if (record.kind == jail::Kind::kStarted) {
    tree_.Reset(fds.Take(0));
    if (killed_) KillLocked(kill_reason_);
  } else if (record.kind == jail::Kind::kDone && got == sizeof record) {
    Finish(record);
  }
}

void WatchedRun::Fail(const std::string& error) {
  setup_.watcher->SlotFailed();
  result_.end = RunEnd::kInfrastructure;
  result_.error = error;
  result_.wall = MonotonicNow() - setup_.start;
  decided_ = true;
}

void WatchedRun::Finish(const jail::Outcome& outcome) {
  const CgroupUsage used = Used();
  DrainAll();
  result_.wall = MonotonicNow() - setup_.start;
  result_.cpu = std::max(used.cpu - setup_.before.cpu, absl::Microseconds(outcome.cpu_microseconds));
  // A peak that the kernel cannot count anew says something only if this run raised it.
  const bool raised = used.peak_memory_bytes > setup_.before.peak_memory_bytes;
  result_.peak_memory_bytes =
      raised ? used.peak_memory_bytes - setup_.before.memory_bytes : outcome.peak_kilobytes * 1024;
  Decide(outcome, used);
  decided_ = true;
}

void WatchedRun::Decide(const jail::Outcome& outcome, const CgroupUsage& used) {
  const bool refused_forks = used.refused_forks > setup_.before.refused_forks;
  if (outcome.outcome == jail::OutcomeKind::kSetupFailed) {
    result_.end = RunEnd::kInfrastructure;
    result_.error = std::string(absl::ErrnoToStatus(outcome.value, outcome.step).message());
  } else if (MemoryIsOver(used)) {
    result_.end = RunEnd::kMemoryLimit;
  } else if (result_.output_cut) {
    result_.end = RunEnd::kOutputLimit;
  } else if (killed_) {
    result_.end = kill_reason_ == RunEnd::kTimeLimit && refused_forks ? RunEnd::kProcessLimit : kill_reason_;
  } else if (outcome.outcome == jail::OutcomeKind::kExecFailed) {
    result_.end = RunEnd::kExited;
    result_.exit_code = outcome.value == ENOENT ? 127 : 126;
    result_.error = absl::StrCat("cannot start ", outcome.step, ": ", std::strerror(outcome.value));
  } else if (outcome.outcome == jail::OutcomeKind::kVanished) {
    result_.end = RunEnd::kInfrastructure;
    result_.error = "the process tree vanished";
  } else if (result_.cpu >= setup_.limits.cpu) {
    result_.end = RunEnd::kTimeLimit;
  } else if (WIFSIGNALED(outcome.value)) {
    result_.end = refused_forks ? RunEnd::kProcessLimit : RunEnd::kSignalled;
    result_.signal = WTERMSIG(outcome.value);
  } else {
    result_.exit_code = WEXITSTATUS(outcome.value);
    result_.end = refused_forks && result_.exit_code != 0 ? RunEnd::kProcessLimit : RunEnd::kExited;
  }
}

RunMonitor::RunMonitor() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC)) {
  epoll_event event{EPOLLIN, {.u64 = 0}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  thread_ = std::thread([this] { Loop(); });
}

RunMonitor::~RunMonitor() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
  thread_.join();
}

absl::Status RunMonitor::Watch(std::shared_ptr<WatchedRun> run) {
  absl::MutexLock lock(&mu_);
  const uint64_t id = next_id_++;
  for (WatchedRun::Source source : kSources) {
    epoll_event event{EPOLLIN, {.u64 = id << 2 | static_cast<uint64_t>(source)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, run->descriptor(source), &event) == 0) continue;
    const int error = errno;
    Unwatch(*run);
    return absl::ErrnoToStatus(error, "epoll_ctl");
  }
  run->ArmTimer();
  runs_.emplace(id, std::move(run));
  return absl::OkStatus();
}

void RunMonitor::Unwatch(const WatchedRun& run) {
  for (WatchedRun::Source s : kSources) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, run.descriptor(s), nullptr);
}

void RunMonitor::Forget(uint64_t id) {
  absl::MutexLock lock(&mu_);
  runs_.erase(id);
}

void RunMonitor::Loop() {
  epoll_event events[64];
  while (true) {
    const int count = epoll_wait(epoll_.get(), events, 64, -1);
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[i].data.u64 >> 2;
      if (id == 0) return;
      std::shared_ptr<WatchedRun> run;
      {
        absl::MutexLock lock(&mu_);
        const auto found = runs_.find(id);
        if (found == runs_.end()) continue;
        run = found->second;
      }
      const auto source = static_cast<WatchedRun::Source>(events[i].data.u64 & 3);
      if (run->Handle(source)) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, run->descriptor(source), nullptr);
      if (!run->decided()) continue;
      Unwatch(*run);
      Forget(id);
      run->Announce();
    }
  }
}

}  // namespace sluice
