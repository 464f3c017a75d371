#include "reward/sandbox/sandbox.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/file.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/jail_process.h"
#include "reward/sandbox/run_monitor.h"
#include "reward/sandbox/sandbox_slot.h"
#include "reward/sandbox/self_test.h"
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
    return scratch_->Write(name, content, executable);
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view name, int64_t max_bytes) override {
    return scratch_->Read(name, max_bytes);
  }
  absl::StatusOr<std::unique_ptr<SandboxRun>> Start(const RunRequest& request) override;

 private:
  SandboxImpl* const sandbox_;
  SandboxSlot* const slot_;
  std::optional<Scratch> scratch_;
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
  absl::Status PrepareFolders();
  absl::Status StartJail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_mu_);
  absl::Status MakeUsable(SandboxSlot& slot);
  absl::Status CheckProperties();

  const SandboxOptions options_;
  std::string artefacts_, temporary_;
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

absl::StatusOr<std::unique_ptr<SandboxRun>> Box::Start(const RunRequest& request) {
  if (current_ != nullptr && !current_->AwaitEnd(absl::InfinitePast())) {
    return absl::FailedPreconditionError("a run of this box has not ended yet");
  }
  if (!slot_->usable()) return absl::UnavailableError("the box's slot has failed; open another box");
  FileDescriptor channel;
  auto watched = slot_->StartRun(request, channel);
  if (!watched.ok()) return watched.status();
  current_ = *watched;
  const absl::Time deadline = absl::Now() + request.limits.wall + absl::Seconds(5);
  return std::make_unique<Run>(*std::move(watched), std::move(channel), deadline);
}

absl::Status SandboxImpl::PrepareFolders() {
  std::string base = options_.state_directory;
  if (base.empty()) {
    char made[] = "/tmp/sluice-sandbox.XXXXXX";
    if (mkdtemp(made) == nullptr) return absl::ErrnoToStatus(errno, "make a temporary folder");
    base = temporary_ = made;
  }
  artefacts_ = base + "/artefacts";
  std::error_code error;
  std::filesystem::create_directories(artefacts_, error);
  if (error) return absl::UnavailableError(absl::StrCat("create ", artefacts_, ": ", error.message()));
  artefacts_ = std::filesystem::absolute(artefacts_).string();
  chmod(artefacts_.c_str(), 0755);
  return absl::OkStatus();
}

absl::Status SandboxImpl::StartJail() {
  auto jail = JailProcess::Start(jail_options_);
  if (!jail.ok()) return jail.status();
  jail_ = *std::move(jail);
  return absl::OkStatus();
}

absl::Status SandboxImpl::Start() {
  if (options_.max_boxes < 1 || options_.max_boxes > 60) {
    return absl::InvalidArgumentError("max_boxes is between 1 and 60");
  }
  if (absl::Status s = PrepareFolders(); !s.ok()) return s;
  auto filter = BuildSyscallFilter();
  if (!filter.ok()) return filter.status();
  jail_options_ = {options_.python,         artefacts_, *std::move(filter),
                   options_.python_modules, 0,          options_.max_boxes};
  const auto mounts = ReadFile("/proc/self/mountinfo"), own_groups = ReadFile("/proc/self/cgroup");
  groups_ = ControlGroups::Create(FindCgroupPlaces(mounts.value_or(""), own_groups.value_or("")));
  {
    absl::MutexLock lock(&jail_mu_);
    if (absl::Status s = StartJail(); !s.ok()) return s;
  }
  for (int i = 0; i < options_.max_boxes; ++i) {
    slots_.push_back(std::make_unique<SandboxSlot>(i, groups_.get(), &monitor_));
    absl::MutexLock lock(&mu_);
    free_.push_back(slots_.back().get());
  }
  properties_ = TestSandbox(*this, *groups_);
  return CheckProperties();
}

absl::Status SandboxImpl::CheckProperties() {
  std::string missing;
  for (const SandboxProperty& property : properties_) {
    if (!property.holds)
      absl::StrAppend(&missing, missing.empty() ? "" : "; ", property.name, ": ", property.remedy);
  }
  if (missing.empty() || options_.allow_weaker) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the sandbox is not safe here: ", missing));
}

SandboxImpl::~SandboxImpl() {
  slots_.clear();
  {
    absl::MutexLock lock(&jail_mu_);
    jail_.reset();
  }
  groups_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

absl::Status SandboxImpl::MakeUsable(SandboxSlot& slot) {
  if (slot.usable()) return absl::OkStatus();
  absl::MutexLock lock(&jail_mu_);
  if (jail_ != nullptr && slot.Spawn(*jail_).ok()) return absl::OkStatus();
  // The jail itself has gone, and every slot with it.
  if (absl::Status s = StartJail(); !s.ok()) return s;
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
  if (name.empty() || name.front() == '.' ||
      name.find_first_of(std::string("/\0", 2)) != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("artefact name \"", name, "\" is empty, hidden or has a /"));
  }
  const std::string path = absl::StrCat(artefacts_, "/", name);
  std::string draft = absl::StrCat(artefacts_, "/.draft.XXXXXX");
  const FileDescriptor file(mkstemp(draft.data()));
  if (!file.valid()) return absl::ErrnoToStatus(errno, draft);
  bool done = fchmod(file.get(), 0644) == 0;
  for (size_t at = 0; done && at < content.size();) {
    const ssize_t wrote = write(file.get(), content.data() + at, content.size() - at);
    done = wrote > 0;
    at += done ? static_cast<size_t>(wrote) : 0;
  }
  if (done && rename(draft.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  unlink(draft.c_str());
  return absl::ErrnoToStatus(error, path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Create(const SandboxOptions& options) {
  auto sandbox = std::make_unique<SandboxImpl>(options);
  if (absl::Status s = sandbox->Start(); !s.ok()) return s;
  return sandbox;
}

}  // namespace sluice
