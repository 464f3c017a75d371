#include "services/cli/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

// Stands for a service: writes its address file, notes how it was started, and sleeps. It takes the address
// that it is told to listen at, or makes one of its pid.
constexpr char kService[] = R"(#!/bin/sh
all="$*"
while [ $# -gt 1 ]; do
  case $1 in
    --address-file) file=$2 ;;
    --listen) listen=$2 ;;
    --name) name=$2 ;;
  esac
  shift
done
echo "$all" >> "$file.starts"
[ "$listen" = 127.0.0.1:0 ] && listen="127.0.0.1:$$"
echo "{\"role\":\"x\",\"name\":\"$name\",\"pid\":$$,\"grpc\":\"$listen\",\"metrics\":\"$listen\"}" > "$file.part"
mv "$file.part" "$file"
exec sleep 600
)";

// A service that answers at its metrics' address for as long as it is not stopped.
constexpr char kAnsweringService[] = R"(#!/usr/bin/env python3
import http.server, json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
address = "127.0.0.1:%d" % server.server_address[1]
file = options["--address-file"]
with open(file + ".part", "w") as f:
    json.dump({"role": "x", "name": options["--name"], "pid": os.getpid(), "grpc": address, "metrics": address}, f)
os.rename(file + ".part", file)
server.serve_forever()
)";

std::string Replaced(const std::string& script, const std::string& last_line) {
  return absl::StrReplaceAll(script, {{"exec sleep 600\n", last_line}});
}

// Waits until `done`, which is asked again when a file of the folder was written or replaced.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder) : fd_(inotify_init1(IN_CLOEXEC)) {
    inotify_add_watch(fd_, folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE);
  }
  ~FolderWatch() { close(fd_); }
  template <typename Done>
  bool Await(const Done& done) const {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!done()) {
      pollfd changed = {fd_, POLLIN, 0};
      if (poll(&changed, 1, static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now()))) <= 0) {
        return false;
      }
      char events[4096];
      if (read(fd_, events, sizeof(events)) < 0) return false;
    }
    return true;
  }

 private:
  const int fd_;
};

class SupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/supervisor_test.", getpid(), ".",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/bin");
    std::filesystem::create_directories(state());
    WriteBinaries(kService);
  }
  void WriteBinaries(const std::string& script) {
    for (const char* role : {"coordinator", "rollout", "reward", "learner"}) WriteBinary(role, script);
  }
  void TearDown() override {
    for (const pid_t pid : supervisors_) StopChild(pid, absl::Minutes(1));
    std::filesystem::remove_all(folder_);
  }

  void WriteBinary(const std::string& role, const std::string& script) {
    const std::string path = folder_ + "/bin/sluice-" + role;
    std::ofstream(path) << script;
    chmod(path.c_str(), 0755);
  }
  SupervisorOptions Options() const {
    SupervisorOptions options;
    options.state = state();
    options.binary_folder = folder_ + "/bin";
    options.shape = {.rollout_workers = 1, .reward_workers = 1, .learner_ranks = 2, .learner_gangs = gangs_};
    options.limits.first_delay = absl::Milliseconds(1);
    options.limits.longest_delay = absl::Milliseconds(10);
    options.shape.stop_seconds = stop_seconds_;
    options.shape.hang_seconds = hang_seconds_;
    options.say = [path = state() + "/said"](const std::string& line) {
      std::ofstream(path, std::ios::app) << line << "\n";
    };
    return options;
  }
  std::string state() const { return folder_ + "/state"; }
  std::string Said() const { return ReadFile(state() + "/said").value_or(""); }

  // Runs one in a process of its own; exits 0 when Run was OK. Its error goes to STATE.error.
  pid_t StartSupervisor() {
    const pid_t pid = fork();
    if (pid == 0) {
      SupervisorOptions options = Options();
      options.log_file = state() + "/up.log";
      std::cerr << "before the lock\n";
      auto supervisor = Supervisor::Create(options);
      const absl::Status status = supervisor.ok() ? (*supervisor)->Run() : supervisor.status();
      std::ofstream(state() + ".error") << status.message();
      _exit(status.ok() ? 0 : 1);
    }
    supervisors_.push_back(pid);
    return pid;
  }
  ExitStatus AwaitExit(pid_t pid) {
    const auto exit = AwaitChild(pid, absl::Minutes(1));
    EXPECT_TRUE(exit.has_value()) << "the supervisor does not end";
    if (exit.has_value()) std::erase(supervisors_, pid);
    return exit.value_or(ExitStatus{});
  }

  using Cluster = std::map<std::string, ClusterProcess>;  // by "role-index"
  // The cluster when it has all its processes, all alive, and satisfies the condition.
  template <typename Condition>
  Cluster AwaitCluster(Condition condition) {
    Cluster out;
    const bool came = FolderWatch(state()).Await([&] {
      out.clear();
      const auto processes = ReadCluster(state());
      bool alive = processes.ok() && processes->size() == 3 + 2 * static_cast<size_t>(gangs_);
      if (processes.ok()) {
        for (const ClusterProcess& p : *processes) {
          alive = alive && IdentityOf(static_cast<pid_t>(p.pid)).ok();
          out[absl::StrCat(p.role, "-", p.index)] = p;
        }
      }
      return alive && condition(out);
    });
    EXPECT_TRUE(came) << "the cluster does not come to the state waited for";
    return came ? out : Cluster();
  }
  Cluster AwaitCluster() {
    return AwaitCluster([](const Cluster&) { return true; });
  }
  std::string Starts(const std::string& name) const {
    std::ifstream file(state() + "/run/" + name + ".json.starts");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void Kill(const ClusterProcess& process) { kill(static_cast<pid_t>(process.pid), SIGKILL); }

  static void ExpectGone(const Cluster& cluster) {
    for (const auto& [name, process] : cluster) {
      EXPECT_FALSE(IdentityOf(static_cast<pid_t>(process.pid)).ok()) << name;
    }
  }

  std::string folder_;
  double stop_seconds_ = 30, hang_seconds_ = 60;
  int gangs_ = 1;  // of two learner ranks
  std::vector<pid_t> supervisors_;
};

