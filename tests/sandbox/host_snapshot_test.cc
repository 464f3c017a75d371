// The snapshot sees each kind of thing that an attack could leave behind.
#include "tests/sandbox/host_snapshot.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Beyond(const HostSnapshot& before) { return HostSnapshot::Take({}).Beyond(before); }

TEST(HostSnapshotTest, NothingChangedIsNothingLeft) {
  EXPECT_THAT(Beyond(HostSnapshot::Take({})), IsEmpty());
}

TEST(HostSnapshotTest, SeesAGrandchildWhoseParentHasLeft) {
  AdoptOrphans();
  HostSnapshot before = HostSnapshot::Take({});
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  pid_t child = fork();
  if (child == 0) {
    pid_t grandchild = fork();
    if (grandchild == 0) {
      setsid();
      for (;;) pause();
    }
    (void)!write(said[1], &grandchild, sizeof grandchild);
    _exit(0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(said[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  waitpid(child, nullptr, 0);
  close(said[0]);
  close(said[1]);
  EXPECT_THAT(Beyond(before), Contains(HasSubstr(absl::StrCat("process ", grandchild))));
  kill(grandchild, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(grandchild), &info, WEXITED | WNOWAIT);
  EXPECT_THAT(Beyond(before), Contains(HasSubstr("zombie")));
  waitpid(grandchild, nullptr, 0);
  EXPECT_THAT(Beyond(before), IsEmpty());
}

TEST(HostSnapshotTest, SeesDescriptorsThreadsAndSharedMemory) {
  HostSnapshot before = HostSnapshot::Take({});
  int descriptor = open("/dev/null", O_RDONLY);
  int shared = shmget(IPC_PRIVATE, 4096, 0600);
  ASSERT_GE(shared, 0);
  int never[2];
  ASSERT_EQ(pipe(never), 0);
  std::thread thread([&] {
    char c;
    (void)!read(never[0], &c, 1);
  });
  std::vector<std::string> left = Beyond(before);
  EXPECT_THAT(left, Contains(HasSubstr("descriptor of /dev/null")));
  EXPECT_THAT(left, Contains(HasSubstr(absl::StrCat("ipc shm key 0 id ", shared))));
  EXPECT_THAT(left, Contains("threads"));
  (void)!write(never[1], "x", 1);
  thread.join();
  for (int d : {descriptor, never[0], never[1]}) close(d);
  shmctl(shared, IPC_RMID, nullptr);
  EXPECT_THAT(Beyond(before), IsEmpty());
}

TEST(HostSnapshotTest, SeesMarkedFilesAndAllOfAFolder) {
  std::string folder = absl::StrCat(testing::TempDir(), "/sluice_host_snapshot_", getpid());
  std::filesystem::create_directory(folder);
  HostSnapshot before = HostSnapshot::Take({folder});
  std::string marked = absl::StrCat(testing::TempDir(), "/", AttackMark());
  std::ofstream(folder + "/file") << "x";
  std::ofstream(marked) << "x";
  std::vector<std::string> left = HostSnapshot::Take({folder}).Beyond(before);
  EXPECT_THAT(left, Contains(HasSubstr(folder + "/file")));
  EXPECT_THAT(left, Contains(HasSubstr(AttackMark())));
  std::filesystem::remove_all(folder);
  std::filesystem::remove(marked);
}

// Other programs work in the same places: what they make is not this test's, and what they take away while it
// is looked at hides nothing.
TEST(HostSnapshotTest, WhatOthersDoNeitherShowsNorHides) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/sluice_others_", getpid());
  const std::string other = folder + "/sluice_attack_of_another";
  const std::string marked = absl::StrCat(folder, "/z", AttackMark());
  std::filesystem::create_directories(folder);
  HostSnapshot before = HostSnapshot::Take({});
  std::ofstream(marked) << "x";
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};
  std::thread others([&] {
    for (; !done; ++rounds) {
      for (int i = 0; i < 20; ++i) {
        std::error_code gone;
        std::filesystem::create_directories(absl::StrCat(other, "/", i, "/deep"), gone);
      }
      std::filesystem::remove_all(other);
    }
  });
  for (int i = 0; i < 50 || rounds < 50; ++i) {
    std::vector<std::string> left = Beyond(before);
    left.erase(std::remove(left.begin(), left.end(), "threads"), left.end());
    left.erase(std::remove_if(left.begin(), left.end(),  // the other thread's, for a moment
                              [&](const std::string& l) { return l.rfind("descriptor of ", 0) == 0; }),
               left.end());
    EXPECT_THAT(left, testing::ElementsAre(HasSubstr(AttackMark())));
    if (HasFailure()) break;
  }
  done = true;
  others.join();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice
