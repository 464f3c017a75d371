#include "reward/sandbox/jail/enclosure.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "reward/sandbox/jail/message.h"
#include "reward/sandbox/jail/restrictions.h"
#include "reward/sandbox/jail/root_tree.h"
#include "reward/sandbox/jail/slot.h"

namespace sluice::jail {
namespace {

void Reply(int socket, const Failure& failure, const int* fds = nullptr, int fd_count = 0) {
  Answer answer{Kind::kReady, failure.error, {}};
  std::memcpy(answer.step, failure.step, sizeof answer.step);
  Send(socket, &answer, sizeof answer, fds, fd_count);
}

[[noreturn]] void Refuse(int control, const Failure& failure) {
  Reply(control, failure);
  _exit(1);
}

// Lets the service map the users and becomes the map's root, a nobody on the host.
Failure ChangeUser(int control, const Setup& setup) {
  Kind kind = Kind::kUnshared;
  Send(control, &kind, sizeof kind);
  Descriptors none;
  if (Receive(control, &kind, sizeof kind, none) != sizeof kind || kind != Kind::kMapped) _exit(1);
  if (setup.many_users) {
    if (Failure f = Check("setgroups", setgroups(0, nullptr))) return f;
  }
  if (Failure f = Check("setresgid", setresgid(0, 0, 0))) return f;
  return Check("setresuid", setresuid(0, 0, 0));
}

struct NamespaceKind {
  uint32_t part;
  int flag;
  const char* property;
};
constexpr NamespaceKind kOuterNamespaces[] = {
    {kPartUser, CLONE_NEWUSER, "user_namespace"},
    {kPartMount, CLONE_NEWNS, "mount_namespace"},
    {kPartPid, CLONE_NEWPID, "pid_namespace"},
    {kPartNetwork, CLONE_NEWNET, "network_namespace"},
    {kPartIpc, CLONE_NEWIPC, "ipc_namespace"},
    {kPartUts, CLONE_NEWUTS, "uts_namespace"},
    {kPartControlGroupNamespace, CLONE_NEWCGROUP, "cgroup_namespace"}};

// Out of the host's namespaces, with the parts of the new root in hand, and no longer the host's user.
Failure LeaveHost(int control, const Setup& setup, int filter, RootSources& sources) {
  if (!(setup.without & kPartSeccomp)) {
    if (Failure f = LoadFilter(filter, setup.filter_bytes)) return About("seccomp", f);
  }
  for (const NamespaceKind& n : kOuterNamespaces) {
    if (setup.without & n.part) continue;
    if (Failure f = About(n.property, Check("unshare", unshare(n.flag)))) return f;
  }
  if (!(setup.without & kPartMount)) {
    if (Failure f = OpenSources(setup, sources)) return About("mount_namespace", f);
  }
  return setup.without & kPartUser ? Failure{} : About("user_namespace", ChangeUser(control, setup));
}

void ServeSlotOrder(int control, const SlotOrder& order, int socket, const Setup& setup, PythonRun& run) {
  int pidfd = -1;
  const pid_t child = fork();
  if (child == 0) {
    close(control);
    run = ServeSlot(socket, order, setup);
    return;
  }
  Failure failure = Check("fork", child);
  if (!failure) {
    pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    failure = Check("pidfd_open", pidfd);
  }
  Reply(control, failure, &pidfd, failure ? 0 : 1);
  if (pidfd >= 0) close(pidfd);
}

// Pid 1 of the jail: forks slots on request and reaps what is left to it.
PythonRun ServeSlots(int control, const Setup& setup) {
  signal(SIGCHLD, SIG_IGN);
  Reply(control, Failure{});
  while (true) {
    SlotOrder order{};
    Descriptors fds;
    const long got = Receive(control, &order, sizeof order, fds);
    if (got <= 0) _exit(0);
    if (got != sizeof order || order.kind != Kind::kSpawnSlot || fds.count != 1) continue;
    PythonRun run;
    ServeSlotOrder(control, order, fds[0], setup, run);
    if (run.valid) return run;
  }
}

}  // namespace

PythonRun Enclose(int control) {
  static Setup setup;
  Descriptors fds;
  if (Receive(control, &setup, sizeof setup, fds) != sizeof setup || setup.kind != Kind::kSetup) _exit(1);
  static RootSources sources;
  if (Failure f = LeaveHost(control, setup, fds[0], sources)) Refuse(control, f);
  const pid_t child = fork();
  if (child < 0) Refuse(control, Check("fork", child));
  if (child > 0) {
    close(control);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    _exit(0);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!(setup.without & kPartMount)) {
    if (Failure f = BuildRootTree(setup, sources)) Refuse(control, About("mount_namespace", f));
    if (Failure f = MountProc(setup)) Refuse(control, About("proc", f));
    if (Failure f = EnterRootTree()) Refuse(control, About("mount_namespace", f));
  }
  return ServeSlots(control, setup);
}

}  // namespace sluice::jail
