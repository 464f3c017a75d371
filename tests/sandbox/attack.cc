#include "tests/sandbox/attack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::IsEmpty;

constexpr char kFolder[] = SLUICE_SOURCE_DIR "/tests/sandbox/attacks/";

// Within which a run is dead that has passed a limit, on a loaded machine too.
constexpr absl::Duration kKillPatience = absl::Seconds(10);

bool IsCpp(const std::string& file) { return absl::EndsWith(file, ".cc"); }

// Compiling is the service's own step: it has limits of its own, save where the compiler is what is attacked.
SandboxLimits CompileLimits(const Attack& attack) {
  if (attack.compile_only) return attack.limits;
  SandboxLimits limits;
  limits.wall = absl::Seconds(120);
  limits.cpu = absl::Seconds(30);
  limits.memory_bytes = int64_t{1} << 30;
  return limits;
}

// "NAME: ENAME" or "NAME: contained".
void ExpectContained(const Attack& attack, const std::string& output) {
  int lines = 0;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    EXPECT_FALSE(absl::StrContains(line, ": ALLOWED") || absl::StrContains(line, ": BREACH")) << line;
    lines += absl::StrContains(line, ": ");
  }
  EXPECT_GE(lines, attack.lines) << "the program did not come to its end:\n" << output;
}

}  // namespace

std::unique_ptr<Sandbox> AttackTest::sandbox_;
std::string AttackTest::host_folder_;

SandboxLimits AttackLimits() {
  SandboxLimits limits;
  limits.wall = absl::Seconds(60);
  limits.cpu = absl::Seconds(2);
  limits.memory_bytes = int64_t{128} << 20;
  limits.output_bytes = int64_t{1} << 20;
  limits.processes = 32;
  limits.file_bytes = int64_t{16} << 20;
  limits.files = 1024;
  limits.open_files = 64;
  return limits;
}

SandboxLimits WaitLimits() {
  return With([](SandboxLimits& limits) { limits.wall = absl::Seconds(2); });
}

SandboxLimits With(void (*change)(SandboxLimits&)) {
  SandboxLimits limits = AttackLimits();
  change(limits);
  return limits;
}

const char* RunEndName(RunEnd end) {
  switch (end) {
    case RunEnd::kExited:
      return "exited";
    case RunEnd::kSignalled:
      return "signalled";
    case RunEnd::kTimeLimit:
      return "time limit";
    case RunEnd::kMemoryLimit:
      return "memory limit";
    case RunEnd::kOutputLimit:
      return "output limit";
    case RunEnd::kProcessLimit:
      return "process limit";
    case RunEnd::kKilled:
      return "killed";
    case RunEnd::kInfrastructure:
      return "infrastructure";
  }
  return "?";
}

void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.program; }

std::string AttackName(const testing::TestParamInfo<Attack>& info) {
  std::string name = absl::StrCat("Attack", info.param.program);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
}

std::string AttackSource(const std::string& file) {
  std::ifstream in(kFolder + file);
  EXPECT_TRUE(in.is_open()) << kFolder << file;
  std::stringstream text;
  text << in.rdbuf();
  return absl::StrReplaceAll(text.str(), {{"sluice_attack", AttackMark()}});
}

RunResult RunToEnd(SandboxBox& box, const RunRequest& request) {
  auto run = box.Start(request);
  if (!run.ok()) {
    ADD_FAILURE() << run.status();
    return {};
  }
  return (*run)->Wait();
}

RunResult RunAttack(SandboxBox& box, const Attack& attack) {
  RunRequest request;
  request.limits = attack.limits;
  request.standard_input = attack.input;
  if (!IsCpp(attack.program)) {
    request.python_source = AttackSource("attempt.py") + AttackSource(attack.program);
    return RunToEnd(box, request);
  }
  EXPECT_TRUE(box.WriteFile("attempt.h", AttackSource("attempt.h")).ok());
  EXPECT_TRUE(box.WriteFile("attack.cc", AttackSource(attack.program)).ok());
  RunRequest compile;
  compile.argv = {"/usr/bin/g++", "-std=c++17", "-O0", "-pthread", "-o", "attack", "attack.cc"};
  compile.limits = CompileLimits(attack);
  RunResult compiled = RunToEnd(box, compile);
  if (attack.compile_only) return compiled;
  EXPECT_EQ(compiled.end, RunEnd::kExited) << compiled.error;
  EXPECT_EQ(compiled.exit_code, 0) << compiled.error_output;
  request.argv = {"./attack"};
  return RunToEnd(box, request);
}

