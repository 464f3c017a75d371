#include "reward/sandbox/state_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"

namespace sluice {
namespace {

constexpr char kPlace[] = "/tmp", kPrefix[] = "sluice-sandbox.";

FileDescriptor Lock(const std::string& folder) {
  FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid() ||
      flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return FileDescriptor();
  }
  return fd;
}

// Own folders that no living process holds.
void RemoveStale() {
  DIR* place = opendir(kPlace);
  if (place == nullptr) return;
  while (const dirent* entry = readdir(place)) {
    if (!absl::StartsWith(entry->d_name, kPrefix)) continue;
    const std::string folder = absl::StrCat(kPlace, "/", entry->d_name);
    if (const FileDescriptor lock = Lock(folder); lock.valid()) (void)RemoveTree(folder);
  }
  closedir(place);
}

}  // namespace

absl::StatusOr<StateFolder> StateFolder::Open(const std::string& path) {
  StateFolder folder;
  if (path.empty()) {
    RemoveStale();
    // Made under another name first, so that nobody takes it for stale before it is locked.
    std::string made = absl::StrCat(kPlace, "/.sluice-sandbox.XXXXXX");
    if (mkdtemp(made.data()) == nullptr) return ErrnoStatus(errno, "making a folder in /tmp");
    folder.lock_ = Lock(made);
    folder.path_ = absl::StrCat(kPlace, "/", kPrefix, made.substr(made.rfind('.') + 1));
    if (rename(made.c_str(), folder.path_.c_str()) != 0) return ErrnoStatus(errno, folder.path_);
  } else {
    std::error_code error;
    folder.path_ = std::filesystem::absolute(path, error).string();
  }
  if (absl::Status s = MakeDirectories(folder.artefacts()); !s.ok()) return s;
  if (chmod(folder.artefacts().c_str(), 0755) != 0) return ErrnoStatus(errno, folder.artefacts());
  return folder;
}

StateFolder::~StateFolder() {
  if (lock_.valid()) (void)RemoveTree(path_);
}

std::string StateFolder::BoxFolder(int slot) const {
  return absl::StrCat(path_, "/boxes/", getpid(), ".", slot);
}

absl::Status StateFolder::Publish(absl::string_view name, absl::string_view content) const {
  if (name.empty() || name.front() == '.' ||
      name.find_first_of(absl::string_view("/\0", 2)) != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("artefact name \"", name, "\" is empty, hidden or has a /"));
  }
  std::string draft = absl::StrCat(artefacts(), "/.draft.XXXXXX");
  const FileDescriptor file(mkstemp(draft.data()));
  if (!file.valid()) return ErrnoStatus(errno, draft);
  bool done = fchmod(file.get(), 0644) == 0;
  for (size_t at = 0; done && at < content.size();) {
    const ssize_t wrote = write(file.get(), content.data() + at, content.size() - at);
    done = wrote > 0;
    at += done ? static_cast<size_t>(wrote) : 0;
  }
  const std::string path = absl::StrCat(artefacts(), "/", name);
  if (done && rename(draft.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  unlink(draft.c_str());
  return ErrnoStatus(error, path);
}

}  // namespace sluice
