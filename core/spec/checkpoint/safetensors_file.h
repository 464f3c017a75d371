// Safetensors files on disk: an open file that gives single tensors, and a writer that streams them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/spec/checkpoint/safetensors_header.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// An open file with a checked header. Not thread-safe.
class SafetensorsFile {
 public:
  static absl::StatusOr<std::unique_ptr<SafetensorsFile>> Open(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  absl::StatusOr<HostTensor> Read(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status ReadHeader();
  absl::Status ReadAt(int64_t offset, int64_t size, std::string& out) const;

  std::string path_;
  int fd_;
  int64_t data_offset_ = 0;
  std::vector<SafetensorsEntry> entries_;
};

// Places the tensors: wider types first (so that each is aligned), then by name.
std::vector<SafetensorsEntry> LayOutSafetensors(const TensorMap& tensors);
// Writes and fsyncs a new file at `path`.
absl::Status WriteSafetensorsFile(const std::string& path, const TensorMap& tensors);

}  // namespace sluice
