// Attacks by processes: too many, too long, too stubborn, or on processes of others.
#include "gmock/gmock.h"
#include "tests/sandbox/attack.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A bomb is stopped by the limit it runs into first; which one is a race that does not matter.
const std::vector<RunEnd> kBombEnds = {RunEnd::kProcessLimit, RunEnd::kTimeLimit, RunEnd::kMemoryLimit};

class ProcessAttackTest : public AttackTest {};
TEST_P(ProcessAttackTest, IsContained) { Run(GetParam()); }

void ExpectDone(SandboxBox&, const RunResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.error_output;
  EXPECT_THAT(result.output, HasSubstr("done"));
}

// The daemon's sign of life stops when the run has ended.
void ExpectDaemonDead(SandboxBox& box, const RunResult& result) {
  ExpectDone(box, result);
  auto first = box.ReadFile("result", 1 << 20);
  RunRequest pause;
  pause.python_source =
      "import time; time.sleep(0.2); print(open('result').read() if __import__('os').path.exists('result') "
      "else '')";
  pause.limits = AttackLimits();
  RunResult later = RunToEnd(box, pause);
  EXPECT_EQ(later.end, RunEnd::kExited);
  EXPECT_EQ(later.output, (first.ok() ? *first : "") + "\n");
}

void ExpectProcessorBounded(SandboxBox&, const RunResult& result) {
  EXPECT_GE(result.cpu, absl::Seconds(0.4));
  EXPECT_LT(result.cpu, absl::Seconds(2));
}

void ExpectCountBelowLimit(SandboxBox&, const RunResult& result) {
  int count = 0;
  ASSERT_TRUE(absl::SimpleAtoi(result.output, &count)) << result.output;
  EXPECT_LT(count, AttackLimits().processes);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProcessAttackTest,
    testing::Values(Attack{"01_fork_bomb.py", kBombEnds}, Attack{"01_fork_bomb.cc", kBombEnds},
                    Attack{"02_thread_bomb.py", kBombEnds},
                    Attack{"13_sleep_past_wall.py", {RunEnd::kTimeLimit}, WaitLimits()},
                    Attack{"13_stop_self.py", {RunEnd::kTimeLimit}, WaitLimits()},
                    Attack{"14_spin.py", {RunEnd::kTimeLimit}},
                    Attack{"15_spin_in_children.py",
                           {RunEnd::kTimeLimit},
                           With([](SandboxLimits& l) {
                             l.cpu = absl::Seconds(0.5);
                             l.wall = absl::Seconds(60);
                           }),
                           0,
                           "",
                           ExpectProcessorBounded},
                    Attack{"16_ignore_signals.py", {RunEnd::kTimeLimit}},
                    Attack{"17_daemon.py", {RunEnd::kExited}, AttackLimits(), 0, "", ExpectDaemonDead},
                    Attack{"17_daemon.cc", {RunEnd::kExited}, AttackLimits(), 0, "", ExpectDone},
                    Attack{"18_zombie_flood.py",
                           {RunEnd::kExited, RunEnd::kProcessLimit},
                           AttackLimits(),
                           0,
                           "",
                           ExpectCountBelowLimit},
                    Attack{"20_stack_overflow.cc",
                           {RunEnd::kSignalled},
                           AttackLimits(),
                           0,
                           "",
                           [](SandboxBox&, const RunResult& result) { EXPECT_EQ(result.signal, SIGSEGV); }},
                    Attack{"20_stack_overflow.py",
                           {RunEnd::kSignalled, RunEnd::kExited, RunEnd::kMemoryLimit}},
                    Attack{"32_trace_others.cc", {RunEnd::kExited}, AttackLimits(), 2},
                    Attack{"33_kill_everything.py",
                           {RunEnd::kExited, RunEnd::kSignalled, RunEnd::kKilled, RunEnd::kTimeLimit},
                           WaitLimits()},
                    Attack{"34_limits_raised.py", {RunEnd::kExited}, AttackLimits(), 8},
                    Attack{"56_replace_interpreter.py",
                           {RunEnd::kExited, RunEnd::kSignalled, RunEnd::kKilled, RunEnd::kTimeLimit},
                           WaitLimits(),
                           1}),
    AttackName);

}  // namespace
}  // namespace sluice
