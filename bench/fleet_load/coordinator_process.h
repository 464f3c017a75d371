// A real coordinator, started beside the running binary.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sluice::bench {

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
