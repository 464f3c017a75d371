// What a run may use up, and how passing each limit is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reward/sandbox/sandbox_fixture.h"

namespace sluice {
namespace {

using LimitsTest = SandboxFixture;

TEST_F(LimitsTest, MemoryOfTheWholeTreeCounts) {
  SandboxLimits limits = Patient();
  limits.memory_bytes = int64_t{96} << 20;
  EXPECT_EQ(Python("x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", "", limits).end,
            RunEnd::kMemoryLimit);
  EXPECT_EQ(Python("import os\nfor i in range(8):\n  if os.fork() == 0:\n    x = b'x' * (30 << 20)\n    "
                   "os.read(0, 1)\n"
                   "    import time; time.sleep(30)\nimport time; time.sleep(30)",
                   "", limits)
                .end,
            RunEnd::kMemoryLimit);
  EXPECT_EQ(Python("print(len(bytearray(40 << 20)))", "", limits).output, "41943040\n");
}

TEST_F(LimitsTest, FilesOfTheBoxCountAsMemory) {
  SandboxLimits limits = Patient();
  limits.memory_bytes = int64_t{64} << 20;
  limits.file_bytes = int64_t{256} << 20;
  EXPECT_EQ(
      Python("f = open('/tmp/x', 'wb')\nfor i in range(200): f.write(b'x' * (1 << 20))", "", limits).end,
      RunEnd::kMemoryLimit);
}

TEST_F(LimitsTest, FilesAboveALaterRunsMemoryCountAgainstIt) {
  EXPECT_EQ(Python("open('/work/big', 'wb').write(b'x' * (60 << 20))").exit_code, 0);
  SandboxLimits limits = Patient();
  limits.memory_bytes = int64_t{32} << 20;
  EXPECT_EQ(Python("print(1)", "", limits).end, RunEnd::kMemoryLimit);
  EXPECT_EQ(Python("import os\nos.remove('/work/big')").exit_code, 0);
  EXPECT_EQ(Python("print(1)", "", limits).end, RunEnd::kExited);
}

TEST_F(LimitsTest, PeakMemoryIsOfTheRun) {
  const RunResult small = Python("pass"), large = Python("x = b'x' * (100 << 20)");
  EXPECT_LT(small.peak_memory_bytes, int64_t{20} << 20);
  EXPECT_GT(large.peak_memory_bytes, int64_t{100} << 20);
  EXPECT_LT(large.peak_memory_bytes, int64_t{140} << 20);
}

TEST_F(LimitsTest, CpuTimeOfOrphansCounts) {
  SandboxLimits limits = Patient();
  limits.cpu = absl::Milliseconds(200);
  const RunResult r = Python(
      "import os, time\nif os.fork() == 0:\n  if os.fork() == 0:\n    while True: pass\n  "
      "os._exit(0)\ntime.sleep(60)",
      "", limits);
  EXPECT_EQ(r.end, RunEnd::kTimeLimit);
  EXPECT_GE(r.cpu, absl::Milliseconds(200));
}

TEST_F(LimitsTest, WallTimeEndsASleeper) {
  SandboxLimits limits = Patient();
  limits.wall = absl::Seconds(2);
  const RunResult r =
      Python("import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('x', flush=True)\ntime.sleep(60)",
             "", limits);
  EXPECT_EQ(r.end, RunEnd::kTimeLimit);
  EXPECT_EQ(r.output, "x\n");
}

TEST_F(LimitsTest, OutputIsDrainedAndBounded) {
  const RunResult large =
      Python("import sys\nsys.stdout.write('x' * 200000)\nsys.stderr.write('y' * 200000)");
  EXPECT_EQ(large.end, RunEnd::kExited);
  EXPECT_EQ(large.output.size(), 200000u);
  EXPECT_EQ(large.error_output.size(), 65536u);
  SandboxLimits limits = Patient();
  limits.output_bytes = 100000;
  const RunResult flood = Python("while True: print('x' * 1000)", "", limits);
  EXPECT_EQ(flood.end, RunEnd::kOutputLimit);
  EXPECT_TRUE(flood.output_cut);
  EXPECT_EQ(flood.output.size(), 100000u);
  EXPECT_EQ(Python("import sys\nwhile True: sys.stderr.write('x' * 1000)", "", limits).end,
            RunEnd::kOutputLimit);
  EXPECT_EQ(Python("print('x' * 99999)", "", limits).end, RunEnd::kExited);
}

TEST_F(LimitsTest, ProcessesAndThreadsAreBounded) {
  SandboxLimits limits = Patient();
  limits.processes = 16;
  EXPECT_EQ(Python("import os, time\nwhile True:\n  if os.fork() == 0: time.sleep(30)", "", limits).end,
            RunEnd::kProcessLimit);
  EXPECT_EQ(Python("import threading, time\nfor i in range(40): threading.Thread(target=time.sleep, "
                   "args=(30,), daemon=True).start()",
                   "", limits)
                .end,
            RunEnd::kProcessLimit);
  EXPECT_EQ(Python("import threading\nt = [threading.Thread(target=print, args=(i,)) for i in range(10)]\n"
                   "for x in t: x.start()\nfor x in t: x.join()",
                   "", limits)
                .end,
            RunEnd::kExited);
}

TEST_F(LimitsTest, FilesAndDescriptorsAreBounded) {
  SandboxLimits limits = Patient();
  limits.file_bytes = int64_t{1} << 20;
  limits.files = 50;
  limits.open_files = 32;
  const RunResult r = Python(
      "import os\n"
      "def refused(f):\n  try: f()\n  except OSError as e: return e.strerror\n  return 'passed'\n"
      "def many():\n  for i in range(100): open(f'/dev/shm/{i}', 'w').close()\n"
      "def opened():\n  l = [open('/dev/null') for i in range(100)]\n"
      "print(refused(lambda: open('a', 'wb').write(b'x' * (2 << 20))))\nos.unlink('a')\n"
      "print(refused(many))\nprint(refused(opened))\n",
      "", limits);
  EXPECT_THAT(r.output, ::testing::MatchesRegex("(File too large|No space left on device)\n"
                                                "No space left on device\nToo many open files\n"))
      << r.error_output;
}

TEST_F(LimitsTest, DeepRecursionPassesAndEndlessRecursionIsASignal) {
  ASSERT_TRUE(
      box_->WriteFile("deep.c",
                      "#include <stdlib.h>\n#include <stdio.h>\n"
                      "int f(int n) { volatile char a[200]; a[0] = n; return n ? f(n - 1) + a[0] : 0; }\n"
                      "int main(int c, char** v) { printf(\"%d\\n\", f(atoi(v[1])) != 1); }\n")
          .ok());
  EXPECT_EQ(Program({"/usr/bin/gcc", "-O0", "-o", "deep", "deep.c"}).exit_code, 0);
  EXPECT_EQ(Program({"./deep", "500000"}).output, "1\n");
  const RunResult endless = Program({"./deep", "-1"});
  EXPECT_EQ(endless.end, RunEnd::kSignalled);
  EXPECT_EQ(endless.signal, SIGSEGV);
}

TEST_F(LimitsTest, LimitsThatMakeNoSenseAreRefused) {
  RunRequest request;
  request.python_source = "pass";
  request.limits.memory_bytes = 0;
  EXPECT_EQ(box_->Start(request).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