TEST_F(SupervisorTest, StartsAllAndStopsAllWhenTold) {
  const pid_t supervisor = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  EXPECT_EQ(cluster.size(), 5u);
  EXPECT_THAT(Starts("rollout-0"),
              HasSubstr(absl::StrCat("--coordinator ", cluster.at("coordinator-0").grpc)));
  EXPECT_THAT(Starts("learner-1"), HasSubstr(absl::StrCat("--rendezvous ", cluster.at("learner-0").grpc)));
  EXPECT_THAT(Starts("learner-1"), HasSubstr("--rank 1 --world 2"));
  kill(supervisor, SIGTERM);
  EXPECT_EQ(AwaitExit(supervisor).ToString(), "exit code 0");
  ExpectGone(cluster);
}

TEST_F(SupervisorTest, StopsWorkersThenTheLearnerThenTheCoordinator) {
  // Notes its name when it is told to stop.
  WriteBinaries(Replaced(kService,
                         "trap 'echo \"$name\" >> \"${file%/*}/stops\"; kill $!; exit 0' TERM\n"
                         "sleep 600 &\nwait\n"));
  const pid_t supervisor = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  kill(supervisor, SIGTERM);
  EXPECT_EQ(AwaitExit(supervisor).ToString(), "exit code 0");
  ExpectGone(cluster);
  const std::vector<std::string> stops = absl::StrSplit(*ReadFile(state() + "/run/stops"), '\n');
  ASSERT_EQ(stops.size(), 6u);  // the last is empty
  EXPECT_THAT(std::vector<std::string>(stops.begin(), stops.begin() + 2),
              ::testing::UnorderedElementsAre("rollout-0", "reward-0"));
  EXPECT_THAT(std::vector<std::string>(stops.begin() + 2, stops.begin() + 4),
              ::testing::UnorderedElementsAre("learner-0", "learner-1"));
  EXPECT_EQ(stops[4], "coordinator");
}

TEST_F(SupervisorTest, KillsWhatDoesNotStopWithinItsTime) {
  stop_seconds_ = 1;
  WriteBinaries(Replaced(kService, "trap '' TERM\nexec sleep 600\n"));
  const pid_t supervisor = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  kill(supervisor, SIGTERM);
  EXPECT_EQ(AwaitExit(supervisor).ToString(), "exit code 1");
  ExpectGone(cluster);
  EXPECT_THAT(Said(), HasSubstr("learner-1 did not stop in time; killing it"));
  EXPECT_THAT(*ReadFile(state() + ".error"), HasSubstr("stopped, but not in order"));
  EXPECT_THAT(*ReadFile(state() + ".error"), HasSubstr("missed its last checkpoint"));
}

TEST_F(SupervisorTest, SaysWhichProcessDidNotStopInOrder) {
  WriteBinary("learner",
              Replaced(kService, "trap 'echo no room; kill $!; exit 1' TERM\nsleep 600 &\nwait\n"));
  const pid_t supervisor = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  kill(supervisor, SIGTERM);
  EXPECT_EQ(AwaitExit(supervisor).ToString(), "exit code 1");
  ExpectGone(cluster);
  EXPECT_THAT(*ReadFile(state() + ".error"), HasSubstr("learner-0: exit code 1"));
  EXPECT_THAT(Said(), HasSubstr("no room"));
  const auto record = ReadSupervisorRecord(state());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->stopped);
  EXPECT_THAT(record->unclean, ::testing::Contains(UncleanEnd{"learner-0", "exit code 1"}));
}

