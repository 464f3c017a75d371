#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "reward/sandbox/control_group.h"

namespace sluice {
namespace {

constexpr std::pair<CgroupController, absl::string_view> kNames[] = {{CgroupController::kMemory, "memory"},
                                                                     {CgroupController::kPids, "pids"},
                                                                     {CgroupController::kCpu, "cpuacct"}};

struct Mount {
  std::string root, point, type, options;
};

// man 5 proc, /proc/pid/mountinfo: id parent dev root point options [tags] - type source options.
std::vector<Mount> CgroupMounts(absl::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> left = absl::StrSplit(halves[0], ' '),
                                   right = absl::StrSplit(halves[1], ' ');
    if (left.size() < 6 || right.size() < 3 || !absl::StartsWith(right[0], "cgroup")) continue;
    mounts.push_back({left[3], left[4], right[0], right[2]});
  }
  return mounts;
}

// The path of this process's group in the hierarchy of `controller` ("" for version 2).
std::string OwnGroup(absl::string_view own_groups, absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(own_groups, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> names = absl::StrSplit(fields[1], ',');
    for (absl::string_view name : names) {
      if (name == controller) return std::string(fields[2]);
    }
  }
  return "/";
}

// Where that group lies below the mount; a group outside of what is mounted is taken for the mount's root.
std::string FolderOf(const Mount& mount, absl::string_view group) {
  if (mount.root != "/" && absl::StartsWith(group, mount.root)) group.remove_prefix(mount.root.size());
  std::string folder = group == "/" || group.empty() ? mount.point : absl::StrCat(mount.point, group);
  return access(folder.c_str(), F_OK) == 0 ? folder : mount.point;
}

bool HasOption(const Mount& mount, absl::string_view option) {
  for (absl::string_view o : absl::StrSplit(mount.options, ',')) {
    if (o == option) return true;
  }
  return false;
}

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

CgroupPlaces FindCgroupPlaces(absl::string_view mountinfo, absl::string_view own_groups) {
  CgroupPlaces places;
  for (const Mount& mount : CgroupMounts(mountinfo)) {
    if (mount.type == "cgroup2") {
      places.unified_mount = mount.point;
      std::string own = OwnGroup(own_groups, "");
      // Where an earlier sandbox of this process moved it to make room for groups beside it.
      if (absl::EndsWith(own, kSupervisorGroup)) own.resize(own.size() - kSupervisorGroup.size());
      places.unified = FolderOf(mount, own);
      const std::string there = FileText(places.unified + "/cgroup.controllers");
      for (absl::string_view name : absl::StrSplit(there, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
        if (name == "memory") places.controllers[CgroupController::kMemory] = {places.unified, 2};
        if (name == "pids") places.controllers[CgroupController::kPids] = {places.unified, 2};
        if (name == "cpu") places.controllers[CgroupController::kCpu] = {places.unified, 2};
      }
      continue;
    }
    for (const auto& [controller, name] : kNames) {
      if (HasOption(mount, name))
        places.controllers[controller] = {FolderOf(mount, OwnGroup(own_groups, name)), 1};
    }
  }
  return places;
}

}  // namespace sluice
