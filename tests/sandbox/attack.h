// Runs one attack in a box of its own and checks what holds for every attack: a typed end, nothing allowed
// that the program tried, the host as before, and the next job clean.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reward/sandbox/sandbox.h"
#include "tests/sandbox/host_snapshot.h"

namespace sluice {

// Smaller than the sandbox's own defaults, so that bombs end soon: by processor time, which a loaded machine
// does not shorten. The wall time is for what waits for ever.
SandboxLimits AttackLimits();
// Of programs that use no processor time until their wall time ends them.
SandboxLimits WaitLimits();
SandboxLimits With(void (*change)(SandboxLimits&));

struct Attack {
  const char* program;       // a file of attacks/
  std::vector<RunEnd> ends;  // any of them is right
  SandboxLimits limits = AttackLimits();
  int lines = 0;  // "NAME: refusal" or "NAME: contained" that it prints at least
  std::string input = "";
  // What else must hold, while the box is still there.
  std::function<void(SandboxBox&, const RunResult&)> then = nullptr;
  bool compile_only = false;  // the attack is on the compiler
};

void PrintTo(const Attack& attack, std::ostream* out);
std::string AttackName(const testing::TestParamInfo<Attack>& info);

// A sandbox for all attacks of a test binary, with a secret in the environment and an inheritable descriptor.
class AttackTest : public testing::TestWithParam<Attack> {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void ExpectNothingBeyond(const HostSnapshot& before, const char* what);
  void Run(const Attack& attack);
  static Sandbox& sandbox() { return *sandbox_; }
  static std::unique_ptr<SandboxBox> Open();
  // A folder of the host that no program may touch.
  static const std::string& host_folder() { return host_folder_; }
  // A benign job gets what it should and sees nothing of earlier ones.
  static void ExpectCleanNextJob();
  static HostSnapshot Snapshot();

 private:
  static std::unique_ptr<Sandbox> sandbox_;
  static std::string host_folder_;
};

// The attack's program, with its prelude, started in `box`; C++ is compiled there first.
RunResult RunAttack(SandboxBox& box, const Attack& attack);
// Starts and waits.
RunResult RunToEnd(SandboxBox& box, const RunRequest& request);
std::string AttackSource(const std::string& file);
const char* RunEndName(RunEnd end);

}  // namespace sluice
