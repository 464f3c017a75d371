#include "services/cli/reward/row_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"

namespace sluice::cli {

absl::StatusOr<std::unique_ptr<RowOutput>> RowOutput::Open(const std::string& path, int64_t keep_bytes) {
  if (path == "-") return std::unique_ptr<RowOutput>(new RowOutput("standard output", STDOUT_FILENO));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, path);
  std::unique_ptr<RowOutput> out(new RowOutput(path, fd));
  struct stat info {};
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
