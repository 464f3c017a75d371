// The sandbox and its host: what it needs, what it says when that is missing, and what it leaves behind.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/file_descriptor.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What `body` returns in a child process, which may do to itself what it likes.
std::string InChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = body();
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  return out.good();
}

// The child becomes root of a user namespace of its own in which no more than `zeroed` namespaces can be
// made.
bool LimitNamespaces(const std::vector<std::string>& zeroed) {
  const std::string user = absl::StrCat("0 ", geteuid(), " 1"), group = absl::StrCat("0 ", getegid(), " 1");
  if (unshare(CLONE_NEWUSER) != 0 || !Write("/proc/self/setgroups", "deny") ||
      !Write("/proc/self/uid_map", user) || !Write("/proc/self/gid_map", group)) {
    return false;
  }
  for (const std::string& kind : zeroed) {
    if (!Write(absl::StrCat("/proc/sys/user/max_", kind, "_namespaces"), "0")) return false;
  }
  return true;
}

std::string RunOne(Sandbox& sandbox, const std::string& source) {
  auto box = sandbox.Open(absl::Now() + absl::Seconds(10));
  if (!box.ok()) return box.status().ToString();
  RunRequest request;
  request.python_source = source;
  auto run = (*box)->Start(request);
  if (!run.ok()) return run.status().ToString();
  const RunResult result = (*run)->Wait();
  return absl::StrCat(result.output, result.error, result.error_output);
}

// The names of missing properties and then what a program says, or why there is none.
std::string TryWeaker(bool allow_weaker) {
  SandboxOptions options;
  options.allow_weaker = allow_weaker;
  options.max_boxes = 1;
  auto sandbox = Sandbox::Create(options);
  if (!sandbox.ok()) return sandbox.status().ToString();
  std::string text;
  for (const SandboxProperty& p : (*sandbox)->properties()) {
    if (!p.holds) absl::StrAppend(&text, p.name, " ");
  }
  const std::string source =
      "import os\nopen('f', 'w').write('x')\n"
      "try: os.listdir('/root'); print('sees /root')\nexcept OSError: print('runs')";
  return text + "| " + RunOne(**sandbox, source);
}

class MissingProperty : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(MissingProperty, IsRefusedByNameAndRunsOnlyWhenAllowed) {
  const auto attempt = [&](bool allow_weaker) {
    return InChild(
        [&] { return LimitNamespaces(GetParam()) ? TryWeaker(allow_weaker) : "no namespaces here"; });
  };
  const std::string refused = attempt(false), weaker = attempt(true);
  EXPECT_THAT(refused, HasSubstr("FAILED_PRECONDITION"));
  for (const std::string& kind : GetParam()) {
    const std::string name = (kind == "mnt" ? "mount" : kind == "net" ? "network" : kind) + "_namespace";
    EXPECT_THAT(refused, HasSubstr(name));
    EXPECT_THAT(weaker, HasSubstr(name));
  }
  EXPECT_THAT(weaker, HasSubstr("| runs"));
}

INSTANTIATE_TEST_SUITE_P(
    Namespaces, MissingProperty,
    ::testing::Values(std::vector<std::string>{"user"}, std::vector<std::string>{"mnt"},
                      std::vector<std::string>{"pid"}, std::vector<std::string>{"net"},
                      std::vector<std::string>{"ipc"}, std::vector<std::string>{"cgroup"},
                      std::vector<std::string>{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}),
    [](const auto& info) { return info.param.size() > 1 ? "all" : info.param[0]; });

constexpr uid_t kOrdinary = 65534;

bool BecomeOrdinary() { return setregid(kOrdinary, kOrdinary) == 0 && setreuid(kOrdinary, kOrdinary) == 0; }

TEST(OrdinaryUserTest, IsRefusedWithoutControlGroupsAndToldHowToGetThem) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string refused = InChild([] { return BecomeOrdinary() ? TryWeaker(false) : "?"; });
  EXPECT_THAT(refused, HasSubstr("memory_limit"));
  EXPECT_THAT(refused, HasSubstr("Delegate=yes"));
  const std::string weaker = InChild([] { return BecomeOrdinary() ? TryWeaker(true) : "?"; });
  EXPECT_THAT(weaker, HasSubstr("memory_limit"));
  EXPECT_THAT(weaker, HasSubstr("| runs"));
}

