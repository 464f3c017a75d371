// A slot from the service's side: one process of the jail with its control group, and the box it holds.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/jail_process.h"
#include "reward/sandbox/run_monitor.h"
#include "reward/sandbox/sandbox.h"
#include "reward/sandbox/scratch.h"

namespace sluice {

// Used by one box at a time; not thread-safe but for SlotFailed.
class SandboxSlot : public SlotWatcher {
 public:
  // `folder`: where a box's files go if the jail cannot mount.
  SandboxSlot(int index, std::string folder, const ControlGroups* groups, RunMonitor* monitor)
      : index_(index), folder_(std::move(folder)), groups_(groups), monitor_(monitor) {}
  ~SandboxSlot() override;

  // False before Spawn and after a failure.
  bool usable() const { return spawned_ && !failed_; }
  // A new process in a new control group, in place of any that is there.
  absl::Status Spawn(JailProcess& jail);
  absl::StatusOr<Scratch> OpenBox();
  void CloseBox();
  absl::StatusOr<std::shared_ptr<WatchedRun>> StartRun(const RunRequest& request, FileDescriptor& channel);
  void SlotFailed() override { failed_ = true; }

 private:
  absl::Status Order(const jail::BoxOrder& order, int fd, FileDescriptor* answer);
  absl::StatusOr<FileDescriptor> MakeHostFolder() const;
  absl::Status Limit(const SandboxLimits& limits, bool& memory_unbounded);

  const int index_;
  const std::string folder_;
  const ControlGroups* const groups_;
  RunMonitor* const monitor_;
  bool spawned_ = false;
  std::atomic<bool> failed_{false};
  uint32_t without_ = 0;
  int64_t host_user_ = -1;
  JailSlot process_;
  std::unique_ptr<ControlGroup> group_;
};

}  // namespace sluice
