// Attacks by output and on the channel, and the compiler as a target.
#include <sys/socket.h>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "tests/sandbox/attack.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

class OutputAttackTest : public AttackTest {};
TEST_P(OutputAttackTest, IsContained) { Run(GetParam()); }
class CompilerAttackTest : public AttackTest {};
TEST_P(CompilerAttackTest, IsContained) { Run(GetParam()); }

void ExpectErrorOutputKept(SandboxBox&, const RunResult& result) {
  EXPECT_EQ(result.error_output, std::string(64 << 10, 'e'));
}

INSTANTIATE_TEST_SUITE_P(
    Table, OutputAttackTest,
    testing::Values(
        Attack{"10_stdout_flood.py",
               {RunEnd::kOutputLimit},
               AttackLimits(),
               0,
               "",
               [](SandboxBox&, const RunResult& result) { EXPECT_TRUE(result.output_cut); }},
        Attack{"11_stderr_flood.py", {RunEnd::kOutputLimit}, AttackLimits(), 0, "", ExpectErrorOutputKept},
        Attack{"11_stderr_chatter.py",
               {RunEnd::kExited},
               AttackLimits(),
               0,
               "",
               [](SandboxBox& box, const RunResult& result) {
                 EXPECT_EQ(result.output, "done\n");
                 ExpectErrorOutputKept(box, result);
               }},
        Attack{"12_output_200kB.py",
               {RunEnd::kExited},
               AttackLimits(),
               0,
               "",
               [](SandboxBox&, const RunResult& result) {
                 EXPECT_EQ(result.exit_code, 0);
                 EXPECT_EQ(result.output.size(), 200000u);
               }},
        Attack{"52_protocol_descriptors.py", {RunEnd::kExited}, AttackLimits(), 1},
        Attack{"54_odd_output.py",
               {RunEnd::kExited},
               AttackLimits(),
               0,
               "",
               [](SandboxBox&, const RunResult& result) {
                 EXPECT_EQ(result.output, std::string("\xff\xfe\x00\x80ok\x00\n\xc3(\xed\xa0\x80", 13));
                 EXPECT_EQ(result.error_output, std::string("\x00\xff\x1b[2J", 6));
               }}),
    AttackName);

// A program that writes to the channel what it likes reaches the other end of that channel and nothing else.
TEST_F(OutputAttackTest, Attack52ChannelHoldsOnlyWhatWasWritten) {
  auto box = Open();
  ASSERT_NE(box, nullptr);
  RunRequest request;
  request.limits = AttackLimits();
  request.channel = true;
  request.python_source =
      "import os\nos.write(3, b'forged')\nos.close(3)\nprint(len(os.listdir('/proc/self/fd')))\n";
  auto run = box->Start(request);
  ASSERT_TRUE(run.ok()) << run.status();
  RunResult result = (*run)->Wait();
  EXPECT_EQ(result.end, RunEnd::kExited) << result.error;
  EXPECT_EQ(result.output, "4\n") << result.error_output;  // three and that of the listing
  char bytes[64];
  ssize_t count = recv((*run)->channel(), bytes, sizeof bytes, MSG_DONTWAIT);
  EXPECT_EQ(std::string(bytes, count > 0 ? static_cast<size_t>(count) : 0), "forged");
}

// A channel nobody reads does not hold the run, nor its end.
TEST_F(OutputAttackTest, Attack52UnreadChannelEndsInTime) {
  auto box = Open();
  ASSERT_NE(box, nullptr);
  RunRequest request;
  request.limits = WaitLimits();
  request.channel = true;
  request.python_source = "import os\nwhile True: os.write(3, b'x' * 65536)\n";
  RunResult result = RunToEnd(*box, request);
  EXPECT_EQ(result.end, RunEnd::kTimeLimit) << RunEndName(result.end);
}

// Nothing of the host comes out of the compiler, whichever way it ends.
void ExpectNothingOfTheHost(SandboxBox&, const RunResult& result) {
  std::string all = result.output + result.error_output;
  EXPECT_FALSE(result.end == RunEnd::kExited && result.exit_code == 0) << "it compiled";
  for (const std::string& secret :
       {std::string("root:"), std::string("daemon:"), AttackMark(), std::string("SLUICE_ATTACK")}) {
    EXPECT_THAT(all, Not(HasSubstr(secret)));
  }
}

SandboxLimits Compiling() {
  SandboxLimits limits;
  limits.wall = absl::Seconds(60);
  limits.cpu = absl::Seconds(3);
  limits.memory_bytes = int64_t{384} << 20;
  limits.output_bytes = int64_t{1} << 20;
  return limits;
}

Attack OnCompiler(const char* program, std::vector<RunEnd> ends) {
  return {program, std::move(ends), Compiling(), 0, "", ExpectNothingOfTheHost, true};
}

const std::vector<RunEnd> kRefused = {RunEnd::kExited};
const std::vector<RunEnd> kStopped = {RunEnd::kExited, RunEnd::kTimeLimit, RunEnd::kMemoryLimit,
                                      RunEnd::kOutputLimit, RunEnd::kSignalled};

INSTANTIATE_TEST_SUITE_P(
    Table, CompilerAttackTest,
    testing::Values(
        OnCompiler("21_compile_time_read.cc", kRefused), OnCompiler("21_compile_time_read_proc.cc", kRefused),
        OnCompiler("22_include_shadow.cc", kRefused), OnCompiler("22_include_passwd.cc", kRefused),
        OnCompiler("22_include_endless.cc", kStopped), OnCompiler("22_include_stdin.cc", kStopped),
        OnCompiler("23_template_bomb.cc", kStopped), OnCompiler("23_preprocessor_bomb.cc", kStopped),
        OnCompiler("23_include_bomb.cc", kStopped), OnCompiler("23_constexpr_bomb.cc", kStopped),
        OnCompiler("23_object_bomb.cc", kStopped), OnCompiler("23_error_bomb.cc", kStopped)),
    AttackName);

}  // namespace
}  // namespace sluice
