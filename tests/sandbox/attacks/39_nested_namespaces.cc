#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "attempt.h"
struct Clone3 {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};
long CloneFlags(unsigned long flags) {
  long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child;
}
long Clone3Flags(unsigned long flags) {
  Clone3 arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  long child = syscall(435, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  return child;
}
int main() {
  struct {
    const char* name;
    unsigned long flag;
  } spaces[] = {{"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
                {"network", CLONE_NEWNET},   {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
                {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};
  char name[64];
  for (auto& space : spaces) {
    snprintf(name, sizeof name, "unshare %s", space.name);
    AttemptApart(name, [&] { return unshare(space.flag); });
    snprintf(name, sizeof name, "unshare user and %s", space.name);
    AttemptApart(name, [&] { return unshare(CLONE_NEWUSER | space.flag); });
    if (space.flag == 0x80) continue;  // no flag of clone()
    snprintf(name, sizeof name, "clone %s", space.name);
    AttemptApart(name, [&] { return CloneFlags(space.flag); });
    snprintf(name, sizeof name, "clone user and %s", space.name);
    AttemptApart(name, [&] { return CloneFlags(CLONE_NEWUSER | space.flag); });
    snprintf(name, sizeof name, "clone3 %s", space.name);
    AttemptApart(name, [&] { return Clone3Flags(CLONE_NEWUSER | space.flag); });
  }
  puts("done: contained");
}
