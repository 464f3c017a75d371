#include "coordinator/store/disk.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"

namespace sluice {

absl::Status DiskError(int error, absl::string_view what) {
  if (error == ENOSPC || error == EDQUOT) return ErrnoStatus(error, what);
  const absl::string_view kind = error == EROFS ? "the disk is read-only: "
                                 : error == EIO ? "the disk fails: "
                                                : "the disk cannot be used: ";
  return absl::UnavailableError(absl::StrCat(kind, what, ": ", std::strerror(error)));
}

bool IsDiskFault(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

std::string DiskRemedy(const absl::Status& fault, const std::string& folder) {
  return absl::IsResourceExhausted(fault) ? absl::StrCat("there is room in ", folder)
                                          : absl::StrCat(folder, " can be written to again");
}

absl::StatusOr<DiskSpace> DiskSpaceOf(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return DiskError(errno, absl::StrCat("looking for room in ", path));
  const auto block = static_cast<int64_t>(info.f_frsize);
  return DiskSpace{static_cast<int64_t>(info.f_bavail) * block, static_cast<int64_t>(info.f_blocks) * block};
}

}  // namespace sluice
