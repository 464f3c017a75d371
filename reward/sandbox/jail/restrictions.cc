#include "reward/sandbox/jail/restrictions.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace sluice::jail {
namespace {

constexpr int kMaxInstructions = 4096;
sock_filter filter[kMaxInstructions];
unsigned short filter_length = 0;

// Rights of later Landlock versions than the build's header may know.
constexpr uint64_t kRefer = uint64_t{1} << 13, kTruncate = uint64_t{1} << 14,
                   kDeviceIoctl = uint64_t{1} << 15;
constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kSpecial =
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK;
constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                              LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kDeviceIoctl;
constexpr uint64_t kBase = (uint64_t{1} << 13) - 1;  // the rights of version 1
struct RulesetAttributes {
  uint64_t file_system, network, scoped;
};

RulesetAttributes HandledRights(long version) {
  RulesetAttributes rights{kBase, 0, 0};
  if (version >= 2) rights.file_system |= kRefer;
  if (version >= 3) rights.file_system |= kTruncate;
  if (version >= 4) rights.network = 3;  // bind and connect
  if (version >= 5) rights.file_system |= kDeviceIoctl;
  if (version >= 6) rights.scoped = 3;  // abstract sockets, signals
  return rights;
}

Failure Allow(int ruleset, int folder, uint64_t rights, const char* path) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = folder;
  return Check("rule", syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0), path);
}

Failure AllowPath(int ruleset, const char* path, uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (Failure f = Check("open", fd, path)) return f;
  struct stat info;
  if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) rights &= kOfFiles;
  Failure f = Allow(ruleset, fd, rights, path);
  close(fd);
  return f;
}

struct Ruleset {
  int fd = -1;
  uint64_t write = 0, device = 0;  // rights in scratch folders and on devices
};

// fd -1 with `failure` unset: no Landlock here.
Ruleset NewRuleset(Failure& failure) {
  Ruleset ruleset;
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return ruleset;
  const RulesetAttributes rights = HandledRights(version);
  const size_t size = version >= 6 ? sizeof rights : version >= 4 ? 16 : 8;
  ruleset.fd = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rights, size, 0));
  failure = About("landlock", Check("create", ruleset.fd));
  ruleset.write = rights.file_system & ~kSpecial & ~kDeviceIoctl;
  ruleset.device = rights.file_system & kOfFiles;
  return ruleset;
}

struct Rule {
  const char* path;
  uint64_t rights;
};

template <size_t n>
int Complete(const Ruleset& ruleset, const Rule (&rules)[n], Failure& failure) {
  for (const Rule& rule : rules) {
    if (!failure) failure = About("landlock", AllowPath(ruleset.fd, rule.path, rule.rights));
  }
  if (!failure) return ruleset.fd;
  close(ruleset.fd);
  return -1;
}

Failure WriteText(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (Failure f = Check("open", fd, path)) return f;
  Failure f = Check("write", write(fd, text, std::strlen(text)), path);
  close(fd);
  return f;
}

Failure ChangeIds(uint32_t id, bool inside) {
  if (!inside && setgroups(0, nullptr) != 0 && id != geteuid()) return Check("setgroups", -1);
  if (Failure f = Check("setresgid", setresgid(id, id, id))) return f;
  return Check("setresuid", setresuid(id, id, id));
}

