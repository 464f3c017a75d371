// A box's scratch folder from the service's side. Whatever the candidate has put there, nothing outside of it
// is reached and nothing but a regular file is read.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/file_descriptor.h"

namespace sluice {

// Acts with the file rights of `host_user` (user and group; -1: this process's own). Not thread-safe.
class Scratch {
 public:
  Scratch(FileDescriptor folder, int64_t host_user) : folder_(std::move(folder)), host_user_(host_user) {}
  // Replaces what has the name, and makes the folders of the name.
  absl::Status Write(absl::string_view name, absl::string_view content, bool executable) const;
  absl::StatusOr<std::string> Read(absl::string_view name, int64_t max_bytes) const;

 private:
  FileDescriptor folder_;
  int64_t host_user_;
};

}  // namespace sluice
