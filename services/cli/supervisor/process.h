// Starting and observing operating system processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sluice::cli {

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is the binary's path
  std::string log_file;           // standard output and error are appended to it; empty: inherited
  bool new_session = false;       // signals of the terminal do not reach it
  bool die_with_parent = false;   // SIGTERM when the starting thread ends
  // Called in the parent when the process is there and waits: nothing of the binary has run. It never does
  // when this fails, or when the parent dies in it.
  std::function<absl::Status(pid_t)> before_exec;
};

// NOT_FOUND when argv[0] is not there. Signals are unblocked in the child, standard input is empty. An error
// leaves no child.
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

// Names one process for good: a pid is used again, a pid with its start time is not, within one boot.
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // since boot
  std::string boot_id;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
// NOT_FOUND when there is no such process, or only its zombie.
absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid);
bool IsAlive(const ProcessIdentity& identity);

// How a child ended: "exit code 2", "signal 9 (Killed)"; nothing while it runs. Reaps it.
struct ExitStatus {
  bool signalled = false;
  int code = 0;  // or the signal's number
  std::string ToString() const;
};
std::optional<ExitStatus> PollChild(pid_t pid);
// Waits for the child's end, at most so long, and reaps it; nothing when it still runs then.
std::optional<ExitStatus> AwaitChild(pid_t pid, absl::Duration limit);
// Sends SIGTERM, waits until the deadline, sends SIGKILL, and reaps.
ExitStatus StopChild(pid_t pid, absl::Duration deadline);

// Path of a binary that stands beside the running one.
absl::StatusOr<std::string> SiblingBinary(const std::string& name);

// The last lines of a text file, at most `lines` and 4 KiB; empty when it cannot be read.
std::string TailOfFile(const std::string& path, int lines);

// Moves what a log above `most` bytes has to PATH.1, in place of what is there. `in_use`: a process appends
// to it meanwhile; then it is copied and emptied, and what is written between these two is lost.
void RotateLog(const std::string& path, int64_t most, bool in_use);

}  // namespace sluice::cli
