// A `sluice up` run as a child: by `up --detach` and by the demonstration.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/cli/supervisor/fleet.h"

namespace sluice::cli {

class UpProcess {
 public:
  static absl::StatusOr<UpProcess> Start(const std::string& state, const FleetShape& shape,
                                         bool die_with_parent);
  // Stops the fleet, unless released.
  ~UpProcess();
  UpProcess(UpProcess&& other) noexcept;
  UpProcess& operator=(UpProcess&&) = delete;

  // Until every process of the fleet serves. FAILED_PRECONDITION with the end of the log when `up` ended.
  absl::Status AwaitServing(absl::Duration deadline);
  // Starts `up` again when it was killed: it adopts what still runs.
  absl::Status KeepAlive();
  // Leaves the fleet running.
  void Release() { pid_ = 0; }
  // Stops the fleet in order; idempotent.
  void Stop();

 private:
  UpProcess(std::string state, FleetShape shape, bool die_with_parent);
  absl::Status Spawn();
  std::string LastWords() const;
  std::string log() const { return state_ + "/logs/up.log"; }
  // Where a start writes until it has the state directory: that of another is not to be touched.
  std::string first_words() const { return absl::StrCat(state_, "/logs/up-starts-", getpid(), ".log"); }

  std::string state_;
  FleetShape shape_;
  bool die_with_parent_;
  pid_t pid_ = 0;
};

}  // namespace sluice::cli
