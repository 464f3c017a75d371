#include "reward/sandbox/sandbox.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "core/base/file.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/jail_process.h"
#include "reward/sandbox/run_monitor.h"
#include "reward/sandbox/sandbox_slot.h"
#include "reward/sandbox/self_test.h"
#include "reward/sandbox/state_folder.h"
#include "reward/sandbox/syscall_filter.h"

namespace sluice {
namespace {

// Kills the tree, then waits until the kernel says that it is gone.
class Run : public SandboxRun {
 public:
  Run(std::shared_ptr<WatchedRun> watched, FileDescriptor channel, absl::Time deadline)
      : watched_(std::move(watched)), channel_(std::move(channel)), deadline_(deadline) {}
  ~Run() override {
    if (waited_) return;
    watched_->Kill(RunEnd::kKilled);
    watched_->AwaitEnd(absl::Now() + absl::Seconds(10));
  }
  int channel() const override { return channel_.get(); }
  void Kill() override { watched_->Kill(RunEnd::kKilled); }
  RunResult Wait() override {
    RunResult result;
    if (waited_) {
      result.error = "the run has been waited for";
      return result;
    }
    waited_ = true;
    if (watched_->AwaitEnd(deadline_)) return watched_->TakeResult();
    result.error = "the sandbox lost sight of the run";
    return result;
  }

 private:
  const std::shared_ptr<WatchedRun> watched_;
  FileDescriptor channel_;
  const absl::Time deadline_;  // beyond what the monitor enforces
  bool waited_ = false;
};

class SandboxImpl;

class Box : public SandboxBox {
 public:
  Box(SandboxImpl* sandbox, SandboxSlot* slot, Scratch scratch)
      : sandbox_(sandbox), slot_(slot), scratch_(std::in_place, std::move(scratch)) {}
  ~Box() override;
  absl::Status WriteFile(absl::string_view name, absl::string_view content, bool executable) override {
    if (!scratch_) return Lost();
    return scratch_->Write(name, content, executable);
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view name, int64_t max_bytes) override {
    if (!scratch_) return Lost();
    return scratch_->Read(name, max_bytes);
  }
  absl::Status Clear() override;
  absl::StatusOr<std::unique_ptr<SandboxRun>> Start(const RunRequest& request) override;

 private:
  static absl::Status Lost() { return absl::UnavailableError("the box's slot has failed; open another box"); }
  absl::Status Ready() const;

  SandboxImpl* const sandbox_;
  SandboxSlot* const slot_;
  std::optional<Scratch> scratch_;  // none: the box is lost
  std::shared_ptr<WatchedRun> current_;
};

class SandboxImpl : public Sandbox {
 public:
  explicit SandboxImpl(const SandboxOptions& options) : options_(options) {}
  ~SandboxImpl() override;

  absl::Status Start();
  const std::vector<SandboxProperty>& properties() const override { return properties_; }
  absl::StatusOr<std::unique_ptr<SandboxBox>> Open(absl::Time deadline) override;
  absl::Status Publish(absl::string_view name, absl::string_view content) override;
  void Return(SandboxSlot* slot);

 private:
  absl::Status StartJail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_mu_);
  absl::Status MakeUsable(SandboxSlot& slot);
  absl::Status CheckProperties() const;

  const SandboxOptions options_;
  std::optional<StateFolder> folder_;
  std::vector<SandboxProperty> properties_;
  std::unique_ptr<ControlGroups> groups_;
  RunMonitor monitor_;
  absl::Mutex jail_mu_;
  JailOptions jail_options_;
  std::unique_ptr<JailProcess> jail_ ABSL_GUARDED_BY(jail_mu_);
  std::vector<std::unique_ptr<SandboxSlot>> slots_;
  absl::Mutex mu_;
  std::vector<SandboxSlot*> free_ ABSL_GUARDED_BY(mu_);
};

Box::~Box() {
  if (current_ != nullptr) {
    current_->Kill(RunEnd::kKilled);
    if (!current_->AwaitEnd(absl::Now() + absl::Seconds(10))) slot_->SlotFailed();
  }
  scratch_.reset();
  slot_->CloseBox();
  sandbox_->Return(slot_);
}

absl::Status Box::Ready() const {
  if (current_ != nullptr && !current_->AwaitEnd(absl::InfinitePast())) {
    return absl::FailedPreconditionError("a run of this box has not ended yet");
  }
  return slot_->usable() && scratch_ ? absl::OkStatus() : Lost();
}

absl::Status Box::Clear() {
  if (absl::Status s = Ready(); !s.ok()) return s;
  scratch_.reset();  // what the files hold is free before anything new needs it
  auto fresh = slot_->OpenBox();
  if (!fresh.ok()) return absl::UnavailableError(fresh.status().message());
  scratch_.emplace(*std::move(fresh));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SandboxRun>> Box::Start(const RunRequest& request) {
  if (absl::Status s = Ready(); !s.ok()) return s;
  FileDescriptor channel;
  auto watched = slot_->StartRun(request, channel);
  if (!watched.ok()) return watched.status();
  current_ = *watched;
  const absl::Time deadline = absl::Now() + request.limits.wall + absl::Seconds(5);
  return std::make_unique<Run>(*std::move(watched), std::move(channel), deadline);
}

// The part of the jail that a property rests on, 0 for none.
uint32_t PartOf(absl::string_view property) {
  constexpr std::pair<absl::string_view, uint32_t> kParts[] = {
      {"user_namespace", jail::kPartUser},
      {"mount_namespace", jail::kPartMount},
      {"pid_namespace", jail::kPartPid},
      {"network_namespace", jail::kPartNetwork},
      {"ipc_namespace", jail::kPartIpc},
      {"uts_namespace", jail::kPartUts},
      {"cgroup_namespace", jail::kPartControlGroupNamespace},
      {"proc", jail::kPartProc},
      {"seccomp", jail::kPartSeccomp}};
  for (const auto& [name, part] : kParts) {
    if (name == property) return part;
  }
  return 0;
}

// Leaves out, and records as missing, what this machine refuses, until the rest starts.
absl::Status SandboxImpl::StartJail() {
  while (true) {
    auto jail = JailProcess::Start(jail_options_);
    if (jail.ok()) {
      jail_ = *std::move(jail);
      return absl::OkStatus();
    }
    const std::string message(jail.status().message());
    const std::string property = message.substr(0, message.find(':'));
    const uint32_t part = PartOf(property);
    if (part == 0 || (jail_options_.without & part)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the sandbox cannot start: ", Remedy(property, message)));
    }
    jail_options_.without |= part;
    properties_.push_back({property, false, Remedy(property, message)});
  }
}

absl::Status SandboxImpl::Start() {
  if (options_.max_boxes < 1 || options_.max_boxes > 60) {
    return absl::InvalidArgumentError("max_boxes is between 1 and 60");
  }
  auto folder = StateFolder::Open(options_.state_directory);
  if (!folder.ok()) return folder.status();
  folder_.emplace(*std::move(folder));
  auto filter = BuildSyscallFilter();
  if (!filter.ok()) return filter.status();
  jail_options_ = {options_.python,    options_.compiler,       folder_->artefacts(),
                   *std::move(filter), options_.python_modules, 0,
                   options_.max_boxes};
  const auto mounts = ReadFile("/proc/self/mountinfo"), own_groups = ReadFile("/proc/self/cgroup");
  groups_ = ControlGroups::Create(FindCgroupPlaces(mounts.value_or(""), own_groups.value_or("")));
  {
    absl::MutexLock lock(&jail_mu_);
    if (absl::Status s = StartJail(); !s.ok()) return s;
  }
  for (int i = 0; i < options_.max_boxes; ++i) {
    slots_.push_back(std::make_unique<SandboxSlot>(i, folder_->BoxFolder(i), groups_.get(), &monitor_));
    absl::MutexLock lock(&mu_);
    free_.push_back(slots_.back().get());
  }
  for (SandboxProperty& property : TestSandbox(*this, *groups_)) {
    const bool known = std::any_of(properties_.begin(), properties_.end(),
                                   [&](const SandboxProperty& p) { return p.name == property.name; });
    if (!known) properties_.push_back(std::move(property));
  }
  return CheckProperties();
}

absl::Status SandboxImpl::CheckProperties() const {
  const std::string missing = MissingProperties(properties_, "\n  ");
  if (missing.empty() || options_.allow_weaker) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the sandbox is not safe here and runs no code. Missing:\n  ", missing));
}

SandboxImpl::~SandboxImpl() {
  slots_.clear();
  {
    absl::MutexLock lock(&jail_mu_);
    jail_.reset();
  }
  groups_.reset();
}

absl::Status SandboxImpl::MakeUsable(SandboxSlot& slot) {
  if (slot.usable()) return absl::OkStatus();
  absl::MutexLock lock(&jail_mu_);
  if (jail_ != nullptr && slot.Spawn(*jail_).ok()) return absl::OkStatus();
  if (jail_ == nullptr || !jail_->Alive()) {  // and every slot has gone with it
    if (absl::Status s = StartJail(); !s.ok()) return s;
  }
  return slot.Spawn(*jail_);
}

absl::StatusOr<std::unique_ptr<SandboxBox>> SandboxImpl::Open(absl::Time deadline) {
  SandboxSlot* slot = nullptr;
  {
    absl::MutexLock lock(&mu_);
    const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !free_.empty(); };
    if (!mu_.AwaitWithDeadline(absl::Condition(&available), deadline)) {
      return absl::DeadlineExceededError("no box of the sandbox became free");
    }
    slot = free_.back();
    free_.pop_back();
  }
  const absl::Status usable = MakeUsable(*slot);
  absl::StatusOr<Scratch> scratch = usable.ok() ? slot->OpenBox() : usable;
  if (!scratch.ok()) {
    Return(slot);
    return scratch.status();
  }
  return std::make_unique<Box>(this, slot, *std::move(scratch));
}

void SandboxImpl::Return(SandboxSlot* slot) {
  absl::MutexLock lock(&mu_);
  free_.push_back(slot);
}

absl::Status SandboxImpl::Publish(absl::string_view name, absl::string_view content) {
  return folder_->Publish(name, content);
}

}  // namespace

std::string MissingProperties(const std::vector<SandboxProperty>& properties, absl::string_view separator) {
  std::map<std::string, std::string> names;  // by remedy
  for (const SandboxProperty& p : properties) {
    if (!p.holds) absl::StrAppend(&names[p.remedy], names[p.remedy].empty() ? "" : ", ", p.name);
  }
  return absl::StrJoin(names, separator, [](std::string* out, const auto& missing) {
    absl::StrAppend(out, missing.second, ": ", missing.first);
  });
}

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Create(const SandboxOptions& options) {
  auto sandbox = std::make_unique<SandboxImpl>(options);
  if (absl::Status s = sandbox->Start(); !s.ok()) return s;
  return sandbox;
}

}  // namespace sluice
