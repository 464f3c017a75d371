// The trainer through its port: on one rank and on gangs of threads, across restarts, and with bad input.
#include "learner/trainer.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/comm/thread_collectives.h"
#include "core/weights/fetch_policy.h"
#include "gtest/gtest.h"
#include "learner/checkpoint.h"
#include "learner/tiny_model_for_test.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

constexpr char kJob[] = "job";

// A learner of some ranks on one state folder; destroying it is what a kill leaves: only what is durable.
class TestGang {
 public:
  TestGang(const std::string& folder, int ranks) : all_(MakeThreadCollectives(ranks)) {
    policies_ = PolicyStore::Open(folder + "/policies").value();
    for (int r = 0; r < ranks; ++r) {
      TrainerOptions options;
      options.state_dir = folder + "/state";
      options.collectives = all_[r].get();
      options.policies = r == 0 ? policies_.get() : nullptr;
      options.source = "host:1";
      options.incarnation = "test";
      options.keep_alive = absl::Milliseconds(200);
      options.collective_timeout = absl::Seconds(60);
      trainers_.push_back(LocalTrainer::Create(options, registry_[r % 8]).value());
    }
    for (int r = 1; r < ranks; ++r) {
      followers_.emplace_back([this, r] { EXPECT_TRUE(trainers_[r]->RunFollower().ok()); });
    }
  }
  ~TestGang() {
    trainers_[0].reset();
    for (auto& t : followers_) t.join();
  }
  LocalTrainer* operator->() { return trainers_[0].get(); }
  PolicyStore& policies() { return *policies_; }

 private:
  prometheus::Registry registry_[8];
  std::unique_ptr<PolicyStore> policies_;
  std::vector<std::unique_ptr<Collectives>> all_;
  std::vector<std::unique_ptr<LocalTrainer>> trainers_;
  std::vector<std::thread> followers_;
};

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(testing::TempDir(), "/trainer_",
                         testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    spec_.name = kJob;
    spec_.model.dtype = ModelDtype::kF32;
    spec_.optimizer.learning_rate = 3e-3;
    spec_.optimizer.warmup_steps = 2;
    spec_.checkpoint.every_steps = 2;
    spec_.stop_steps = 20;
    UseModel({"Moe", true, true, 12, false, false});
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void UseModel(const TinyModel& model) {
    config_ = TinyConfig(model);
    spec_.model.path = absl::StrCat(root_, "/model_", model.name);
    ASSERT_TRUE(WriteModelDirectory(spec_.model.path, {{"config.json", TinyConfigJson(model)}},
                                    RandomTensors(config_, 21, DType::kF32), DType::kF32)
                    .ok());
  }
  std::string Folder(const std::string& name) const { return root_ + "/" + name; }

  std::shared_ptr<const DecoderWeights> Engine(TestGang& gang, const PolicyRef& ref) {
    PolicyRef local = gang.policies().Lookup(ref.job, ref.version).value();
    auto policy = FetchPolicy(gang.policies(), local, absl::Now() + absl::Seconds(60));
    EXPECT_TRUE(policy.ok()) << policy.status();
    const DType dtype = spec_.model.dtype == ModelDtype::kBF16 ? DType::kBF16 : DType::kF32;
    return PackDecoderWeights(config_, policy->tensors, dtype).value();
  }

  // A group of a draw, sampled by the engine at `ref`; rewards by index, or all equal when `tied`.
  Group MakeGroup(Draw draw, const PolicyRef& ref, const DecoderWeights& engine, bool tied = false) {
    Group group;
    group.draw = draw;
    group.prompt.tokens = RandomTokens(9, 100 * draw, 3 + static_cast<int>(draw % 5));
    for (uint32_t i = 0; i < 4; ++i) {
      ScoredSample s;
      s.trajectory.key = {draw, i};
      s.trajectory.tokens = RandomTokens(9, 100 * draw + 1 + i, 1 + static_cast<int>((draw + 3 * i) % 7));
      std::vector<int32_t> all = group.prompt.tokens;
      all.insert(all.end(), s.trajectory.tokens.begin(), s.trajectory.tokens.end());
      s.trajectory.raw_logprobs = EngineLogprobs(config_, engine, all, group.prompt.tokens.size());
      s.trajectory.processed_logprobs = s.trajectory.raw_logprobs;
      s.trajectory.spans = {{0, static_cast<int32_t>(s.trajectory.tokens.size()), ref.version,
                             ref.manifest_hash, kernels::KernelPath()}};
      s.verdict.kind = VerdictKind::kGraded;
      s.verdict.value = i;
      s.advantage = tied ? 0 : static_cast<double>(i) - 1.5;
      group.samples.push_back(s);
    }
    return group;
  }

  // Steps [first, last]. The groups of a step are sampled at `ref` of version 0, so the ratios move.
  std::vector<StepResult> Train(TestGang& gang, int first, int last, bool tied = false) {
    std::vector<StepResult> results;
    const PolicyRef ref = gang->PublishFirst(kJob).value();
    auto engine = Engine(gang, ref);
    for (int v = first; v <= last; ++v) {
      std::vector<Draw> draws;
      for (Draw d = 0; d < 5; ++d) {
        draws.push_back(v * 5 + d);
        const absl::Status added = gang->AddGroup(kJob, v, MakeGroup(draws.back(), ref, *engine, tied));
        EXPECT_TRUE(added.ok()) << added;
      }
      auto result = gang->Step(kJob, v, draws);
      EXPECT_TRUE(result.ok()) << result.status();
      if (!result.ok()) return results;
      results.push_back(*std::move(result));
    }
    return results;
  }

  std::vector<StepResult> TrainFresh(const std::string& name, int ranks, int steps) {
    TestGang gang(Folder(name), ranks);
    EXPECT_TRUE(gang->Open(kJob, spec_).ok());
    return Train(gang, 1, steps);
  }

  std::string root_;
  JobSpec spec_;
  ModelConfig config_;
};

