#include "reward/sandbox/jail_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/sandbox/embedded_jail.h"
#include "reward/sandbox/jail/message.h"

namespace sluice {
namespace {

// User ids that the systemd project sets aside for no one; 64 for each process id there can be.
constexpr int64_t kFirstUser = 1879048192, kUsersPerProcess = 64;

// What an interpreter and a compiler need of the host.
constexpr const char* kHostPaths[] = {
    "/usr/bin",      "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/include",     "/usr/share/zoneinfo",
    "/bin",          "/sbin",    "/lib",       "/lib64",       "/etc/ld.so.cache", "/etc/alternatives",
    "/etc/localtime"};

absl::Status SetTimeouts(int socket) {
  const timeval limit{10, 0};
  if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    return absl::ErrnoToStatus(errno, "setsockopt");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::pair<FileDescriptor, FileDescriptor>> Conversation() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  std::pair<FileDescriptor, FileDescriptor> pair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  if (absl::Status s = SetTimeouts(ends[0]); !s.ok()) return s;
  return pair;
}

absl::StatusOr<std::pair<FileDescriptor, FileDescriptor>> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  return std::pair<FileDescriptor, FileDescriptor>{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void AddPath(jail::Setup& setup, absl::string_view source, absl::string_view target, bool optional) {
  if (setup.path_count >= jail::kMaxPaths || source.size() >= jail::kPathBytes) return;
  jail::BoundPath& path = setup.paths[setup.path_count++];
  std::memcpy(path.source, source.data(), source.size());
  std::memcpy(path.target, target.data(), target.size());
  path.optional = optional;
}

// A program outside of /usr brings the folder it is installed in: two above its real file.
void AddProgram(jail::Setup& setup, const std::string& program) {
  char real[PATH_MAX];
  if (realpath(program.c_str(), real) == nullptr) return;
  std::string prefix(real);
  for (int i = 0; i < 2; ++i) prefix.resize(prefix.rfind('/'));
  if (prefix.empty() || prefix == "/usr" || absl::StartsWith(prefix, "/usr/lib")) return;
  AddPath(setup, prefix, prefix, false);
}

jail::Setup MakeSetup(const JailOptions& options, bool many_users) {
  jail::Setup setup{};
  setup.kind = jail::Kind::kSetup;
  setup.filter_bytes = static_cast<uint32_t>(options.filter.size());
  setup.without = options.without;
  setup.many_users = many_users;
  for (const char* path : kHostPaths) AddPath(setup, path, path, true);
  AddProgram(setup, options.python);
  AddProgram(setup, options.compiler);
  if (!options.artefacts.empty()) AddPath(setup, options.artefacts, "/artefacts", false);
  return setup;
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  return done ? absl::OkStatus() : absl::ErrnoToStatus(error, path);
}

// Whether this process may map ids [first, first + count) of its own user namespace.
bool MayMap(int64_t first, int64_t count) {
  if (geteuid() != 0) return false;
  std::ifstream map("/proc/self/uid_map");
  for (int64_t inside, outside, length; map >> inside >> outside >> length;) {
    if (first >= inside && first + count <= inside + length) return true;
  }
  return false;
}

pid_t ProcessOf(int pidfd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", pidfd));
  std::string word;
  while (info >> word) {
    pid_t process = 0;
    if (word == "Pid:" && info >> process) return process;
  }
  return 0;
}

}  // namespace

absl::StatusOr<FileDescriptor> AwaitAnswer(int socket) {
  jail::Answer answer{};
  jail::Descriptors fds;
  const long got = jail::Receive(socket, &answer, sizeof answer, fds);
  if (got < 0)
    return absl::UnavailableError(absl::StrCat("the jail does not answer: ", std::strerror(errno)));
  if (got != sizeof answer || answer.kind != jail::Kind::kReady)
    return absl::UnavailableError("the jail has ended");
  if (answer.error != 0) return absl::ErrnoToStatus(answer.error, answer.step);
  return FileDescriptor(fds.Take(0));
}

absl::StatusOr<std::unique_ptr<JailProcess>> JailProcess::Start(const JailOptions& options) {
  std::unique_ptr<JailProcess> jail(new JailProcess);
  if (absl::Status s = jail->Spawn(options); !s.ok()) return s;
  if (absl::Status s = jail->Converse(options); !s.ok()) return s;
  return jail;
}

JailProcess::~JailProcess() {
  {
    absl::MutexLock lock(&mu_);
    control_.Reset();  // the jail's pid 1 sees it and ends; its namespace ends with it
  }
  if (process_ > 0) {
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

absl::Status JailProcess::Spawn(const JailOptions& options) {
  auto pair = Conversation();
  if (!pair.ok()) return pair.status();
  auto library = MemoryFile("sluice-jail", EmbeddedJailLibrary());
  if (!library.ok()) return library.status();
  std::string module_text;
  for (const auto& [name, source] : options.modules) {
    if ((name + source).find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("Python module ", name, " has a NUL"));
    }
    module_text.append(name).append(1, '\0').append(source).append(1, '\0');
  }
  auto modules = MemoryFile("sluice-modules", module_text);
  if (!modules.ok()) return modules.status();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto free_actions = absl::MakeCleanup([&] { posix_spawn_file_actions_destroy(&actions); });
  // Through high numbers, so that neither place is taken by the other's source.
  FileDescriptor control(fcntl(pair->second.get(), F_DUPFD_CLOEXEC, 64)),
      code(fcntl(library->get(), F_DUPFD_CLOEXEC, 64)), ahead(fcntl(modules->get(), F_DUPFD_CLOEXEC, 64));
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  // A pipe, as runs will have in its place: the interpreter asks once what its streams are.
  auto output = MakePipe();
  if (!output.ok()) return output.status();
  posix_spawn_file_actions_adddup2(&actions, output->second.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, output->second.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, control.get(), jail::kControlDescriptor);
  posix_spawn_file_actions_adddup2(&actions, code.get(), jail::kLibraryDescriptor);
  posix_spawn_file_actions_adddup2(&actions, ahead.get(), jail::kModulesDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, jail::kModulesDescriptor + 1);
  std::string zygote(EmbeddedZygote()),
      library_path = absl::StrCat("/proc/self/fd/", jail::kLibraryDescriptor);
  std::string python = options.python;
  char isolated[] = "-s", safe[] = "-P", no_site[] = "-S", no_bytecode[] = "-B", command[] = "-c",
       utf8[] = "-Xutf8";
  char* arguments[] = {python.data(),       isolated, safe,    no_site,
                       no_bytecode,         utf8,     command, zygote.data(),
                       library_path.data(), nullptr};
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", home[] = "HOME=/work", language[] = "LANG=C.UTF-8",
       temporary[] = "TMPDIR=/tmp", seed[] = "PYTHONHASHSEED=0";
  char* environment[] = {path, home, language, temporary, seed, nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const auto free_attributes = absl::MakeCleanup([&] { posix_spawnattr_destroy(&attributes); });
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  const int rc =
      posix_spawn(&process_, options.python.c_str(), &actions, &attributes, arguments, environment);
  if (rc != 0) {
    process_ = -1;
    return absl::ErrnoToStatus(rc, absl::StrCat("python: start ", options.python));
  }
  absl::MutexLock lock(&mu_);
  control_ = std::move(pair->first);
  return absl::OkStatus();
}

absl::Status JailProcess::Converse(const JailOptions& options) {
  absl::MutexLock lock(&mu_);
  auto filter = MemoryFile("filter", options.filter);
  if (!filter.ok()) return filter.status();
  const int64_t first = kFirstUser + int64_t{getpid()} * kUsersPerProcess;
  without_ = options.without;
  if (MayMap(first, options.slots + 1)) first_user_ = first;
  const jail::Setup setup = MakeSetup(options, first_user_ >= 0);
  const int filter_fd = filter->get();
  if (!jail::Send(control_.get(), &setup, sizeof setup, &filter_fd, 1))
    return absl::ErrnoToStatus(errno, "python: it ended");
  if (!(options.without & jail::kPartUser)) {
    jail::Answer answer{};
    jail::Descriptors none;
    const long got = jail::Receive(control_.get(), &answer, sizeof answer, none);
    if (got <= 0) return absl::UnavailableError("python: the interpreter ended or does not answer");
    if (answer.kind == jail::Kind::kReady) return absl::ErrnoToStatus(answer.error, answer.step);
    if (absl::Status s = WriteMaps(options.slots); !s.ok()) return s;
    const jail::Kind mapped = jail::Kind::kMapped;
    if (!jail::Send(control_.get(), &mapped, sizeof mapped))
      return absl::ErrnoToStatus(errno, "the jail has ended");
  }
  return AwaitAnswer(control_.get()).status();
}

absl::Status JailProcess::WriteMaps(int slots) {
  const std::string folder = absl::StrCat("/proc/", process_, "/");
  std::string users, groups;
  if (first_user_ >= 0) {
    users = groups = absl::StrCat("0 ", first_user_, " ", slots + 1);
  } else {
    users = absl::StrCat("0 ", geteuid(), " 1");
    groups = absl::StrCat("0 ", getegid(), " 1");
    if (absl::Status s = WriteText(folder + "setgroups", "deny"); !s.ok()) return s;
  }
  if (absl::Status s = WriteText(folder + "gid_map", groups); !s.ok()) return s;
  return WriteText(folder + "uid_map", users);
}

bool JailProcess::Alive() const {
  siginfo_t info{};
  return !broken_ && waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

int64_t JailProcess::HostUser(int index) const { return first_user_ < 0 ? -1 : first_user_ + 1 + index; }

absl::StatusOr<JailSlot> JailProcess::SpawnSlot(int index) {
  auto pair = Conversation();
  if (!pair.ok()) return pair.status();
  // Of the map's ids the first is the jail's own; without a map they are the host's.
  uint32_t candidate = first_user_ < 0 ? 0 : static_cast<uint32_t>(index + 1);
  if (without_ & jail::kPartUser)
    candidate = static_cast<uint32_t>(first_user_ < 0 ? geteuid() : HostUser(index));
  const jail::SlotOrder order{jail::Kind::kSpawnSlot, candidate};
  const int end = pair->second.get();
  absl::MutexLock lock(&mu_);
  absl::StatusOr<FileDescriptor> pidfd = absl::UnavailableError("the jail has ended");
  if (jail::Send(control_.get(), &order, sizeof order, &end, 1)) pidfd = AwaitAnswer(control_.get());
  if (absl::IsUnavailable(pidfd.status())) broken_ = true;
  if (!pidfd.ok()) return pidfd.status();
  JailSlot slot{std::move(pair->first), *std::move(pidfd), 0};
  slot.process = ProcessOf(slot.pidfd.get());
  if (slot.process <= 0) return absl::UnavailableError("the slot's process is not visible here");
  return slot;
}

absl::Status JailProcess::Settle(const JailSlot& slot) {
  const jail::Kind settled = jail::Kind::kSettled;
  if (!jail::Send(slot.socket.get(), &settled, sizeof settled))
    return absl::ErrnoToStatus(errno, "the slot has ended");
  return AwaitAnswer(slot.socket.get()).status();
}

}  // namespace sluice
