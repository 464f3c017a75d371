// Append-only files of checksummed records: the bulk that the store's rows refer to. A record is
//   u32 length | u32 CRC-32C of the payload | payload          (little-endian)
// A file takes records until it passes `rotate_bytes`; then the next one starts. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

struct SegmentRef {
  int64_t segment = -1;  // number of the file; -1: none
  int64_t offset = 0;    // of the record
  int64_t bytes = 0;     // of the payload
  friend bool operator==(const SegmentRef&, const SegmentRef&) = default;
};

class Segments {
 public:
  static constexpr int64_t kMaxRecordBytes = int64_t{1} << 30;

  // Makes the folder when absent. A torn or damaged tail of the newest file is cut off.
  static absl::StatusOr<std::unique_ptr<Segments>> Open(const std::string& folder,
                                                        int64_t rotate_bytes = int64_t{256} << 20);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  // Durable only after Sync. On an error (RESOURCE_EXHAUSTED: disk full) nothing was added.
  absl::StatusOr<SegmentRef> Append(absl::string_view payload);
  absl::Status Sync();
  // DATA_LOSS when the record is not what was written.
  absl::StatusOr<std::string> Read(const SegmentRef& ref);

 private:
  Segments(std::string folder, int64_t rotate_bytes)
      : folder_(std::move(folder)), rotate_bytes_(rotate_bytes) {}
  std::string Path(int64_t segment) const;
  absl::Status OpenNewest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartFile(int64_t segment) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string folder_;
  const int64_t rotate_bytes_;
  absl::Mutex mu_;
  int fd_ ABSL_GUARDED_BY(mu_) = -1;  // of the newest file
  int64_t segment_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t size_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice
