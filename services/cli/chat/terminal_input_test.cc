#include "services/cli/chat/terminal_input.h"

#include <unistd.h>

#include <csignal>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

class TerminalInputTest : public ::testing::Test {
 protected:
  TerminalInputTest() { EXPECT_EQ(pipe(ends_), 0); }
  ~TerminalInputTest() override {
    Close();
    close(ends_[0]);
  }
  void Write(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void Close() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  int ends_[2] = {-1, -1};
};

void WaitFor(const CancelToken& token) {
  absl::Notification raised;
  const std::stop_callback wake(token.stop_token(), [&] { raised.Notify(); });
  raised.WaitForNotification();
}

TEST_F(TerminalInputTest, GivesLinesAndTheRestAtTheEnd) {
  TerminalInput input(ends_[0]);
  Write("one\n\ntwo");
  EXPECT_EQ(input.ReadLine(), "one");
  EXPECT_EQ(input.ReadLine(), "");
  Close();
  EXPECT_EQ(input.ReadLine(), "two");
  EXPECT_EQ(input.ReadLine(), std::nullopt);
}

TEST_F(TerminalInputTest, EndsAtCtrlCWhileALineIsAwaited) {
  TerminalInput input(ends_[0]);
  kill(getpid(), SIGINT);
  EXPECT_EQ(input.ReadLine(), std::nullopt);
}

TEST_F(TerminalInputTest, StopsTheBodyAtTheFirstCtrlCAndGoesOn) {
  TerminalInput input(ends_[0]);
  Write("next\n");
  input.RunInterruptible([](const CancelToken& token) {
    kill(getpid(), SIGINT);
    WaitFor(token);
  });
  EXPECT_EQ(input.ReadLine(), "next");
}

TEST_F(TerminalInputTest, LeavesAfterSigterm) {
  TerminalInput input(ends_[0]);
  Write("next\n");
  input.RunInterruptible([](const CancelToken& token) {
    kill(getpid(), SIGTERM);
    WaitFor(token);
  });
  EXPECT_EQ(input.ReadLine(), std::nullopt);
}

}  // namespace
}  // namespace sluice::cli
