// Deterministic jobs with fake workers: whatever dies and however many there are, weights, ledger and metrics
// come out the same.
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/testing_coordinator.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

// All that must not depend on the fleet.
struct Outcome {
  std::map<PolicyVersion, std::string> weights;
  std::map<PolicyVersion, std::vector<Draw>> batches;
  Ledger ledger;
  std::vector<std::string> metrics;  // a line for each step and evaluation, without times
  std::map<PolicyVersion, PolicyVersion> rollbacks = {};
};

class DeterministicCoordinatorTest : public CoordinatorTest {
 protected:
  DeterministicCoordinatorTest() {
    spec_.deterministic = true;
    spec_.staleness.on_deadline = OnDeadline::kWait;
    spec_.stop_steps = 8;
    spec_.checkpoint.every_steps = 3;
    spec_.evaluation.file = spec_.prompts.file;
    spec_.evaluation.every_steps = 3;
    spec_.evaluation.max_prompts = 5;
    spec_.reward.components = {{"fake", 1, MathScorerSpec{}}, {"short", 0.5, GroupLengthScorerSpec{"fake"}}};
    scorer_ = std::make_shared<FakeScorer>(Judge);
  }

  // Rewards whose sums are rounded, and some that cannot be decided.
  static Verdict Judge(const ScoreItem& item) {
    const std::string hash = Sha256Hex(item.prompt + "\n" + item.completion);
    Verdict verdict = FakeScorer::JudgeByHash(item);
    verdict.value = 0.1 * static_cast<double>(hash[1] % 16);
    if (hash[2] % 4 == 0) verdict.kind = VerdictKind::kUndecided;
    verdict.components = {{"fake", verdict.kind, verdict.value, 1, "", ""}};
    return verdict;
  }
  // Its text tells the version that it was sampled at.
  std::shared_ptr<RolloutProcess> NewProcess() {
    FakeRolloutWorker::Options options{.name = "rollout"};
    options.text = [](const RolloutRequest& request, uint32_t index, PolicyVersion version) {
      return absl::StrCat(request.draw, " ", index, " at ", version);
    };
    return std::make_shared<RolloutProcess>(std::move(options));
  }

  void Disturb(const JobId& job, uint64_t random) {
    const size_t worker = random / 8 % rollouts_.size();
    switch (random % 8) {
      case 0:
        rollouts_[worker]->dead = true;
        rollouts_[worker] = NewProcess();
        return RegisterRollout(static_cast<int>(worker));
      case 1:
        rollouts_[worker]->worker.FailGenerate(absl::InternalError("broken"), 3, 1);
        return;
      case 2:
        return scorer_->FailItems(5);
      case 3:
        return scorer_->FailScore(absl::UnavailableError("restarting"));
      case 4:
        trainer_->Restart();
        return RegisterLearner();
      case 5:
        trainer_->FailStep(absl::UnavailableError("the answer was lost"), /*after=*/true);
        return;
      case 6:
        rollouts_[worker]->worker.FailLoad(absl::UnavailableError("busy"));
        return;
      default:
        coordinator_.reset();
        Start();
        RegisterAll();
    }
  }

  Outcome Run(int workers, uint64_t seed) {
    state_ = std::make_unique<TestFolder>("state");
    trainer_ = std::make_shared<FakeTrainer>();
    for (PolicyVersion version : bad_steps_) trainer_->SetMetric(version, "kl", 9);
    rollouts_.clear();
    for (int i = 0; i < workers; ++i) rollouts_.push_back(NewProcess());
    Start();
    RegisterAll();
    const JobId job = Submit();
    std::mt19937_64 random(seed);
    for (int64_t step = 0; seed != 0 && step < spec_.stop_steps; ++step) {
      if (IsTerminal(AwaitStep(job, step).state)) break;
      for (int i = 0; i < 2; ++i) Disturb(job, random());
    }
    const JobView end = AwaitEnd(job);
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    Outcome out{trainer_->manifests(), {}, end.ledger, Metrics(job)};
    for (const FakeTrainer::TrainedStep& step : trainer_->steps()) {
      std::vector<Draw> draws;
      for (const FakeTrainer::TrainedGroup& group : step.groups) draws.push_back(group.draw);
      out.batches[step.version] = draws;
    }
    out.rollbacks = trainer_->rollbacks();
    for (const auto& [version, parent] : out.rollbacks) {  // a learner may have forgotten what was left
      out.weights.erase(out.weights.upper_bound(parent), out.weights.lower_bound(version));
    }
    ExpectSound(end);
    return out;
  }

