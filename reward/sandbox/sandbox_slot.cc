#include "reward/sandbox/sandbox_slot.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "reward/sandbox/embedded_jail.h"
#include "reward/sandbox/jail/message.h"

namespace sluice {
namespace {

constexpr int32_t kOwnProcesses = 2;              // the slot and the tree's pid 1
constexpr int64_t kOwnMemory = int64_t{4} << 20;  // what these two touch
constexpr int64_t kMaxStack = int64_t{256} << 20;
constexpr int kMaxArguments = 256;

absl::StatusOr<std::string> Payload(const RunRequest& request) {
  if (request.argv.empty()) return request.python_source;
  if (!request.python_source.empty())
    return absl::InvalidArgumentError("a run has argv or python_source, not both");
  if (request.argv.size() > kMaxArguments)
    return absl::InvalidArgumentError("a run has at most 256 arguments");
  std::string payload;
  for (const std::string& argument : request.argv) {
    if (argument.find('\0') != std::string::npos) return absl::InvalidArgumentError("an argument has a NUL");
    payload.append(argument).push_back('\0');
  }
  return payload;
}

absl::Status CheckLimits(const SandboxLimits& limits) {
  if (limits.wall <= absl::ZeroDuration() || limits.cpu <= absl::ZeroDuration() || limits.memory_bytes <= 0 ||
      limits.output_bytes < 0 || limits.processes <= 0 || limits.file_bytes <= 0 || limits.files <= 0 ||
      limits.open_files < 8) {
    return absl::InvalidArgumentError("each limit of a run is above 0, open_files at least 8");
  }
  return absl::OkStatus();
}

jail::RunOrder MakeOrder(const RunRequest& request, size_t payload_bytes, const ControlGroups* groups) {
  const SandboxLimits& limits = request.limits;
  jail::RunOrder order{};
  order.kind = jail::Kind::kStart;
  order.python = request.argv.empty();
  order.channel = request.channel;
  order.argument_count = static_cast<uint32_t>(request.argv.size());
  order.payload_bytes = payload_bytes;
  order.file_bytes = limits.file_bytes;
  // Deep recursion passes; endless recursion ends as a signal, before the memory limit does.
  order.stack_bytes = std::min(kMaxStack, std::max(int64_t{8} << 20, limits.memory_bytes / 2));
  order.files = static_cast<uint32_t>(limits.files);
  order.open_files = static_cast<uint32_t>(limits.open_files);
  // The group's limit is met first, for it is the one that is counted.
  order.processes = static_cast<uint32_t>(limits.processes) + (groups->Has(CgroupController::kPids) ? 8 : 0);
  // Where no control group counts, the process's own limits stand in.
  if (!groups->Has(CgroupController::kMemory)) order.address_space_bytes = limits.memory_bytes;
  if (!groups->Has(CgroupController::kCpu)) order.cpu_seconds = 1 + absl::ToInt64Seconds(limits.cpu);
  return order;
}

struct Pipe {
  FileDescriptor read, write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return absl::ErrnoToStatus(errno, "fcntl");
  return pipe;
}

absl::StatusOr<Pipe> MakeChannel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ErrnoToStatus(errno, "socketpair");
  Pipe pair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return absl::ErrnoToStatus(errno, "fcntl");
  return pair;
}

}  // namespace

SandboxSlot::~SandboxSlot() {
  process_.socket.Reset();
  if (process_.pidfd.valid()) syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
}

absl::Status SandboxSlot::Spawn(JailProcess& jail) {
  process_ = {};
  group_.reset();
  spawned_ = false;
  auto group = groups_->NewGroup(absl::StrCat("slot-", index_));
  if (!group.ok()) return group.status();
  auto process = jail.SpawnSlot(index_);
  if (!process.ok()) return process.status();
  if (absl::Status s = (*group)->Add(process->process); !s.ok()) return s;
  if (absl::Status s = JailProcess::Settle(*process); !s.ok()) return s;
  group_ = *std::move(group);
  process_ = *std::move(process);
  host_user_ = jail.HostUser(index_);
  without_ = jail.without();
  spawned_ = true;
  failed_ = false;
  return absl::OkStatus();
}

absl::Status SandboxSlot::Order(const jail::BoxOrder& order, int fd, FileDescriptor* answer) {
  absl::StatusOr<FileDescriptor> got = absl::UnavailableError("the sandbox's slot has ended");
  if (jail::Send(process_.socket.get(), &order, sizeof order, &fd, fd < 0 ? 0 : 1)) {
    got = AwaitAnswer(process_.socket.get());
  }
  if (!got.ok()) {
    failed_ = true;
    return got.status();
  }
  if (answer != nullptr) *answer = *std::move(got);
  return absl::OkStatus();
}

