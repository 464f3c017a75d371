#include <utility>

#include "absl/strings/str_cat.h"
#include "reward/sandbox/self_test.h"

namespace sluice {
namespace {

constexpr char kNamespaces[] =
    "the kernel must let this user make namespaces: sysctl user.max_user_namespaces above 0 and, where they "
    "exist, "
    "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 24.04; or "
    "an "
    "AppArmor profile with \"userns,\"). Docker: its default seccomp profile forbids it, run with "
    "--security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined "
    "--cgroupns=private, or "
    "--privileged. Kubernetes: securityContext with seccompProfile Unconfined, procMount Unmasked and "
    "SYS_ADMIN, or "
    "hostUsers: false";
constexpr char kGroups[] =
    "a control group that this process may divide, with the memory, pids and cpu controllers. As root: a "
    "writable "
    "/sys/fs/cgroup (Docker: --privileged, or -v /sys/fs/cgroup:/sys/fs/cgroup:rw with --cgroupns=host). As "
    "an "
    "ordinary user: a delegated one, e.g. systemd-run --user --scope -p Delegate=yes sluice-reward ..., or a "
    "unit with "
    "Delegate=memory pids cpu; the process must be alone in it";
constexpr char kProc[] =
    "a /proc that may be mounted anew: in a container nothing may be mounted over parts of it (Docker: "
    "--security-opt systempaths=unconfined; Kubernetes: procMount: Unmasked); Linux 5.8 or later";
constexpr char kFilter[] = "a kernel with CONFIG_SECCOMP_FILTER";
constexpr char kLandlock[] = "Linux 5.13 or later with landlock among the modules of the boot parameter lsm=";
constexpr char kPython[] =
    "a Python 3.11 or later with ctypes (Debian: python3), or set the interpreter's path in the options";

constexpr std::pair<absl::string_view, absl::string_view> kRemedies[] = {{"user_namespace", kNamespaces},
                                                                         {"mount_namespace", kNamespaces},
                                                                         {"read_only_root", kNamespaces},
                                                                         {"pid_namespace", kNamespaces},
                                                                         {"tree_kill", kNamespaces},
                                                                         {"network_namespace", kNamespaces},
                                                                         {"ipc_namespace", kNamespaces},
                                                                         {"uts_namespace", kNamespaces},
                                                                         {"cgroup_namespace", kNamespaces},
                                                                         {"no_capabilities", kNamespaces},
                                                                         {"private_devices", kNamespaces},
                                                                         {"file_limits", kNamespaces},
                                                                         {"memory_limit", kGroups},
                                                                         {"process_limit", kGroups},
                                                                         {"cpu_limit", kGroups},
                                                                         {"proc", kProc},
                                                                         {"masked_proc", kProc},
                                                                         {"seccomp", kFilter},
                                                                         {"no_sockets", kFilter},
                                                                         {"landlock", kLandlock},
                                                                         {"python", kPython}};

}  // namespace

std::string Remedy(absl::string_view property, absl::string_view seen) {
  for (const auto& [name, remedy] : kRemedies) {
    if (name == property)
      return absl::StrCat("needs ", remedy, seen.empty() ? "" : " (seen: ", seen, seen.empty() ? "" : ")");
  }
  return std::string(seen);
}

}  // namespace sluice
