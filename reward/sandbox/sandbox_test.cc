#include "reward/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "reward/sandbox/sandbox_fixture.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using SandboxTest = SandboxFixture;

TEST_F(SandboxTest, HoldsEveryProperty) {
  EXPECT_GE(sandbox_->properties().size(), 20u);
  for (const SandboxProperty& p : sandbox_->properties()) EXPECT_TRUE(p.holds) << p.name << ": " << p.remedy;
}

TEST_F(SandboxTest, RunsPythonWithInputAndOutput) {
  const RunResult r = Python("print(int(input()) + 1)\nimport sys\nprint('e', file=sys.stderr)", "41\n");
  EXPECT_EQ(r.end, RunEnd::kExited) << r.error << r.error_output;
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, "42\n");
  EXPECT_EQ(r.error_output, "e\n");
}

TEST_F(SandboxTest, TellsExitCodesAndSignals) {
  EXPECT_EQ(Python("import sys; sys.exit(7)").exit_code, 7);
  EXPECT_EQ(Python("exit()").exit_code, 0);
  EXPECT_EQ(Python("import os; os._exit(255)").exit_code, 255);
  EXPECT_EQ(Python("raise SystemExit('no')").error_output, "no\n");
  const RunResult error = Python("def f():\n  raise ValueError('x')\nf()");
  EXPECT_EQ(error.exit_code, 1);
  EXPECT_THAT(error.error_output, HasSubstr("ValueError: x"));
  EXPECT_THAT(error.error_output, Not(HasSubstr("become_main")));
  EXPECT_EQ(Python("if:").exit_code, 1);
  const RunResult r = Python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)");
  EXPECT_EQ(r.end, RunEnd::kSignalled);
  EXPECT_EQ(r.signal, SIGSEGV);
}

TEST_F(SandboxTest, EndsAnInterpreterAsPythonDoes) {
  const RunResult r = Python(
      "import atexit, threading, time\natexit.register(print, 'atexit')\n"
      "class A:\n  def __del__(self): print('deleted')\na = A()\n"
      "f = open('out', 'w'); f.write('flushed')\n"
      "threading.Thread(target=lambda: (time.sleep(0.02), print('thread'))).start()\nprint('main')");
  EXPECT_EQ(r.output, "main\nthread\natexit\ndeleted\n") << r.error_output;
  EXPECT_EQ(box_->ReadFile("out", 100).value_or("?"), "flushed");
}

TEST_F(SandboxTest, ForksOfTheInterpreterDiffer) {
  const std::string source = "import random, uuid\nprint(random.random(), uuid.uuid4())";
  EXPECT_NE(Python(source).output, Python(source).output);
}

TEST_F(SandboxTest, PythonLooksLikePython) {
  const RunResult r = Python(
      "import sys, os\nprint(__name__, sys.argv, 'ctypes' in dir(), os.getcwd())\n"
      "import dataclasses\n@dataclasses.dataclass\nclass P:\n  x: int = 3\nprint(P())\n"
      "import multiprocessing as m\n"
      "def g(x): return x * x\n"
      "if __name__ == '__main__':\n  with m.get_context('fork').Pool(2) as p: print(p.map(g, [1, 2, 3]))\n"
      "import subprocess\nprint(subprocess.run(['/usr/bin/echo', 'sub'], capture_output=True, "
      "text=True).stdout.strip())\n"
      "import tempfile\nwith tempfile.NamedTemporaryFile() as f: print(f.name.startswith('/tmp/'))\n"
      "import asyncio\nasync def h(): return 5\nprint(asyncio.run(h()))\n"
      "import sqlite3\nc = sqlite3.connect('db'); c.execute('create table t(x)'); c.commit(); "
      "print('sql')\n");
  EXPECT_EQ(r.output, "__main__ ['main.py'] False /work\nP(x=3)\n[1, 4, 9]\nsub\nTrue\n5\nsql\n")
      << r.error_output;
}