double Of(const StepResult& r, const char* name) { return r.metrics.values.at(name); }

void ExpectSameCurves(const std::vector<StepResult>& a, const std::vector<StepResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    for (const char* name : {"loss", "entropy", "ratio_mean"}) {
      const double x = Of(a[i], name), y = Of(b[i], name);
      EXPECT_NEAR(x, y, 1e-5 * std::max(std::fabs(x), 1.0)) << name << " at step " << i + 1;
    }
    // Sums clipped and unclipped tokens: the most sensitive number of a step.
    const double x = Of(a[i], "grad_norm"), y = Of(b[i], "grad_norm");
    EXPECT_NEAR(x, y, 1e-4 * x) << "grad_norm at step " << i + 1;
  }
}

TEST_F(TrainerTest, ReplayNamesItsVersionsAsTheRecordedJobDid) {
  TestGang first(Folder("first"), 1);
  ASSERT_TRUE(first->Open(kJob, spec_).ok());
  const PolicyRef recorded = *first->PublishFirst(kJob);
  EXPECT_EQ(recorded.recorded_job_hash, "");
  spec_.replay = {kJob, 1};
  TestGang again(Folder("again"), 1);
  ASSERT_TRUE(again->Open("replay", spec_).ok());
  const PolicyRef replayed = *again->PublishFirst("replay");
  EXPECT_NE(replayed.manifest_hash, recorded.manifest_hash) << "a manifest names its job";
  EXPECT_EQ(replayed.recorded_job_hash, recorded.manifest_hash);
}

TEST_F(TrainerTest, LearningCurveDoesNotDependOnRanks) {
  const auto one = TrainFresh("one", 1, 20), two = TrainFresh("two", 2, 20);
  ExpectSameCurves(one, two);
  EXPECT_GT(std::fabs(Of(one.back(), "ratio_mean") - 1), 1e-3)
      << "nothing was learnt, so nothing was compared";
}

TEST_F(TrainerTest, LearningCurveDoesNotDependOnMicroBatches) {
  const auto whole = TrainFresh("whole", 1, 20);
  spec_.batch.micro_batch_tokens = 12;
  ExpectSameCurves(whole, TrainFresh("split", 1, 20));
}

TEST_F(TrainerTest, RepeatsBitForBitOnTheSameRanks) {
  const auto a = TrainFresh("a", 2, 4), b = TrainFresh("b", 2, 4);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].policy.manifest_hash, b[i].policy.manifest_hash);
}

class TrainerDtypeTest : public TrainerTest, public testing::WithParamInterface<ModelDtype> {};

