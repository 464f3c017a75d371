#include "reward/sandbox/jail/restrictions.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

Failure AllowBeneath(int ruleset, const char* path, uint64_t rights) {
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (Failure f = Check("landlock: open", fd, path)) return f;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = fd;
  Failure f = Check("landlock: rule",
                    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0), path);
  close(fd);
  return f;
}

Failure WriteText(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (Failure f = Check("open", fd, path)) return f;
  Failure f = Check("write", write(fd, text, std::strlen(text)), path);
  close(fd);
  return f;
}

// A user namespace that maps the candidate's one id: it owns no other namespace, so even all its capabilities
// would open nothing.
Failure EnterOwnUsers(uint32_t outer_id) {
  if (Failure f = Check("setresgid", setresgid(outer_id, outer_id, outer_id))) return f;
  if (Failure f = Check("setresuid", setresuid(outer_id, outer_id, outer_id))) return f;
  if (Failure f = Check("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 1))) return f;  // else /proc/self is root's
  if (Failure f = Check("user_namespace: unshare", unshare(CLONE_NEWUSER))) return f;
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
    return Check("seccomp: read the filter", -1);
  }
  filter_length = static_cast<unsigned short>(bytes / sizeof(sock_filter));
  return {};
}

int MakeRuleset(Failure& failure) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return -1;
  const RulesetAttributes rights = HandledRights(version);
  const size_t size = version >= 6 ? sizeof rights : version >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rights, size, 0));
  if ((failure = Check("landlock: create", ruleset))) return -1;
  constexpr uint64_t kRead =
      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr uint64_t kSpecial =
      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK;
  const uint64_t write = rights.file_system & ~kSpecial & ~kDeviceIoctl;
  const uint64_t device = rights.file_system & (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                                                kTruncate | kDeviceIoctl);
  struct Rule {
    const char* path;
    uint64_t rights;
  };
  const Rule rules[] = {{"/", kRead},         {"/work", write},      {"/tmp", write},
                        {"/dev/shm", write},  {"/dev/null", device}, {"/dev/zero", device},
                        {"/dev/full", device}};
  for (const Rule& rule : rules) {
    if ((failure = AllowBeneath(ruleset, rule.path, rule.rights))) {
      close(ruleset);
      return -1;
    }
  }
  return ruleset;
}

Failure DropCapabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (Failure f = Check("drop the bounding set", prctl(PR_CAPBSET_DROP, capability))) return f;
  }
  if (Failure f = Check("PR_SET_SECUREBITS", prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS)))
    return f;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return Check("capset", syscall(SYS_capset, &header, none));
}

Failure Restrict(const Restrictions& restrictions, const RunOrder& order) {
  WriteText("/proc/self/oom_score_adj", "1000");  // rather this than the slot
  if (!(restrictions.without & kPartUser)) {
    if (Failure f = EnterOwnUsers(restrictions.candidate_id)) return f;
  }
  if (Failure f = SetLimits(order)) return f;
  if (Failure f = DropCapabilities()) return f;
  if (Failure f = Check("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 0))) return f;
  if (Failure f = Check("PR_SET_NO_NEW_PRIVS", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))) return f;
  if (restrictions.ruleset >= 0) {
    if (Failure f =
            Check("landlock: restrict", syscall(SYS_landlock_restrict_self, restrictions.ruleset, 0))) {
      return f;
    }
  }
  if (restrictions.without & kPartSeccomp) return {};
  const sock_fprog program{filter_length, filter};
  return Check("seccomp: install", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace sluice::jail
