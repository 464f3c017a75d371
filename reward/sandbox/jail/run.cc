#include "reward/sandbox/jail/run.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "reward/sandbox/jail/restrictions.h"
#include "reward/sandbox/jail/root_tree.h"

namespace sluice::jail {
namespace {

constexpr int kMaxArguments = 256;
char environment_path[] = "PATH=/usr/local/bin:/usr/bin:/bin", environment_home[] = "HOME=/work",
     environment_language[] = "LANG=C.UTF-8", environment_temporary[] = "TMPDIR=/tmp";
char* const kEnvironment[] = {environment_path, environment_home, environment_language, environment_temporary,
                              nullptr};

void Tell(int report, OutcomeKind kind, int value, const char* step = "") {
  Report record{kind, value, {}};
  std::snprintf(record.step, sizeof record.step, "%s", step);
  (void)!write(report, &record, sizeof record);
}

[[noreturn]] void Abandon(int report, const Failure& failure) {
  Tell(report, OutcomeKind::kSetupFailed, failure.error, failure.step);
  _exit(1);
}

// Every number but `kept`.
void CloseAllBut(unsigned kept) {
  if (kept > 0) syscall(SYS_close_range, 0u, kept - 1, 0u);
  syscall(SYS_close_range, kept + 1, ~0u, 0u);
}

// Pid 1: waits for the program, reaping whatever else ends, and takes the rest of the tree with it.
[[noreturn]] void Reap(pid_t program, int report) {
  CloseAllBut(static_cast<unsigned>(report));
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (Failure f = DropCapabilities()) Abandon(report, f);
  while (true) {
    int status;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == program) {
      Tell(report, OutcomeKind::kStatus, status);
      _exit(0);
    }
    if (ended < 0 && errno != EINTR) _exit(1);
  }
}

// Standard descriptors and the channel in their places; what was received lies above them.
Failure PlaceDescriptors(const RunStart& start) {
  const Descriptors& fds = *start.fds;
  for (int i = 0; i < 3; ++i) {
    if (Failure f = Check("dup2", dup2(fds[i], i))) return f;
  }
  return start.order->channel ? Check("dup2", dup2(fds[4], kChannelDescriptor)) : Failure{};
}

Failure MapPayload(int fd, uint64_t bytes, char*& text) {
  text = nullptr;
  if (bytes == 0) return {};
  void* memory = mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Check("mmap", -1);
  text = static_cast<char*>(memory);
  uint64_t done = 0;
  while (done < bytes) {
    const long got = pread(fd, text + done, bytes - done, static_cast<off_t>(done));
    if (got <= 0) return Check("read the payload", -1);
    done += static_cast<uint64_t>(got);
  }
  return {};
}

[[noreturn]] void Execute(char* text, const RunOrder& order, int report) {
  char* arguments[kMaxArguments + 1];
  uint32_t count = 0;
  for (; count < order.argument_count && count < kMaxArguments; ++count) {
    arguments[count] = text;
    text += std::strlen(text) + 1;
  }
  arguments[count] = nullptr;
  execve(arguments[0], arguments, kEnvironment);
  Tell(report, OutcomeKind::kExecFailed, errno, arguments[0]);
  _exit(127);
}

void DefaultSignals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The program's process up to the point where the candidate takes over.
PythonRun Become(const RunStart& start) {
  const int report = start.report;
  char* text;
  if (Failure f = MapPayload((*start.fds)[3], start.order->payload_bytes, text)) Abandon(report, f);
  if (Failure f = PlaceDescriptors(start)) Abandon(report, f);
  if (!start.order->python) DefaultSignals();
  setsid();
  umask(022);
  if (Failure f = Check("chdir", start.work >= 0 ? fchdir(start.work) : chdir(kScratch))) Abandon(report, f);
  if (Failure f = Restrict({start.candidate_id, start.without, start.ruleset}, *start.order))
    Abandon(report, f);
  const unsigned first = start.order->channel ? kChannelDescriptor + 1 : kChannelDescriptor;
  if (!start.order->python) {
    syscall(SYS_close_range, first, static_cast<unsigned>(report) - 1, 0u);
    syscall(SYS_close_range, static_cast<unsigned>(report) + 1, ~0u, 0u);
    Execute(text, *start.order, report);
  }
  syscall(SYS_close_range, first, ~0u, 0u);
  return {true, text, start.order->payload_bytes};
}

PythonRun LeadTree(const RunStart& start) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!(start.without & (kPartProc | kPartMount))) {
    if (Failure f = Check("mount /proc",
                          mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, kProcOptions))) {
      Abandon(start.report, f);
    }
  }
  const pid_t program = fork();
  if (program < 0) Abandon(start.report, Check("fork", program));
  if (program > 0) Reap(program, start.report);
  return Become(start);
}

}  // namespace

pid_t StartTree(const RunStart& start, int& pidfd, PythonRun& python) {
  unsigned long flags = CLONE_PIDFD | SIGCHLD;
  if (!(start.without & kPartPid)) flags |= CLONE_NEWPID;
  if (!(start.without & kPartMount)) flags |= CLONE_NEWNS;
  if (!(start.without & kPartIpc)) flags |= CLONE_NEWIPC;
  const long child = syscall(SYS_clone, flags, nullptr, &pidfd, nullptr, 0);
  if (child == 0) python = LeadTree(start);
  return static_cast<pid_t>(child);
}

}  // namespace sluice::jail
