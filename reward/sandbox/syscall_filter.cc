#include "reward/sandbox/syscall_filter.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __x86_64__
#include <asm/prctl.h>
#endif

#include <cerrno>
#include <initializer_list>
#include <memory>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr const char* kAllowed[] = {
    // Files.
    "access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2",
    "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2",
    "fchown", "fchownat", "fdatasync", "fgetxattr", "flistxattr", "fstat", "fstatfs", "fsync", "ftruncate",
    "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "lchown", "lgetxattr", "link", "linkat",
    "listxattr", "llistxattr", "lseek", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open",
    "openat", "openat2", "pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2",
    "read", "readahead", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2", "rmdir",
    "sendfile", "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync_file_range", "tee",
    "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev",
    "memfd_create",
    // Waiting.
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd",
    "eventfd2", "poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4", "timerfd_create",
    "timerfd_gettime", "timerfd_settime",
    // Memory.
    "brk", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "msync", "munlock", "munlockall",
    "munmap",
    // Processes, threads and signals.
    "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_waitv", "get_robust_list", "getcpu",
    "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
    "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid", "getuid", "kill", "pause",
    "pidfd_open", "pidfd_send_signal", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
    "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
    "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
    "sched_yield", "set_robust_list", "set_tid_address", "setpgid", "setpriority", "setsid", "sigaltstack",
    "tgkill", "tkill", "vfork", "wait4", "waitid",
    // Identity: without a capability these reach only what the process is already.
    "setfsgid", "setfsuid", "setgid", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
    // Time.
    "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep",
    "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "times",
    // A pair of sockets among one's own processes.
    "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg",
    "sendto", "shutdown",
    // The machine.
    "capget", "getrandom", "sysinfo", "uname"};

// No program of the kind that is scored here asks for these, not even to see whether they are there.
constexpr const char* kKilled[] = {"acct",
                                   "add_key",
                                   "adjtimex",
                                   "bpf",
                                   "chroot",
                                   "clock_adjtime",
                                   "clock_settime",
                                   "delete_module",
                                   "fanotify_init",
                                   "fanotify_mark",
                                   "finit_module",
                                   "fsconfig",
                                   "fsmount",
                                   "fsopen",
                                   "fspick",
                                   "init_module",
                                   "io_uring_enter",
                                   "io_uring_register",
                                   "io_uring_setup",
                                   "ioperm",
                                   "iopl",
                                   "kcmp",
                                   "kexec_file_load",
                                   "kexec_load",
                                   "keyctl",
                                   "lookup_dcookie",
                                   "migrate_pages",
                                   "mount",
                                   "mount_setattr",
                                   "move_mount",
                                   "move_pages",
                                   "name_to_handle_at",
                                   "nfsservctl",
                                   "open_by_handle_at",
                                   "open_tree",
                                   "perf_event_open",
                                   "pidfd_getfd",
                                   "pivot_root",
                                   "process_madvise",
                                   "process_mrelease",
                                   "process_vm_readv",
                                   "process_vm_writev",
                                   "ptrace",
                                   "quotactl",
                                   "quotactl_fd",
                                   "reboot",
                                   "request_key",
                                   "setdomainname",
                                   "sethostname",
                                   "setns",
                                   "settimeofday",
                                   "stime",
                                   "swapoff",
                                   "swapon",
                                   "syslog",
                                   "umount",
                                   "umount2",
                                   "unshare",
                                   "userfaultfd",
                                   "uselib",
                                   "vhangup"};

constexpr const char* kRefused[] = {  // EACCES: there, but not for the program
    "accept", "accept4", "bind", "capset", "connect", "listen", "setgroups", "setsockopt", "socket"};

constexpr uint64_t kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint64_t kLow = 0xffffffff;  // the kernel reads these arguments as 32-bit numbers

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &seccomp_release) {}
  scmp_filter_ctx get() const { return context_.get(); }

  // A name this libseccomp does not know stays at the default, which refuses it.
  void Add(uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || number < 0) return;
    const int rc = seccomp_rule_add_array(context_.get(), action, number,
                                          static_cast<unsigned>(conditions.size()), conditions.begin());
    if (rc != 0 && status_.ok()) status_ = absl::ErrnoToStatus(-rc, absl::StrCat("seccomp rule for ", name));
  }
  const absl::Status& status() const { return status_; }

 private:
  std::unique_ptr<void, decltype(&seccomp_release)> context_;
  absl::Status status_;
};

