#include "reward/sandbox/jail/root_tree.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

namespace sluice::jail {
namespace {

constexpr char kDevices[][16] = {"null", "zero", "urandom"};
constexpr int kDeviceCount = sizeof kDevices / sizeof kDevices[0];
constexpr unsigned kBindFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;

// Below the current directory, with its parents; `path` is absolute.
Failure MakeDirectories(const char* path) {
  char part[kPathBytes + 2] = ".";
  std::strncat(part, path, kPathBytes);
  for (char* slash = part + 2;; ++slash) {
    slash = std::strchr(slash, '/');
    if (slash != nullptr) *slash = '\0';
    if (mkdir(part, 0755) != 0 && errno != EEXIST) return Check("mkdir", -1, part);
    if (slash == nullptr) return {};
    *slash = '/';
  }
}

Failure MakeFile(const char* path, const char* content) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
  if (Failure f = Check("create", fd, path)) return f;
  const bool written = write(fd, content, std::strlen(content)) == static_cast<long>(std::strlen(content));
  close(fd);
  return written ? Failure{} : Check("write", -1, path);
}

Failure Attach(int tree, const char* target) {
  char below[kPathBytes + 2];
  std::snprintf(below, sizeof below, ".%s", target);
  Failure f = Check("mount", move_mount(tree, "", AT_FDCWD, below, MOVE_MOUNT_F_EMPTY_PATH), target);
  close(tree);
  return f;
}

// A link of the host ("/lib -> usr/lib") becomes the same link; a folder or file is mounted.
Failure Place(const BoundPath& path, int tree, const char* link) {
  char target[kPathBytes + 2], parent[kPathBytes + 2];
  std::snprintf(target, sizeof target, ".%s", path.target);
  std::snprintf(parent, sizeof parent, "%s", path.target);
  if (char* slash = std::strrchr(parent, '/'); slash != parent) {
    *slash = '\0';
    if (Failure f = MakeDirectories(parent)) return f;
  }
  if (tree < 0) {
    if (*link == '\0') return {};
    return Check("link", symlink(link, target) == 0 || errno == EEXIST ? 0 : -1, target);
  }
  struct stat info;
  if (Failure f = Check("stat", fstat(tree, &info), path.source)) return f;
  Failure made = S_ISDIR(info.st_mode) ? MakeDirectories(path.target) : MakeFile(target, "");
  return made ? made : Attach(tree, path.target);
}

Failure FillEtc() {
  if (Failure f = MakeDirectories("/etc")) return f;
  if (Failure f = MakeFile("./etc/passwd",
                           "root:x:0:0::/:/usr/sbin/nologin\nbox:x:1000:1000::/work:/bin/sh\n"
                           "nobody:x:65534:65534::/:/usr/sbin/nologin\n")) {
    return f;
  }
  return MakeFile("./etc/group", "root:x:0:\nbox:x:1000:\nnogroup:x:65534:\n");
}

Failure FillDev(const RootSources& sources) {
  if (Failure f = MakeDirectories("/dev/shm")) return f;
  for (int i = 0; i < kDeviceCount; ++i) {
    char path[32];
    std::snprintf(path, sizeof path, "/dev/%s", kDevices[i]);
    char below[34];
    std::snprintf(below, sizeof below, ".%s", path);
    if (Failure f = MakeFile(below, "")) return f;
    if (Failure f = Attach(sources.devices[i], path)) return f;
  }
  constexpr char kLinks[][2][24] = {{"urandom", "./dev/random"},
                                    {"/proc/self/fd", "./dev/fd"},
                                    {"/proc/self/fd/0", "./dev/stdin"},
                                    {"/proc/self/fd/1", "./dev/stdout"},
                                    {"/proc/self/fd/2", "./dev/stderr"}};
  for (const auto& link : kLinks) {
    if (Failure f = Check("link", symlink(link[0], link[1]), link[1])) return f;
  }
  return {};
}

}  // namespace

Failure OpenSources(const Setup& setup, RootSources& out) {
  if (Failure f = Check("make mounts private", mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr))) {
    return f;
  }
  for (uint32_t i = 0; i < setup.path_count; ++i) {
    const BoundPath& path = setup.paths[i];
    out.paths[i] = -1;
    if (path.optional && access(path.source, F_OK) != 0) continue;
    if (readlink(path.source, out.links[i], kPathBytes - 1) > 0) continue;
    out.paths[i] = open_tree(AT_FDCWD, path.source, kBindFlags);
    if (Failure f = Check("open", out.paths[i], path.source)) return f;
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    attributes.propagation = MS_PRIVATE;
    if (Failure f = Check(
            "make read-only",
            mount_setattr(out.paths[i], "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes),
            path.source)) {
      return f;
    }
  }
  for (int i = 0; i < kDeviceCount; ++i) {
    char path[32];
    std::snprintf(path, sizeof path, "/dev/%s", kDevices[i]);
    out.devices[i] = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (Failure f = Check("open", out.devices[i], path)) return f;
  }
  return {};
}

Failure BuildRootTree(const Setup& setup, const RootSources& sources) {
  umask(0);
  if (Failure f =
          Check("mount tmpfs", mount("root", "/usr", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m"))) {
    return f;
  }
  if (Failure f = Check("chdir", chdir("/usr"))) return f;
  for (uint32_t i = 0; i < setup.path_count; ++i) {
    if (Failure f = Place(setup.paths[i], sources.paths[i], sources.links[i])) return f;
  }
  if (Failure f = FillEtc()) return f;
  if (Failure f = FillDev(sources)) return f;
  for (const char* place : {"/proc", kScratch, "/tmp"}) {
    if (Failure f = MakeDirectories(place)) return f;
  }
  return {};
}

Failure MountProc(const Setup& setup) {
  if (setup.without & kPartProc) return {};
  return Check("mount", mount("proc", "./proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, kProcOptions));
}

Failure EnterRootTree() {
  if (Failure f = Check("pivot_root", syscall(SYS_pivot_root, ".", "."))) return f;
  if (Failure f = Check("unmount the host's tree", umount2(".", MNT_DETACH))) return f;
  if (Failure f = Check("chdir", chdir("/"))) return f;
  return Check(
      "make the root read-only",
      mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr));
}

}  // namespace sluice::jail
