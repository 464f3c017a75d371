// Lines of a file or of standard input, one at a time: memory does not grow with the input. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace sluice::cli {

struct Line {
  size_t number = 0;  // from 1
  std::string text;  // without blanks at the ends; cut where it is longer than kMaxRowBytes, but still longer
  int64_t begin = 0;  // offset in the input
  bool ended = true;  // by a line end, not by the end of the input
};

class LineReader {
 public:
  // "-" is standard input. `stop_fd` that becomes readable ends the reading; -1: none.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(const std::string& path, int stop_fd = -1);
  ~LineReader();

  // The next line that is not blank; nothing at the end, or when the reading was ended.
  absl::StatusOr<std::optional<Line>> Next();
  // Whether Next would not wait for the other end of a pipe.
  bool Ready() const;
  int64_t bytes_read() const { return offset_; }  // of the lines given so far
  int64_t size() const { return size_; }          // of a regular file; 0: not known

 private:
  LineReader(std::string name, int fd, int64_t size, int stop_fd)
      : name_(std::move(name)), fd_(fd), size_(size), stop_fd_(stop_fd) {}
  // Reads on; false at the end.
  absl::StatusOr<bool> Fill();
  Line Take(size_t length, bool ended);

  const std::string name_;
  const int fd_;
  const int64_t size_;
  const int stop_fd_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is not given yet, in buffer_
  size_t searched_ = 0;  // no line end before
  int64_t dropped_ = 0;  // bytes of a line that is too long, beyond those kept
  int64_t offset_ = 0;
  size_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace sluice::cli
