// Replays with fake workers: what was recorded comes out again, and what was tampered with is found.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/database.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ReplayTest : public CoordinatorTest {
 protected:
  ReplayTest() {
    spec_.stop_steps = 6;
    rollouts_.clear();
    for (int i = 0; i < 2; ++i) rollouts_.push_back(NewProcess());
    scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
      Verdict verdict = FakeScorer::JudgeByHash(item);
      const std::string hash = Sha256Hex(item.prompt + item.completion);
      verdict.value = 0.1 * static_cast<double>(hash[1] % 16);
      if (hash[2] % 8 == 0) verdict.kind = VerdictKind::kUndecided;
      return verdict;
    });
  }
  // Its text tells the version that it was sampled at.
  static std::shared_ptr<RolloutProcess> NewProcess() {
    FakeRolloutWorker::Options options{.name = "rollout"};
    options.text = [](const RolloutRequest& request, uint32_t index, PolicyVersion version) {
      return absl::StrCat(request.draw, " ", index, " at ", version);
    };
    return std::make_shared<RolloutProcess>(std::move(options));
  }
  void Open() {
    Start();
    RegisterAll();
  }
  JobId Record() {
    Open();
    const JobId job = Submit();
    EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
    return job;
  }
  JobSpec ReplayOf(const JobId& job, int64_t steps = 0) {
    JobSpec spec = spec_;
    spec.replay = {job, steps};
    return spec;
  }
  JobId Replay(const JobId& job, int64_t steps = 0) {
    const auto replay = coordinator_->Submit(ReplayOf(job, steps), "");
    EXPECT_TRUE(replay.ok()) << replay.status();
    return replay.value_or("");
  }
  std::vector<ReplayStepView> Steps(const JobId& replay) {
    const JobView end = AwaitEnd(replay);
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    return *coordinator_->ListReplaySteps(replay, -1, 0);
  }
  void ExpectAllEqual(const std::vector<ReplayStepView>& steps, size_t wanted) {
    ASSERT_EQ(steps.size(), wanted + 1);
    for (const ReplayStepView& step : steps) {
      EXPECT_TRUE(step.equal()) << "step " << step.version
                                << (step.sample ? " " + step.sample->where + ": " + step.sample->recorded +
                                                      ", " + step.sample->replayed
                                                : "")
                                << (step.metric ? " " + step.metric->where : "");
      EXPECT_FALSE(step.recorded_manifest.empty());
      EXPECT_TRUE(step.version == 0 || step.compared + step.taken > 0);
    }
  }
  // With nobody in the state directory.
  void Tamper(const std::function<void(Store&)>& body) {
    coordinator_.reset();
    auto store = *Store::Open(state_->path());
    body(*store);
    store.reset();
    Open();
  }
  void Sql(const std::string& sql) {
    coordinator_.reset();
    auto db = *Database::Open(state_->path() + "/sluice.db");
    const absl::Status status = db->Script(sql);
    EXPECT_TRUE(status.ok()) << status;
    db.reset();
    Open();
  }
  void Change(const JobId& job, Draw draw, const std::function<void(Group&)>& change) {
    Tamper([&](Store& store) {
      Group group = *store.LoadGroup(job, draw);
      change(group);
      const absl::Status status =
          store.Transact([&](StoreTransaction& tx) { return tx.CompleteGroup(job, group); });
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  // A draw that the step was trained on, all of it sampled at one version.
  Draw DrawOf(const JobId& job, PolicyVersion version) {
    Draw found = 0;
    Tamper([&](Store& store) {
      const StoredBatch batch = **store.LoadBatch(job, version);
      for (Draw draw : batch.draws) {
        const Group group = *store.LoadGroup(job, draw);
        const auto versions = VersionsIn(group);
        if (versions.first == versions.second && group.samples[0].verdict.HasReward()) found = draw;
      }
    });
    return found;
  }
};

TEST_F(ReplayTest, AsynchronousJobComesOutTheSame) {
  const JobId job = Record();
  const JobId replay = Replay(job);
  ExpectAllEqual(Steps(replay), 6);
  EXPECT_EQ(coordinator_->Get(replay)->spec.replay.steps, 6);
  const Ledger recorded = coordinator_->Get(job)->ledger, again = coordinator_->Get(replay)->ledger;
  EXPECT_EQ(again[LedgerColumn::kTrained], recorded[LedgerColumn::kTrained]);
  coordinator_.reset();
  auto store = *Store::Open(state_->path());
  EXPECT_TRUE(store->CheckLedger(replay).ok());
}

TEST_F(ReplayTest, JobWhoseWorkersFailedComesOutTheSame) {
  Open();
  const JobId job = Submit();
  for (int64_t step = 1; step < spec_.stop_steps; ++step) {
    AwaitStep(job, step);
    rollouts_[0]->worker.FailGenerate(absl::InternalError("broken"), 2, 2);
    scorer_->FailItems(3);
  }
  EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
  ExpectAllEqual(Steps(Replay(job)), 6);
}

TEST_F(ReplayTest, DeterministicJobComesOutTheSame) {
  spec_.deterministic = true;
  spec_.staleness.on_deadline = OnDeadline::kWait;
  ExpectAllEqual(Steps(Replay(Record())), 6);
}

TEST_F(ReplayTest, GoesOnAfterRestartsOfEverything) {
  const JobId job = Record();
  const JobId replay = Replay(job);
  for (int64_t step = 1; step < spec_.stop_steps; ++step) {
    AwaitStep(replay, step);
    coordinator_.reset();
    rollouts_[1]->dead = true;
    rollouts_[1] = NewProcess();
    if (step % 2 == 0) trainer_->Restart();
    Open();
  }
  ExpectAllEqual(Steps(replay), 6);
}

TEST_F(ReplayTest, OnlyTheStepsThatAreAskedFor) {
  const JobId job = Record();
  const JobId replay = Replay(job, 2);
  ExpectAllEqual(Steps(replay), 2);
  EXPECT_EQ(coordinator_->Get(replay)->step, 2);
  EXPECT_EQ(coordinator_->ListReplaySteps(replay, 1, 0)->size(), 1u);
  EXPECT_EQ(coordinator_->ListReplaySteps(job, -1, 0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReplayTest, ChangedTokenIsFound) {
  const JobId job = Record();
  const Draw draw = DrawOf(job, 3);
  Change(job, draw, [](Group& group) { group.samples[0].trajectory.tokens[2] += 1; });
  const std::vector<ReplayStepView> steps = Steps(Replay(job));
  ASSERT_EQ(steps.size(), 7u);
  EXPECT_TRUE(steps[2].equal());
  ASSERT_TRUE(steps[3].sample.has_value());
  EXPECT_EQ(steps[3].different, 1);
  EXPECT_THAT(steps[3].sample->where, StartsWith(absl::StrCat("draw ", draw, ", sample ")));
  EXPECT_THAT(steps[3].sample->where, HasSubstr("token 2"));
  EXPECT_NE(steps[3].sample->recorded, steps[3].sample->replayed);
  EXPECT_EQ(steps[3].recorded_manifest, steps[3].manifest);
  EXPECT_TRUE(steps[4].equal());
}

TEST_F(ReplayTest, ChangedRewardIsFound) {
  const JobId job = Record();
  const Draw draw = DrawOf(job, 2);
  Change(job, draw, [](Group& group) { group.samples[0].verdict.value += 1; });
  const std::vector<ReplayStepView> steps = Steps(Replay(job));
  ASSERT_TRUE(steps.at(2).sample.has_value());
  EXPECT_THAT(steps[2].sample->where, HasSubstr("reward"));
}

TEST_F(ReplayTest, ChangedHashAndMetricAreFound) {
  const JobId job = Record();
  Sql(absl::StrCat("UPDATE batches SET manifest_hash = 'other' WHERE job = '", job, "' AND version = 4;",
                   "UPDATE batches SET metrics = json_set(metrics, '$.metrics.kl', 7.5) WHERE job = '", job,
                   "' AND version = 5;"));
  const JobId replay = Replay(job);
  const std::vector<ReplayStepView> steps = Steps(replay);
  EXPECT_TRUE(steps.at(3).equal());
  EXPECT_FALSE(steps.at(4).equal());
  EXPECT_EQ(steps[4].recorded_manifest, "other");
  ASSERT_TRUE(steps.at(5).metric.has_value());
  EXPECT_EQ(steps[5].metric->where, "kl");
  EXPECT_EQ(steps[5].metric->recorded, "7.5");
  EXPECT_TRUE(steps.at(6).equal());
  const auto events = coordinator_->Get(replay)->events;
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const JobEventView& event) {
    return event.text.find(absl::StrCat("differs from ", job, ", step 4: weights")) != std::string::npos;
  }));
}

TEST_F(ReplayTest, GroupsSampledAcrossVersionsAreTakenOver) {
  const JobId job = Record();
  const Draw draw = DrawOf(job, 4);
  Change(job, draw, [](Group& group) {
    Trajectory& t = group.samples[0].trajectory;
    t.spans = {t.spans[0], t.spans[0]};
    t.spans[0].end = t.spans[1].begin = 3;
    t.spans[1].version = 3;
    t.spans[1].manifest_hash = "of another job";
  });
  const std::vector<ReplayStepView> steps = Steps(Replay(job));
  ExpectAllEqual(steps, 6);
  EXPECT_GT(steps[4].taken, 0);
}

TEST_F(ReplayTest, LearnerThatComputesOtherwiseIsSeen) {
  const JobId job = Record();
  trainer_->ChangeArithmetic();
  const std::vector<ReplayStepView> steps = Steps(Replay(job));
  EXPECT_FALSE(steps.at(0).equal());
  EXPECT_NE(steps[0].manifest, steps[0].recorded_manifest);
}

TEST_F(ReplayTest, RefusesWhatCannotBeReplayed) {
  const JobId job = Record();
  const auto refusal = [&](const JobSpec& spec) { return coordinator_->Submit(spec, "").status(); };
  EXPECT_EQ(refusal(ReplayOf("none")).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(refusal(ReplayOf(job, 7)).message()), HasSubstr("has 6 steps"));
  JobSpec other = ReplayOf(job);
  other.optimizer.learning_rate *= 2;
  EXPECT_EQ(refusal(other).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refusal(other).message()), HasSubstr("sluice replay"));
  const JobId replay = Replay(job, 1);
  AwaitEnd(replay);
  EXPECT_THAT(std::string(refusal(ReplayOf(replay)).message()), HasSubstr("is a replay itself"));
  Sql(absl::StrCat("UPDATE groups SET segment = NULL WHERE job = '", job,
                   "' AND draw IN (SELECT draw FROM batch_draws WHERE job = '", job, "' AND version = 3);"));
  const absl::Status gone = refusal(ReplayOf(job));
  EXPECT_EQ(gone.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("step 3"));
  EXPECT_THAT(std::string(gone.message()), HasSubstr("--keep-samples-bytes"));
  EXPECT_THAT(std::string(gone.message()), HasSubstr("--steps 2"));
  ExpectAllEqual(Steps(Replay(job, 2)), 2);
  Sql(absl::StrCat("UPDATE batches SET draws = '' WHERE job = '", job, "' AND version = 2;"));
  EXPECT_THAT(std::string(refusal(ReplayOf(job, 2)).message()), HasSubstr("going back"));
}

TEST_F(ReplayTest, CancelledReplayLeavesTheStoreWhole) {
  const JobId job = Record();
  trainer_->BlockStep();
  const JobId replay = Replay(job);
  Await(replay, [](const JobView& view) { return view.ledger.issued > 0; });
  ASSERT_TRUE(coordinator_->Cancel(replay).ok());
  trainer_->UnblockStep();
  EXPECT_EQ(AwaitEnd(replay).state, JobState::kCancelled);
  coordinator_.reset();
  auto store = *Store::Open(state_->path());
  EXPECT_TRUE(store->CheckLedger(job).ok());
  EXPECT_TRUE(store->CheckLedger(replay).ok());
}

}  // namespace
}  // namespace sluice
