// Files, with errors that name the path and what went wrong. Thread-safe where the file system is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full, quota) or INTERNAL from errno, naming `what`.
absl::Status ErrnoStatus(int error, absl::string_view what);

// The whole file. RESOURCE_EXHAUSTED when larger than `limit` bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit = int64_t{1} << 31);

// Writes path + ".tmp.<pid>", fsyncs, renames over `path`, fsyncs the folder: readers see the old or the new
// file, whole. On error the old file stays and the temporary one is removed.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes);

absl::Status MakeDirectories(const std::string& path);
absl::Status SyncDirectory(const std::string& path);
absl::Status SyncFile(const std::string& path);
bool FileExists(const std::string& path);
absl::Status RemoveTree(const std::string& path);

// Holds an exclusive lock on a file for its lifetime; FAILED_PRECONDITION when another process has it.
class FileLock {
 public:
  static absl::StatusOr<std::unique_ptr<FileLock>> Acquire(const std::string& path);
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sluice