// A user namespace that maps the candidate's one id: it owns no other namespace, so even all its capabilities
// would open nothing.
Failure EnterOwnUsers(uint32_t outer_id) {
  if (Failure f = ChangeIds(outer_id, true)) return f;
  if (Failure f = Check("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 1))) return f;  // else /proc/self is root's
  if (Failure f = Check("unshare", unshare(CLONE_NEWUSER))) return f;
  char map[48];
  std::snprintf(map, sizeof map, "%u %u 1", kInsideId, outer_id);
  if (Failure f = WriteText("/proc/self/setgroups", "deny")) return f;
  if (Failure f = WriteText("/proc/self/gid_map", map)) return f;
  return WriteText("/proc/self/uid_map", map);
}

Failure SetLimit(__rlimit_resource resource, int64_t value, const char* name) {
  const rlimit limit{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  return Check("setrlimit", setrlimit(resource, &limit), name);
}

Failure SetLimits(const RunOrder& order) {
  struct Limit {
    __rlimit_resource resource;
    int64_t value;
    const char* name;
  };
  const Limit limits[] = {
      // One byte: too short for any dump, and the kernel starts no core_pattern program either; with 0 it
      // would.
      {RLIMIT_CORE, 1, "CORE"},
      {RLIMIT_NOFILE, order.open_files, "NOFILE"},
      {RLIMIT_FSIZE, order.file_bytes, "FSIZE"},
      {RLIMIT_STACK, order.stack_bytes, "STACK"},
      {RLIMIT_NPROC, order.processes, "NPROC"},
      {RLIMIT_MEMLOCK, 0, "MEMLOCK"},
      {RLIMIT_MSGQUEUE, 0, "MSGQUEUE"},
      {RLIMIT_SIGPENDING, 1024, "SIGPENDING"},
      {RLIMIT_NICE, 0, "NICE"},
      {RLIMIT_RTPRIO, 0, "RTPRIO"},
  };
  for (const Limit& limit : limits) {
    if (Failure f = SetLimit(limit.resource, limit.value, limit.name)) return f;
  }
  if (order.address_space_bytes > 0) {
    if (Failure f = SetLimit(RLIMIT_AS, order.address_space_bytes, "AS")) return f;
  }
  return order.cpu_seconds > 0 ? SetLimit(RLIMIT_CPU, order.cpu_seconds, "CPU") : Failure{};
}

}  // namespace

Failure LoadFilter(int fd, uint32_t bytes) {
  if (bytes == 0 || bytes % sizeof(sock_filter) != 0 || bytes > sizeof filter ||
      pread(fd, filter, bytes, 0) != static_cast<long>(bytes)) {
    errno = EINVAL;
    return Check("read the filter", -1);
  }
  filter_length = static_cast<unsigned short>(bytes / sizeof(sock_filter));
  return {};
}

int MakeRuleset(Failure& failure) {
  const Ruleset ruleset = NewRuleset(failure);
  if (failure || ruleset.fd < 0) return -1;
  const Rule rules[] = {{"/", kRead},
                        {"/work", ruleset.write},
                        {"/tmp", ruleset.write},
                        {"/dev/shm", ruleset.write},
                        {"/dev/null", ruleset.device},
                        {"/dev/zero", ruleset.device}};
  return Complete(ruleset, rules, failure);
}

int MakeHostRuleset(const Setup& setup, int work, Failure& failure) {
  const Ruleset ruleset = NewRuleset(failure);
  if (failure || ruleset.fd < 0) return -1;
  for (uint32_t i = 0; i < setup.path_count && !failure; ++i) {
    if (setup.paths[i].optional && access(setup.paths[i].source, F_OK) != 0) continue;
    failure = About("landlock", AllowPath(ruleset.fd, setup.paths[i].source, kRead));
  }
  if (!failure) failure = About("landlock", Allow(ruleset.fd, work, ruleset.write, "the scratch folder"));
  const Rule rules[] = {
      {"/dev/null", ruleset.device}, {"/dev/zero", ruleset.device}, {"/dev/urandom", kRead}};
  return Complete(ruleset, rules, failure);
}

Failure DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return Check("capset", syscall(SYS_capset, &header, none));
}

void DropBoundingSet() {
  static int count = 0;
  while (prctl(PR_CAPBSET_READ, count) >= 0) ++count;
  for (int capability = 0; capability < count; ++capability) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS);
}

Failure Restrict(const Restrictions& restrictions, const RunOrder& order) {
  WriteText("/proc/self/oom_score_adj", "1000");  // rather this than the slot
  if (restrictions.without & (kPartUser | kPartProc)) {
    DropBoundingSet();
    if (Failure f = ChangeIds(restrictions.candidate_id, !(restrictions.without & kPartUser))) return f;
  } else {
    if (Failure f = EnterOwnUsers(restrictions.candidate_id)) return f;
    DropBoundingSet();
  }
  if (Failure f = SetLimits(order)) return f;
  if (Failure f = DropCapabilities()) return f;
  if (Failure f = Check("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 0))) return f;
  if (Failure f = Check("PR_SET_NO_NEW_PRIVS", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))) return f;
  if (restrictions.ruleset >= 0) {
    if (Failure f = Check("landlock", syscall(SYS_landlock_restrict_self, restrictions.ruleset, 0))) return f;
  }
  if (restrictions.without & kPartSeccomp) return {};
  const sock_fprog program{filter_length, filter};
  return Check("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace sluice::jail
