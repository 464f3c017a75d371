#include "reward/sandbox/control_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sluice {
namespace {

constexpr char kPrefix[] = "sluice-sandbox.";

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  return done ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat("write ", path));
}

std::string Contents(int fd) {
  char text[4096];
  const ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
  return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

int64_t Number(const std::string& text) {
  int64_t value = 0;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value) ? value : 0;
}

// The value in a line "name value".
int64_t Field(const std::string& text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    int64_t value = 0;
    if (words.size() == 2 && words[0] == name && absl::SimpleAtoi(words[1], &value)) return value;
  }
  return 0;
}

void KillProcessesOf(const std::string& folder) {
  std::ifstream in(folder + "/cgroup.procs");
  for (pid_t process; in >> process;) {
    if (process > 0) kill(process, SIGKILL);
  }
}

bool IsEmpty(const std::string& folder) {
  std::ifstream in(folder + "/cgroup.procs");
  pid_t process;
  return !(in >> process);
}

void KillAll(const std::string& folder) {
  if (!WriteFile(folder + "/cgroup.kill", "1").ok()) KillProcessesOf(folder);
}

// Kills and removes; a group can be removed once the kernel has let go of its last process, hence the
// retries.
void RemoveGroup(const std::string& folder, absl::Duration patience = absl::Seconds(2)) {
  const absl::Time deadline = absl::Now() + patience;
  while (rmdir(folder.c_str()) != 0 && errno == EBUSY && absl::Now() < deadline) {
    if (!IsEmpty(folder)) KillAll(folder);
    poll(nullptr, 0, 1);
  }
}

std::vector<std::string> Subfolders(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> found;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || !absl::StartsWith(entry->d_name, prefix))
      continue;
    found.push_back(absl::StrCat(folder, "/", entry->d_name));
  }
  closedir(directory);
  return found;
}

// A folder whose lock can be taken belongs to nobody that lives.
int Lock(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat held, named;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && stat(folder.c_str(), &named) == 0 &&
      held.st_ino == named.st_ino) {
    return fd;
  }
  close(fd);
  return -1;
}

void RemoveStale(const std::string& base) {
  constexpr absl::Duration kPatience =
      absl::Milliseconds(50);  // what cannot be removed now stays for the next
  for (const std::string& folder : Subfolders(base, kPrefix)) {
    const int lock = Lock(folder);
    if (lock < 0) continue;
    for (const std::string& child : Subfolders(folder, "")) RemoveGroup(child, kPatience);
    RemoveGroup(folder, kPatience);
    close(lock);
  }
}

std::string UniqueName() {
  static std::atomic<int> count{0};
  return absl::StrCat(kPrefix, getpid(), ".", count++);
}

struct LockedFolder {
  std::string path;
  int lock = -1;
};

// A new folder of this process in `base`. Whoever cleans up may take it for stale before it is locked: then
// another.
absl::StatusOr<LockedFolder> MakeLocked(const std::string& base) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    LockedFolder made{absl::StrCat(base, "/", UniqueName())};
    if (mkdir(made.path.c_str(), 0755) != 0) {
      if (errno == EEXIST) continue;
      return absl::ErrnoToStatus(errno, made.path);
    }
    made.lock = Lock(made.path);
    if (made.lock >= 0) return made;
    rmdir(made.path.c_str());
  }
  return absl::UnavailableError(absl::StrCat("no folder of its own in ", base));
}

// Version 2 gives controllers to the groups below `folder` only where it holds no process itself: this one
// moves aside, and in a container, whose top this is, every other one with it.
absl::Status Delegate(const std::string& folder, const std::string& controllers, bool with_all) {
  const std::string control = folder + "/cgroup.subtree_control";
  absl::Status enabled = WriteFile(control, controllers);
  if (enabled.ok() || access((folder + "/cgroup.type").c_str(), F_OK) != 0) return enabled;
  const std::string leaf = absl::StrCat(folder, kSupervisorGroup);
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return enabled;
  absl::Status moved = WriteFile(leaf + "/cgroup.procs", absl::StrCat(getpid()));
  if (!moved.ok()) return moved;
  std::ifstream others(folder + "/cgroup.procs");
  for (pid_t process; with_all && others >> process;)
    (void)WriteFile(leaf + "/cgroup.procs", absl::StrCat(process));
  return WriteFile(control, controllers);
}

std::string EnabledNames(const CgroupPlaces& places) {
  std::vector<std::string> names;
  for (const auto& [controller, place] : places.controllers) {
    if (place.version != 2) continue;
    names.push_back(controller == CgroupController::kMemory ? "+memory"
                    : controller == CgroupController::kPids ? "+pids"
                                                            : "+cpu");
  }
  return absl::StrJoin(names, " ");
}

}  // namespace

std::unique_ptr<ControlGroups> ControlGroups::Create(const CgroupPlaces& places) {
  std::unique_ptr<ControlGroups> groups(new ControlGroups);
  std::map<std::string, std::string> made;  // from a base folder
  auto make = [&](const std::string& base) {
    auto [at, is_new] = made.try_emplace(base);
    if (!is_new) return at->second;
    RemoveStale(base);
    auto folder = MakeLocked(base);
    if (!folder.ok()) {
      absl::StrAppend(&groups->why_, groups->why_.empty() ? "" : "; ", folder.status().message());
      return at->second;
    }
    groups->folders_.push_back(folder->path);
    groups->locks_.push_back(folder->lock);
    return at->second = folder->path;
  };
  const std::string names = EnabledNames(places);
  // Version 2: below the own group, or, where that cannot be divided, below the top.
  bool delegated = false;
  for (const std::string& base : {places.unified, places.unified_mount}) {
    if (base.empty() || delegated) continue;
    absl::Status status =
        names.empty() ? absl::OkStatus() : Delegate(base, names, base == places.unified_mount);
    const std::string folder = status.ok() || groups->places_.unified.empty() ? make(base) : "";
    if (status.ok() && !names.empty()) status = WriteFile(folder + "/cgroup.subtree_control", names);
    if (!folder.empty()) groups->places_.unified = folder;
    delegated = !folder.empty() && status.ok();
    if (!status.ok()) absl::StrAppend(&groups->why_, groups->why_.empty() ? "" : "; ", status.message());
  }
  for (const auto& [controller, place] : places.controllers) {
    if (place.version == 2 && !delegated) continue;
    const std::string folder = place.version == 2 ? groups->places_.unified : make(place.folder);
    if (!folder.empty()) groups->places_.controllers[controller] = {folder, place.version};
  }
  return groups;
}

ControlGroups::~ControlGroups() {
  for (const std::string& folder : folders_) RemoveGroup(folder);
  for (int lock : locks_) {
    if (lock >= 0) close(lock);
  }
}

