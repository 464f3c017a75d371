// A real coordinator, started beside the running binary, and the folder that it works in.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sluice::bench {

// A folder of its own, removed at the end, or the one that was named, which is made and stays.
class Folder {
 public:
  Folder(const std::string& named, const std::string& stem);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool own_ = false;
};

// Stopped at the end when it was started here. Thread-compatible.
class CoordinatorProcess {
 public:
  ~CoordinatorProcess();
  // Its state in FOLDER/coordinator, its addresses in FOLDER/coordinator.json, its log in
  // FOLDER/coordinator.log. Returns when it serves. Again after it died: with the state that it left.
  absl::Status Start(const std::string& folder, const std::vector<std::string>& flags);
  // One that runs already.
  void Use(const std::string& address, int pid) {
    address_ = address;
    pid_ = pid;
  }
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

 private:
  std::string address_;
  pid_t pid_ = 0;
  bool started_ = false;
};

}  // namespace sluice::bench
