#include "learner/score.h"

#include <filesystem>

#include "core/spec/checkpoint/checkpoint_dir.h"
#include "gtest/gtest.h"
#include "learner/tiny_model_for_test.h"

namespace sluice {
namespace {

class TokenScorerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/score_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    const TinyModel model{"Moe", true, true, 12, false, false};
    config_ = TinyConfig(model);
    tensors_ = RandomTensors(config_, 5, DType::kF32);
    ASSERT_TRUE(
        WriteModelDirectory(folder_, {{"config.json", TinyConfigJson(model)}}, tensors_, DType::kF32).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  ModelConfig config_;
  TensorMap tensors_;
};

TEST_F(TokenScorerTest, ScoresManySequencesAsTheEngineDoes) {
  auto scorer = TokenScorer::Open(folder_, ModelDtype::kBF16, 2);
  ASSERT_TRUE(scorer.ok()) << scorer.status();
  const auto engine = PackDecoderWeights(config_, tensors_, DType::kBF16).value();
  for (int n : {2, 9, 70, 3}) {
    const std::vector<int32_t> tokens = RandomTokens(3, n, n);
    auto scores = (*scorer)->Score(tokens);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(*scores, EngineLogprobs(config_, *engine, tokens, 1));
  }
}

TEST_F(TokenScorerTest, RefusesWhatDoesNotFitAndGoesOn) {
  EXPECT_FALSE(TokenScorer::Open(folder_ + "/nothing", ModelDtype::kF32).ok());
  EXPECT_EQ(TokenScorer::Open(folder_, ModelDtype::kF32, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto scorer = TokenScorer::Open(folder_, ModelDtype::kF32).value();
  for (const std::vector<int32_t>& tokens :
       {std::vector<int32_t>{1}, {1, 48}, {-1, 1}, std::vector<int32_t>(513, 1)}) {
    EXPECT_EQ(scorer->Score(tokens).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(scorer->Score({1, 2, 3}).ok());
}

}  // namespace
}  // namespace sluice
