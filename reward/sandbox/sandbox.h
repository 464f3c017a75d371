// Runs programs that nobody trusts. Each box is one candidate's: a private scratch folder and nothing else to
// write. Each run in it is a fresh process tree in fresh namespaces, of which nothing is left when the run
// ends; files of the box stay for its next run, until Clear. Runs of a box follow one another; two programs
// that talk are two boxes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sluice {

// What the sandbox tests of itself when it starts.
struct SandboxProperty {
  std::string name;  // "user_namespace", "read_only_root", "no_sockets", "seccomp", "memory_limit", ...
  bool holds = false;
  std::string remedy;  // what is missing and how to get it; empty where it holds
};

struct SandboxOptions {
  // Runs although properties are missing, as safely as the rest allows; callers stamp every result with the
  // names of those that do not hold.
  bool allow_weaker = false;
  std::string python = "/usr/bin/python3";
  std::string compiler = "/usr/bin/g++";  // boxes see it too if it is installed outside of /usr
  int max_boxes = 4;                      // 1 to 60 at once; Open waits for a place
  std::string state_directory;            // keeps artefacts; empty: a temporary one
  // Trusted Python modules, source by name, that the warm interpreter loads before any run: a run that
  // imports one does not pay for it.
  std::map<std::string, std::string> python_modules;
};

struct SandboxLimits {
  absl::Duration wall = absl::Seconds(5), cpu = absl::Seconds(5);
  int64_t memory_bytes = int64_t{512} << 20;  // of the whole process tree and the box's files
  int64_t output_bytes = int64_t{16} << 20;   // of standard output; standard error keeps its first 64 KiB
  int32_t processes = 64;                     // processes and threads
  int64_t file_bytes = int64_t{64} << 20;     // of all files of the box; before its first run, these defaults
  int32_t files = 4096;
  int32_t open_files = 256;  // of a process; at least 8
};

enum class RunEnd {
  kExited,         // exit_code; 126 or 127, with `error`: the program could not be started
  kSignalled,      // signal; SIGSYS: a forbidden system call
  kTimeLimit,      // wall or CPU
  kMemoryLimit,    // the kernel killed for memory, whatever else happened
  kOutputLimit,    // of standard output, or as much of standard error
  kProcessLimit,   // a process or thread was refused and the run did not end with exit code 0
  kKilled,         // by Kill() or the box's end
  kInfrastructure  // the sandbox itself failed: `error`
};

struct RunResult {
  RunEnd end = RunEnd::kInfrastructure;
  int exit_code = 0, signal = 0;
  std::string output, error_output;
  bool output_cut = false;
  absl::Duration wall, cpu;  // of the whole tree, measured outside of it
  int64_t peak_memory_bytes = 0;
  std::string error;
};

// What a run starts.
struct RunRequest {
  // Exactly one: a program with its arguments, as a path of the read-only root or relative to the scratch
  // folder
  // ("./a"), or Python source that a warm interpreter forks for (as __main__, without site-packages).
  std::vector<std::string> argv;  // at most 256
  std::string python_source;
  std::string standard_input;
  SandboxLimits limits;
  bool channel = false;  // open descriptor 3 of the process to a stream socket; see SandboxRun::channel()
};

// A running process tree. Not thread-safe but for Kill.
class SandboxRun {
 public:
  virtual ~SandboxRun() = default;  // kills
  // The other end of descriptor 3: a non-blocking stream socket, borrowed; -1 without one. Read it with
  // read(), never with room for descriptors: the program may send some.
  virtual int channel() const = 0;
  virtual void Kill() = 0;
  // Until the whole tree is gone: at most the limits' wall time and some seconds in which it is killed. Once.
  virtual RunResult Wait() = 0;
};

// One candidate's place. Not thread-safe. Ends all runs, and every file, when it is destroyed.
class SandboxBox {
 public:
  virtual ~SandboxBox() = default;
  // A file of the scratch folder, which is the working directory of runs. INVALID_ARGUMENT: a name with "..",
  // "/" in front or NUL. The program never sees where it lies on the host.
  virtual absl::Status WriteFile(absl::string_view name, absl::string_view content,
                                 bool executable = false) = 0;
  // A regular file of the scratch folder, never through a link. RESOURCE_EXHAUSTED: longer than `max_bytes`.
  virtual absl::StatusOr<std::string> ReadFile(absl::string_view name, int64_t max_bytes) = 0;
  // Takes away every file, as if the box were opened anew; far cheaper. FAILED_PRECONDITION: a run has not
  // ended; UNAVAILABLE: the box is lost, open another.
  virtual absl::Status Clear() = 0;
  // FAILED_PRECONDITION: another run of the box has not ended; INVALID_ARGUMENT: the request; UNAVAILABLE:
  // the box is lost, open another.
  virtual absl::StatusOr<std::unique_ptr<SandboxRun>> Start(const RunRequest& request) = 0;
};

// Those that do not hold: each remedy once, after the names of what it would bring. Empty where all hold.
std::string MissingProperties(const std::vector<SandboxProperty>& properties, absl::string_view separator);

// Thread-safe.
class Sandbox {
 public:
  // Tests each property. FAILED_PRECONDITION: some are missing and allow_weaker is not set; the message names
  // each and how to get it.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Create(const SandboxOptions& options);
  virtual ~Sandbox() = default;
  virtual const std::vector<SandboxProperty>& properties() const = 0;
  // DEADLINE_EXCEEDED: no place became free.
  virtual absl::StatusOr<std::unique_ptr<SandboxBox>> Open(absl::Time deadline) = 0;
  // A file that every box sees, read-only, as /artefacts/<name>: a precompiled header, for example. Replaces
  // one of that name at once. Kept in the state directory. INVALID_ARGUMENT: the name has a "/" or starts
  // with ".".
  virtual absl::Status Publish(absl::string_view name, absl::string_view content) = 0;
};

}  // namespace sluice
