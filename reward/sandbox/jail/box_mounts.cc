#include "reward/sandbox/jail/box_mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

#include "reward/sandbox/jail/restrictions.h"

namespace sluice::jail {
namespace {

constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV;
constexpr char kFolders[][2][16] = {{"/tmp/work", "/work"}, {"/tmp/shm", "/dev/shm"}, {"/tmp/tmp", "/tmp"}};

void Size(char (&text)[96], int64_t bytes, uint32_t files) {
  std::snprintf(text, sizeof text, "size=%lld,nr_inodes=%u,mode=0755", static_cast<long long>(bytes),
                files + 4);
}

}  // namespace

Failure BoxMounts::Open(uint32_t owner, int64_t bytes, uint32_t files) {
  if (open_) {
    if (Failure f = Close()) return f;
  }
  char size[96];
  Size(size, bytes, files);
  if (Failure f = Check("mount scratch", mount("box", "/tmp", "tmpfs", kFlags, size))) return f;
  open_ = true;
  bytes_ = bytes;
  files_ = files;
  for (const auto& folder : kFolders) {
    if (Failure f = Check("mkdir", mkdir(folder[0], 0700), folder[0])) return f;
    if (Failure f = Check("chown", chown(folder[0], owner, owner), folder[0])) return f;
  }
  for (const auto& folder : kFolders) {  // /tmp last: it covers where the others come from
    if (Failure f = Check("bind", mount(folder[0], folder[1], nullptr, MS_BIND, nullptr), folder[1]))
      return f;
  }
  Failure failure;
  ruleset_ = MakeRuleset(failure);
  return failure;
}

Failure BoxMounts::Resize(int64_t bytes, uint32_t files) {
  if (work_ >= 0 || (bytes == bytes_ && files == files_)) return {};
  char size[96];
  Size(size, bytes, files);
  if (Failure f = Check("resize scratch", mount(nullptr, "/work", nullptr, MS_REMOUNT | kFlags, size)))
    return f;
  bytes_ = bytes;
  files_ = files;
  return {};
}

Failure BoxMounts::Adopt(int work, const Setup& setup) {
  if (Failure f = Close()) return f;
  work_ = work;
  Failure failure;
  ruleset_ = MakeHostRuleset(setup, work, failure);
  return failure;
}

Failure BoxMounts::Close() {
  if (ruleset_ >= 0) close(ruleset_);
  if (work_ >= 0) close(work_);
  ruleset_ = work_ = -1;
  if (!open_) return {};
  open_ = false;
  for (const char* place : {"/tmp", "/tmp", "/dev/shm", "/work"}) {
    if (Failure f = Check("unmount", umount2(place, MNT_DETACH), place)) return f;
  }
  return {};
}

}  // namespace sluice::jail
