// Places where a process may be made to die or to stall: SLUICE_FAIL_POINT("role.place"). Nothing at all
// unless a file is compiled with SLUICE_FAIL_POINTS, as those of the binaries in build/fault/bin are; never
// in what is shipped.
//
// The environment steers it, and is read once:
//   SLUICE_FAIL_POINTS="coordinator.batch_recorded=kill@2,learner.trained=delay:500"
//       kill: SIGKILL to the own process; delay:MS: sleeps that long; @N: at the N-th time a process comes
//       here (default 1)
//   SLUICE_FAIL_POINT_DIR=DIR
//       each action happens once per DIR: whoever makes DIR/NAME.done acts. Each place that was come to
//       leaves DIR/NAME.reached. Both hold the pid.
#pragma once

#ifdef SLUICE_FAIL_POINTS

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sluice {

struct FailAction {
  std::string point;
  bool kill = false;
  absl::Duration delay;
  int64_t at = 1;  // the N-th time
};

// INVALID_ARGUMENT naming the part that is wrong.
absl::StatusOr<std::vector<FailAction>> ParseFailActions(absl::string_view text);

// One place. Thread-safe. A malformed environment ends the process: a test that sets it must not pass
// unheeded.
class FailPoint {
 public:
  explicit FailPoint(const char* name) : name_(name) {}
  void Reach();

 private:
  const char* const name_;
  std::atomic<int64_t> times_{0};
};

}  // namespace sluice

#define SLUICE_FAIL_POINT(name)                    \
  do {                                             \
    static ::sluice::FailPoint sluice_point{name}; \
    sluice_point.Reach();                          \
  } while (false)

#else

#define SLUICE_FAIL_POINT(name) static_cast<void>(0)

#endif
