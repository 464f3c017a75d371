#include "reward/sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

class SandboxTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = Sandbox::Create({});
    ASSERT_TRUE(made.ok()) << made.status();
    sandbox_ = made->release();
  }
  static void TearDownTestSuite() {
    delete sandbox_;
    sandbox_ = nullptr;
  }
  void SetUp() override {
    ASSERT_NE(sandbox_, nullptr);
    auto box = sandbox_->Open(absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(box.ok()) << box.status();
    box_ = *std::move(box);
  }
  RunResult Python(const std::string& source, const std::string& input = "", SandboxLimits limits = {}) {
    RunRequest request;
    request.python_source = source;
    request.standard_input = input;
    request.limits = limits;
    return Finish(request);
  }
  RunResult Finish(const RunRequest& request) {
    auto run = box_->Start(request);
    if (!run.ok()) return {.error = run.status().ToString()};
    return (*run)->Wait();
  }
  static Sandbox* sandbox_;
  std::unique_ptr<SandboxBox> box_;
};
Sandbox* SandboxTest::sandbox_ = nullptr;

TEST_F(SandboxTest, HoldsEveryProperty) {
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
  EXPECT_EQ(Python("raise ValueError('x')").exit_code, 1);
  const RunResult r = Python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)");
  EXPECT_EQ(r.end, RunEnd::kSignalled);
  EXPECT_EQ(r.signal, SIGSEGV);
}

TEST_F(SandboxTest, CompilesAndRunsAProgram) {
  ASSERT_TRUE(box_->WriteFile("a.cc", "#include <cstdio>\nint main() { puts(\"hi\"); return 3; }\n").ok());
  RunRequest compile;
  compile.argv = {"/usr/bin/g++", "-O1", "-o", "a", "a.cc"};
  const RunResult compiled = Finish(compile);
  EXPECT_EQ(compiled.exit_code, 0) << compiled.error_output << compiled.error;
  RunRequest run;
  run.argv = {"/work/a"};
  const RunResult r = Finish(run);
  EXPECT_EQ(r.exit_code, 3) << r.error;
  EXPECT_EQ(r.output, "hi\n");
}

}  // namespace
}  // namespace sluice