TEST(OrdinaryUserTest, HasEveryPropertyInAGroupOfItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user and delegate groups";
  const CgroupPlaces places = FindCgroupPlaces(ReadFile("/proc/self/mountinfo").value_or(""),
                                               ReadFile("/proc/self/cgroup").value_or(""));
  std::set<std::string> bases;
  for (const auto& [controller, place] : places.controllers) bases.insert(place.folder);
  if (!places.unified.empty()) bases.insert(places.unified);
  const std::string name = absl::StrCat("/sluice-host-test.", getpid());
  for (const std::string& base : bases) {
    const std::string folder = base + name;
    ASSERT_EQ(mkdir(folder.c_str(), 0755), 0) << folder;
    ASSERT_EQ(chown(folder.c_str(), kOrdinary, kOrdinary), 0);
    for (const char* file : {"/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
      (void)!chown((folder + file).c_str(), kOrdinary, kOrdinary);
    }
  }
  const std::string text = InChild([&]() -> std::string {
    for (const std::string& base : bases) {
      if (!Write(base + name + "/cgroup.procs", absl::StrCat(getpid()))) return "cannot join " + base;
    }
    return BecomeOrdinary() ? TryWeaker(false) : "?";
  });
  EXPECT_EQ(text, "| runs\n");
  for (const std::string& base : bases) {
    (void)rmdir((base + name + "/sluice-supervisor").c_str());
    EXPECT_EQ(rmdir((base + name).c_str()), 0) << base;
  }
}

// What a sandbox could leave: groups, mounts, temporary folders, descriptors, processes.
std::vector<std::string> Traces(pid_t of) {
  std::vector<std::string> traces;
  const CgroupPlaces places = FindCgroupPlaces(ReadFile("/proc/self/mountinfo").value_or(""),
                                               ReadFile("/proc/self/cgroup").value_or(""));
  std::set<std::string> folders = {places.unified.empty() ? "/nonexistent" : places.unified};
  for (const auto& [controller, place] : places.controllers) folders.insert(place.folder);
  for (const std::string& folder : folders) {
    DIR* directory = opendir(folder.c_str());
    if (directory == nullptr) continue;
    while (const dirent* entry = readdir(directory)) {
      if (absl::StartsWith(entry->d_name, absl::StrCat("sluice-sandbox.", of, "."))) {
        traces.push_back(folder + "/" + entry->d_name);
      }
    }
    closedir(directory);
  }
  return traces;
}

int CountEntries(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

std::string Children() {
  std::string all;
  DIR* directory = opendir("/proc/self/task");
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') {
      all += ReadFile(absl::StrCat("/proc/self/task/", entry->d_name, "/children")).value_or("");
    }
  }
  closedir(directory);
  return all;
}

TEST(LeakTest, NothingIsLeftAfterBoxesAndSandbox) {
  const std::string mounts = ReadFile("/proc/self/mountinfo").value_or("");
  const int files = CountEntries("/proc/self/fd");
  {
    auto sandbox = Sandbox::Create({});
    ASSERT_TRUE(sandbox.ok()) << sandbox.status();
    EXPECT_THAT(Traces(getpid()), Not(IsEmpty()));
    int between = 0;
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(
          RunOne(**sandbox,
                 "import os\nif os.fork() == 0:\n  os.setsid()\n  import time; time.sleep(60)\nprint(1)"),
          "1\n");
      if (i == 10) between = CountEntries("/proc/self/fd");
    }
    EXPECT_EQ(CountEntries("/proc/self/fd"), between);
  }
  EXPECT_THAT(Traces(getpid()), IsEmpty());
  EXPECT_EQ(ReadFile("/proc/self/mountinfo").value_or(""), mounts);
  EXPECT_EQ(CountEntries("/proc/self/fd"), files);
  EXPECT_EQ(Children(), "");
}

// Descriptors of the processes in the first slot of these groups.
std::vector<FileDescriptor> Watch(const std::vector<std::string>& groups) {
  std::vector<FileDescriptor> processes;
  for (const std::string& group : groups) {
    std::ifstream in(group + "/slot-0/cgroup.procs");
    for (pid_t process; in >> process;) {
      processes.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    }
  }
  return processes;
}

TEST(LeakTest, AKilledServiceLeavesNothingThatLivesAndTheNextOneCleansUp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t service = fork();
  if (service == 0) {
    SandboxOptions options;
    options.max_boxes = 1;
    auto sandbox = Sandbox::Create(options);
    auto box = (*sandbox)->Open(absl::Now() + absl::Seconds(10));
    RunRequest request;
    request.channel = true;
    request.limits.wall = absl::Seconds(100);
    request.python_source = "import os, time\nos.write(3, b'x')\ntime.sleep(100)";
    auto run = (*box)->Start(request);
    char byte;
    while (read((*run)->channel(), &byte, 1) != 1) {
    }
    (void)!write(ends[1], "x", 1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  const std::vector<std::string> traces = Traces(service);
  ASSERT_THAT(traces, Not(IsEmpty()));
  const std::vector<FileDescriptor> processes = Watch(traces);
  EXPECT_GE(processes.size(), 3u);
  kill(service, SIGKILL);
  waitpid(service, nullptr, 0);
  for (const FileDescriptor& process : processes) {
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 20000), 1);
  }
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(Sandbox::Create({}).ok());
  EXPECT_THAT(Traces(service), IsEmpty());
}

TEST(RecoveryTest, AKilledJailIsStartedAnew) {
  SandboxOptions options;
  options.max_boxes = 2;
  auto sandbox = Sandbox::Create(options);
  ASSERT_TRUE(sandbox.ok()) << sandbox.status();
  std::istringstream children(Children());
  pid_t jail = 0;
  ASSERT_TRUE(children >> jail);
  auto box = (*sandbox)->Open(absl::Now() + absl::Seconds(10));
  ASSERT_TRUE(box.ok());
  RunRequest request;
  request.python_source = "import time\ntime.sleep(60)";
  auto run = (*box)->Start(request);
  ASSERT_TRUE(run.ok());
  std::istringstream inner(ReadFile(absl::StrCat("/proc/", jail, "/task/", jail, "/children")).value_or(""));
  pid_t first = 0;
  ASSERT_TRUE(inner >> first);
  kill(first, SIGKILL);
  EXPECT_EQ((*run)->Wait().end, RunEnd::kInfrastructure);
  run->reset();
  box->reset();
  EXPECT_EQ(RunOne(**sandbox, "print('again')"), "again\n");
}

}  // namespace
}  // namespace sluice