TEST_F(SupervisorTest, WaitsForAStepThatTakesLongerAndTellsTheOtherRanksLater) {
  stop_seconds_ = 4;
  // Rank 0 says that it needs a minute, and takes longer than its share; the other rank would miss its
  // SIGTERM if it came at once.
  WriteBinary("learner",
              Replaced(kService,
                       "took() { [ \"$name\" = learner-0 ] || { echo late >> \"${file%/*}/rank1\"; kill "
                       "$!; exit 0; }\n"
                       "  until=$(($(date +%s) + 60))\n"
                       "  echo '{\"pid\":'$$',\"until\":'$until',\"waiting_for\":\"the step under way\"}' > "
                       "\"$file.stop.part\"; mv \"$file.stop.part\" \"$file.stop\"\n"
                       "  sleep 4; [ -e \"${file%/*}/rank1\" ] && exit 1; kill $!; exit 0; }\n"
                       "trap took TERM\nsleep 600 &\nwait\n"));
  const pid_t supervisor = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  kill(supervisor, SIGTERM);
  EXPECT_EQ(AwaitExit(supervisor).ToString(), "exit code 0") << *ReadFile(state() + ".error");
  ExpectGone(cluster);
  EXPECT_THAT(Said(), HasSubstr("for the step under way"));
  EXPECT_GT(ReadSupervisorRecord(state())->stop_until, 0);
}

TEST_F(SupervisorTest, RemembersItsFlagsWithTheThreadsThatFollowedFromThem) {
  StartSupervisor();
  AwaitCluster();
  const auto record = ReadSupervisorRecord(state());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->flags.at("--rollout"), std::vector<std::string>{"1"});
  EXPECT_EQ(record->flags.at("--threads"), std::vector<std::string>{"1"});
  EXPECT_FALSE(record->stopped);
  ASSERT_EQ(record->layouts.size(), 1u);
  EXPECT_EQ(record->layouts[0].ranks, 2);
  EXPECT_EQ(record->layouts[0].threads, 1);
}

TEST_F(SupervisorTest, KillsAllAtOnceOnASecondInterruptAndGoesOnLater) {
  stop_seconds_ = 3600;
  WriteBinaries(Replaced(kService, "trap '' TERM\nexec sleep 600\n"));
  const pid_t first = StartSupervisor();
  const Cluster cluster = AwaitCluster();
  kill(first, SIGINT);
  EXPECT_TRUE(FolderWatch(state()).Await([&] { return absl::StrContains(Said(), "stopping, within"); }));
  kill(first, SIGINT);
  EXPECT_EQ(AwaitExit(first).ToString(), "exit code 1");
  EXPECT_THAT(*ReadFile(state() + ".error"),
              HasSubstr("interrupted while stopping: every process was killed"));
  ExpectGone(cluster);
  EXPECT_TRUE(ReadCluster(state())->empty());
  WriteBinaries(kService);
  StartSupervisor();
  EXPECT_EQ(AwaitCluster().size(), 5u);
}

TEST_F(SupervisorTest, StartsAProcessAgainAtItsAddressWhenItDies) {
  StartSupervisor();
  const Cluster before = AwaitCluster();
  for (const char* name : {"coordinator-0", "rollout-0", "reward-0"}) {
    Kill(before.at(name));
    const Cluster after =
        AwaitCluster([&](const Cluster& now) { return now.at(name).pid != before.at(name).pid; });
    ASSERT_EQ(after.size(), 5u);
    EXPECT_EQ(after.at(name).grpc, before.at(name).grpc);
    EXPECT_EQ(after.at("learner-1").pid, before.at("learner-1").pid);
  }
}

TEST_F(SupervisorTest, KillsAndStartsAgainWhatNoLongerAnswers) {
  hang_seconds_ = 2;
  WriteBinary("rollout", kAnsweringService);
  StartSupervisor();
  const Cluster before = AwaitCluster();
  kill(static_cast<pid_t>(before.at("rollout-0").pid), SIGSTOP);
  const Cluster after =
      AwaitCluster([&](const Cluster& now) { return now.at("rollout-0").pid != before.at("rollout-0").pid; });
  ASSERT_EQ(after.size(), 5u);
  EXPECT_THAT(Said(), HasSubstr(absl::StrCat("rollout-0 (pid ", before.at("rollout-0").pid,
                                             ") has not answered for 2 s (--hang-seconds); killing it")));
  for (const char* other : {"coordinator-0", "reward-0", "learner-0", "learner-1"}) {
    EXPECT_EQ(after.at(other).pid, before.at(other).pid)
        << other;  // nobody listens there, and that is no silence
  }
}

