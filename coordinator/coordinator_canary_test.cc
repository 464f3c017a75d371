// Jobs that try each new version on one worker before the others load it, with fake workers.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class CoordinatorCanaryTest : public CoordinatorTest {
 protected:
  // Calls to the canary that were on their way when it loaded a version may be of that version too.
  struct Sampled {
    int worker = 0;
    PolicyVersion version = 0;
    bool evaluation = false;
  };

  CoordinatorCanaryTest() {
    spec_.stop_steps = 6;
    spec_.checkpoint.every_steps = 2;
    spec_.evaluation.file = spec_.prompts.file;
    spec_.evaluation.every_steps = 100;
    spec_.evaluation.max_prompts = 3;
    spec_.evaluation.canary.prompts = 2;
    rollouts_.clear();
    for (int i = 0; i < 3; ++i) {
      FakeRolloutWorker::Options options{.name = absl::StrCat("rollout-", i)};
      options.text = [this, i](const RolloutRequest& request, uint32_t index, PolicyVersion version) {
        return Write(i, request, index, version);
      };
      rollouts_.push_back(std::make_shared<RolloutProcess>(std::move(options)));
    }
    scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
      Verdict verdict = FakeScorer::JudgeByHash(item);
      if (item.completion == "good") verdict.kind = VerdictKind::kCorrect;
      if (item.completion == "bad") verdict.kind = VerdictKind::kWrong;
      return verdict;
    });
  }

  std::string Write(int worker, const RolloutRequest& request, uint32_t index, PolicyVersion version) {
    const bool evaluation = request.domain == RandomDomain::kEvaluation;
    absl::MutexLock lock(&mu_);
    sampled_.push_back({worker, version, evaluation});
    if (evaluation) return bad_.count(version) > 0 ? "bad" : "good";
    return absl::StrCat(request.draw, " ", index);
  }
  std::vector<Sampled> sampled() {
    absl::MutexLock lock(&mu_);
    return sampled_;
  }
  static bool IsRefused(const JobView& view, PolicyVersion version) {
    return view.canary && view.canary->record.version == version &&
           view.canary->record.verdict == CanaryVerdict::kRefused;
  }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  absl::Mutex mu_;
  std::vector<Sampled> sampled_ ABSL_GUARDED_BY(mu_);  // in order
  std::set<PolicyVersion> bad_;                        // versions that fail their evaluations
};

TEST_F(CoordinatorCanaryTest, OneWorkerTriesEachVersionBeforeTheOthersServeIt) {
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_TRUE(end.canary);
  EXPECT_EQ(end.canary->record.version, 6);
  EXPECT_EQ(end.canary->record.verdict, CanaryVerdict::kPassed);
  EXPECT_EQ(end.canary->record.score, 1);
  EXPECT_FALSE(end.trial);
  const std::vector<Sampled> all = sampled();
  for (PolicyVersion v = 1; v <= 5; ++v) {
    EXPECT_TRUE(Says(end, absl::StrCat("canary of version ", v, " on rollout-0: passed with the score 1")))
        << v;
    int tried = 0;
    for (const Sampled& s : all) {
      if (s.version != v) continue;
      EXPECT_TRUE(tried >= 2 || s.worker == 0) << "version " << v << " was on trial";
      tried += s.evaluation;
    }
    EXPECT_EQ(tried, 2);
  }
  EXPECT_THAT(Metrics(), HasSubstr("sluice_canary_score{training_job=\"" + end.job + "\"} 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_canary_refused_total 0\n"));
  ExpectSound(end);
}

