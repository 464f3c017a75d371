// The Python side of code rewards: the module that the sandbox's interpreter loads once, and runs of it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reward/code/message_channel.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

constexpr absl::string_view kHarnessModule = "sluice_harness";
extern const char* const kHarnessSource;

// The functions of the module; each is a run of its own.
enum class HarnessRole { kCandidate, kTests, kProgram, kChecker, kTogether };

// A run of one role, with the channel to it. Killed when it is destroyed. Not thread-safe.
class HarnessRun {
 public:
  // INTERNAL and the like: the sandbox's failure.
  static absl::StatusOr<HarnessRun> Start(SandboxBox& box, HarnessRole role, const SandboxLimits& limits,
                                          std::string standard_input = "");

  MessageChannel& channel() { return channel_; }
  // Thread-safe.
  void Kill() { run_->Kill(); }
  // Lets it end by itself.
  RunResult Wait() { return run_->Wait(); }
  // Ends it. A limit that it met before is what the result says.
  RunResult Stop();

 private:
  explicit HarnessRun(std::unique_ptr<SandboxRun> run) : run_(std::move(run)), channel_(run_->channel()) {}
  std::unique_ptr<SandboxRun> run_;
  MessageChannel channel_;
};

}  // namespace sluice