TEST_P(TrainerDtypeTest, LogprobsAtEqualVersionsAreEqualBitForBit) {
  spec_.model.dtype = GetParam();
  TestGang gang(Folder("exact"), 2);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  PolicyRef ref = gang->PublishFirst(kJob).value();
  for (int v = 1; v <= 3; ++v) {
    auto engine = Engine(gang, ref);
    ASSERT_TRUE(gang->AddGroup(kJob, v, MakeGroup(v, ref, *engine)).ok());
    auto result = gang->Step(kJob, v, {static_cast<Draw>(v)});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(Of(*result, "exact_compared"), 0);
    EXPECT_EQ(Of(*result, "exact_compared"), Of(*result, "completion_tokens"));
    EXPECT_EQ(Of(*result, "exact_max_difference"), 0);
    EXPECT_EQ(Of(*result, "ratio_max"), 1);
    EXPECT_EQ(Of(*result, "kl_behaviour"), 0);
    EXPECT_NE(result->policy.manifest_hash, ref.manifest_hash);
    EXPECT_EQ(result->policy.source, "host:1");
    ref = result->policy;
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TrainerDtypeTest, testing::Values(ModelDtype::kBF16, ModelDtype::kF32));

TEST_F(TrainerTest, DifferenceOfOneBitFromTheEngineIsReported) {
  TestGang gang(Folder("bit"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  Group group = MakeGroup(1, ref, *Engine(gang, ref));
  float& value = group.samples[2].trajectory.raw_logprobs[0];
  value = std::nextafter(value, 0.0f);
  ASSERT_TRUE(gang->AddGroup(kJob, 1, group).ok());
  auto result = gang->Step(kJob, 1, {1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(Of(*result, "exact_max_difference"), 0);
}

// Batches of an asynchronous job: all groups were sampled with version 0, some steps ago.
class TrainerAuditTest : public TrainerTest {
 protected:
  static constexpr int kDraws = 6;
  std::vector<Draw> Add(TestGang& gang, PolicyVersion version, const PolicyRef& ref,
                        const DecoderWeights& engine, bool one_bit = false) {
    std::vector<Draw> draws;
    for (Draw d = 0; d < kDraws; ++d) {
      draws.push_back(version * kDraws + d);
      Group group = MakeGroup(draws.back(), ref, engine);
      for (ScoredSample& s : group.samples) {
        if (!one_bit) break;
        float& value = s.trajectory.raw_logprobs.back();
        value = std::nextafter(value, 0.0f);
      }
      EXPECT_TRUE(gang->AddGroup(kJob, version, group).ok());
    }
    return draws;
  }
};

class TrainerAuditDtypeTest : public TrainerAuditTest, public testing::WithParamInterface<ModelDtype> {};

TEST_P(TrainerAuditDtypeTest, ShareOfOlderVersionsIsComparedAndEqual) {
  spec_.model.dtype = GetParam();
  std::vector<double> compared[2];
  for (int ranks : {1, 2}) {
    TestGang gang(Folder(absl::StrCat("audit", ranks)), ranks);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    const PolicyRef ref = gang->PublishFirst(kJob).value();
    auto engine = Engine(gang, ref);
    for (int v = 1; v <= 3; ++v) {
      auto result = gang->Step(kJob, v, Add(gang, v, ref, *engine));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(Of(*result, "exact_max_difference"), 0);
      EXPECT_EQ(Of(*result, "exact_unaudited"), 0);
      EXPECT_GE(Of(*result, "exact_compared") * 8, Of(*result, "completion_tokens"));
      if (v > 1) {
        EXPECT_LT(Of(*result, "exact_compared"), Of(*result, "completion_tokens"));
        EXPECT_GT(std::fabs(Of(*result, "ratio_max") - 1), 1e-6) << "the weights have not moved";
      }
      compared[ranks - 1].push_back(Of(*result, "exact_compared"));
    }
  }
  EXPECT_EQ(compared[0], compared[1]);
}

TEST_P(TrainerAuditDtypeTest, DifferenceOfOneBitFromAnOlderVersionIsReported) {
  spec_.model.dtype = GetParam();
  TestGang gang(Folder("audit_bit"), 2);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  auto engine = Engine(gang, ref);
  ASSERT_TRUE(gang->Step(kJob, 1, Add(gang, 1, ref, *engine)).ok());
  auto result = gang->Step(kJob, 2, Add(gang, 2, ref, *engine, true));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(Of(*result, "exact_max_difference"), 0);
  EXPECT_LT(Of(*result, "exact_max_difference"), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TrainerAuditDtypeTest, testing::Values(ModelDtype::kBF16, ModelDtype::kF32));

TEST_F(TrainerAuditTest, OlderVersionIsReadFromTheStoreAfterARestart) {
  StepResult undisturbed;
  {
    TestGang gang(Folder("reread"), 2);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    const PolicyRef ref = gang->PublishFirst(kJob).value();
    auto engine = Engine(gang, ref);
    for (int v = 1; v <= 3; ++v) undisturbed = gang->Step(kJob, v, Add(gang, v, ref, *engine)).value();
  }
  TestGang gang(Folder("reread"), 2);
  ASSERT_EQ(gang->Open(kJob, spec_)->version, 2);
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  auto again = gang->Step(kJob, 3, Add(gang, 3, ref, *Engine(gang, ref)));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->policy.manifest_hash, undisturbed.policy.manifest_hash);
  for (const char* name : {"loss", "exact_compared", "exact_max_difference", "exact_unaudited"}) {
    EXPECT_EQ(Of(*again, name), Of(undisturbed, name)) << name;
  }
  EXPECT_GT(Of(*again, "exact_compared"), 0);
}

TEST_F(TrainerAuditTest, VersionsForStepsRedoneFromTheCheckpointAreKept) {
  spec_.checkpoint.every_steps = 8;
  spec_.staleness.max_versions = 2;
  TestGang gang(Folder("kept"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 14);
  EXPECT_EQ(*gang.policies().ListVersions(kJob), (std::vector<PolicyVersion>{0, 5, 6, 7, 8, 11, 12, 13, 14}));
}

TEST_F(TrainerAuditTest, OlderVersionThatIsGoneIsSkippedAndCounted) {
  {
    TestGang gang(Folder("gone"), 2);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    const PolicyRef ref = gang->PublishFirst(kJob).value();
    auto engine = Engine(gang, ref);
    for (int v = 1; v <= 2; ++v) ASSERT_TRUE(gang->Step(kJob, v, Add(gang, v, ref, *engine)).ok());
  }
  TestGang gang(Folder("gone"), 2);
  ASSERT_EQ(gang->Open(kJob, spec_)->version, 2);
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  auto engine = Engine(gang, ref);
  ASSERT_TRUE(gang.policies().Prune(kJob, {2}).ok());
  auto result = gang->Step(kJob, 3, Add(gang, 3, ref, *engine));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Of(*result, "exact_compared"), 0);
  EXPECT_EQ(Of(*result, "exact_max_difference"), 0);
  EXPECT_GT(Of(*result, "exact_unaudited"), 0);
}

TEST_F(TrainerTest, TiedGroupsHaveExactlyZeroGradient) {
  TestGang gang(Folder("ties"), 2);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const auto results = Train(gang, 1, 2, true);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(Of(results[0], "grad_norm"), 0);
  EXPECT_EQ(Of(results[0], "group_ties"), 5);
  EXPECT_EQ(Of(results[1], "ratio_max"), 1) << "weights must not have moved";
}

TEST_F(TrainerTest, ResumesFromACheckpointBitForBit) {
  const auto undisturbed = TrainFresh("undisturbed", 2, 6);
  {
    TestGang gang(Folder("killed"), 2);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 5);
  }
  TestGang gang(Folder("killed"), 2);
  auto state = gang->Open(kJob, spec_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->version, 4);
  EXPECT_EQ(state->policy.manifest_hash, undisturbed[3].policy.manifest_hash);
  const auto again = Train(gang, 5, 6);  // 5 was published before the kill: it must come out the same
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].policy.manifest_hash, undisturbed[4].policy.manifest_hash);
  EXPECT_EQ(again[1].policy.manifest_hash, undisturbed[5].policy.manifest_hash);
  EXPECT_EQ(Of(again[1], "loss"), Of(undisturbed[5], "loss"));
  auto repeated = gang->Step(kJob, 3, {});
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(repeated->policy.manifest_hash, undisturbed[2].policy.manifest_hash);
  EXPECT_EQ(Of(*repeated, "loss"), Of(undisturbed[2], "loss"));
}

// Version 6 is version 4 again, and training goes on from it as it went on from version 4, but for the number
// of the step.
TEST_F(TrainerTest, RollBackGivesTheWeightsAndTheOptimizerOfTheCheckpointBitForBit) {
  for (int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    spec_.optimizer.warmup_steps = 0;  // the rate is the same in every step
    spec_.grpo.kl_coefficient = 0.01;  // the reference stays version 0
    const auto straight = TrainFresh(absl::StrCat("straight", ranks), ranks, 5);
    TestGang gang(Folder(absl::StrCat("back", ranks)), ranks);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 5);
    const auto back = gang->RollBack(kJob, 4, 6);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->version, 6);
    EXPECT_EQ(back->source, "host:1");
    const auto tensors = [&](PolicyVersion version) {
      const PolicyRef ref = gang.policies().Lookup(kJob, version).value();
      return FetchPolicy(gang.policies(), ref, absl::Now() + absl::Seconds(60)).value().tensors;
    };
    for (const auto& [name, tensor] : tensors(4))
      EXPECT_EQ(*tensors(6).at(name).bytes, *tensor.bytes) << name;
    for (const char* file : {"masters", "moment1", "moment2"}) {
      const auto content = [&](int version) {
        return ReadFile(absl::StrCat(Folder(absl::StrCat("back", ranks)), "/state/job/checkpoints/", version,
                                     "/", file, ".safetensors"),
                        1 << 30)
            .value();
      };
      EXPECT_TRUE(content(6) == content(4)) << file;
    }
    EXPECT_EQ(gang->RollBack(kJob, 4, 6)->manifest_hash, back->manifest_hash) << "again";
    EXPECT_EQ(gang->RollBack(kJob, 2, 6).status().code(), absl::StatusCode::kFailedPrecondition);
    // Trained on what step 5 was trained on, it comes to what step 5 came to.
    const PolicyRef first = gang.policies().Lookup(kJob, 0).value();
    auto engine = Engine(gang, first);
    std::vector<Draw> draws;
    for (Draw draw = 25; draw < 30; ++draw) {
      draws.push_back(draw);
      ASSERT_TRUE(gang->AddGroup(kJob, 7, MakeGroup(draw, first, *engine)).ok());
    }
    const auto next = gang->Step(kJob, 7, draws);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(Of(*next, "loss"), Of(straight[4], "loss"));
    EXPECT_EQ(Of(*next, "grad_norm"), Of(straight[4], "grad_norm"));
    for (const auto& [name, tensor] : tensors(5))
      EXPECT_EQ(*tensors(7).at(name).bytes, *tensor.bytes) << name;
  }
}

