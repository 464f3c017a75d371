// Completions that are cut off go on elsewhere from the last token that was reported.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class ProgressTest : public CoordinatorTest {
 protected:
  ProgressTest() {
    spec_.sampling.params.max_new_tokens = 20;
    spec_.checkpoint.progress_tokens = 4;
    spec_.stop_steps = 2;
  }
  // Tokens of each sample that was trained on, by its draw and index.
  std::map<std::pair<Draw, uint32_t>, std::vector<int32_t>> Samples(const JobId& job) {
    std::map<std::pair<Draw, uint32_t>, std::vector<int32_t>> out;
    EXPECT_TRUE(coordinator_
                    ->ListSamples(job, 1000, 0, false,
                                  [&](const SampleView& view) {
                                    const Trajectory& t = view.sample.trajectory;
                                    out[{t.key.draw, t.key.index}] = t.tokens;
                                    return true;
                                  })
                    .ok());
    return out;
  }
  static std::vector<Trajectory> Begun(const RolloutProcess& process) {
    std::vector<Trajectory> out;
    for (const RolloutRequest& request : process.worker.requests())
      out.insert(out.end(), request.begun.begin(), request.begun.end());
    return out;
  }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
};

TEST_F(ProgressTest, AnotherAttemptGoesOnFromTheLastReport) {
  rollouts_.resize(1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"), 1, 1);  // in the middle of the second
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  const RolloutRequest first = rollouts_[0]->worker.requests()[0];
  EXPECT_EQ(first.progress_every_tokens, 4);
  const std::vector<Trajectory> begun = Begun(*rollouts_[0]);
  ASSERT_EQ(begun.size(), 1u) << "of the others nothing was sampled";
  EXPECT_EQ(begun[0].key, (SampleKey{first.draw, 1}));
  EXPECT_EQ(begun[0].tokens.size(), 10u);
  const auto samples = Samples(job);
  for (const auto& [key, tokens] : samples) {
    for (uint32_t i = 0; i < tokens.size(); ++i) {
      RolloutRequest request = first;
      request.draw = key.first;
      EXPECT_EQ(tokens[i], FakeRolloutWorker::TokenAt(request, key.second, i, 100));
    }
  }
  EXPECT_EQ(samples.at({first.draw, 1}).size(), 20u);
  EXPECT_THAT(Metrics(), HasSubstr("sluice_tokens_resumed_total 10\n"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_tokens_lost_total 0\n"));
  EXPECT_EQ(coordinator_->Workers()[2].tokens_generated, end.ledger.issued * 20 - 10)
      << "each token counts once";
  ExpectSound(end);
}

TEST_F(ProgressTest, GoesOnAfterARestartOfTheCoordinator) {
  rollouts_.resize(1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"), 1000);
  Start();
  RegisterAll();
  const JobId job = Submit();
  // An attempt that goes on was written together with what it goes on from.
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (Begun(*rollouts_[0]).empty() && absl::Now() < deadline) {
    ASSERT_TRUE(
        coordinator_->WaitForChange(job, coordinator_->Get(job)->revision, absl::Milliseconds(20)).ok());
  }
  ASSERT_FALSE(Begun(*rollouts_[0]).empty());
  const Trajectory begun = Begun(*rollouts_[0])[0];
  coordinator_.reset();
  rollouts_[0] = std::make_shared<RolloutProcess>(nullptr);
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  bool found = false;
  for (const Trajectory& t : Begun(*rollouts_[0])) found |= t.key == begun.key && t.tokens == begun.tokens;
  EXPECT_TRUE(found);
  ExpectSound(end);
}

TEST_F(ProgressTest, WhatHadEndedIsNotSampledAgainAfterARestartOfTheCoordinator) {
  rollouts_.resize(1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"), 1, 1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"), 1000);
  Start();
  RegisterAll();
  const JobId job = Submit();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (rollouts_[0]->worker.requests().size() < 2 && absl::Now() < deadline) {
    ASSERT_TRUE(
        coordinator_->WaitForChange(job, coordinator_->Get(job)->revision, absl::Milliseconds(20)).ok());
  }
  const RolloutRequest first = rollouts_[0]->worker.requests().at(0);
  coordinator_.reset();
  rollouts_[0] = std::make_shared<RolloutProcess>(nullptr);
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  size_t tokens = 0;
  for (const Trajectory& t : Begun(*rollouts_[0])) {
    if (t.key == SampleKey{first.draw, first.indices[0]}) tokens = t.tokens.size();
  }
  EXPECT_EQ(tokens, 20u);
  ExpectSound(end);
}

TEST_F(ProgressTest, BeginsAnewWithoutReports) {
  spec_.checkpoint.progress_tokens = 0;
  rollouts_.resize(1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"), 3, 1);
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(Begun(*rollouts_[0]).empty());
  ExpectSound(end);
}

// Progress of evaluations is kept in memory only: training draws have the same numbers.
TEST_F(ProgressTest, EvaluationsGoOnToo) {
  spec_.evaluation.file = spec_.prompts.file;
  spec_.evaluation.every_steps = 2;
  spec_.evaluation.max_prompts = 4;
  spec_.sampling.params.record_experts = true;
  rollouts_.resize(1);
  rollouts_[0]->worker.FailGenerate(absl::UnavailableError("killed"));
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  const std::vector<RolloutRequest> requests = rollouts_[0]->worker.requests();
  size_t evaluations = 0;
  for (const RolloutRequest& request : requests)
    evaluations += request.domain == RandomDomain::kEvaluation && !request.begun.empty();
  EXPECT_EQ(evaluations, 1u);
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
