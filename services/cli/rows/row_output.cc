#include "services/cli/rows/row_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "core/base/file.h"

namespace sluice::cli {

absl::Status RowOutput::Check(const std::string& path) {
  if (path == "-") return absl::OkStatus();
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (path.empty() || std::filesystem::is_directory(path, unknown))
    return absl::InvalidArgumentError(absl::StrCat("--output ", path, ": is a folder; name a file in it"));
  if (folder.empty() || std::filesystem::is_directory(folder, unknown)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("--output ", path, ": there is no folder ", folder.string(),
                                          "; make it first (mkdir -p ", folder.string(), ")"));
}

absl::StatusOr<std::unique_ptr<RowOutput>> RowOutput::Open(const std::string& path, int64_t keep_bytes) {
  if (path == "-") return std::unique_ptr<RowOutput>(new RowOutput("standard output", STDOUT_FILENO));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("--output ", path));
  std::unique_ptr<RowOutput> out(new RowOutput(path, fd));
  struct stat info {};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return absl::FailedPreconditionError(absl::StrCat("--output ", path, ": another command writes it now"));
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      (ftruncate(fd, keep_bytes) != 0 || lseek(fd, keep_bytes, SEEK_SET) < 0)) {
    return ErrnoStatus(errno, path);
  }
  return out;
}

RowOutput::~RowOutput() {
  if (fd_ != STDOUT_FILENO) close(fd_);
}

absl::Status RowOutput::Write(absl::string_view rows) {
  while (!rows.empty()) {
    const ssize_t n = write(fd_, rows.data(), rows.size());
    if (n < 0 && errno != EINTR) return ErrnoStatus(errno, name_);
    if (n > 0) rows.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace sluice::cli
