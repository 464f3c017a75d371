// From whom each worker fetches a policy.
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/scheduler/testing_scheduler.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class SchedulerSourcesTest : public SchedulerTest {
 protected:
  // `workers` rollout workers, none of which has a policy yet.
  void BeginWith(int workers) {
    Send(LearnerUp{"learner", 1});
    AnswerLearner();
    AnswerLearner();
    Send(RewardUp{"reward", 3});
    for (int i = 0; i < workers; ++i) Send(RolloutUp{absl::StrCat("r", i), static_cast<uint64_t>(10 + i)});
  }
  void Loaded(const StartLoad& load, const absl::Status& status = absl::OkStatus()) {
    Send(PolicyLoaded{load.worker, load.epoch, load.policy.version, status});
  }
};

TEST_F(SchedulerSourcesTest, APolicySpreadsAsATree) {
  BeginWith(40);
  std::map<std::string, int> given;
  int rounds = 0;
  for (auto loads = TakeAll<StartLoad>(); !loads.empty(); loads = TakeAll<StartLoad>(), ++rounds) {
    std::map<std::string, int> receivers;
    for (const StartLoad& load : loads) {
      EXPECT_LE(++receivers[load.source], kReceiversPerSource) << load.source;
      EXPECT_TRUE(load.source.empty() || s_.rollout.at(load.source).version == 0) << load.source;
      ++given[load.source];
    }
    for (const StartLoad& load : loads) Loaded(load);
  }
  for (const auto& [name, worker] : s_.rollout) EXPECT_EQ(worker.version, 0) << name;
  EXPECT_LE(rounds, 5) << "each round at least doubles those who have it";
  EXPECT_LE(given[""], 2 * rounds);
}

TEST_F(SchedulerSourcesTest, WhoWasGivenNothingGoesToTheLearner) {
  BeginWith(3);
  auto first = TakeAll<StartLoad>();
  ASSERT_EQ(first.size(), 2u);  // both from the learner
  Loaded(first[0]);
  auto next = TakeAll<StartLoad>();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].source, first[0].worker);
  Loaded(next[0], absl::DataLossError("tensor w has another hash"));
  now_ += absl::Seconds(10);
  Send(TickEvent{});
  next = TakeAll<StartLoad>();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].source, "");
  Loaded(next[0]);
  EXPECT_FALSE(s_.rollout.at(next[0].worker).only_learner);
  EXPECT_TRUE(s_.rollout.at(first[0].worker).gives) << "one bad transfer says nothing of the next";
}

TEST_F(SchedulerSourcesTest, WhoGivesNothingIsNotAskedAgain) {
  BeginWith(2);
  for (const StartLoad& load : TakeAll<StartLoad>()) Loaded(load);
  Send(RolloutUp{"r9", 90});
  auto loads = TakeAll<StartLoad>();
  ASSERT_EQ(loads.size(), 1u);
  const std::string giver = loads[0].source;
  Loaded(loads[0], absl::UnimplementedError("no weight service"));
  EXPECT_FALSE(s_.rollout.at(giver).gives);
  Send(RolloutUp{giver, 100});  // started again, perhaps with other flags
  EXPECT_TRUE(s_.rollout.at(giver).gives);
}

TEST_F(SchedulerSourcesTest, NobodyFetchesFromTheDead) {
  BeginWith(2);
  for (const StartLoad& load : TakeAll<StartLoad>()) Loaded(load);
  Send(WorkerDown{"r0", 10, "killed"});
  Send(WorkerDown{"r1", 11, "killed"});
  Send(RolloutUp{"r9", 90});
  const auto loads = TakeAll<StartLoad>();
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].source, "");
}

}  // namespace
}  // namespace sluice
