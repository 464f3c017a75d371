#include "coordinator/store/segments.h"

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
#include "coordinator/store/crc32c.h"
#include "core/base/fail_point.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kRecordHeaderBytes = 8, kFileHeaderBytes = 8;
constexpr absl::string_view kMagic = "SLSG";  // above kMaxRecordBytes as a length: no record begins with it

void PutU32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t GetU32(const char* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{static_cast<unsigned char>(p[i])} << (8 * i);
  return value;
}

// The errno; 0 when all is there, or when the file ends before: `out` is shorter then.
int ReadAt(int fd, int64_t offset, size_t size, std::string& out) {
  out.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd, out.data() + done, size - done, static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      out.resize(done);
      return n < 0 ? errno : 0;
    }
    done += static_cast<size_t>(n);
  }
  return 0;
}

int WriteAt(int fd, int64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return 0;
}

// Bytes before the first record.
absl::StatusOr<int64_t> FileHeader(int fd, const std::string& path) {
  std::string header;
  if (const int error = ReadAt(fd, 0, kFileHeaderBytes, header); error != 0) {
    return DiskError(error, absl::StrCat("reading ", path));
  }
  if (!absl::StartsWith(header, kMagic)) return 0;
  const uint32_t version = header.size() < kFileHeaderBytes ? 0 : GetU32(header.data() + 4);
  if (version > Segments::kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(path, " has version ", version,
                                                      ", written by a newer program; this one knows up to ",
                                                      Segments::kVersion, ": run the newer program"));
  }
  return kFileHeaderBytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Segments>> Segments::Open(const std::string& folder, const SegmentRef& last,
                                                         SegmentOptions options) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  std::unique_ptr<Segments> segments(new Segments(folder, std::move(options)));
  absl::MutexLock lock(&segments->mu_);
  SLUICE_RETURN_IF_ERROR(segments->OpenNewest(last));
  return segments;
}

Segments::~Segments() {
  absl::MutexLock lock(&mu_);
  if (fd_ >= 0) close(fd_);
}

std::string Segments::Path(int64_t segment) const { return absl::StrFormat("%s/%08d.seg", folder_, segment); }

absl::Status Segments::OpenNewest(const SegmentRef& last) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    int64_t number = 0;
    absl::string_view stem = name;
    std::error_code ignored;
    if (absl::ConsumeSuffix(&stem, ".seg") && absl::SimpleAtoi(stem, &number) && number >= 0) {
      older_[number] = static_cast<int64_t>(entry.file_size(ignored));
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", folder_));
  const int64_t newest = older_.empty() ? -1 : older_.rbegin()->first;
  if (newest < last.segment) {
    LogError("segment_lost", {{"file", Path(last.segment)}});
    return StartFile(last.segment + 1);
  }
  if (newest < 0) return StartFile(0);
  segment_ = newest;
  older_.erase(newest);
  return GoOn(last);
}

// In the file `segment_`, behind the last record referred to.
absl::Status Segments::GoOn(const SegmentRef& last) {
  const std::string path = Path(segment_);
  fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  struct stat info;
  if (fstat(fd_, &info) != 0) return DiskError(errno, absl::StrCat("reading ", path));
  SLUICE_ASSIGN_OR_RETURN(size_, FileHeader(fd_, path));
  if (last.segment == segment_) size_ = std::max(size_, last.offset + kRecordHeaderBytes + last.bytes);
  SLUICE_FAIL_POINT("coordinator.segment_opened");
  if (info.st_size < size_) {
    LogError("segment_end_lost", {{"file", path}, {"bytes", info.st_size}, {"needed", size_}});
    size_ = info.st_size;
    return StartFile(segment_ + 1);
  }
  if (info.st_size > size_) {
    LogWarning("segment_tail_cut", {{"file", path}, {"from", info.st_size}, {"to", size_}});
    if (ftruncate(fd_, size_) != 0) return DiskError(errno, absl::StrCat("truncating ", path));
  }
  return absl::OkStatus();
}

