#include "learner/batch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TrainingGroup SomeGroup() {
  return {7, {1, 2}, {{{3, 4}, {-0.5f, -1}, {-0.25f, -2}, {{0, 2, 5, "hash", "path"}}, 0.5, 1}, {}}};
}

std::string Encoded() {
  ByteWriter out;
  Put(SomeGroup(), &out);
  return out.Finish();
}

TEST(TrainingGroupTest, SurvivesTheWire) {
  const std::string bytes = Encoded();
  ByteReader in(bytes);
  const TrainingGroup group = GetTrainingGroup(&in);
  ASSERT_TRUE(in.Finish().ok());
  EXPECT_EQ(group.draw, 7u);
  EXPECT_EQ(group.prompt, SomeGroup().prompt);
  ASSERT_EQ(group.sequences.size(), 2u);
  EXPECT_EQ(group.sequences[0].tokens, SomeGroup().sequences[0].tokens);
  EXPECT_EQ(group.sequences[0].processed_logprobs, SomeGroup().sequences[0].processed_logprobs);
  EXPECT_EQ(group.sequences[0].spans, SomeGroup().sequences[0].spans);
  EXPECT_EQ(group.sequences[0].advantage, 0.5);
}

TEST(TrainingGroupTest, EveryTruncationIsAnError) {
  const std::string bytes = Encoded();
  for (size_t n = 0; n < bytes.size(); ++n) {
    ByteReader in(absl::string_view(bytes).substr(0, n));
    GetTrainingGroup(&in);
    EXPECT_FALSE(in.Finish().ok()) << n;
  }
  ByteReader in(bytes);
  EXPECT_FALSE(in.Finish().ok()) << "bytes left over";
}

TEST(TrainingGroupTest, HugeCountsAreRefusedWithoutAllocating) {
  ByteWriter out;
  out.Put<uint64_t>(7);
  out.Put<uint64_t>(uint64_t{1} << 62);
  const std::string bytes = out.Finish();
  ByteReader in(bytes);
  EXPECT_TRUE(GetTrainingGroup(&in).prompt.empty());
  EXPECT_FALSE(in.Finish().ok());
}

TEST(LearningSpecTest, SurvivesTheWire) {
  JobSpec job;
  job.grpo.kl_coefficient = 0.25;
  job.optimizer.warmup_steps = 3;
  job.warm_start.learning_rate = 0.5;
  job.sampling.params.temperature = 0.5f;
  job.model.dtype = ModelDtype::kF32;
  ByteWriter out;
  Put(LearningSpecOf(job), &out);
  const std::string bytes = out.Finish();
  ByteReader in(bytes);
  const LearningSpec spec = GetLearningSpec(&in);
  ASSERT_TRUE(in.Finish().ok());
  EXPECT_EQ(spec.grpo.kl_coefficient, 0.25);
  EXPECT_EQ(spec.optimizer.warmup_steps, 3);
  EXPECT_EQ(spec.warm_start.learning_rate, 0.5);
  EXPECT_EQ(spec.temperature.temperature, 0.5f);
  EXPECT_TRUE(spec.temperature.use_processed);
  EXPECT_EQ(spec.dtype, ModelDtype::kF32);
}

// A model with two layers of experts, 4 of which 2 are chosen; a prompt of 2 tokens, a completion of 2.
Group GroupWithExperts(RoutedExperts experts) {
  Group group;
  group.draw = 9;
  group.prompt.tokens = {1, 2};
  ScoredSample sample;
  sample.trajectory.key = {9, 3};
  sample.trajectory.tokens = {3, 4};
  sample.trajectory.raw_logprobs = sample.trajectory.processed_logprobs = {-1, -1};
  sample.trajectory.spans = {{0, 2, 0, "hash", "path"}};
  sample.trajectory.experts = std::move(experts);
  sample.verdict.kind = VerdictKind::kCorrect;
  group.samples.push_back(sample);
  return group;
}
const TokenLimits kLimits = {10, 16, 2, 4, 2};
const std::vector<uint16_t> kIds = {0, 1, 2, 3, 1, 0, 3, 2, 0, 2, 1, 3};

