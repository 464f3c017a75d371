// Control groups of version 1, version 2, or some controllers on each, behind one interface: a group bounds
// and counts a slot's processes, and kills them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sluice {

enum class CgroupController { kMemory, kPids, kCpu };

// The group into which a process moves that shares its own with the sandbox's.
inline constexpr absl::string_view kSupervisorGroup = "/sluice-supervisor";

// Where this process may make groups: for each controller that is there, the folder and its version.
struct CgroupPlaces {
  struct Place {
    std::string folder;
    int version = 0;  // 1 or 2
  };
  std::map<CgroupController, Place> controllers;
  std::string unified;        // version 2's folder, which has cgroup.kill; empty: none
  std::string unified_mount;  // the top of version 2 as seen from here
};

// From the texts of /proc/self/mountinfo and /proc/self/cgroup; reads cgroup.controllers of version 2's
// folder.
CgroupPlaces FindCgroupPlaces(absl::string_view mountinfo, absl::string_view own_groups);

// What a group has used. Unknown counts are 0.
struct CgroupUsage {
  absl::Duration cpu;
  int64_t memory_bytes = 0, peak_memory_bytes = 0;
  int64_t memory_kills = 0, refused_forks = 0;  // since the group was made
};

// One group. Not thread-safe but for Usage and Kill.
class ControlGroup {
 public:
  ~ControlGroup();  // kills what is in it and removes it
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  absl::Status Add(pid_t process);
  // FAILED_PRECONDITION: more memory than this is in use.
  absl::Status SetLimits(int64_t memory_bytes, int32_t processes);
  // The peak counts anew, where the kernel can.
  void ResetPeak();
  CgroupUsage Usage() const;
  void Kill();

 private:
  friend class ControlGroups;
  struct Folder {
    std::string path;
    int version;
  };
  ControlGroup() = default;
  absl::Status Open();

  std::map<CgroupController, Folder> controllers_;
  std::vector<std::string> folders_;  // each once
  std::string unified_;
  int64_t memory_bytes_ = -1;
  int32_t processes_ = -1;
  int usage_file_ = -1, peak_file_ = -1, memory_events_ = -1, pids_events_ = -1, cpu_file_ = -1;
};

// The folder of one sandbox in each hierarchy. Thread-safe.
class ControlGroups {
 public:
  // Makes the folders and removes those that dead processes left. Controllers that cannot be had are missing
  // from available(); `why` says the reason.
  static std::unique_ptr<ControlGroups> Create(const CgroupPlaces& places);
  ~ControlGroups();

  bool Has(CgroupController controller) const { return places_.controllers.count(controller) > 0; }
  const std::string& why() const { return why_; }
  absl::StatusOr<std::unique_ptr<ControlGroup>> NewGroup(absl::string_view name) const;

 private:
  ControlGroups() = default;

  CgroupPlaces places_;  // of the sandbox's own folders
  std::vector<std::string> folders_;
  std::vector<int> locks_;  // held while this process lives: how others see that the folders are in use
  std::string why_;
};

}  // namespace sluice