absl::StatusOr<std::unique_ptr<ControlGroup>> ControlGroups::NewGroup(absl::string_view name) const {
  std::unique_ptr<ControlGroup> group(new ControlGroup);
  std::set<std::string> folders;
  for (const auto& [controller, place] : places_.controllers) {
    const std::string folder = absl::StrCat(place.folder, "/", name);
    group->controllers_[controller] = {folder, place.version};
    folders.insert(folder);
  }
  if (!places_.unified.empty()) {
    group->unified_ = absl::StrCat(places_.unified, "/", name);
    folders.insert(group->unified_);
  }
  for (const std::string& folder : folders) {
    RemoveGroup(folder);
    if (mkdir(folder.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("mkdir ", folder));
    group->folders_.push_back(folder);
  }
  if (absl::Status opened = group->Open(); !opened.ok()) return opened;
  return group;
}

ControlGroup::~ControlGroup() {
  Kill();
  for (int fd : {usage_file_, peak_file_, memory_events_, pids_events_, cpu_file_}) {
    if (fd >= 0) close(fd);
  }
  for (const std::string& folder : folders_) RemoveGroup(folder);
}

absl::Status ControlGroup::Open() {
  auto open_file = [&](CgroupController controller, const char* first, const char* second, int flags) {
    const auto found = controllers_.find(controller);
    if (found == controllers_.end()) return -1;
    const std::string path = found->second.path + (found->second.version == 1 ? first : second);
    return open(path.c_str(), flags | O_CLOEXEC);
  };
  using enum CgroupController;
  usage_file_ = open_file(kMemory, "/memory.usage_in_bytes", "/memory.current", O_RDONLY);
  peak_file_ = open_file(kMemory, "/memory.max_usage_in_bytes", "/memory.peak", O_RDWR);
  if (peak_file_ < 0) peak_file_ = open_file(kMemory, "/memory.max_usage_in_bytes", "/memory.peak", O_RDONLY);
  memory_events_ = open_file(kMemory, "/memory.oom_control", "/memory.events", O_RDONLY);
  pids_events_ = open_file(kPids, "/pids.events", "/pids.events", O_RDONLY);
  cpu_file_ = open_file(kCpu, "/cpuacct.usage", "/cpu.stat", O_RDONLY);
  if (controllers_.count(kMemory) > 0 && (usage_file_ < 0 || memory_events_ < 0)) {
    return absl::UnavailableError(absl::StrCat(controllers_[kMemory].path, " lacks usage or events"));
  }
  return absl::OkStatus();
}

absl::Status ControlGroup::Add(pid_t process) {
  for (const std::string& folder : folders_) {
    if (absl::Status s = WriteFile(folder + "/cgroup.procs", absl::StrCat(process)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ControlGroup::SetLimits(int64_t memory_bytes, int32_t processes) {
  const auto memory = controllers_.find(CgroupController::kMemory);
  if (memory != controllers_.end() && memory_bytes != memory_bytes_) {
    const auto& [path, version] = memory->second;
    // Version 2 would take the limit and kill whatever it finds, the slot before anything else.
    if (Number(Contents(usage_file_)) > memory_bytes) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": more than ", memory_bytes, " bytes are in use"));
    }
    const std::string bytes = absl::StrCat(memory_bytes);
    // Version 1 keeps the limit on memory and swap above that on memory, so the order depends on the
    // direction.
    if (version == 1) (void)WriteFile(path + "/memory.memsw.limit_in_bytes", bytes);
    absl::Status s = WriteFile(path + (version == 1 ? "/memory.limit_in_bytes" : "/memory.max"), bytes);
    if (!s.ok()) return s;
    (void)WriteFile(path + (version == 1 ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max"),
                    version == 1 ? bytes : "0");
    memory_bytes_ = memory_bytes;
  }
  const auto pids = controllers_.find(CgroupController::kPids);
  if (pids != controllers_.end() && processes != processes_) {
    if (absl::Status s = WriteFile(pids->second.path + "/pids.max", absl::StrCat(processes)); !s.ok())
      return s;
    processes_ = processes;
  }
  return absl::OkStatus();
}

void ControlGroup::ResetPeak() {
  if (peak_file_ >= 0) (void)!pwrite(peak_file_, "0", 1, 0);
}

CgroupUsage ControlGroup::Usage() const {
  CgroupUsage usage;
  const auto cpu = controllers_.find(CgroupController::kCpu);
  if (cpu != controllers_.end()) {
    const std::string text = Contents(cpu_file_);
    usage.cpu = cpu->second.version == 1 ? absl::Nanoseconds(Number(text))
                                         : absl::Microseconds(Field(text, "usage_usec"));
  }
  usage.memory_bytes = Number(Contents(usage_file_));
  usage.peak_memory_bytes = std::max(usage.memory_bytes, Number(Contents(peak_file_)));
  usage.memory_kills = Field(Contents(memory_events_), "oom_kill");
  usage.refused_forks = Field(Contents(pids_events_), "max");
  return usage;
}

void ControlGroup::Kill() {
  if (!unified_.empty() && WriteFile(unified_ + "/cgroup.kill", "1").ok()) return;
  for (const std::string& folder : folders_) KillProcessesOf(folder);
}

}  // namespace sluice
