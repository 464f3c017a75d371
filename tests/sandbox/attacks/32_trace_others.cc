#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attempt.h"
int main() {
  char mine[8] = {0};
  iovec local{mine, sizeof mine}, remote{(void*)0x400000, sizeof mine};
  int targets[] = {getppid(), 1};
  for (int pid : targets) {
    if (pid == getpid() || pid == 0) continue;
    AttemptApart("ptrace attach", [&] { return ptrace(PTRACE_ATTACH, pid, 0, 0); });
    AttemptApart("ptrace seize", [&] { return ptrace(PTRACE_SEIZE, pid, 0, 0); });
    AttemptApart("process_vm_readv", [&] { return process_vm_readv(pid, &local, 1, &remote, 1, 0); });
    AttemptApart("process_vm_writev", [&] { return process_vm_writev(pid, &local, 1, &remote, 1, 0); });
    AttemptApart("pidfd_getfd", [&] {
      long descriptor = syscall(SYS_pidfd_open, pid, 0);
      return descriptor < 0 ? descriptor : syscall(438 /* pidfd_getfd */, descriptor, 0, 0);
    });
    AttemptApart("kcmp", [&] { return syscall(SYS_kcmp, getpid(), pid, 0, 0, 0); });
    AttemptApart("process_madvise", [&] {
      long descriptor = syscall(SYS_pidfd_open, pid, 0);
      return descriptor < 0 ? descriptor : syscall(440 /* process_madvise */, descriptor, &remote, 1, 4, 0);
    });
  }
  AttemptApart("ptrace traceme", [] { return ptrace(PTRACE_TRACEME, 0, 0, 0); });
  puts("done: contained");
}