TEST_F(SupervisorTest, RestartsAllRanksUnderANewEpochWhenOneDies) {
  StartSupervisor();
  Cluster before = AwaitCluster();
  EXPECT_THAT(Starts("learner-0"), HasSubstr("--gang-epoch 1"));
  for (const char* victim : {"learner-1", "learner-0"}) {
    Kill(before.at(victim));
    const Cluster after = AwaitCluster([&](const Cluster& now) {
      return now.at("learner-0").pid != before.at("learner-0").pid &&
             now.at("learner-1").pid != before.at("learner-1").pid;
    });
    ASSERT_EQ(after.size(), 5u);
    EXPECT_EQ(after.at("learner-0").grpc, before.at("learner-0").grpc);
    EXPECT_EQ(after.at("rollout-0").pid, before.at("rollout-0").pid);
    before = after;
  }
  for (const char* rank : {"learner-0", "learner-1"}) {
    EXPECT_THAT(Starts(rank), HasSubstr("--gang-epoch 3")) << rank;
    EXPECT_THAT(Starts(rank), ::testing::Not(HasSubstr("--gang-epoch 4"))) << rank;
  }
}

TEST_F(SupervisorTest, AGangThatLosesARankLeavesTheOthersAlone) {
  gangs_ = 2;
  const pid_t first = StartSupervisor();
  const Cluster before = AwaitCluster();
  EXPECT_THAT(Starts("learner-g1-1"), HasSubstr(absl::StrCat("--rendezvous ", before.at("learner-2").grpc)));
  Kill(before.at("learner-3"));
  const Cluster after = AwaitCluster([&](const Cluster& now) {
    return now.at("learner-2").pid != before.at("learner-2").pid &&
           now.at("learner-3").pid != before.at("learner-3").pid;
  });
  for (const char* other : {"learner-0", "learner-1"}) EXPECT_EQ(after.at(other).pid, before.at(other).pid);
  EXPECT_THAT(Starts("learner-g1-0"), HasSubstr("--gang-epoch 2"));
  // Another supervisor goes on with the epochs of both.
  kill(first, SIGKILL);
  AwaitExit(first);
  StartSupervisor();
  Kill(after.at("learner-0"));
  AwaitCluster([&](const Cluster& now) {
    return now.at("learner-0").pid != after.at("learner-0").pid &&
           now.at("learner-1").pid != after.at("learner-1").pid;
  });
  EXPECT_THAT(Starts("learner-1"), HasSubstr("--gang-epoch 2"));
  EXPECT_THAT(Starts("learner-g1-0"), ::testing::Not(HasSubstr("--gang-epoch 3")));
}

TEST_F(SupervisorTest, RefusesAStateDirectoryInUse) {
  StartSupervisor();
  const Cluster before = AwaitCluster();
  EXPECT_EQ(AwaitExit(StartSupervisor()).ToString(), "exit code 1");
  EXPECT_THAT(*ReadFile(state() + ".error"), HasSubstr("is in use by another `sluice up`"));
  EXPECT_EQ(AwaitCluster(), before);
  EXPECT_EQ(*ReadFile(state() + "/up.log"), "") << "the log is that of the one that has the directory";
}

TEST_F(SupervisorTest, AdoptsWhatAKilledSupervisorLeft) {
  const pid_t first = StartSupervisor();
  const Cluster before = AwaitCluster();
  kill(first, SIGKILL);
  AwaitExit(first);
  Kill(before.at("rollout-0"));  // while nobody looks
  const pid_t second = StartSupervisor();
  const Cluster after =
      AwaitCluster([&](const Cluster& now) { return now.at("rollout-0").pid != before.at("rollout-0").pid; });
  ASSERT_EQ(after.size(), 5u);
  for (const char* name : {"coordinator-0", "learner-0", "learner-1", "reward-0"}) {
    EXPECT_EQ(after.at(name), before.at(name)) << name;
  }
  // An adopted process is started again, too, and all are stopped.
  Kill(after.at("reward-0"));
  const Cluster last =
      AwaitCluster([&](const Cluster& now) { return now.at("reward-0").pid != after.at("reward-0").pid; });
  kill(second, SIGTERM);
  EXPECT_EQ(AwaitExit(second).ToString(), "exit code 0");
  ExpectGone(last);
}

TEST_F(SupervisorTest, GivesUpWithTheEndOfTheLogWhenAProcessNeverServes) {
  WriteBinary("rollout", "#!/bin/sh\necho 'the flag is wrong' >&2\nexit 2\n");
  EXPECT_EQ(AwaitExit(StartSupervisor()).ToString(), "exit code 1");
  const std::string error = *ReadFile(state() + ".error");
  EXPECT_THAT(error, HasSubstr("rollout-0 does not start (exit code 2)"));
  EXPECT_THAT(error, HasSubstr("the flag is wrong"));
}

}  // namespace
}  // namespace sluice::cli