TEST_F(SandboxTest, CompilesAndRunsAProgram) {
  ASSERT_TRUE(box_->WriteFile("a.cc", "#include <cstdio>\nint main() { puts(\"hi\"); return 3; }\n").ok());
  const RunResult compiled = Program({"/usr/bin/g++", "-O1", "-o", "a", "a.cc"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.error_output << compiled.error;
  const RunResult r = Program({"./a"});
  EXPECT_EQ(r.exit_code, 3) << r.error;
  EXPECT_EQ(r.output, "hi\n");
}

TEST_F(SandboxTest, AClearedBoxIsAsNew) {
  ASSERT_TRUE(box_->WriteFile("mine", "1").ok());
  EXPECT_EQ(
      Python("import os\nfor t in ('.', '/tmp', '/dev/shm'): os.makedirs(t + '/a/b'); os.chmod(t, 0o500)\n")
          .exit_code,
      0);
  ASSERT_TRUE(box_->Clear().ok());
  EXPECT_EQ(
      Python("import os\nprint([os.listdir(t) for t in ('.', '/tmp', '/dev/shm')])\nopen('new', 'w')").output,
      "[[], [], []]\n");
  EXPECT_TRUE(box_->ReadFile("new", 10).ok());
  EXPECT_FALSE(box_->ReadFile("mine", 10).ok());
  EXPECT_TRUE(box_->WriteFile("mine", "2").ok());
  EXPECT_EQ(Python("print(open('mine').read())").output, "2\n");
}

TEST_F(SandboxTest, ABoxIsNotClearedUnderARun) {
  RunRequest request;
  request.python_source = "import time\ntime.sleep(60)";
  auto run = box_->Start(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(box_->Clear().code(), absl::StatusCode::kFailedPrecondition);
  (*run)->Kill();
  (*run)->Wait();
  EXPECT_TRUE(box_->Clear().ok());
}

TEST_F(SandboxTest, AProgramThatIsNotThereExits127) {
  const RunResult r = Program({"./absent"});
  EXPECT_EQ(r.end, RunEnd::kExited);
  EXPECT_EQ(r.exit_code, 127);
  EXPECT_THAT(r.error, HasSubstr("./absent"));
}

TEST_F(SandboxTest, TalksOverTheChannel) {
  RunRequest request;
  request.channel = true;
  request.python_source = "import os\nos.write(3, b'a' + os.read(3, 10))";
  auto run = box_->Start(request);
  ASSERT_TRUE(run.ok()) << run.status();
  const int channel = (*run)->channel();
  ASSERT_EQ(write(channel, "bc", 2), 2);
  pollfd wait{channel, POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 10000), 1);
  char text[16] = {};
  EXPECT_EQ(read(channel, text, sizeof text), 3);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ((*run)->Wait().exit_code, 0);
}

TEST_F(SandboxTest, OutputIsDrainedWhileNobodyWaits) {
  RunRequest request;
  request.channel = true;
  request.python_source = "import os\nprint('x' * 300000, flush=True)\nos.write(3, b'k')";
  auto run = box_->Start(request);
  ASSERT_TRUE(run.ok()) << run.status();
  pollfd wait{(*run)->channel(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 10000), 1);
  EXPECT_EQ((*run)->Wait().output.size(), 300001u);
}

TEST_F(SandboxTest, KillEndsARunAndTheBoxGoesOn) {
  RunRequest request;
  request.python_source = "import time\ntime.sleep(60)";
  auto run = box_->Start(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(box_->Start(request).status().code(), absl::StatusCode::kFailedPrecondition);
  (*run)->Kill();
  EXPECT_EQ((*run)->Wait().end, RunEnd::kKilled);
  EXPECT_EQ(Python("print(1)").output, "1\n");
}

TEST_F(SandboxTest, ABoxStartsEmptyWhateverTheLastOneLeft) {
  ASSERT_EQ(Python("import os\nfor d in ('/work', '/tmp', '/dev/shm'):\n  open(d + '/left', 'w').write('x')\n"
                   "os.chmod('/work', 0)")
                .exit_code,
            0);
  for (int i = 0; i < 6; ++i) {  // each slot comes by
    box_.reset();
    auto next = sandbox_->Open(absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(next.ok()) << next.status();
    box_ = *std::move(next);
    EXPECT_EQ(Python("import os\nprint([os.listdir(d) for d in ('/work', '/tmp', '/dev/shm')])").output,
              "[[], [], []]\n");
  }
}

TEST_F(SandboxTest, BoxesAreBoundedAndOpenWaits) {
  std::vector<std::unique_ptr<SandboxBox>> boxes;
  for (int i = 0; i < 3; ++i) {
    auto box = sandbox_->Open(absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(box.ok());
    boxes.push_back(*std::move(box));
  }
  EXPECT_EQ(sandbox_->Open(absl::Now() + absl::Milliseconds(10)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  std::thread releases([&] { boxes.clear(); });
  EXPECT_TRUE(sandbox_->Open(absl::Now() + absl::Seconds(10)).ok());
  releases.join();
}

TEST_F(SandboxTest, BoxesRunAtOnceFromManyThreads) {
  box_.reset();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        auto box = sandbox_->Open(absl::Now() + absl::Seconds(30));
        if (!box.ok()) continue;
        RunRequest request;
        request.python_source = "print(" + std::to_string(t * 100 + i) + ")";
        auto run = (*box)->Start(request);
        if (run.ok() && (*run)->Wait().output == std::to_string(t * 100 + i) + "\n") ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 80);
}

TEST_F(SandboxTest, PublishesArtefactsToEveryBox) {
  ASSERT_TRUE(sandbox_->Publish("header.h", "#define X 5\n").ok());
  EXPECT_EQ(Python("print(open('/artefacts/header.h').read())").output, "#define X 5\n\n");
  EXPECT_NE(Python("open('/artefacts/header.h', 'a')").exit_code, 0);
  EXPECT_EQ(sandbox_->Publish("../x", "").code(), absl::StatusCode::kInvalidArgument);
}

TEST(SandboxCreateTest, LoadsModulesAheadOfRuns) {
  SandboxOptions options;
  options.python_modules["ahead"] = "VALUE = [1, 2]\n";
  auto sandbox = Sandbox::Create(options);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  auto box = (*sandbox)->Open(absl::Now() + absl::Seconds(10));
  ASSERT_TRUE(box.ok());
  RunRequest request;
  request.python_source = "import sys\nprint('ahead' in sys.modules)\nimport ahead\nprint(ahead.VALUE)";
  auto run = (*box)->Start(request);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ((*run)->Wait().output, "True\n[1, 2]\n");
}

TEST(SandboxCreateTest, SaysWhichInterpreterIsMissing) {
  SandboxOptions options;
  options.python = "/nonexistent/python3";
  const auto made = Sandbox::Create(options);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition) << made.status();
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("/nonexistent/python3"));
}

}  // namespace
}  // namespace sluice
