// The jail seen from the service: starts the warm interpreter in namespaces of its own and asks it for slots.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/file_descriptor.h"
#include "reward/sandbox/jail/protocol.h"

namespace sluice {

struct JailOptions {
  std::string python, compiler;
  std::string artefacts;                       // a folder bound read-only at /artefacts
  std::string filter;                          // the seccomp program
  std::map<std::string, std::string> modules;  // trusted Python modules to load ahead
  uint32_t without = 0;                        // jail::Part bits that are left out
  int slots = 1;
};

// A slot's process: its end of the conversation and a pidfd.
struct JailSlot {
  FileDescriptor socket, pidfd;
  pid_t process = 0;
};

// Thread-safe. Ends the jail and every process in it when it is destroyed.
class JailProcess {
 public:
  // The message of an error starts with the name of the property that is missing.
  static absl::StatusOr<std::unique_ptr<JailProcess>> Start(const JailOptions& options);
  ~JailProcess();
  // A new process for slot `index` of [0, slots), which waits for its control group: see Settle.
  absl::StatusOr<JailSlot> SpawnSlot(int index);
  static absl::Status Settle(const JailSlot& slot);
  bool Alive() const;  // as far as is known
  uint32_t without() const { return without_; }
  // The user that candidates of the slot are on the host, or -1 where they are this process's own.
  int64_t HostUser(int index) const;

 private:
  JailProcess() = default;
  absl::Status Spawn(const JailOptions& options);
  absl::Status Converse(const JailOptions& options);
  absl::Status WriteMaps(int slots);

  absl::Mutex mu_;
  FileDescriptor control_ ABSL_GUARDED_BY(mu_);
  pid_t process_ = -1;
  std::atomic<bool> broken_{false};  // it no longer answers
  uint32_t without_ = 0;
  int64_t first_user_ = -1;  // of a range; -1: a map of one
};

// Waits for an Answer (with at most one descriptor) from a socket that has a receive timeout.
absl::StatusOr<FileDescriptor> AwaitAnswer(int socket);

}  // namespace sluice
