// What the processes of the test have between them besides the wire: deaths that were planned, and the
// largest message that went by.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace sluice::bench {

// kill -9 when a process comes to `place` for the `at`-th time; once for all of its lives.
struct Death {
  std::string place;
  int64_t at = 1;
  bool coordinator = false;  // dies, and not who came there
};
// "learner.piece:300:coordinator", "learner.piece:300:self".
absl::StatusOr<Death> DeathOf(const std::string& text);
std::string ToString(const Death& death);

// Thread-safe.
class Deaths {
 public:
  Deaths(std::string folder, std::vector<Death> plan) : folder_(std::move(folder)), plan_(std::move(plan)) {}
  // Returns, if at all, when the coordinator was killed.
  void Reach(const std::string& place);
  static bool Happened(const std::string& folder, const Death& death);

 private:
  const std::string folder_;
  const std::vector<Death> plan_;
  absl::Mutex mu_;
  std::map<std::string, int64_t> times_ ABSL_GUARDED_BY(mu_);
};

// Keeps the size of the largest message of a process in FOLDER/NAME.largest. Thread-safe.
class LargestMessage {
 public:
  LargestMessage(const std::string& folder, const std::string& name);
  void Saw(int64_t bytes);

 private:
  const std::string file_;
  absl::Mutex mu_;
  int64_t largest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice::bench
