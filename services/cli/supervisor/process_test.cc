#include "services/cli/supervisor/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/time/time.h"
#include "core/base/file.h"
#include "core/base/file_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

ExitStatus AwaitExit(pid_t pid) {
  const auto exit = AwaitChild(pid, absl::Minutes(1));
  EXPECT_TRUE(exit.has_value()) << "process " << pid << " does not end";
  return exit.value_or(ExitStatus{});
}

TEST(ProcessTest, SendsOutputToTheLog) {
  const std::string log = ::testing::TempDir() + "/process_test.log";
  std::filesystem::remove(log);
  for (const char* word : {"one", "two"}) {
    const auto pid = Spawn({{"/bin/sh", "-c", std::string("echo ") + word + "; echo err >&2; exit 3"}, log});
    ASSERT_TRUE(pid.ok()) << pid.status();
    EXPECT_EQ(AwaitExit(*pid).ToString(), "exit code 3");
  }
  EXPECT_EQ(*ReadFile(log), "one\nerr\ntwo\nerr\n");
  EXPECT_EQ(TailOfFile(log, 2), "  two\n  err\n");
  EXPECT_EQ(TailOfFile("/does/not/exist", 2), "");
}

TEST(ProcessTest, NamesTheBinaryWhenItIsMissing) {
  const auto pid = Spawn({{"/does/not/exist"}});
  EXPECT_EQ(pid.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(pid.status().message()), HasSubstr("/does/not/exist"));
}

// A shell that makes this file.
SpawnOptions Touching(const std::string& file) { return {{"/bin/sh", "-c", "echo >" + file}}; }

TEST(ProcessTest, TellsOfTheProcessBeforeItRuns) {
  const std::string file = ::testing::TempDir() + "/process_test.before";
  std::filesystem::remove(file);
  SpawnOptions options = Touching(file);
  pid_t told = 0;
  options.before_exec = [&](pid_t pid) {
    told = pid;
    EXPECT_TRUE(IdentityOf(pid).ok());
    EXPECT_FALSE(FileExists(file));
    return absl::OkStatus();
  };
  const auto pid = Spawn(options);
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(told, *pid);
  EXPECT_EQ(AwaitExit(*pid).ToString(), "exit code 0");
  EXPECT_TRUE(FileExists(file));
}

TEST(ProcessTest, DoesNotRunWhatIsRefused) {
  const std::string file = ::testing::TempDir() + "/process_test.refused";
  SpawnOptions options = Touching(file);
  options.before_exec = [](pid_t) { return absl::ResourceExhaustedError("no room"); };
  EXPECT_EQ(Spawn(options).status(), absl::ResourceExhaustedError("no room"));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // there is no child
  EXPECT_FALSE(FileExists(file));
}

TEST(ProcessTest, DoesNotRunWhenItsParentDiesBefore) {
  const std::string file = ::testing::TempDir() + "/process_test.orphan";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    SpawnOptions options = Touching(file);
    options.before_exec = [&](pid_t pid) {
      if (write(ends[1], &pid, sizeof(pid)) == sizeof(pid)) kill(getpid(), SIGKILL);
      return absl::OkStatus();
    };
    (void)Spawn(options);
    _exit(0);
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  EXPECT_EQ(AwaitExit(parent).ToString(), "signal 9 (Killed)");
  AwaitChild(child, absl::Minutes(1));  // its end; it is another's to reap
  EXPECT_FALSE(IdentityOf(child).ok());
  EXPECT_FALSE(FileExists(file));
  for (const int end : ends) close(end);
}

TEST(ProcessTest, KnowsAProcessByItsStartTime) {
  const auto pid = Spawn({{"/bin/sleep", "600"}});
  ASSERT_TRUE(pid.ok());
  const auto identity = IdentityOf(*pid);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_TRUE(IsAlive(*identity));
  ProcessIdentity earlier = *identity;
  earlier.start_ticks -= 1;
  EXPECT_FALSE(IsAlive(earlier));
  ProcessIdentity other_boot = *identity;
  other_boot.boot_id = "another";
  EXPECT_FALSE(IsAlive(other_boot));
  EXPECT_EQ(StopChild(*pid, absl::Minutes(1)).ToString(), "signal 15 (Terminated)");
  EXPECT_FALSE(IsAlive(*identity));
}

TEST(ProcessTest, KillsWhatDoesNotStop) {
  // The child says through a FIFO that it no longer heeds SIGTERM: opening it waits for the child.
  const std::string ready = ::testing::TempDir() + "/process_test.ready";
  std::filesystem::remove(ready);
  ASSERT_EQ(mkfifo(ready.c_str(), 0600), 0);
  const auto pid = Spawn({{"/bin/sh", "-c", "trap '' TERM; echo > " + ready + "; exec sleep 600"}});
  ASSERT_TRUE(pid.ok());
  std::ifstream(ready).get();
  const ExitStatus exit = StopChild(*pid, absl::Milliseconds(20));
  EXPECT_TRUE(exit.signalled);
  EXPECT_EQ(exit.code, SIGKILL);
}

TEST(ProcessTest, WaitsForAChildOnlySoLong) {
  const auto pid = Spawn({{"/bin/sleep", "600"}});
  ASSERT_TRUE(pid.ok());
  EXPECT_FALSE(AwaitChild(*pid, absl::Milliseconds(20)).has_value());
  kill(*pid, SIGKILL);
  EXPECT_EQ(AwaitExit(*pid).ToString(), "signal 9 (Killed)");
}

TEST(ProcessTest, NamesABinaryThatDoesNotStandBesideThisOne) {
  const auto path = SiblingBinary("no-such-binary");
  EXPECT_EQ(path.status().code(), absl::StatusCode::kNotFound);
}

TEST(RotateLogTest, KeepsALogSmallWhileItIsWritten) {
  const std::string log = ::testing::TempDir() + "/rotate_test.log";
  std::filesystem::remove(log + ".1");
  std::ofstream(log, std::ios::trunc).close();
  const FileDescriptor writer(open(log.c_str(), O_WRONLY | O_APPEND));
  const auto write_line = [&](const std::string& line) {
    return write(writer.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  };
  ASSERT_TRUE(write_line("short\n"));
  RotateLog(log, 64, /*in_use=*/true);
  EXPECT_FALSE(std::filesystem::exists(log + ".1"));
  ASSERT_TRUE(write_line(std::string(100, 'x') + "\n"));
  RotateLog(log, 64, /*in_use=*/true);
  ASSERT_TRUE(write_line("after\n"));
  EXPECT_EQ(*ReadFile(log), "after\n") << "its writer goes on at the beginning";
  EXPECT_EQ(*ReadFile(log + ".1"), "short\n" + std::string(100, 'x') + "\n");
}

}  // namespace
}  // namespace sluice::cli
