// A sandbox for all tests of a binary and a box for each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "reward/sandbox/sandbox.h"

namespace sluice {

class SandboxFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    static absl::StatusOr<std::unique_ptr<Sandbox>> made = Sandbox::Create({});
    ASSERT_TRUE(made.ok()) << made.status();
    sandbox_ = made->get();
    auto box = sandbox_->Open(absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(box.ok()) << box.status();
    box_ = *std::move(box);
  }
  // The defaults, but for a machine that has other things to do.
  static SandboxLimits Patient() {
    SandboxLimits limits;
    limits.wall = absl::Seconds(60);
    return limits;
  }
  RunResult Python(const std::string& source, const std::string& input = "",
                   const SandboxLimits& limits = Patient()) {
    RunRequest request;
    request.python_source = source;
    request.standard_input = input;
    request.limits = limits;
    return Finish(request);
  }
  RunResult Program(const std::vector<std::string>& argv) {
    RunRequest request;
    request.argv = argv;
    request.limits = Patient();
    return Finish(request);
  }
  RunResult Finish(const RunRequest& request) {
    RunResult result;
    auto run = box_->Start(request);
    if (run.ok()) return (*run)->Wait();
    result.error = run.status().ToString();
    return result;
  }

  Sandbox* sandbox_ = nullptr;
  std::unique_ptr<SandboxBox> box_;
};

}  // namespace sluice