TEST_F(CoordinatorCanaryTest, NobodyElseServesAVersionThatIsRefused) {
  bad_ = {3};
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.version, 6);
  ASSERT_EQ(end.rollbacks.size(), 1u);
  EXPECT_EQ(end.rollbacks[0].version, 4);
  EXPECT_EQ(end.rollbacks[0].parent, 2);
  EXPECT_THAT(end.rollbacks[0].reason,
              HasSubstr("canary of version 3 on rollout-0: the score 0 is more than"));
  for (const Sampled& s : sampled()) EXPECT_TRUE(s.version != 3 || s.worker == 0);
  for (size_t i = 1; i < rollouts_.size(); ++i) {
    for (const PolicyRef& policy : rollouts_[i]->worker.loads()) EXPECT_NE(policy.version, 3);
  }
  EXPECT_FALSE(Says(end, "version 4 is on trial"));
  EXPECT_TRUE(Says(end, "canary of version 5 on rollout-0: passed"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_canary_refused_total 1\n"));
  ExpectSound(end);
}

TEST_F(CoordinatorCanaryTest, GoesOnWhereverTheCoordinatorRestarts) {
  bad_ = {3};
  Start();
  RegisterAll();
  const JobId job = Submit();
  for (PolicyVersion v = 0; v <= 3; ++v) {
    Await(job, [&](const JobView& view) {
      return view.version > v || (view.trial && view.trial->version == v) || IsTerminal(view.state);
    });
    RestartCoordinator();
  }
  Await(job, [](const JobView& view) { return IsRefused(view, 3) || view.version > 3; });
  trainer_->FailRollBack(absl::UnavailableError("the answer was lost"), true);
  RestartCoordinator();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_EQ(end.rollbacks.size(), 1u);
  EXPECT_EQ(trainer_->rollbacks(), (std::map<PolicyVersion, PolicyVersion>{{4, 2}}));
  for (const Sampled& s : sampled()) EXPECT_TRUE(s.version != 3 || s.worker == 0);
  ExpectSound(end);
}

TEST_F(CoordinatorCanaryTest, PersonTakesWhatWasRefused) {
  bad_ = {3, 5};
  spec_.guard.action = GuardAction::kPause;
  Start();
  RegisterAll();
  const JobId job = Submit();
  for (PolicyVersion refused : {3, 5}) {
    const JobView view = Await(job, [&](const JobView& v) {
      return v.version == refused && v.state == JobState::kPaused && v.learner == "learner-0";
    });
    EXPECT_THAT(view.error, HasSubstr(absl::StrCat("takes version ", refused, " all the same")));
    EXPECT_TRUE(IsRefused(view, refused));
    EXPECT_FALSE(view.trial);
    for (const Sampled& s : sampled()) EXPECT_TRUE(s.version != refused || s.worker == 0);
    if (refused == 3) RestartCoordinator();
    ASSERT_TRUE(coordinator_->Resume(job).ok());
    Await(job, [&](const JobView& v) {
      return v.canary->record.verdict == CanaryVerdict::kTaken || v.version > refused;
    });
    RestartCoordinator();
  }
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(Says(end, "version 3 is taken though its canary refused it"));
  EXPECT_TRUE(Says(end, "version 5 is taken though its canary refused it"));
  EXPECT_EQ(end.version, 6);
  EXPECT_TRUE(end.rollbacks.empty());
  ExpectSound(end);
}

TEST_F(CoordinatorCanaryTest, PersonTakesWhatWasRefusedWhileTheJobWaitsForALearner) {
  bad_ = {3};
  spec_.guard.action = GuardAction::kPause;
  Start();
  RegisterAll();
  const JobId job = Submit();
  Await(job, [](const JobView& v) { return v.state == JobState::kPaused; });
  coordinator_.reset();
  Start();
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  EXPECT_EQ(coordinator_->Get(job)->error, "");
  RegisterAll();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(Says(end, "version 3 is taken though its canary refused it"));
  ExpectSound(end);
}

TEST_F(CoordinatorCanaryTest, VersionWithoutAnyRewardIsRefused) {
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
    Verdict verdict = FakeScorer::JudgeByHash(item);
    if (item.completion == "bad") verdict.kind = VerdictKind::kUndecided;
    return verdict;
  });
  bad_ = {0, 2};
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_EQ(end.rollbacks.size(), 1u);
  EXPECT_THAT(end.rollbacks[0].reason, HasSubstr("canary of version 2 on rollout-0: no sample has a reward"));
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
