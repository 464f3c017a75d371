#include "core/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/base/file_descriptor.h"
#include "core/base/status.h"

namespace sluice {
namespace {

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status SyncPath(const std::string& path, int flags) {
  FileDescriptor fd(open(path.c_str(), flags | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("syncing ", path));
  return absl::OkStatus();
}

}  // namespace

absl::Status ErrnoStatus(int error, absl::string_view what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
      return absl::ResourceExhaustedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
  if (info.st_size > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", info.st_size, " bytes; the limit is ", limit));
  }
  std::string out;
  constexpr size_t kBuffer = 1 << 16;
  const auto buffer = std::make_unique<char[]>(kBuffer);  // the metrics' threads have small stacks
  while (true) {
    const ssize_t n = read(fd.get(), buffer.get(), kBuffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
    if (n == 0) return out;
    out.append(buffer.get(), static_cast<size_t>(n));
    if (static_cast<int64_t>(out.size()) > limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than the limit of ", limit, " bytes"));
    }
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes) {
  const std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  absl::Status status = [&]() -> absl::Status {
    FileDescriptor fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("creating ", temporary));
    SLUICE_RETURN_IF_ERROR(WriteAll(fd.get(), bytes, path));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("syncing ", path));
    return absl::OkStatus();
  }();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("renaming to ", path));
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("creating folder ", path));
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path) { return SyncPath(path, O_RDONLY | O_DIRECTORY); }
absl::Status SyncFile(const std::string& path) { return SyncPath(path, O_RDONLY); }

bool FileExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("removing ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Acquire(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(fd);
    if (error == EWOULDBLOCK) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is locked by another process"));
    }
    return ErrnoStatus(error, absl::StrCat("locking ", path));
  }
  return std::unique_ptr<FileLock>(new FileLock(fd));
}

FileLock::~FileLock() { close(fd_); }

}  // namespace sluice