void AttackTest::SetUpTestSuite() {
  AdoptOrphans();
  host_folder_ = absl::StrCat(testing::TempDir(), "/sluice_host_XXXXXX");
  ASSERT_NE(mkdtemp(host_folder_.data()), nullptr);
  setenv("SLUICE_ATTACK_SECRET", absl::StrCat(AttackMark(), "_secret_value").c_str(), 1);
  std::string inherited = absl::StrCat(host_folder(), "/", AttackMark(), "_inherited");
  const int file = open(inherited.c_str(), O_CREAT | O_RDWR, 0666);  // no O_CLOEXEC, and never closed
  ASSERT_GE(file, 0);
  ASSERT_EQ(dup2(file, STDIN_FILENO), STDIN_FILENO);  // as of a service whose streams are files
  SandboxOptions options;
  options.state_directory = host_folder() + "/state";
  options.max_boxes = 2;
  auto sandbox = Sandbox::Create(options);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  sandbox_ = *std::move(sandbox);
  ASSERT_GE(open(inherited.c_str(), O_RDWR), 0);
  auto first = Open(), second = Open();  // starts whatever is kept warm
}

void AttackTest::TearDownTestSuite() {
  sandbox_ = nullptr;
  std::filesystem::remove_all(host_folder());
}

HostSnapshot AttackTest::Snapshot() { return HostSnapshot::Take({host_folder()}); }

std::unique_ptr<SandboxBox> AttackTest::Open() {
  auto box = sandbox_->Open(absl::Now() + absl::Seconds(20));
  EXPECT_TRUE(box.ok()) << box.status();
  return box.ok() ? *std::move(box) : nullptr;
}

void AttackTest::ExpectCleanNextJob() {
  auto box = Open();
  ASSERT_NE(box, nullptr);
  RunRequest request;
  request.python_source =
      "import json, os, sys, threading\n"
      "print(os.listdir('.'), os.listdir('/tmp'), os.listdir('/dev/shm'))\n"
      "open('file', 'w').write(json.dumps([6 * 7]))\n"
      "t = threading.Thread(target=lambda: print(open('file').read(), len('abc'), input()))\n"
      "t.start(); t.join()\n";
  request.standard_input = "next\n";
  request.limits = AttackLimits();
  RunResult result = RunToEnd(*box, request);
  EXPECT_EQ(result.end, RunEnd::kExited) << RunEndName(result.end) << " " << result.error;
  EXPECT_EQ(result.exit_code, 0) << result.error_output;
  EXPECT_EQ(result.output, "[] [] []\n[42] 3 next\n") << result.error_output;
}

// A run's threads may close their last descriptors a moment after its end is known; what is left for good
// fails.
void AttackTest::ExpectNothingBeyond(const HostSnapshot& before, const char* what) {
  std::vector<std::string> left = Snapshot().Beyond(before);
  for (int tries = 0; !left.empty() && tries < 50; ++tries) {
    absl::SleepFor(absl::Milliseconds(100));
    left = Snapshot().Beyond(before);
  }
  EXPECT_THAT(left, IsEmpty()) << what;
}

void AttackTest::Run(const Attack& attack) {
  HostSnapshot before = Snapshot();
  {
    auto box = Open();
    ASSERT_NE(box, nullptr);
    RunResult result = RunAttack(*box, attack);
    EXPECT_THAT(attack.ends, Contains(result.end))
        << "ended by " << RunEndName(result.end) << ", exit code " << result.exit_code << ", signal "
        << result.signal << ", " << result.error << "\n"
        << result.error_output.substr(0, 2000);
    ExpectContained(attack, result.output);
    EXPECT_LE(result.output.size(), static_cast<size_t>(attack.limits.output_bytes));
    EXPECT_LE(result.error_output.size(), 64u << 10);
    EXPECT_LT(result.wall, attack.limits.wall + kKillPatience);
    if (attack.then) attack.then(*box, result);
  }
  ExpectNothingBeyond(before, "left on the host");
  ExpectCleanNextJob();
  ExpectNothingBeyond(before, "left on the host after the next job");
}

}  // namespace sluice