// Of the steps 5 and 6 that job "job" took: as steps 1 and 2 of another job that goes on from version 4.
TEST_F(TrainerTest, GoesOnFromAnotherJobWithItsOptimizerScheduleAndReference) {
  for (int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    spec_.optimizer.schedule = ScheduleKind::kCosine;
    spec_.optimizer.warmup_steps = 2;
    spec_.grpo.kl_coefficient = 0.01;
    const std::string folder = Folder(absl::StrCat("from", ranks));
    TestGang gang(folder, ranks);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    const auto straight = Train(gang, 1, 6);
    ASSERT_EQ(straight.size(), 6u);
    JobSpec next = spec_;
    next.from = {.job = kJob, .version = 4, .continue_training = true, .reference = kJob, .first_step = 4};
    next.stop_steps = spec_.stop_steps - 4;
    const auto tensors = [&](const JobId& job, PolicyVersion version) {
      return FetchPolicy(gang.policies(), gang.policies().Lookup(job, version).value(),
                         absl::Now() + absl::Seconds(60))
          .value()
          .tensors;
    };
    ASSERT_TRUE(gang->Open("next", next).ok());
    const PolicyRef begin = gang->PublishFirst("next").value();
    for (const auto& [name, tensor] : tensors(kJob, 4))
      EXPECT_EQ(*tensors("next", 0).at(name).bytes, *tensor.bytes) << name;
    // What the steps 5 and 6 were trained on was sampled at version 0 of the first job: here the same tokens
    // and log-probabilities, which the loss goes by, name the version that this job has.
    auto engine = Engine(gang, gang.policies().Lookup(kJob, 0).value());
    for (int v = 1; v <= 2; ++v) {
      if (v == 2) {  // the reference is found again, too
        ASSERT_TRUE(gang->Checkpoint("next").ok());
        ASSERT_TRUE(gang->Open(kJob, spec_).ok());
        ASSERT_EQ(gang->Open("next", next)->version, 1);
      }
      std::vector<Draw> draws;
      for (Draw draw = 5 * (v + 4); draw < 5u * (v + 5); ++draw) {
        draws.push_back(draw);
        Group group = MakeGroup(draw, gang.policies().Lookup(kJob, 0).value(), *engine);
        for (ScoredSample& s : group.samples) {
          s.trajectory.spans[0].manifest_hash = begin.manifest_hash;
          s.trajectory.spans[0].kernel_path = "another";  // not compared with this job's version 0
        }
        ASSERT_TRUE(gang->AddGroup("next", v, group).ok());
      }
      const auto step = gang->Step("next", v, draws);
      ASSERT_TRUE(step.ok()) << step.status();
      for (const char* name : {"loss", "grad_norm", "kl", "learning_rate"})
        EXPECT_EQ(Of(*step, name), Of(straight[v + 3], name)) << name << " of step " << v;
      for (const auto& [name, tensor] : tensors(kJob, v + 4))
        EXPECT_EQ(*tensors("next", v).at(name).bytes, *tensor.bytes) << name;
    }
  }
}

