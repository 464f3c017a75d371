// For tests: real binaries on loopback, with ports from the kernel, each in a folder that goes when the test
// ends.
#pragma once

#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "gtest/gtest.h"
#include "services/cli/cluster.h"
#include "services/cli/supervisor/process.h"

namespace sluice::system_test {

inline std::string BinaryPath(const std::string& name) {
  return absl::StrCat(SLUICE_BINARY_DIR, "/bin/", name);
}
inline std::string SourcePath(const std::string& name) { return absl::StrCat(SLUICE_SOURCE_DIR, "/", name); }

// An empty folder, removed in the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = absl::StrCat(testing::TempDir(), "/sluice-system-XXXXXX");
    path_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    EXPECT_FALSE(path_.empty());
  }
  ~TemporaryFolder() { RemoveTree(path_).IgnoreError(); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

// One process. Stopped, and killed when it does not, in the end.
class ServiceProcess {
 public:
  // `argv` without --address-file, which is added for one that serves.
  explicit ServiceProcess(std::vector<std::string> argv, bool serves = true) {
    if (serves) argv.insert(argv.end(), {"--address-file", address_file()});
    watch_ = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(watch_, folder_.path().c_str(), IN_MOVED_TO | IN_MODIFY);
    auto pid = cli::Spawn({.argv = std::move(argv), .log_file = log_file(), .die_with_parent = true});
    EXPECT_TRUE(pid.ok()) << pid.status();
    if (pid.ok()) pid_ = *pid;
  }
  ~ServiceProcess() {
    if (pid_ != 0) cli::StopChild(pid_, absl::Seconds(20));
    if (watch_ >= 0) close(watch_);
  }
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  // Until it wrote its address. A failure shows its log.
  bool AwaitServing(absl::Duration limit = absl::Seconds(120)) {
    Await([this] { return FileExists(address_file()); }, limit);
    auto address = cli::ReadAddressFile(address_file());
    EXPECT_TRUE(address.ok()) << address.status() << "\n" << Log();
    if (address.ok()) address_ = *std::move(address);
    return !address_.grpc.empty();
  }
  // Until the end of its log has `text`.
  bool AwaitLog(const std::string& text, absl::Duration limit = absl::Seconds(120)) {
    auto logged = [&] { return absl::StrContains(Log(), text); };
    Await(logged, limit);
    EXPECT_TRUE(logged()) << text << " is not in:\n" << Log();
    return logged();
  }
  const std::string& address() const { return address_.grpc; }
  const std::string& metrics() const { return address_.metrics; }
  std::string Log() const { return cli::TailOfFile(log_file(), 40); }

  // Sends SIGTERM and waits.
  cli::ExitStatus Stop() { return cli::StopChild(std::exchange(pid_, 0), absl::Seconds(20)); }
  // kill -9.
  void Kill() {
    kill(pid_, SIGKILL);
    AwaitExit();
  }
  // For one that is to end by itself.
  cli::ExitStatus AwaitExit(absl::Duration limit = absl::Seconds(120)) {
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    pollfd fd = {process, POLLIN, 0};
    if (process >= 0) poll(&fd, 1, static_cast<int>(absl::ToInt64Milliseconds(limit)));
    if (process >= 0) close(process);
    auto exit = cli::PollChild(pid_);
    EXPECT_TRUE(exit.has_value()) << "still runs: " << Log();
    if (!exit.has_value()) return Stop();
    pid_ = 0;
    return *exit;
  }

 private:
  // Until `done`, the process's end or the limit. Looks when a file of the folder changed.
  template <typename Done>
  void Await(const Done& done, absl::Duration limit) {
    const absl::Time deadline = absl::Now() + limit;
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    bool alive = process >= 0;
    while (alive && !done() && absl::Now() < deadline) {
      pollfd fds[2] = {{watch_, POLLIN, 0}, {process, POLLIN, 0}};
      poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now())));
      char events[4096];
      if ((fds[0].revents & POLLIN) != 0 && read(watch_, events, sizeof events) < 0) break;
      alive = (fds[1].revents & POLLIN) == 0;
    }
    if (process >= 0) close(process);
  }

  std::string address_file() const { return folder_ / "address.json"; }
  std::string log_file() const { return folder_ / "log"; }

  TemporaryFolder folder_;
  int watch_ = -1;
  pid_t pid_ = 0;
  cli::ServiceAddress address_;
};

}  // namespace sluice::system_test
