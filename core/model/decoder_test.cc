#include "core/model/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/model/decoder_testing.h"
#include "core/model/decoder_weights.h"
#include "core/model/reference_decoder.h"

namespace sluice {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name;
  TinyModel model;
};
class DecoderTest : public testing::TestWithParam<Case> {
 protected:
  DecoderTest() : config_(TinyConfig(GetParam().model)), tensors_(RandomTensors(config_, 1)) {}
  std::shared_ptr<const DecoderWeights> Pack(DType dtype) const {
    auto weights = PackDecoderWeights(config_, tensors_, dtype);
    EXPECT_TRUE(weights.ok()) << weights.status();
    return *weights;
  }
  ModelConfig config_;
  TensorMap tensors_;
};

// Float32 rounding through three layers of activations about 1: 1e-4 of the logits' size.
TEST_P(DecoderTest, LogitsEqualPlainDecoderInDouble) {
  const auto weights = Pack(DType::kF32);
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(90, config_.vocab, 2);
  const ContiguousCache cache(*weights, 90);
  const std::vector<float> logits = LogitsOf(&decoder, *weights, tokens, cache);
  auto plain = ReferenceDecoder::Create(config_, tensors_, at::kCPU, at::kDouble);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const at::NoGradGuard no_grad;
  auto twin = (*plain)->Logits(tokens);
  ASSERT_TRUE(twin.ok()) << twin.status();
  const at::Tensor mine = torch::tensor(logits).view({90, config_.vocab}).to(at::kDouble);
  EXPECT_LT((mine - *twin).abs().max().item<double>(), 1e-4 * twin->abs().max().item<double>());
}

