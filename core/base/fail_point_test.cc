#include "core/base/fail_point.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "core/base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

std::string FreshFolder() {
  std::string path = testing::TempDir() + "/fail_point.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

// Runs `body` in a child under these settings; the wait status.
template <typename Body>
int RunChild(const std::string& actions, const std::string& folder, Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("SLUICE_FAIL_POINTS", actions.c_str(), 1);
    setenv("SLUICE_FAIL_POINT_DIR", folder.c_str(), 1);
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

void Visit(int times) {
  for (int i = 0; i < times; ++i) SLUICE_FAIL_POINT("test.visit");
}

TEST(FailPoint, KillsAtTheNthTimeAndOnlyOnceInAFolder) {
  const std::string folder = FreshFolder();
  const int first = RunChild("test.visit=kill@3", folder, [] { Visit(3); });
  ASSERT_TRUE(WIFSIGNALED(first));
  EXPECT_EQ(WTERMSIG(first), SIGKILL);
  EXPECT_TRUE(FileExists(folder + "/test.visit.done"));
  EXPECT_EQ(RunChild("test.visit=kill@3", folder, [] { Visit(5); }), 0);
}

TEST(FailPoint, LivesUntilTheNthTimeAndSaysThatItWasReached) {
  const std::string folder = FreshFolder();
  EXPECT_EQ(RunChild("test.visit=kill@3,test.other=kill", folder, [] { Visit(2); }), 0);
  EXPECT_TRUE(FileExists(folder + "/test.visit.reached"));
  EXPECT_FALSE(FileExists(folder + "/test.visit.done"));
  EXPECT_FALSE(FileExists(folder + "/test.other.reached"));
}

TEST(FailPoint, Delays) {
  const std::string folder = FreshFolder();
  const int status = RunChild("test.visit=delay:200@2", folder, [] {
    const absl::Time start = absl::Now();
    Visit(2);
    _exit(absl::Now() - start >= absl::Milliseconds(200) ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST(FailPoint, IsNothingWithoutAFolder) {
  EXPECT_EQ(RunChild("", "", [] { Visit(1); }), 0);
}

TEST(FailPoint, DoesNotGoOnWithAMalformedEnvironment) {
  EXPECT_TRUE(WIFSIGNALED(RunChild("test.visit=explode", FreshFolder(), [] { Visit(1); })));
  EXPECT_TRUE(WIFSIGNALED(RunChild("test.visit=kill", "", [] { Visit(1); })));
}

TEST(ParseFailActions, ReadsAll) {
  const auto actions = ParseFailActions("a.b=kill,c.d=delay:50@7");
  ASSERT_TRUE(actions.ok());
  ASSERT_EQ(actions->size(), 2u);
  EXPECT_EQ((*actions)[0].point, "a.b");
  EXPECT_TRUE((*actions)[0].kill);
  EXPECT_EQ((*actions)[0].at, 1);
  EXPECT_FALSE((*actions)[1].kill);
  EXPECT_EQ((*actions)[1].delay, absl::Milliseconds(50));
  EXPECT_EQ((*actions)[1].at, 7);
}

TEST(ParseFailActions, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"a", "=kill", "a=die", "a=kill@0", "a=kill@x", "a=kill@", "a=delay", "a=delay:x",
                           "a=delay:-1", "a=delay:5x"}) {
    const auto actions = ParseFailActions(text);
    ASSERT_FALSE(actions.ok()) << text;
    EXPECT_THAT(actions.status().message(), HasSubstr(text));
  }
}

}  // namespace
}  // namespace sluice