TEST_F(TrainerTest, IsNotFirstPublishedWithoutTheReferenceThatItAsksFor) {
  spec_.grpo.kl_coefficient = 0.01;
  TestGang gang(Folder("without_reference"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 4);
  JobSpec next = spec_;
  next.from = {.job = kJob, .version = 4, .continue_training = true, .reference = "gone"};
  for (int tries = 0; tries < 2; ++tries) {
    ASSERT_TRUE(gang->Open("next", next).ok());
    EXPECT_FALSE(gang->PublishFirst("next").ok()) << tries;
    EXPECT_EQ(gang->PublishFirst("next").status().code(), absl::StatusCode::kFailedPrecondition) << "closed";
  }
}

TEST_F(TrainerTest, BeginsWithTheWeightsOfAnotherJobAlone) {
  spec_.optimizer.warmup_steps = 0;
  TestGang gang(Folder("weights"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 5);  // version 5 has no checkpoint
  for (PolicyVersion version : {4, 5}) {
    SCOPED_TRACE(version);
    JobSpec next = spec_;
    next.from = {.job = kJob, .version = version};
    const JobId name = absl::StrCat("next", version);
    ASSERT_TRUE(gang->Open(name, next).ok());
    ASSERT_TRUE(gang->PublishFirst(name).ok());
    const auto tensors = [&](const JobId& job, PolicyVersion of) {
      return FetchPolicy(gang.policies(), gang.policies().Lookup(job, of).value(),
                         absl::Now() + absl::Seconds(60))
          .value()
          .tensors;
    };
    for (const auto& [tensor_name, tensor] : tensors(kJob, version))
      EXPECT_EQ(*tensors(name, 0).at(tensor_name).bytes, *tensor.bytes) << tensor_name;
    next.from.continue_training = true;
    const auto whole = gang->Open(name + "whole", next);
    EXPECT_EQ(whole.ok(), version == 4) << whole.status();
  }
  JobSpec next = spec_;
  next.from = {.job = "absent", .version = 1};
  const auto absent = gang->Open("next", next);
  EXPECT_EQ(absent.status().code(), absl::StatusCode::kInvalidArgument) << "it does not come back";
  EXPECT_NE(absent.status().message().find("from version 1 of job absent"), std::string::npos)
      << absent.status();
}

TEST_F(TrainerTest, ResumesBehindARollback) {
  std::string hash;
  {
    TestGang gang(Folder("back"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 3);
    hash = gang->RollBack(kJob, 2, 4)->manifest_hash;
  }
  {
    TestGang gang(Folder("back"), 1);
    const auto state = gang->Open(kJob, spec_);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->version, 4);
    EXPECT_EQ(state->policy.manifest_hash, hash);
    EXPECT_EQ(gang->RollBack(kJob, 2, 4)->manifest_hash, hash) << "again";
    // What was sampled at the version that was left is refused.
    const PolicyRef left = gang.policies().Lookup(kJob, 3).value();
    auto engine = Engine(gang, left);
    EXPECT_EQ(gang->AddGroup(kJob, 5, MakeGroup(90, left, *engine)).code(),
              absl::StatusCode::kInvalidArgument);
  }
  // The checkpoint of the rollback was lost with the process: made again, it is the same.
  std::filesystem::remove_all(Folder("back") + "/state/job/checkpoints/4");
  TestGang gang(Folder("back"), 1);
  EXPECT_EQ(gang->Open(kJob, spec_)->version, 2);
  const auto again = gang->RollBack(kJob, 2, 4);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->manifest_hash, hash);
}

TEST_F(TrainerTest, RollBackWithoutItsCheckpointSaysSoAndTheJobCanBeOpenedAgain) {
  TestGang gang(Folder("back"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 3);
  EXPECT_EQ(gang->RollBack(kJob, 3, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gang->RollBack(kJob, 1, 4).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(gang->RollBack(kJob, 2, 4).status().code(), absl::StatusCode::kFailedPrecondition) << "not open";
  EXPECT_EQ(gang->Open(kJob, spec_)->version, 2);
  EXPECT_TRUE(gang->RollBack(kJob, 2, 4).ok());
}

TEST_F(TrainerTest, KeepsThePromotedCheckpointAndThoseThatARollbackMayNeed) {
  spec_.checkpoint.every_steps = 1;
  spec_.checkpoint.keep = 1;
  const auto kept = [](TestGang& gang) {
    std::vector<PolicyVersion> versions;
    const auto checkpoints = gang->ListCheckpoints(kJob);
    for (const CheckpointInfo& info : *checkpoints) versions.push_back(info.version);
    return versions;
  };
  {
    TestGang gang(Folder("kept"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 2);
    EXPECT_EQ(gang->Promote(kJob, 1).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(gang->Promote(kJob, 2)->version, 2);
    EXPECT_EQ(gang->Promote(kJob, 2)->version, 2) << "again";
    Train(gang, 3, 8);
    EXPECT_EQ(kept(gang), (std::vector<PolicyVersion>{2, 8}));
    EXPECT_TRUE(gang.policies().Lookup(kJob, 2).ok()) << "its tensors are kept, too";
  }
  spec_.guard.max_kl = 1;
  spec_.guard.steps = 3;
  TestGang gang(Folder("kept"), 1);
  ASSERT_EQ(gang->Open(kJob, spec_)->version, 8);
  Train(gang, 9, 12);
  EXPECT_EQ(kept(gang), (std::vector<PolicyVersion>{2, 9, 10, 11, 12})) << "9 is the one before 10 to 12";
  gang->Promote(kJob, 12).IgnoreError();
  Train(gang, 13, 13);
  EXPECT_EQ(kept(gang), (std::vector<PolicyVersion>{10, 11, 12, 13}));
}

TEST_F(TrainerTest, KeepsOfAJobThatIsOverOnlyVersionsToGoBackTo) {
  spec_.stop_steps = 7;
  spec_.checkpoint.every_steps = 3;
  spec_.checkpoint.keep = 2;
  TestGang gang(Folder("over"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 6);
  EXPECT_GT(gang.policies().ListVersions(kJob)->size(), 4u) << "any of the last may be trained on";
  Train(gang, 7, 7);
  ASSERT_EQ(gang->Checkpoint(kJob)->version, 7);
  EXPECT_EQ(*gang.policies().ListVersions(kJob), (std::vector<PolicyVersion>{0, 6, 7}));
}

TEST_F(TrainerTest, ForgetsAJobWithAllItsFiles) {
  TestGang gang(Folder("forgotten"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 2);
  const std::string checkpoints = Folder("forgotten") + "/state/" + kJob;
  ASSERT_TRUE(std::filesystem::exists(checkpoints));
  ASSERT_TRUE(gang->Forget(kJob).ok());
  EXPECT_FALSE(std::filesystem::exists(checkpoints));
  EXPECT_TRUE(gang.policies().ListVersions(kJob)->empty());
  EXPECT_EQ(gang->Checkpoint(kJob).status().code(), absl::StatusCode::kFailedPrecondition) << "it is closed";
  EXPECT_TRUE(gang->Forget(kJob).ok()) << "again";
  EXPECT_EQ(gang->Forget("../other").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  EXPECT_EQ(gang->PublishFirst(kJob)->version, 0) << "from its beginning";
}

TEST_F(TrainerTest, StepThatComesOutDifferentAfterARestartIsAnError) {
  {
    TestGang gang(Folder("different"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 3);
  }
  TestGang gang(Folder("different"), 1);
  ASSERT_EQ(gang->Open(kJob, spec_)->version, 2);
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  ASSERT_TRUE(gang->AddGroup(kJob, 3, MakeGroup(999, ref, *Engine(gang, ref))).ok());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const absl::Status status = gang->Step(kJob, 3, {999}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
    EXPECT_NE(status.message().find("came out different"), absl::string_view::npos);
  }
  EXPECT_FALSE(gang->Checkpoint(kJob).ok()) << "weights that were not published must not be kept";
  const auto back = gang->RollBack(kJob, 2, 3);
  ASSERT_TRUE(back.ok()) << back.status() << ": nobody has heard of that version 3";
  EXPECT_EQ(gang->RollBack(kJob, 2, 3)->manifest_hash, back->manifest_hash);
}

TEST_F(TrainerTest, ResumesOnAnotherNumberOfRanks) {
  const auto undisturbed = TrainFresh("undisturbed", 1, 6);
  {
    TestGang gang(Folder("moved"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 4);
  }
  TestGang gang(Folder("moved"), 3);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const auto rest = Train(gang, 5, 6);
  ExpectSameCurves({undisturbed.begin() + 4, undisturbed.end()}, rest);
}

TEST_F(TrainerTest, DamagedCheckpointIsSkippedForTheOneBefore) {
  {
    TestGang gang(Folder("damaged"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 4);
    ASSERT_EQ(gang->ListCheckpoints(kJob)->size(), 3u);
  }
  const std::string file = Folder("damaged") + "/state/job/checkpoints/4/masters.safetensors";
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-5, std::ios::end);
  stream.put('\x55');
  stream.close();
  TestGang gang(Folder("damaged"), 1);
  auto state = gang->Open(kJob, spec_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->version, 2);
}

TEST_F(TrainerTest, RefusesACheckpointOfANewerFormatAndSaysWhatToDo) {
  {
    TestGang gang(Folder("newer"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 2);
  }
  const std::string file = Folder("newer") + "/state/job/checkpoints/2/manifest.json";
  nlohmann::json manifest = nlohmann::json::parse(std::ifstream(file));
  manifest["format"] = kCheckpointFormat + 1;
  std::ofstream(file) << manifest;
  TestGang gang(Folder("newer"), 1);
  const absl::Status status = gang->Open(kJob, spec_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << "the older checkpoint must not be used";
  EXPECT_NE(status.message().find(absl::StrCat("format ", kCheckpointFormat + 1)), absl::string_view::npos)
      << status;
  EXPECT_NE(status.message().find("use the newer program"), absl::string_view::npos) << status;
}

TEST_F(TrainerTest, RefusesToResumeWithOtherSettings) {
  {
    TestGang gang(Folder("other"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 2);
  }
  spec_.optimizer.learning_rate *= 2;
  TestGang gang(Folder("other"), 1);
  EXPECT_EQ(gang->Open(kJob, spec_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrainerTest, SupervisedStageLearnsAndIsTheSameOnTwoRanks) {
  spec_.warm_start.steps = 30;
  spec_.warm_start.learning_rate = 1e-2;
  spec_.warm_start.warmup_steps = 3;
  std::vector<SupervisedExample> rows;
  for (int i = 0; i < 8; ++i) rows.push_back({RandomTokens(5, i, 9), 4});
  std::vector<double> losses[2];
  for (int ranks : {1, 2}) {
    TestGang gang(Folder(absl::StrCat("warm", ranks)), ranks);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    for (int step = 0; step < 30; ++step) {
      auto metrics = gang->Supervise(kJob, step, rows);
      ASSERT_TRUE(metrics.ok()) << metrics.status();
      losses[ranks - 1].push_back(metrics->values.at("loss"));
    }
    EXPECT_EQ(gang->Supervise(kJob, 7, rows).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(gang->Open(kJob, spec_)->warm_start_steps, 30);
    ASSERT_TRUE(gang->PublishFirst(kJob).ok());
    EXPECT_EQ(gang->Supervise(kJob, 30, rows).status().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_LT(losses[0].back(), 0.5 * losses[0].front());
  for (int step = 0; step < 30; ++step)
    EXPECT_NEAR(losses[0][step], losses[1][step], 1e-4 * losses[0][step]) << step;
}

TEST_F(TrainerTest, NonFiniteGradientSkipsTheUpdateAndStillPublishes) {
  TestGang gang(Folder("nonfinite"), 2);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  auto engine = Engine(gang, ref);
  Group group = MakeGroup(1, ref, *engine);
  for (ScoredSample& s : group.samples) s.advantage = 1e308;
  ASSERT_TRUE(gang->AddGroup(kJob, 1, group).ok());
  auto result = gang->Step(kJob, 1, {1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Of(*result, "skipped_nonfinite"), 1);
  EXPECT_EQ(result->policy.version, 1);
  auto after = Engine(gang, result->policy);
  const std::vector<int32_t> tokens = RandomTokens(1, 1, 6);
  EXPECT_EQ(EngineLogprobs(config_, *engine, tokens, 1), EngineLogprobs(config_, *after, tokens, 1));
  ASSERT_TRUE(gang->AddGroup(kJob, 2, MakeGroup(2, ref, *engine)).ok());
  EXPECT_EQ(Of(*gang->Step(kJob, 2, {2}), "skipped_nonfinite"), 0);
}

TEST_F(TrainerTest, ReferenceTermKeepsThePolicyNearVersionZeroAcrossRestarts) {
  spec_.grpo.kl_coefficient = 0.5;
  const auto undisturbed = TrainFresh("undisturbed", 1, 4);
  EXPECT_EQ(Of(undisturbed[0], "kl"), 0);
  EXPECT_GT(Of(undisturbed[3], "kl"), 0);
  {
    TestGang gang(Folder("killed"), 1);
    ASSERT_TRUE(gang->Open(kJob, spec_).ok());
    Train(gang, 1, 3);
  }
  TestGang gang(Folder("killed"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const auto rest = Train(gang, 3, 4);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[1].policy.manifest_hash, undisturbed[3].policy.manifest_hash);
}

TEST_F(TrainerTest, RefusesWhatDoesNotFit) {
  TestGang gang(Folder("bad"), 1);
  EXPECT_EQ(gang->Open("../up", spec_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gang->PublishFirst(kJob).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  EXPECT_EQ(gang->Checkpoint(kJob).status().code(), absl::StatusCode::kFailedPrecondition);
  const PolicyRef ref = gang->PublishFirst(kJob).value();
  EXPECT_EQ(gang->PublishFirst(kJob).value(), ref);
  auto engine = Engine(gang, ref);
  auto add = [&](auto change) {
    Group group = MakeGroup(1, ref, *engine);
    change(group);
    return gang->AddGroup(kJob, 1, group);
  };
  auto first = [](Group& g) -> Trajectory& { return g.samples[1].trajectory; };
  EXPECT_FALSE(add([&](Group& g) { first(g).spans[0].manifest_hash = "forged"; }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).spans[0].version = 5; }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).spans.clear(); }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).tokens[0] = 48; }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).tokens[0] = -1; }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).raw_logprobs.pop_back(); }).ok());
  EXPECT_FALSE(add([&](Group& g) { first(g).raw_logprobs[0] = NAN; }).ok());
  EXPECT_FALSE(add([&](Group& g) { g.samples[0].advantage = HUGE_VAL; }).ok());
  EXPECT_FALSE(add([&](Group& g) { g.prompt.tokens.clear(); }).ok());
  EXPECT_FALSE(add([&](Group& g) { g.prompt.tokens.resize(600); }).ok());
  EXPECT_TRUE(add([&](Group& g) {
                g.samples[1].verdict.kind =
                    VerdictKind::kUndecided;  // is not trained on, so it may be anything
                first(g).tokens[0] = 48;
              }).ok());
  EXPECT_EQ(gang->Step(kJob, 2, {1}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(gang->Step(kJob, 1, {1, 1}).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status missing = gang->Step(kJob, 1, {1, 77}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(missing.message().find("77"), absl::string_view::npos);
  EXPECT_TRUE(gang->Step(kJob, 1, {1}).ok());
}

TEST_F(TrainerTest, ExportWritesADirectoryThatGivesTheSameModel) {
  spec_.model.dtype = ModelDtype::kBF16;
  TestGang gang(Folder("export"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  const auto results = Train(gang, 1, 1);
  ASSERT_TRUE(gang->Export(kJob, kNoPolicyVersion, Folder("exported")).ok());
  auto model = ReadModelDirectory(Folder("exported"));
  ASSERT_TRUE(model.ok()) << model.status();
  auto exported = PackDecoderWeights(model->config, model->tensors, DType::kBF16).value();
  const std::vector<int32_t> tokens = RandomTokens(1, 1, 6);
  EXPECT_EQ(EngineLogprobs(config_, *exported, tokens, 1),
            EngineLogprobs(config_, *Engine(gang, results[0].policy), tokens, 1));
}

TEST_F(TrainerTest, ExportWritesAnEndedJobAndNamesTheVersionsKept) {
  TestGang gang(Folder("export_ended"), 1);
  ASSERT_TRUE(gang->Open(kJob, spec_).ok());
  Train(gang, 1, 1);
  ASSERT_TRUE(gang->Open("next", spec_).ok());
  EXPECT_TRUE(gang->Export(kJob, 1, Folder("exported_ended")).ok());
  const absl::Status missing = gang->Export(kJob, 9, Folder("exported_missing"));
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("kept are 0, 1"), absl::string_view::npos) << missing;
  EXPECT_EQ(gang->Export("nobody", 1, Folder("exported_nobody")).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrainerTest, LossOfARankBreaksTheGangAndSaysSo) {
  auto all = MakeThreadCollectives(2);
  auto policies = PolicyStore::Open(Folder("broken")).value();
  prometheus::Registry registry;
  TrainerOptions options;
  options.state_dir = Folder("broken");
  options.collectives = all[0].get();
  options.policies = policies.get();
  options.collective_timeout = absl::Seconds(60);
  auto trainer = LocalTrainer::Create(options, registry).value();
  all[1].reset();  // rank 1 dies
  EXPECT_EQ(trainer->Open(kJob, spec_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(trainer->health().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(trainer->PublishFirst(kJob).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sluice