absl::StatusOr<FileDescriptor> SandboxSlot::MakeHostFolder() const {
  if (absl::Status s = RemoveTree(folder_); !s.ok()) return s;
  if (absl::Status s = MakeDirectories(folder_); !s.ok()) return s;
  FileDescriptor folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const auto user = static_cast<uid_t>(host_user_);
  if (!folder.valid() || fchmod(folder.get(), 0700) != 0 ||
      (host_user_ >= 0 && fchown(folder.get(), user, user) != 0)) {
    return ErrnoStatus(errno, folder_);
  }
  return folder;
}

absl::StatusOr<Scratch> SandboxSlot::OpenBox() {
  const SandboxLimits limits;
  const jail::BoxOrder order{jail::Kind::kOpenBox, static_cast<uint32_t>(limits.files), limits.file_bytes};
  FileDescriptor folder;
  if (!(without_ & jail::kPartMount)) {
    if (absl::Status s = Order(order, -1, &folder); !s.ok()) return s;
    return Scratch(std::move(folder), host_user_);
  }
  auto made = MakeHostFolder();
  if (!made.ok()) return made.status();
  if (absl::Status s = Order(order, made->get(), nullptr); !s.ok()) return s;
  return Scratch(*std::move(made), host_user_);
}

void SandboxSlot::CloseBox() {
  if (!failed_) (void)Order({jail::Kind::kCloseBox, 0, 0}, -1, nullptr);
  if (without_ & jail::kPartMount) (void)RemoveTree(folder_);
  if (without_ &
      jail::kPartPid) {  // what escaped from a run is in the group still; the next box gets a new one
    group_->Kill();
    failed_ = true;
  }
}

// A group whose memory is in use cannot be given less. What an earlier box held is freed within moments; what
// the box's own files hold is not, and counts against the run.
absl::Status SandboxSlot::Limit(const SandboxLimits& limits, bool& memory_unbounded) {
  const absl::Duration deadline = MonotonicNow() + absl::Milliseconds(200);
  while (true) {
    absl::Status s = group_->SetLimits(limits.memory_bytes + kOwnMemory, limits.processes + kOwnProcesses);
    memory_unbounded = absl::IsFailedPrecondition(s);
    if (!memory_unbounded || MonotonicNow() >= deadline) return memory_unbounded ? absl::OkStatus() : s;
    poll(nullptr, 0, 2);
  }
}

absl::StatusOr<std::shared_ptr<WatchedRun>> SandboxSlot::StartRun(const RunRequest& request,
                                                                  FileDescriptor& channel) {
  if (absl::Status s = CheckLimits(request.limits); !s.ok()) return s;
  auto payload_text = Payload(request);
  if (!payload_text.ok()) return payload_text.status();
  auto input = MemoryFile("input", request.standard_input), payload = MemoryFile("payload", *payload_text);
  auto output = MakePipe(), error_output = MakePipe();
  for (const absl::Status& s : {input.status(), payload.status(), output.status(), error_output.status()}) {
    if (!s.ok()) return s;
  }
  Pipe pair;
  if (request.channel) {
    auto made = MakeChannel();
    if (!made.ok()) return made.status();
    pair = *std::move(made);
  }
  const SandboxLimits& limits = request.limits;
  WatchedRun::Setup setup;
  if (absl::Status s = Limit(limits, setup.memory_unbounded); !s.ok()) return s;
  group_->ResetPeak();
  setup.limits = limits;
  setup.slot_socket = process_.socket.get();
  setup.group = group_.get();
  setup.watcher = this;
  setup.timer.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!setup.timer.valid()) return absl::ErrnoToStatus(errno, "timerfd_create");
  setup.output = std::move(output->read);
  setup.error_output = std::move(error_output->read);
  setup.before = group_->Usage();
  setup.start = MonotonicNow();
  const jail::RunOrder order = MakeOrder(request, payload_text->size(), groups_);
  const int fds[] = {input->get(), output->write.get(), error_output->write.get(), payload->get(),
                     pair.write.get()};
  if (!jail::Send(process_.socket.get(), &order, sizeof order, fds, request.channel ? 5 : 4)) {
    failed_ = true;
    return absl::UnavailableError("the sandbox's slot has ended");
  }
  auto run = std::make_shared<WatchedRun>(std::move(setup));
  if (absl::Status s = monitor_->Watch(run); !s.ok()) {
    failed_ = true;  // with the group the run ends that nobody watches
    group_->Kill();
    return s;
  }
  channel = std::move(pair.read);
  return run;
}

}  // namespace sluice
