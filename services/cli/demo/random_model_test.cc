#include "services/cli/demo/random_model.h"

#include <cmath>
#include <filesystem>

#include "core/spec/tokenizer/tokenizer.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

const DemoModel kModel{
    .hidden = 64, .layers = 3, .heads = 2, .kv_lora_rank = 32, .intermediate = 128, .experts = 4};

TEST(RandomModelTest, TokenizesOneTokenACharacter) {
  const auto tokenizer = ParseTokenizer(DemoModelFiles(kModel)["tokenizer.json"]);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::string text = "3 5 7=22:3*5+7-(8/4)";
  const auto ids = (*tokenizer)->Encode(text, /*add_special_tokens=*/true);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->size(), text.size());
  EXPECT_EQ((*tokenizer)->Decode(*ids, false), text);
  EXPECT_EQ((*tokenizer)->TokenId("</s>"), 1);
}

TEST(RandomModelTest, DescribesALatentAttentionModelWithExperts) {
  ModelFiles files = DemoModelFiles(kModel);
  const auto config = ParseModelConfig(files["config.json"], files["generation_config.json"]);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->kv_lora_rank, 32);
  EXPECT_EQ(config->moe.experts, 4);
  EXPECT_EQ(config->moe_layer, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(config->eos_token_ids, std::vector<int32_t>{1});
}

TEST(RandomModelTest, DrawsNormalWeightsFromTheSeed) {
  const auto a = RandomTensors(kModel, 1), b = RandomTensors(kModel, 1), c = RandomTensors(kModel, 2);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  const std::string name = "model.embed_tokens.weight";
  EXPECT_EQ(*a->at(name).bytes, *b->at(name).bytes);
  EXPECT_NE(*a->at(name).bytes, *c->at(name).bytes);
  const std::vector<float> values = ToFloats(a->at("model.layers.0.mlp.gate_proj.weight"));
  double sum = 0, squares = 0;
  for (const float v : values) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / values.size(), 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / values.size()), 1 / std::sqrt(64.0), 0.005);
}

TEST(RandomModelTest, WritesADirectoryThatReadsBack) {
  const std::string directory = ::testing::TempDir() + "/random_model_test";
  std::filesystem::remove_all(directory);
  const absl::Status written = WriteDemoModel(kModel, 3, directory);
  ASSERT_TRUE(written.ok()) << written;
  const auto read = ReadModelDirectory(directory);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors.size(), TensorTable(read->config).size());
  EXPECT_FALSE(WriteDemoModel(kModel, 3, directory).ok());  // never over an existing one
}

}  // namespace
}  // namespace sluice::cli
