#include "learner/batch.h"

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
  job.sampling.params.top_p = 0.5f;
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
  EXPECT_EQ(spec.sampling.top_p, 0.5f);
  EXPECT_EQ(spec.dtype, ModelDtype::kF32);
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
