// Append-only files of checksummed records: the bulk that the store's rows refer to. A file begins with
//   "SLSG" | u32 version        (little-endian; files of programs before version 2 begin with their first
//   record)
// and a record is
//   u32 length | u32 CRC-32C of the payload | payload
// A file takes records until it passes `rotate_bytes`; then the next one starts. What is whole is known by
// who refers to it: nothing behind the last record referred to is kept, and a damaged record harms no other.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/disk.h"

namespace sluice {

struct SegmentRef {
  int64_t segment = -1;  // number of the file; -1: none
  int64_t offset = 0;    // of the record
  int64_t bytes = 0;     // of the payload
  friend bool operator==(const SegmentRef&, const SegmentRef&) = default;
};

struct SegmentOptions {
  int64_t rotate_bytes = int64_t{256} << 20;
  DiskFault fault;
};

class Segments {
 public:
  static constexpr int64_t kMaxRecordBytes = int64_t{1} << 30;
  static constexpr uint32_t kVersion = 2;

  // Makes the folder when absent. `last`: the record with the greatest (file, offset) that is referred to.
  // What is behind it in the newest file is cut off; where that file or its end is missing, a new one is
  // started, and reading what was there fails. FAILED_PRECONDITION: the newest file is of a newer program.
  static absl::StatusOr<std::unique_ptr<Segments>> Open(const std::string& folder, const SegmentRef& last,
                                                        SegmentOptions options = {});
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  // Durable only after Sync. On an error (disk.h) nothing was added.
  absl::StatusOr<SegmentRef> Append(absl::string_view payload);
  // After an error what was appended since the last Sync is lost: append it again.
  absl::Status Sync();
  // DATA_LOSS, naming the file, when the record is not what was written.
  absl::StatusOr<std::string> Read(const SegmentRef& ref);

  std::map<int64_t, int64_t> Files();  // number -> bytes
  int64_t newest();
  absl::Status Remove(int64_t segment);  // not the newest; no matter when it is not there

 private:
  Segments(std::string folder, SegmentOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {}
  std::string Path(int64_t segment) const;
  int Fault(absl::string_view operation) const { return options_.fault ? options_.fault(operation) : 0; }
  absl::Status OpenNewest(const SegmentRef& last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status GoOn(const SegmentRef& last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartFile(int64_t segment) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status SyncLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string folder_;
  const SegmentOptions options_;
  absl::Mutex mu_;
  int fd_ ABSL_GUARDED_BY(mu_) = -1;  // of the newest file
  int64_t segment_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t size_ ABSL_GUARDED_BY(mu_) = 0;
  bool suspect_ ABSL_GUARDED_BY(mu_) = false;  // a sync failed: what the file has of late is not known
  std::map<int64_t, int64_t> older_ ABSL_GUARDED_BY(mu_);  // number -> bytes, without the newest
};

}  // namespace sluice