TEST(MakeTrainingGroupTest, TakesRecordedExpertsAndTheySurviveTheWire) {
  auto group = MakeTrainingGroup(GroupWithExperts({2, 2, kIds}), kLimits);
  ASSERT_TRUE(group.ok()) << group.status();
  ByteWriter out;
  Put(*group, &out);
  const std::string bytes = out.Finish();
  ByteReader in(bytes);
  EXPECT_EQ(GetTrainingGroup(&in).sequences[0].experts.ids, kIds);
  EXPECT_TRUE(in.Finish().ok());
}

TEST(MakeTrainingGroupTest, NamesTheSampleWhoseExpertsDoNotFitTheModel) {
  const auto error = [](RoutedExperts experts, const TokenLimits& limits = kLimits) {
    return std::string(MakeTrainingGroup(GroupWithExperts(std::move(experts)), limits).status().message());
  };
  std::vector<uint16_t> beyond = kIds, twice = kIds, few = kIds;
  beyond[5] = 4;
  twice[1] = twice[0];
  few.pop_back();
  EXPECT_THAT(error({2, 2, beyond}),
              testing::HasSubstr("draw 9, sample 3: experts.ids: expert 4 of a model"));
  EXPECT_THAT(error({2, 2, twice}), testing::HasSubstr("draw 9, sample 3: experts.ids: expert 0 twice"));
  EXPECT_THAT(error({2, 2, few}), testing::HasSubstr("11 for 3 tokens fed; want 12"));
  EXPECT_THAT(error({1, 2, kIds}), testing::HasSubstr("experts of 1 layers and 2 a token; the model has 2"));
  EXPECT_THAT(error({2, 2, kIds}, {10, 16, 0, 0, 0}), testing::HasSubstr("the model has 0 and 0"));
}

TEST(PackGroupsOfTest, KeepsApartWhatWasRoutedDifferentlyInThePrompt) {
  TrainingGroup group{1, {1, 2}, {}};
  std::vector<uint16_t> other = kIds;
  std::swap(other[0], other[1]);
  for (const auto& ids : {kIds, other, kIds, std::vector<uint16_t>()}) {
    TrainingSequence s;
    s.tokens = {3, 4};
    if (!ids.empty()) s.experts = {2, 2, ids};
    group.sequences.push_back(s);
  }
  std::vector<SequenceToPack> all;
  for (int64_t i = 0; i < 4; ++i) all.push_back({&group.sequences[i], i});
  const std::vector<PackGroup> packed = PackGroupsOf(group, all);
  ASSERT_EQ(packed.size(), 3u);
  EXPECT_EQ(packed[0].completions.size(), 2u);
  EXPECT_EQ(packed[0].completions[1].id, 2);
  EXPECT_EQ(packed[2].completions[0].experts.ids, nullptr);
  const PackedBatch rows = Pack(packed);
  ASSERT_EQ(rows.experts.size(), static_cast<size_t>(rows.rows()));
  EXPECT_EQ(rows.experts[2], group.sequences[0].experts.ids.data() + 8);  // the first completion's first row
  EXPECT_EQ(rows.experts.back(), nullptr);
}

TEST(CheckExampleTest, RefusesRowsWithoutAPromptOrCompletion) {
  const TokenLimits limits{10, 4};
  EXPECT_TRUE(CheckExample({{1, 2}, 1}, limits).ok());
  EXPECT_FALSE(CheckExample({{1, 2}, 0}, limits).ok());
  EXPECT_FALSE(CheckExample({{1, 2}, 2}, limits).ok());
  EXPECT_FALSE(CheckExample({{1, 10}, 1}, limits).ok());
  EXPECT_FALSE(CheckExample({{1, 2, 3, 4, 5}, 1}, limits).ok());
}

}  // namespace
}  // namespace sluice
