// An open file descriptor that is closed with its owner. Not thread-safe.
#pragma once

#include <unistd.h>

namespace sluice {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}  // negative: nothing to close
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace sluice