  // With other numbers of workers and other disturbances the outcome is this one, bit for bit.
  void ExpectTheSameWhateverDies(const Outcome& undisturbed) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(absl::StrCat("bound ", spec_.staleness.max_versions, ", seed ", seed));
      const Outcome disturbed = Run(1 + static_cast<int>(seed), seed);
      EXPECT_EQ(disturbed.weights, undisturbed.weights);
      EXPECT_EQ(disturbed.rollbacks, undisturbed.rollbacks);
      EXPECT_EQ(disturbed.batches, undisturbed.batches);
      EXPECT_EQ(disturbed.ledger.columns, undisturbed.ledger.columns);
      EXPECT_EQ(disturbed.metrics, undisturbed.metrics);
    }
  }

  std::vector<PolicyVersion> bad_steps_;  // that break a limit of the guard

  std::vector<std::string> Metrics(const JobId& job) {
    std::vector<std::string> lines;
    std::ifstream log(absl::StrCat(state_->path(), "/jobs/", job, "/metrics.jsonl"));
    for (std::string line; std::getline(log, line);) {
      nlohmann::json row = nlohmann::json::parse(line);
      for (const char* time : {"time", "wait_seconds", "step_seconds", "tokens_per_second"}) row.erase(time);
      lines.push_back(row.dump());
    }
    return lines;
  }
};

TEST_F(DeterministicCoordinatorTest, ComesOutTheSameWhateverDies) {
  for (int32_t bound : {0, 2}) {
    spec_.staleness.max_versions = bound;
    const Outcome undisturbed = Run(1, 0);
    ASSERT_EQ(undisturbed.weights.size(), 9u);
    EXPECT_EQ(undisturbed.metrics.size(), 8u + 4u);
    EXPECT_GT(undisturbed.ledger[LedgerColumn::kDroppedFailed], 0);
    EXPECT_EQ(undisturbed.ledger.issued, 8 * 4 * 4);
    EXPECT_EQ(undisturbed.batches.at(3), (std::vector<Draw>{8, 9, 10, 11}));
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(absl::StrCat("bound ", bound, ", seed ", seed));
      const Outcome disturbed = Run(1 + static_cast<int>(seed), seed);
      EXPECT_EQ(disturbed.weights, undisturbed.weights);
      EXPECT_EQ(disturbed.batches, undisturbed.batches);
      EXPECT_EQ(disturbed.ledger.columns, undisturbed.ledger.columns);
      EXPECT_EQ(disturbed.metrics, undisturbed.metrics);
    }
  }
}

TEST_F(DeterministicCoordinatorTest, RefusesTheSameVersionsWhateverDies) {
  spec_.evaluation.measure = HeldOutMeasure::kReward;
  spec_.evaluation.canary = {.prompts = 2, .max_drop = 0.25};
  spec_.guard.max_rollbacks = 100;
  for (int32_t bound : {0, 2}) {
    spec_.staleness.max_versions = bound;
    const Outcome undisturbed = Run(1, 0);
    EXPECT_FALSE(undisturbed.rollbacks.empty());
    ExpectTheSameWhateverDies(undisturbed);
  }
}

TEST_F(DeterministicCoordinatorTest, RollsBackTheSameWhateverDies) {
  spec_.stop_steps = 9;
  spec_.guard.max_kl = 0.5;
  spec_.guard.steps = 1;
  spec_.evaluation.gate.on = true;
  spec_.evaluation.gate.max_drop = 1;
  bad_steps_ = {2, 5};
  for (int32_t bound : {0, 2}) {
    spec_.staleness.max_versions = bound;
    const Outcome undisturbed = Run(1, 0);
    EXPECT_EQ(undisturbed.rollbacks, (std::map<PolicyVersion, PolicyVersion>{{3, 0}, {6, 3}}));
    // Steps 1, 2, 4, 5, 7, 8, 9, and what could have been issued at the two forks.
    EXPECT_EQ(undisturbed.ledger.issued, (7 + 2 * (bound + 1)) * 4 * 4);
    EXPECT_EQ(undisturbed.ledger[LedgerColumn::kRolledBack], 2 * (bound + 1) * 4 * 4);
    ExpectTheSameWhateverDies(undisturbed);
  }
}

// A group without rewards keeps its place in its batch over a restart of the coordinator.
TEST_F(DeterministicCoordinatorTest, KeepsGroupsWithoutRewardsOverARestart) {
  spec_.stop_steps = 2;
  spec_.evaluation = {};
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
    Verdict verdict = Judge(item);
    if (item.completion.substr(0, 2) == "1 ")
      verdict.kind = verdict.components[0].kind = VerdictKind::kUndecided;
    return verdict;
  });
  for (int i = 0; i < 4; ++i) trainer_->FailStep(absl::UnavailableError("restarting"));
  rollouts_ = {NewProcess()};
  Start();
  RegisterAll();
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return view.waiting_for == "the learner learner-0 to answer"; });
  coordinator_.reset();
  Start();
  EXPECT_EQ(coordinator_->Get(job)->step, 0);
  RegisterAll();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_FALSE(trainer_->steps().empty());
  ASSERT_EQ(trainer_->steps()[0].groups.size(), 4u);
  EXPECT_EQ(trainer_->steps()[0].groups[1].draw, 1u);
  EXPECT_EQ(trainer_->steps()[0].groups[1].samples, 0u);
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
