// Watches runs from one thread: drains what they write, enforces their limits from outside, and learns of
// their end. What a run was is decided here, from this process's memory and the kernel's counters alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/file_descriptor.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/jail/protocol.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

// Time since some fixed moment, which setting the clock does not move.
absl::Duration MonotonicNow();

// Told when a slot's process no longer answers as it should.
class SlotWatcher {
 public:
  virtual ~SlotWatcher() = default;
  virtual void SlotFailed() = 0;
};

// One run as the monitor sees it. Thread-safe.
class WatchedRun {
 public:
  struct Setup {
    SandboxLimits limits;
    int slot_socket = -1;           // borrowed
    ControlGroup* group = nullptr;  // borrowed; may be null
    SlotWatcher* watcher = nullptr;
    FileDescriptor output, error_output, timer;
    absl::Duration start;           // as MonotonicNow
    bool memory_unbounded = false;  // the group could not be given the limit: it is watched instead
    CgroupUsage before;
  };
  explicit WatchedRun(Setup setup) : setup_(std::move(setup)) {}

  void Kill(RunEnd reason);
  // True once the tree is gone, or at the deadline.
  bool AwaitEnd(absl::Time deadline);
  RunResult TakeResult();

  enum class Source { kOutput, kErrorOutput, kSlot, kTimer };
  int descriptor(Source source) const;
  // Returns true when the source needs no more watching.
  bool Handle(Source source);
  bool decided();
  // Lets AwaitEnd return: the monitor has let go of the run's descriptors.
  void Announce();
  void ArmTimer();

 private:
  void Drain(FileDescriptor& from, std::string& into, int64_t keep, int64_t& seen, bool& closed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DrainAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckLimits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void KillLocked(RunEnd reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReceiveFromSlot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(const jail::Outcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Decide(const jail::Outcome& outcome, const CgroupUsage& used) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(const std::string& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetTimer(absl::Duration after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MemoryIsOver(const CgroupUsage& used) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  CgroupUsage Used() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  Setup setup_ ABSL_GUARDED_BY(mu_);
  FileDescriptor tree_ ABSL_GUARDED_BY(mu_);
  RunResult result_ ABSL_GUARDED_BY(mu_);
  int64_t output_seen_ ABSL_GUARDED_BY(mu_) = 0, error_seen_ ABSL_GUARDED_BY(mu_) = 0;
  bool output_closed_ ABSL_GUARDED_BY(mu_) = false, error_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool killed_ ABSL_GUARDED_BY(mu_) = false, decided_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  RunEnd kill_reason_ ABSL_GUARDED_BY(mu_) = RunEnd::kKilled;
  absl::Duration kill_deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();
  absl::Duration tick_ ABSL_GUARDED_BY(mu_) = absl::Milliseconds(10);
};

// Thread-safe.
class RunMonitor {
 public:
  RunMonitor();
  ~RunMonitor();  // every run has been forgotten before
  // Watches until the run has ended.
  absl::Status Watch(std::shared_ptr<WatchedRun> run);

 private:
  void Loop();
  void Unwatch(const WatchedRun& run);
  void Forget(uint64_t id);

  FileDescriptor epoll_, wake_;
  absl::Mutex mu_;
  std::map<uint64_t, std::shared_ptr<WatchedRun>> runs_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::thread thread_;
};

}  // namespace sluice