// Nothing refers to a file with a number above the newest: what an attempt before left is overwritten.
absl::Status Segments::StartFile(int64_t segment) {
  const std::string path = Path(segment);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return DiskError(errno, absl::StrCat("creating ", path));
  std::string header(kMagic);
  PutU32(header, kVersion);
  absl::Status status;
  if (const int error = WriteAt(fd, 0, header); error != 0) {
    status = DiskError(error, absl::StrCat("writing ", path));
  }
  if (status.ok()) status = SyncDirectory(folder_);
  if (!status.ok()) {
    close(fd);
    return status;
  }
  if (fd_ >= 0) {
    close(fd_);
    older_[segment_] = size_;
  }
  fd_ = fd;
  segment_ = segment;
  size_ = kFileHeaderBytes;
  suspect_ = false;
  return absl::OkStatus();
}

absl::StatusOr<SegmentRef> Segments::Append(absl::string_view payload) {
  if (static_cast<int64_t>(payload.size()) > kMaxRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a record of ", payload.size(), " bytes is too large"));
  }
  absl::MutexLock lock(&mu_);
  if (size_ >= options_.rotate_bytes && !suspect_) SLUICE_RETURN_IF_ERROR(SyncLocked());
  if (size_ >= options_.rotate_bytes || suspect_) SLUICE_RETURN_IF_ERROR(StartFile(segment_ + 1));
  std::string record;
  record.reserve(payload.size() + kRecordHeaderBytes);
  PutU32(record, static_cast<uint32_t>(payload.size()));
  PutU32(record, Crc32c(payload));
  record.append(payload.data(), payload.size());
  int error = Fault("segment.write");
  if (error == 0) error = WriteAt(fd_, size_, record);
  if (error != 0) {
    // What was written is past the known end: the next append overwrites it, opening cuts it.
    (void)!ftruncate(fd_, size_);
    return DiskError(error, absl::StrCat("writing ", Path(segment_)));
  }
  SLUICE_FAIL_POINT("coordinator.segment_written");
  const SegmentRef ref{segment_, size_, static_cast<int64_t>(payload.size())};
  size_ += static_cast<int64_t>(record.size());
  return ref;
}

absl::Status Segments::Sync() {
  absl::MutexLock lock(&mu_);
  return SyncLocked();
}

absl::Status Segments::SyncLocked() {
  int error = Fault("segment.sync");
  if (error == 0 && fdatasync(fd_) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  suspect_ = true;  // a later sync of this file would succeed without having written them
  return DiskError(error, absl::StrCat("syncing ", Path(segment_)));
}

absl::StatusOr<std::string> Segments::Read(const SegmentRef& ref) {
  if (ref.segment < 0 || ref.offset < 0 || ref.bytes < 0 || ref.bytes > kMaxRecordBytes) {
    return absl::InvalidArgumentError("not a reference to a segment record");
  }
  const std::string path = Path(ref.segment);
  if (const int fault = Fault("segment.read"); fault != 0)
    return DiskError(fault, absl::StrCat("reading ", path));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return absl::DataLossError(absl::StrCat(path, " is missing"));
  if (fd < 0) return DiskError(errno, absl::StrCat("opening ", path));
  std::string header, payload;
  int error = ReadAt(fd, ref.offset, kRecordHeaderBytes, header);
  if (error == 0)
    error = ReadAt(fd, ref.offset + kRecordHeaderBytes, static_cast<size_t>(ref.bytes), payload);
  close(fd);
  if (error != 0) return DiskError(error, absl::StrCat("reading ", path));
  if (header.size() != kRecordHeaderBytes || GetU32(header.data()) != static_cast<uint64_t>(ref.bytes) ||
      static_cast<int64_t>(payload.size()) != ref.bytes || Crc32c(payload) != GetU32(header.data() + 4)) {
    return absl::DataLossError(absl::StrCat(path, ": the record at ", ref.offset, " is damaged"));
  }
  return payload;
}

std::map<int64_t, int64_t> Segments::Files() {
  absl::MutexLock lock(&mu_);
  std::map<int64_t, int64_t> files = older_;
  files[segment_] = size_;
  return files;
}

int64_t Segments::newest() {
  absl::MutexLock lock(&mu_);
  return segment_;
}

absl::Status Segments::Remove(int64_t segment) {
  absl::MutexLock lock(&mu_);
  if (segment == segment_) return absl::InvalidArgumentError("the newest segment file is not removed");
  if (unlink(Path(segment).c_str()) != 0 && errno != ENOENT) {
    return DiskError(errno, absl::StrCat("removing ", Path(segment)));
  }
  older_.erase(segment);
  return absl::OkStatus();
}

}  // namespace sluice
