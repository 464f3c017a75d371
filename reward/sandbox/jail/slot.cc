#include "reward/sandbox/jail/slot.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "reward/sandbox/jail/box_mounts.h"
#include "reward/sandbox/jail/message.h"
#include "reward/sandbox/jail/root_tree.h"

namespace sluice::jail {
namespace {

union Order {
  Kind kind;
  BoxOrder box;
  RunOrder run;
};

class Slot {
 public:
  Slot(int socket, const SlotOrder& order, const Setup& setup)
      : socket_(socket), candidate_id_(order.candidate_id), without_(setup.without), setup_(setup) {}

  PythonRun Serve();

 private:
  Failure Settle();
  PythonRun Handle(const Order& order, Descriptors& fds);
  PythonRun Start(const RunOrder& order, const Descriptors& fds);
  void Finish();
  void Answer(const Failure& failure, int fd = -1);
  void SendOutcome(const Report& report, const rusage& usage);

  const int socket_;
  const uint32_t candidate_id_, without_;
  const Setup& setup_;
  BoxMounts mounts_;
  int report_[2] = {-1, -1};
  pid_t tree_ = -1;
  int tree_pidfd_ = -1;
};

void Slot::Answer(const Failure& failure, int fd) {
  jail::Answer answer{Kind::kReady, failure.error, {}};
  std::memcpy(answer.step, failure.step, sizeof answer.step);
  Send(socket_, &answer, sizeof answer, &fd, fd >= 0 ? 1 : 0);
}

// Once the service has put the process into its control group: namespaces that the slot's boxes share in
// turn.
Failure Slot::Settle() {
  struct {
    uint32_t part;
    int flag;
    const char* property;
  } const kinds[] = {{kPartMount, CLONE_NEWNS, "mount_namespace"},
                     {kPartNetwork, CLONE_NEWNET, "network_namespace"},
                     {kPartUts, CLONE_NEWUTS, "uts_namespace"},
                     {kPartControlGroupNamespace, CLONE_NEWCGROUP, "cgroup_namespace"}};
  for (const auto& kind : kinds) {
    if (without_ & kind.part) continue;
    if (Failure f = About(kind.property, Check("unshare", unshare(kind.flag)))) return f;
  }
  if (!(without_ & kPartUts)) {
    if (Failure f = Check("sethostname", sethostname("box", 3))) return f;
  }
  return Check("pipe", pipe2(report_, O_CLOEXEC | O_NONBLOCK));
}

PythonRun Slot::Start(const RunOrder& order, const Descriptors& fds) {
  PythonRun python;
  Failure failure = mounts_.Resize(order.file_bytes, order.files);
  if (!failure) {
    const int ruleset = without_ & kPartLandlock ? -1 : mounts_.ruleset();
    tree_ = StartTree({&order, &fds, candidate_id_, without_, ruleset, report_[1], mounts_.work()},
                      tree_pidfd_, python);
    if (python.valid) return python;
    failure = Check("clone", tree_);
  }
  if (failure) {
    Report report{OutcomeKind::kSetupFailed, failure.error, {}};
    std::memcpy(report.step, failure.step, sizeof report.step);
    SendOutcome(report, rusage{});
    return python;
  }
  Kind kind = Kind::kStarted;
  Send(socket_, &kind, sizeof kind, &tree_pidfd_, 1);
  return python;
}

void Slot::SendOutcome(const Report& report, const rusage& usage) {
  Outcome outcome{Kind::kDone, report.kind, report.value, {}, 0, usage.ru_maxrss};
  std::memcpy(outcome.step, report.step, sizeof outcome.step);
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    outcome.cpu_microseconds += int64_t{time.tv_sec} * 1000000 + time.tv_usec;
  }
  Send(socket_, &outcome, sizeof outcome);
}

// Without a pid namespace what is left of a tree becomes this process's children.
void KillOrphans() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  do {
    FILE* children = fopen(path, "re");
    if (children == nullptr) return;
    for (int child; fscanf(children, "%d", &child) == 1;) kill(child, SIGKILL);
    fclose(children);
  } while (waitpid(-1, nullptr, 0) > 0);
}

// The tree's pid 1 is gone, and with it, the kernel sees to that, every process of its namespace.
void Slot::Finish() {
  int status;
  rusage usage{};
  while (wait4(tree_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  close(tree_pidfd_);
  tree_ = tree_pidfd_ = -1;
  if (without_ & kPartPid) KillOrphans();
  Report report{OutcomeKind::kVanished, 0, {}}, record;
  bool first = true;
  while (read(report_[0], &record, sizeof record) == sizeof record) {
    if (first) report = record;
    first = false;
  }
  SendOutcome(report, usage);
}

PythonRun Slot::Handle(const Order& order, Descriptors& fds) {
  switch (order.kind) {
    case Kind::kSettled:
      Answer(Settle());
      break;
    case Kind::kOpenBox: {
      const bool host = without_ & kPartMount;
      Failure failure = host ? mounts_.Adopt(fds.Take(0), setup_)
                             : mounts_.Open(candidate_id_, order.box.bytes, order.box.files);
      if (failure || host) {
        Answer(failure);
        break;
      }
      const int folder = open(kScratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      Answer(Check("open the scratch folder", folder), folder);
      if (folder >= 0) close(folder);
      break;
    }
    case Kind::kCloseBox:
      Answer(mounts_.Close());
      break;
    case Kind::kStart:
      return Start(order.run, fds);
    default:
      break;
  }
  return {};
}

PythonRun Slot::Serve() {
  while (true) {
    pollfd waits[2] = {{socket_, POLLIN, 0}, {tree_pidfd_, POLLIN, 0}};
    if (poll(waits, tree_pidfd_ >= 0 ? 2 : 1, -1) < 0) continue;
    if (tree_pidfd_ >= 0 && waits[1].revents) Finish();
    if (!waits[0].revents) continue;
    Order order{};
    Descriptors fds;
    if (Receive(socket_, &order, sizeof order, fds) <= 0) _exit(0);
    PythonRun python = Handle(order, fds);
    if (python.valid) return python;
  }
}

}  // namespace

PythonRun ServeSlot(int socket, const SlotOrder& order, const Setup& setup) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_DFL);
  if (setup.without & kPartPid) prctl(PR_SET_CHILD_SUBREAPER, 1);
  dup2(STDIN_FILENO, kControlDescriptor);  // keeps the number taken: what arrives lies above a run's own
  return Slot(fcntl(socket, F_DUPFD_CLOEXEC, 16), order, setup).Serve();
}

}  // namespace sluice::jail