TEST_P(DecoderTest, ChunksAndSingleTokensGiveTheBitsOfOneCall) {
  const auto weights = Pack(DType::kBF16);
  ThreadPool pool(2);
  Decoder decoder(config_, &pool), alone(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(150, config_.vocab, 3);
  const ContiguousCache whole(*weights, 150);
  const std::vector<float> once = LogitsOf(&decoder, *weights, tokens, whole);
  for (const std::vector<size_t>& ends : {std::vector<size_t>{64, 100, 101, 150}, {1, 2, 3, 149, 150}}) {
    const ContiguousCache cache(*weights, 150);
    std::vector<float> parts;
    size_t first = 0;
    for (const size_t end : ends) {
      const std::vector<int32_t> chunk(tokens.begin() + first, tokens.begin() + end);
      const std::vector<float> logits = LogitsOf(&alone, *weights, chunk, cache, first);
      parts.insert(parts.end(), logits.begin(), logits.end());
      first = end;
    }
    EXPECT_EQ(parts, once);
  }
}

TEST_P(DecoderTest, RowDoesNotDependOnOtherSequencesOfTheBatch) {
  const auto weights = Pack(DType::kF32);
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> a = RandomTokens(70, config_.vocab, 4), b = RandomTokens(9, config_.vocab, 5);
  const ContiguousCache cache_a(*weights, 70), cache_b(*weights, 9), alone(*weights, 9);
  LogitsOf(&decoder, *weights, std::vector<int32_t>(a.begin(), a.end() - 1), cache_a);
  std::vector<DecoderRow> rows = {{a.back(), 69, cache_a.caches()}};
  for (int32_t i = 0; i < 9; ++i) rows.push_back({b[i], i, cache_b.caches()});
  std::vector<float> hidden(rows.size() * config_.hidden), logits(rows.size() * config_.vocab);
  decoder.Forward(*weights, rows, hidden.data());
  decoder.Logits(*weights, hidden.data(), rows.size(), logits.data());
  const std::vector<float> expected = LogitsOf(&decoder, *weights, b, alone);
  EXPECT_EQ(std::vector<float>(logits.begin() + config_.vocab, logits.end()), expected);
}

TEST_P(DecoderTest, PrefixCacheOfAnotherSequenceIsAsGoodAsItsOwn) {
  const auto weights = Pack(DType::kF32);
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> prompt = RandomTokens(64, config_.vocab, 6),
                             tail = RandomTokens(5, config_.vocab, 7);
  const ContiguousCache first(*weights, 64), second(*weights, 128), own(*weights, 128);
  LogitsOf(&decoder, *weights, prompt, first);
  // A sequence whose first block is the other's.
  std::vector<std::vector<std::byte*>> blocks(config_.layers);
  std::vector<std::byte* const*> layers;
  for (int64_t l = 0; l < config_.layers; ++l) {
    blocks[l] = {first.caches()[l][0], second.caches()[l][1]};
    layers.push_back(blocks[l].data());
  }
  std::vector<DecoderRow> rows;
  for (int32_t i = 0; i < 5; ++i) rows.push_back({tail[i], 64 + i, layers.data()});
  std::vector<float> hidden(5 * config_.hidden), logits(5 * config_.vocab);
  decoder.Forward(*weights, rows, hidden.data());
  decoder.Logits(*weights, hidden.data(), 5, logits.data());
  LogitsOf(&decoder, *weights, prompt, own);
  EXPECT_EQ(logits, LogitsOf(&decoder, *weights, tail, own, 64));
}

TEST_P(DecoderTest, Float32CheckpointPackedAsBf16EqualsBf16Checkpoint) {
  const TensorMap rounded = RandomTensors(config_, 1, DType::kBF16);
  auto same = PackDecoderWeights(config_, rounded, DType::kBF16);
  auto wide = PackDecoderWeights(config_, rounded, DType::kF32);
  ASSERT_TRUE(same.ok() && wide.ok());
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(12, config_.vocab, 8);
  const ContiguousCache cache(**same, 12);
  const std::vector<float> expected = LogitsOf(&decoder, *Pack(DType::kBF16), tokens, cache);
  EXPECT_EQ(LogitsOf(&decoder, **same, tokens, cache), expected);
  EXPECT_EQ(LogitsOf(&decoder, **wide, tokens, cache), expected);
  EXPECT_LT(PackedBytes(**same), PackedBytes(**wide));
}

INSTANTIATE_TEST_SUITE_P(
    Models, DecoderTest,
    testing::Values(Case{"sigmoid_groups", {}}, Case{"compressed_queries", {.q_lora_rank = 18}},
                    Case{"biases_halves", {.q_lora_rank = 18, .attention_bias = true, .interleaved = false}},
                    Case{"softmax_no_shared", {.score = RouterScore::kSoftmax, .shared_experts = 0}},
                    Case{"dense_tied", {.tied = true, .experts = 0}},
                    Case{"grouped", {.kv_heads = 2, .interleaved = false, .experts = 0}},
                    Case{"grouped_norms_tied",
                         {.kv_heads = 2, .qk_norm = true, .tied = true, .interleaved = false, .experts = 0}},
                    Case{"multi_query_biases",
                         {.kv_heads = 1, .attention_bias = true, .interleaved = false, .experts = 0}},
                    Case{"multi_head_experts", {.kv_heads = 4, .interleaved = false}}),
    [](const auto& info) { return info.param.name; });

TEST(ReferenceDecoderTest, ContinuesFromItsCache) {
  const ModelConfig config = TinyConfig();
  const TensorMap tensors = RandomTensors(config, 1);
  auto plain = ReferenceDecoder::Create(config, tensors, at::kCPU, at::kDouble);
  ASSERT_TRUE(plain.ok());
  const std::vector<int32_t> tokens = RandomTokens(20, config.vocab, 2);
  const at::Tensor once = *(*plain)->Logits(tokens);
  ReferenceCache cache;
  const at::Tensor first = *(*plain)->Logits(absl::MakeConstSpan(tokens).first(13), &cache);
  const at::Tensor second = *(*plain)->Logits(absl::MakeConstSpan(tokens).subspan(13), &cache);
  EXPECT_EQ(cache.tokens(), 20);
  EXPECT_LT((at::cat({first, second}) - once).abs().max().item<double>(), 1e-12);
}

TEST(ReferenceDecoderTest, RefusesTokensOutsideTheVocabulary) {
  const ModelConfig config = TinyConfig();
  auto plain = ReferenceDecoder::Create(config, RandomTensors(config, 1), at::kCPU, at::kFloat);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ((*plain)->Logits({83}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PackDecoderWeightsTest, NamesAMissingTensor) {
  const ModelConfig config = TinyConfig();
  TensorMap tensors = RandomTensors(config, 1);
  tensors.erase("model.layers.1.mlp.experts.5.up_proj.weight");
  const auto packed = PackDecoderWeights(config, tensors, DType::kBF16);
  EXPECT_EQ(packed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(packed.status().message(), HasSubstr("model.layers.1.mlp.experts.5.up_proj.weight"));
}

TEST(PackDecoderWeightsTest, RefusesWrongShapesTypesAndSizes) {
  const ModelConfig config = TinyConfig();
  const std::string name = "model.layers.0.self_attn.o_proj.weight";
  const TensorMap good = RandomTensors(config, 1);
  TensorMap tensors = good;
  std::swap(tensors[name].shape[0], tensors[name].shape[1]);
  EXPECT_THAT(PackDecoderWeights(config, tensors, DType::kF32).status().message(), HasSubstr(name));
  tensors = good;
  tensors[name].dtype = DType::kI64;
  EXPECT_THAT(PackDecoderWeights(config, tensors, DType::kF32).status().message(), HasSubstr("I64"));
  tensors = good;
  tensors[name].bytes = std::make_shared<const std::string>("short");
  EXPECT_THAT(PackDecoderWeights(config, tensors, DType::kF32).status().message(), HasSubstr("bytes"));
  EXPECT_EQ(PackDecoderWeights(config, good, DType::kF16).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PackDecoderWeightsTest, NeverRoundsTheCorrectionBias) {
  const ModelConfig config = TinyConfig();
  const TensorMap tensors = RandomTensors(config, 1);
  const auto packed = PackDecoderWeights(config, tensors, DType::kBF16);
  ASSERT_TRUE(packed.ok());
  const std::vector<float>& bias = (*packed)->layers[1].moe.correction_bias;
  EXPECT_EQ(bias, ToFloats(tensors.at("model.layers.1.mlp.gate.e_score_correction_bias")));
  EXPECT_NE(bias[0], FloatFromBf16(Bf16FromFloat(bias[0])));
}

}  // namespace
}  // namespace sluice