scmp_arg_cmp Equals(unsigned argument, uint64_t value) {
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, kLow, value & kLow);
}

void AddNumbered(Filter& filter, const char* name, unsigned argument, std::initializer_list<uint64_t> values,
                 uint32_t action = SCMP_ACT_ALLOW) {
  for (uint64_t value : values) filter.Add(action, name, {Equals(argument, value)});
}

void AddConditional(Filter& filter) {
  // Threads and processes, but no namespace. clone3 hides its flags in memory; ENOSYS makes libc use clone.
  filter.Add(SCMP_ACT_ALLOW, "clone", {SCMP_CMP(0, SCMP_CMP_MASKED_EQ, kNamespaceFlags, 0)});
  for (uint64_t flag = 1; flag <= kNamespaceFlags; flag <<= 1) {
    if (flag & kNamespaceFlags) {
      filter.Add(SCMP_ACT_KILL_PROCESS, "clone", {SCMP_CMP(0, SCMP_CMP_MASKED_EQ, flag, flag)});
    }
  }
  AddNumbered(filter, "socketpair", 0, {AF_UNIX});
  // Not TIOCSTI, TIOCLINUX nor what else devices understand.
  AddNumbered(filter, "ioctl", 1, {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX});
  AddNumbered(filter, "fcntl", 1,
              {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ, F_SETPIPE_SZ,
               F_ADD_SEALS, F_GET_SEALS, F_GETOWN});
  // Locks on the shared read-only files would be a channel between boxes: they succeed and hold nothing.
  AddNumbered(filter, "fcntl", 1, {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}, SCMP_ACT_ERRNO(0));
  filter.Add(SCMP_ACT_ERRNO(0), "flock");
  AddNumbered(
      filter, "prctl", 0,
      {PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS,
       PR_SET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_TIMERSLACK, PR_SET_TIMERSLACK,
       PR_GET_KEEPCAPS, PR_GET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER, PR_SET_VMA});
#ifdef __x86_64__
  AddNumbered(filter, "arch_prctl", 0, {ARCH_SET_FS, ARCH_GET_FS, ARCH_SET_GS, ARCH_GET_GS});
#endif
  AddNumbered(filter, "personality", 0, {0, 0xffffffff});
  // Own limits, but not that on core dumps: see the jail's limits.
  for (const char* name : {"prlimit64", "setrlimit"}) {
    const unsigned resource = name[0] == 'p' ? 1 : 0;
    for (uint64_t r = 0; r < RLIM_NLIMITS; ++r) {
      if (r == RLIMIT_CORE) continue;
      if (resource == 1) {
        filter.Add(SCMP_ACT_ALLOW, name, {Equals(0, 0), Equals(1, r)});
      } else {
        filter.Add(SCMP_ACT_ALLOW, name, {Equals(0, r)});
      }
    }
  }
  filter.Add(SCMP_ACT_ALLOW, "prlimit64",
             {Equals(0, 0), Equals(1, RLIMIT_CORE), SCMP_CMP(2, SCMP_CMP_EQ, 0)});
}

absl::StatusOr<std::string> Export(const Filter& filter) {
  const int fd = memfd_create("filter", MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  const int rc = seccomp_export_bpf(filter.get(), fd);
  std::string program(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  const ssize_t got = pread(fd, program.data(), program.size(), 0);
  close(fd);
  if (rc != 0) return absl::ErrnoToStatus(-rc, "seccomp_export_bpf");
  if (got != static_cast<ssize_t>(program.size()))
    return absl::InternalError("short read of the seccomp program");
  return program;
}

}  // namespace

absl::StatusOr<std::string> BuildSyscallFilter() {
  Filter filter;
  if (filter.get() == nullptr) return absl::UnavailableError("libseccomp cannot start");
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a binary tree over the numbers
  for (const char* name : kAllowed) filter.Add(SCMP_ACT_ALLOW, name);
  for (const char* name : kKilled) filter.Add(SCMP_ACT_KILL_PROCESS, name);
  for (const char* name : kRefused) filter.Add(SCMP_ACT_ERRNO(EACCES), name);
  AddConditional(filter);
  if (!filter.status().ok()) return filter.status();
  return Export(filter);
}

}  // namespace sluice
