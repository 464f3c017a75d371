#include "services/cli/supervisor/fleet.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;

StartContext Context() {
  StartContext context;
  context.binary_folder = "/bin-folder";
  context.state = "/state";
  context.coordinator = "127.0.0.1:1";
  context.rendezvous = "127.0.0.1:2";
  context.world = 2;
  context.gang_epoch = 7;
  context.threads = 3;
  return context;
}

TEST(FleetTest, ListsTheCoordinatorFirst) {
  const auto members = ProcessesOf({.rollout_workers = 2, .reward_workers = 1, .learner_ranks = 2});
  std::vector<std::string> names;
  for (const auto& m : members) names.push_back(m.name);
  EXPECT_THAT(names,
              ElementsAre("coordinator", "learner-0", "learner-1", "rollout-0", "rollout-1", "reward-0"));
}

TEST(FleetTest, GangsHaveNamesAndFoldersOfTheirOwn) {
  std::vector<std::string> names;
  for (const auto& m : ProcessesOf({.rollout_workers = 1, .learner_ranks = 2, .learner_gangs = 2})) {
    if (m.role == "learner") names.push_back(absl::StrCat(m.name, " ", m.gang, " ", m.index));
  }
  EXPECT_THAT(names, ElementsAre("learner-0 0 0", "learner-1 0 1", "learner-g1-0 1 0", "learner-g1-1 1 1"));
  const auto argv = CommandOf({"learner", 1, "learner-g1-1", 1}, Context());
  EXPECT_THAT(argv, IsSupersetOf({"--name", "learner-g1-1", "--rank", "1", "--state", "/state/learner-g1"}));
}

TEST(FleetTest, SharesTheCoresOutWhenThreadsAreNotGiven) {
  EXPECT_EQ(ThreadsPerProcess({.rollout_workers = 2, .learner_ranks = 2}, 8), 4);
  EXPECT_EQ(ThreadsPerProcess({.rollout_workers = 4, .learner_ranks = 2}, 2), 1);
  EXPECT_EQ(ThreadsPerProcess({.rollout_workers = 4, .learner_ranks = 2, .threads = 5}, 2), 5);
}

TEST(FleetTest, SharesTheTimeOfAStopOutInOrder) {
  double before = 0, sum = 0;
  for (const StopStage& stage : StopStages()) {
    EXPECT_GT(stage.until, before);
    for (const std::string& role : stage.roles) {
      EXPECT_LT(StopSecondsOf(role, 100), 100 * (stage.until - before))
          << role;  // the supervisor waits longer
      EXPECT_GT(StopSecondsOf(role, 100), 0) << role;
    }
    sum += StopSecondsOf(stage.roles[0], 100);
    before = stage.until;
  }
  EXPECT_EQ(before, 1);
  EXPECT_LT(sum, 100);
  StartContext context = Context();
  context.stop_seconds = 100;
  EXPECT_THAT(CommandOf({"learner", 0, "learner-0"}, context),
              IsSupersetOf({std::string("--stop-seconds"), absl::StrCat(StopSecondsOf("learner", 100))}));
}

TEST(FleetTest, GivesALearnerItsRankAndEpoch) {
  const auto argv = CommandOf({"learner", 1, "learner-1"}, Context());
  EXPECT_EQ(argv[0], "/bin-folder/sluice-learner");
  EXPECT_THAT(argv,
              IsSupersetOf({"--rank", "1", "--world", "2", "--rendezvous", "127.0.0.1:2", "--gang-epoch", "7",
                            "--threads", "3", "--coordinator", "127.0.0.1:1", "--name", "learner-1"}));
}

TEST(FleetTest, GivesTheCoordinatorWhatToKeepWhereItIsSaid) {
  StartContext context = Context();
  EXPECT_THAT(CommandOf({"coordinator", 0, "coordinator"}, context), Not(Contains("--keep-samples-bytes")));
  context.keep_samples_bytes = uint64_t{1} << 30;
  context.keep_free_bytes = 0;
  EXPECT_THAT(CommandOf({"coordinator", 0, "coordinator"}, context),
              IsSupersetOf({"--keep-samples-bytes", "1073741824", "--keep-free-bytes", "0"}));
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, context), Not(Contains("--keep-samples-bytes")));
}

TEST(FleetTest, GivesDeviceAndHttpPortToRolloutWorkersOnly) {
  StartContext context = Context();
  context.device = "cuda";
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, context), IsSupersetOf({"--device", "cuda"}));
  EXPECT_THAT(CommandOf({"learner", 0, "learner-0"}, context), Not(Contains("--device")));
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, context), Not(Contains("--http-port")));
  context.http_port = "8001";
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, context), IsSupersetOf({"--http-port", "8001"}));
  EXPECT_THAT(CommandOf({"reward", 0, "reward-0"}, context), Not(Contains("--http-port")));
}

TEST(FleetTest, GivesRewardWorkersTheirScorers) {
  StartContext context = Context();
  EXPECT_THAT(CommandOf({"reward", 0, "reward-0"}, context), Not(Contains("--allow-weaker-sandbox")));
  context.scorers = {"a=127.0.0.1:1", "b=127.0.0.1:2"};
  context.allow_weaker_sandbox = true;
  EXPECT_THAT(CommandOf({"reward", 0, "reward-0"}, context),
              IsSupersetOf({"--scorer", "a=127.0.0.1:1", "b=127.0.0.1:2", "--allow-weaker-sandbox"}));
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, context), Not(Contains("--scorer")));
}

TEST(FleetTest, GivesTheCoordinatorNoCoordinator) {
  const auto argv = CommandOf({"coordinator", 0, "coordinator"}, Context());
  EXPECT_THAT(argv, Not(Contains("--coordinator")));
  EXPECT_THAT(argv, Not(Contains("--threads")));
}

TEST(FleetTest, KeepsStateApartByProcessButSharedByRanks) {
  EXPECT_THAT(CommandOf({"rollout", 0, "rollout-0"}, Context()), Contains("/state/rollout-0"));
  EXPECT_THAT(CommandOf({"rollout", 1, "rollout-1"}, Context()), Contains("/state/rollout-1"));
  EXPECT_THAT(CommandOf({"learner", 0, "learner-0"}, Context()), Contains("/state/learner"));
  EXPECT_THAT(CommandOf({"learner", 1, "learner-1"}, Context()), Contains("/state/learner"));
}

TEST(FleetTest, BindsOnlyLoopback) {
  for (const auto& member : ProcessesOf({})) {
    const auto argv = CommandOf(member, Context());
    EXPECT_THAT(argv, Not(Contains("0.0.0.0:0"))) << member.name;
    EXPECT_THAT(argv, Contains("127.0.0.1:0")) << member.name;
  }
}

}  // namespace
}  // namespace sluice::cli
