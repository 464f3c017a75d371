#include "reward/sandbox/scratch.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice {
namespace {

// The calling thread's file rights are the candidate's for as long as this lives.
class FileRights {
 public:
  explicit FileRights(int64_t user) : active_(user >= 0) {
    if (!active_) return;
    group_ = setfsgid(static_cast<gid_t>(user));
    user_ = setfsuid(static_cast<uid_t>(user));
  }
  ~FileRights() {
    if (!active_) return;
    setfsuid(static_cast<uid_t>(user_));
    setfsgid(static_cast<gid_t>(group_));
  }
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  const bool active_;
  int user_ = 0, group_ = 0;
};

absl::Status CheckName(absl::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("file name \"", name, "\" is empty, absolute or has a NUL"));
  }
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return absl::InvalidArgumentError(
          absl::StrCat("file name \"", name, "\" has an empty part, \".\" or \"..\""));
    }
  }
  return absl::OkStatus();
}

FileDescriptor OpenBeneath(int folder, const std::string& name, uint64_t flags, uint64_t mode = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return FileDescriptor(static_cast<int>(syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how)));
}

absl::Status Error(absl::string_view what, absl::string_view name) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", name, " in the box"));
}

absl::Status MakeFolders(int folder, const std::string& name, FileDescriptor& parent, std::string& last) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  int at = folder;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (mkdirat(at, parts[i].c_str(), 0755) != 0 && errno != EEXIST) return Error("mkdir", parts[i]);
    FileDescriptor next = OpenBeneath(at, parts[i], O_RDONLY | O_DIRECTORY);
    if (!next.valid()) return Error("open", parts[i]);
    parent = std::move(next);
    at = parent.get();
  }
  last = parts.back();
  return absl::OkStatus();
}

}  // namespace

absl::Status Scratch::Write(absl::string_view name, absl::string_view content, bool executable) const {
  if (absl::Status s = CheckName(name); !s.ok()) return s;
  const FileRights rights(host_user_);
  FileDescriptor parent;
  std::string last;
  if (absl::Status s = MakeFolders(folder_.get(), std::string(name), parent, last); !s.ok()) return s;
  const int folder = parent.valid() ? parent.get() : folder_.get();
  // What is there is never opened, so a link or a FIFO in its place has no effect.
  if (unlinkat(folder, last.c_str(), 0) != 0 && errno != ENOENT) return Error("replace", name);
  const FileDescriptor file =
      OpenBeneath(folder, last, O_WRONLY | O_CREAT | O_EXCL, executable ? 0755 : 0644);
  if (!file.valid()) return Error("create", name);
  for (size_t done = 0; done < content.size();) {
    const ssize_t wrote = write(file.get(), content.data() + done, content.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Error("write", name);
    done += static_cast<size_t>(wrote);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Scratch::Read(absl::string_view name, int64_t max_bytes) const {
  if (absl::Status s = CheckName(name); !s.ok()) return s;
  const FileRights rights(host_user_);
  const FileDescriptor file = OpenBeneath(folder_.get(), std::string(name), O_RDONLY);
  if (!file.valid()) return Error("open", name);
  struct stat info;
  if (fstat(file.get(), &info) != 0) return Error("stat", name);
  if (!S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(absl::StrCat(name, " is not a regular file"));
  if (info.st_size > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " has ", info.st_size, " bytes, more than ", max_bytes));
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(file.get(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error("read", name);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

}  // namespace sluice
