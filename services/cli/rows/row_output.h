// Where result rows go, in order, as soon as they are known: a file, or standard output. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::cli {

class RowOutput {
 public:
  // Whether there can be such a file: its folder is there and it is no folder itself. Changes nothing.
  static absl::Status Check(const std::string& path);
  // "-" is standard output. A file is made, or cut to its first `keep_bytes` bytes. FAILED_PRECONDITION:
  // another command writes it now.
  static absl::StatusOr<std::unique_ptr<RowOutput>> Open(const std::string& path, int64_t keep_bytes);
  ~RowOutput();
  absl::Status Write(absl::string_view rows);

 private:
  RowOutput(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}
  const std::string name_;
  const int fd_;
};

}  // namespace sluice::cli
