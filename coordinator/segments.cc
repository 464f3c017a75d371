#include "coordinator/segments.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coordinator/crc32c.h"
#include "core/base/fail_point.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kHeaderBytes = 8;

void PutU32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t GetU32(const char* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(p[i])} << (8 * i);
  return value;
}

// Reads exactly `size` bytes; false at the end of the file or on an error.
bool ReadAt(int fd, int64_t offset, size_t size, std::string& out) {
  out.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd, out.data() + done, size - done, static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// End of the last whole record.
int64_t GoodBytes(int fd, int64_t file_size) {
  int64_t offset = 0;
  std::string header, payload;
  while (offset + kHeaderBytes <= file_size) {
    if (!ReadAt(fd, offset, kHeaderBytes, header)) break;
    const int64_t length = GetU32(header.data());
    if (length > Segments::kMaxRecordBytes || offset + kHeaderBytes + length > file_size) break;
    if (!ReadAt(fd, offset + kHeaderBytes, static_cast<size_t>(length), payload)) break;
    if (Crc32c(payload) != GetU32(header.data() + 4)) break;
    offset += kHeaderBytes + length;
  }
  return offset;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segments>> Segments::Open(const std::string& folder, int64_t rotate_bytes) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  std::unique_ptr<Segments> segments(new Segments(folder, rotate_bytes));
  absl::MutexLock lock(&segments->mu_);
  SLUICE_RETURN_IF_ERROR(segments->OpenNewest());
  return segments;
}

Segments::~Segments() {
  absl::MutexLock lock(&mu_);
  if (fd_ >= 0) close(fd_);
}

std::string Segments::Path(int64_t segment) const { return absl::StrFormat("%s/%08d.seg", folder_, segment); }

absl::Status Segments::OpenNewest() {
  int64_t newest = -1;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    int64_t number = 0;
    absl::string_view stem = name;
    if (absl::ConsumeSuffix(&stem, ".seg") && absl::SimpleAtoi(stem, &number))
      newest = std::max(newest, number);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", folder_));
  if (newest < 0) return StartFile(0);
  fd_ = open(Path(newest).c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus(errno, absl::StrCat("opening ", Path(newest)));
  struct stat info;
  if (fstat(fd_, &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", Path(newest)));
  segment_ = newest;
  size_ = GoodBytes(fd_, info.st_size);
  SLUICE_FAIL_POINT("coordinator.segment_opened");
  if (size_ < info.st_size) {
    LogWarning("segment_tail_cut", {{"file", Path(newest)}, {"from", info.st_size}, {"to", size_}});
    if (ftruncate(fd_, size_) != 0) return ErrnoStatus(errno, absl::StrCat("truncating ", Path(newest)));
  }
  return absl::OkStatus();
}

absl::Status Segments::StartFile(int64_t segment) {
  const int fd = open(Path(segment).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("creating ", Path(segment)));
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  segment_ = segment;
  size_ = 0;
  return SyncDirectory(folder_);
}

absl::StatusOr<SegmentRef> Segments::Append(absl::string_view payload) {
  if (static_cast<int64_t>(payload.size()) > kMaxRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a record of ", payload.size(), " bytes is too large"));
  }
  absl::MutexLock lock(&mu_);
  if (size_ >= rotate_bytes_) {
    if (fsync(fd_) != 0) return ErrnoStatus(errno, absl::StrCat("syncing ", Path(segment_)));
    SLUICE_RETURN_IF_ERROR(StartFile(segment_ + 1));
  }
  std::string record;
  record.reserve(payload.size() + kHeaderBytes);
  PutU32(record, static_cast<uint32_t>(payload.size()));
  PutU32(record, Crc32c(payload));
  record.append(payload.data(), payload.size());
  size_t done = 0;
  while (done < record.size()) {
    const ssize_t n = pwrite(fd_, record.data() + done, record.size() - done,
                             static_cast<off_t>(size_) + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int write_error = errno;
      // What was written is past the known end: the next append overwrites it, opening cuts it.
      (void)!ftruncate(fd_, size_);
      return ErrnoStatus(write_error, absl::StrCat("writing ", Path(segment_)));
    }
    done += static_cast<size_t>(n);
  }
  SLUICE_FAIL_POINT("coordinator.segment_written");
  const SegmentRef ref{segment_, size_, static_cast<int64_t>(payload.size())};
  size_ += static_cast<int64_t>(record.size());
  return ref;
}

absl::Status Segments::Sync() {
  absl::MutexLock lock(&mu_);
  if (fdatasync(fd_) != 0) return ErrnoStatus(errno, absl::StrCat("syncing ", Path(segment_)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Segments::Read(const SegmentRef& ref) {
  if (ref.segment < 0 || ref.offset < 0 || ref.bytes < 0 || ref.bytes > kMaxRecordBytes) {
    return absl::InvalidArgumentError("not a reference to a segment record");
  }
  const std::string path = Path(ref.segment);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  std::string header, payload;
  const bool whole = ReadAt(fd, ref.offset, kHeaderBytes, header) &&
                     GetU32(header.data()) == static_cast<uint64_t>(ref.bytes) &&
                     ReadAt(fd, ref.offset + kHeaderBytes, static_cast<size_t>(ref.bytes), payload) &&
                     Crc32c(payload) == GetU32(header.data() + 4);
  close(fd);
  if (!whole) return absl::DataLossError(absl::StrCat(path, ": the record at ", ref.offset, " is damaged"));
  return payload;
}

}  // namespace sluice
