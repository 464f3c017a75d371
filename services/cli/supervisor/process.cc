#include "services/cli/supervisor/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/file_descriptor.h"
#include "core/base/status.h"

namespace sluice::cli {
namespace {

constexpr int kExecFailed = 127;
constexpr int kFieldStartTime = 22;  // of /proc/PID/stat, counted from 1 (proc(5))

// What a child waits for before it becomes the binary: a byte from the parent. The parent's death is an end
// without one.
struct Gate {
  FileDescriptor read_end, write_end;  // not valid: there is no gate

  absl::Status Make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    read_end.Reset(ends[0]);
    write_end.Reset(ends[1]);
    return absl::OkStatus();
  }
  bool Await() const {
    if (!read_end.valid()) return true;
    close(write_end.get());
    char byte = 0;
    while (true) {
      const ssize_t n = read(read_end.get(), &byte, 1);
      if (n >= 0 || errno != EINTR) return n == 1;
    }
  }
  bool Open() const { return write(write_end.get(), "", 1) == 1; }
};

// Only async-signal-safe calls: the parent may have threads.
[[noreturn]] void RunChild(const SpawnOptions& options, char* const* argv, int log_fd, const Gate& gate,
                           pid_t parent) {
  if (!gate.Await()) _exit(kExecFailed);
  if (options.new_session) setsid();
  if (options.die_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kExecFailed);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd >= 0) dup2(null_fd, STDIN_FILENO);
  if (log_fd >= 0) {
    dup2(log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
  }
  execv(argv[0], argv);
  _exit(kExecFailed);
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

ExitStatus FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  if (access(options.argv[0].c_str(), X_OK) != 0) return ErrnoStatus(errno, options.argv[0]);
  Gate gate;
  if (options.before_exec) SLUICE_RETURN_IF_ERROR(gate.Make());
  FileDescriptor log_fd;
  if (!options.log_file.empty()) {
    log_fd.Reset(open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log_fd.valid()) return ErrnoStatus(errno, absl::StrCat("opening ", options.log_file));
  }
  std::vector<char*> argv;
  for (const std::string& a : options.argv) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) RunChild(options, argv.data(), log_fd.get(), gate, parent);
  if (pid < 0) return ErrnoStatus(errno, absl::StrCat("starting ", options.argv[0]));
  if (!options.before_exec) return pid;
  absl::Status allowed = options.before_exec(pid);
  if (allowed.ok() && !gate.Open()) allowed = ErrnoStatus(errno, absl::StrCat("starting ", options.argv[0]));
  if (allowed.ok()) return pid;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return allowed;
}

absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  // The command's name (field 2) may hold spaces and parentheses: fields are counted after the last one.
  const size_t close = text.rfind(')');
  if (close == std::string::npos || close + 2 > text.size())
    return absl::NotFoundError(absl::StrCat("no process ", pid));
  const std::vector<std::string> fields = absl::StrSplit(text.substr(close + 2), ' ');
  ProcessIdentity out{pid, 0, BootId()};
  constexpr size_t kStart = kFieldStartTime - 3;
  if (fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X" ||
      !absl::SimpleAtoi(fields[kStart], &out.start_ticks)) {
    return absl::NotFoundError(absl::StrCat("no process ", pid));
  }
  return out;
}

bool IsAlive(const ProcessIdentity& identity) {
  const auto now = IdentityOf(identity.pid);
  return now.ok() && *now == identity;
}

std::string ExitStatus::ToString() const {
  if (signalled) return absl::StrCat("signal ", code, " (", strsignal(code), ")");
  return absl::StrCat("exit code ", code);
}

std::optional<ExitStatus> PollChild(pid_t pid) {
  int status = 0;
  const pid_t done = waitpid(pid, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR)) return std::nullopt;
  if (done < 0) return ExitStatus{false, 0};  // not our child, or reaped
  return FromWaitStatus(status);
}

std::optional<ExitStatus> AwaitChild(pid_t pid, absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  for (absl::Duration left = limit; fd >= 0 && left > absl::ZeroDuration(); left = end - absl::Now()) {
    pollfd ended = {fd, POLLIN, 0};
    const int64_t millis = std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, 3600 * 1000);
    if (poll(&ended, 1, static_cast<int>(millis)) > 0) break;
  }
  if (fd >= 0) close(fd);
  return PollChild(pid);
}

ExitStatus StopChild(pid_t pid, absl::Duration deadline) {
  kill(pid, SIGTERM);
  if (const auto exit = AwaitChild(pid, deadline)) return *exit;
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return FromWaitStatus(status);
}

absl::StatusOr<std::string> SiblingBinary(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoStatus(error.value(), "reading /proc/self/exe");
  const std::string path = (self.parent_path() / name).string();
  if (!FileExists(path)) {
    return absl::NotFoundError(
        absl::StrCat(path, " is missing: the binaries of Sluice stand in one folder (make build)"));
  }
  return path;
}

std::string TailOfFile(const std::string& path, int lines) {
  constexpr std::streamoff kMaxBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  const std::streamoff start = size > kMaxBytes ? size - kMaxBytes : 0;
  file.seekg(start);
  std::string text(static_cast<size_t>(size - start), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::vector<std::string> all = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  std::string out;
  const size_t first = all.size() > static_cast<size_t>(lines) ? all.size() - lines : 0;
  for (size_t i = first; i < all.size(); ++i) absl::StrAppend(&out, "  ", all[i], "\n");
  return out;
}

void RotateLog(const std::string& path, int64_t most, bool in_use) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes <= static_cast<uintmax_t>(most)) return;
  const std::string aside = path + ".1";
  if (!in_use) return std::filesystem::rename(path, aside, error);
  std::filesystem::copy_file(path, aside, std::filesystem::copy_options::overwrite_existing, error);
  // Where there is no room for the copy the log goes: it is what fills the disk.
  std::filesystem::resize_file(path, 0, error);
}

}  // namespace sluice::cli
