#include "core/model/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

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

// On paths that round activations to bfloat16 (8 bits) a routing near a tie may flip: the mean is asked for.
TEST_P(DecoderTest, Bf16LogitsAreNearThePlainDecoderOnTheRoundedWeights) {
  const TensorMap rounded = RandomTensors(config_, 1, DType::kBF16);
  const auto weights = Pack(DType::kBF16);
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(90, config_.vocab, 2);
  const ContiguousCache cache(*weights, 90);
  const std::vector<float> logits = LogitsOf(&decoder, *weights, tokens, cache);
  auto plain = ReferenceDecoder::Create(config_, rounded, at::kCPU, at::kDouble);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const at::NoGradGuard no_grad;
  const at::Tensor twin = *(*plain)->Logits(tokens);
  const at::Tensor mine = torch::tensor(logits).view({90, config_.vocab}).to(at::kDouble);
  EXPECT_LT((mine - twin).abs().mean().item<double>(), 0.05 * twin.abs().mean().item<double>());
}

class DecoderBitsTest : public testing::TestWithParam<std::tuple<Case, DType>> {
 protected:
  DecoderBitsTest() : config_(TinyConfig(std::get<0>(GetParam()).model)) {
    auto weights = PackDecoderWeights(config_, RandomTensors(config_, 1), std::get<1>(GetParam()));
    EXPECT_TRUE(weights.ok()) << weights.status();
    if (weights.ok()) weights_ = *weights;
  }
  ModelConfig config_;
  std::shared_ptr<const DecoderWeights> weights_;
};

TEST_P(DecoderBitsTest, ChunksAndSingleTokensGiveTheBitsOfOneCall) {
  ThreadPool pool(2);
  Decoder decoder(config_, &pool), alone(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(150, config_.vocab, 3);
  const ContiguousCache whole(*weights_, 150);
  const std::vector<float> once = LogitsOf(&decoder, *weights_, tokens, whole);
  for (const std::vector<size_t>& ends : {std::vector<size_t>{64, 100, 101, 150}, {1, 2, 3, 149, 150}}) {
    const ContiguousCache cache(*weights_, 150);
    std::vector<float> parts;
    size_t first = 0;
    for (const size_t end : ends) {
      const std::vector<int32_t> chunk(tokens.begin() + first, tokens.begin() + end);
      const std::vector<float> logits = LogitsOf(&alone, *weights_, chunk, cache, first);
      parts.insert(parts.end(), logits.begin(), logits.end());
      first = end;
    }
    EXPECT_EQ(parts, once);
  }
}

TEST_P(DecoderBitsTest, RowDoesNotDependOnOtherSequencesOfTheBatch) {
  ThreadPool pool(3);
  Decoder decoder(config_, &pool);
  const std::vector<int32_t> a = RandomTokens(70, config_.vocab, 4), b = RandomTokens(9, config_.vocab, 5);
  const ContiguousCache cache_a(*weights_, 70), cache_b(*weights_, 9), alone(*weights_, 9);
  LogitsOf(&decoder, *weights_, std::vector<int32_t>(a.begin(), a.end() - 1), cache_a);
  std::vector<DecoderRow> rows = {{a.back(), 69, cache_a.caches()}};
  for (int32_t i = 0; i < 9; ++i) rows.push_back({b[i], i, cache_b.caches()});
  std::vector<float> hidden(rows.size() * config_.hidden), logits(rows.size() * config_.vocab);
  decoder.Forward(*weights_, rows, hidden.data());
  decoder.Logits(*weights_, hidden.data(), rows.size(), logits.data());
  const std::vector<float> expected = LogitsOf(&decoder, *weights_, b, alone);
  EXPECT_EQ(std::vector<float>(logits.begin() + config_.vocab, logits.end()), expected);
}

// 64 sequences of one step each, the last of which also stands alone.
TEST_P(DecoderBitsTest, StepOfABatchGivesTheBitsOfASequenceAlone) {
  constexpr int64_t kBatch = 64;
  ThreadPool pool(2);
  Decoder decoder(config_, &pool), alone(config_, nullptr);
  std::vector<ContiguousCache> caches;
  std::vector<DecoderRow> rows;
  for (int64_t s = 0; s < kBatch; ++s) {
    caches.emplace_back(*weights_, 70);
    LogitsOf(&decoder, *weights_, RandomTokens(s + 1, config_.vocab, s), caches.back());
  }
  const ContiguousCache own(*weights_, 70);
  LogitsOf(&alone, *weights_, RandomTokens(kBatch, config_.vocab, kBatch - 1), own);
  for (int32_t s = 0; s < kBatch; ++s) rows.push_back({s, s + 1, caches[s].caches()});
  std::vector<float> hidden(kBatch * config_.hidden), logits(kBatch * config_.vocab);
  decoder.Forward(*weights_, rows, hidden.data());
  decoder.Logits(*weights_, hidden.data(), kBatch, logits.data());
  EXPECT_EQ(std::vector<float>(logits.end() - config_.vocab, logits.end()),
            LogitsOf(&alone, *weights_, {kBatch - 1}, own, kBatch));
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
  const auto same = PackDecoderWeights(config_, rounded, DType::kBF16);
  const auto wide = PackDecoderWeights(config_, rounded, DType::kF32);
  ASSERT_TRUE(same.ok() && wide.ok());
  const auto weights = Pack(DType::kBF16);
  Decoder decoder(config_, nullptr);
  const std::vector<int32_t> tokens = RandomTokens(12, config_.vocab, 8);
  const ContiguousCache mine(*weights, 12), theirs(**same, 12);
  EXPECT_EQ(LogitsOf(&decoder, *weights, tokens, mine), LogitsOf(&decoder, **same, tokens, theirs));
  EXPECT_LT(PackedBytes(**same), PackedBytes(**wide));
}

std::vector<Case> Cases() {
  return {{"sigmoid_groups", {}},
          {"compressed_queries", {.q_lora_rank = 18}},
          {"biases_halves", {.q_lora_rank = 18, .attention_bias = true, .interleaved = false}},
          {"softmax_no_shared", {.score = RouterScore::kSoftmax, .shared_experts = 0}},
          {"dense_tied", {.tied = true, .experts = 0}},
          {"grouped", {.kv_heads = 2, .interleaved = false, .experts = 0}},
          {"grouped_norms_tied",
           {.kv_heads = 2, .qk_norm = true, .tied = true, .interleaved = false, .experts = 0}},
          {"multi_query_biases", {.kv_heads = 1, .attention_bias = true, .interleaved = false, .experts = 0}},
          {"multi_head_experts", {.kv_heads = 4, .interleaved = false}}};
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, DecoderBitsTest,
                         testing::Combine(testing::ValuesIn(Cases()),
                                          testing::Values(DType::kBF16, DType::kF32)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  SafetensorsName(std::get<1>(info.param));
                         });

// More rows than the workspace takes at once.
TEST(DecoderWorkspaceTest, ManyRowsGiveTheBitsOfFew) {
  ModelConfig config = TinyConfig({.kv_heads = 2, .interleaved = false, .experts = 0});
  config.intermediate = 20000;  // about 400 rows
  config.layers = 1;
  config.moe_layer = {false};
  const auto weights = PackDecoderWeights(config, RandomTensors(config, 1), DType::kF32);
  ASSERT_TRUE(weights.ok()) << weights.status();
  ThreadPool pool(2);
  Decoder decoder(config, &pool);
  const std::vector<int32_t> tokens = RandomTokens(1000, config.vocab, 2);
  const ContiguousCache whole(**weights, 1000), parts(**weights, 1000);
  const std::vector<float> once = LogitsOf(&decoder, **weights, tokens, whole);
  std::vector<float> chunked;
  for (int32_t first = 0; first < 1000; first += 100) {
    const std::vector<int32_t> chunk(tokens.begin() + first, tokens.begin() + first + 100);
    const std::vector<float> logits = LogitsOf(&decoder, **weights, chunk, parts, first);
    chunked.insert(chunked.end(), logits.begin(), logits.end());
  }
  EXPECT_EQ(chunked, once);
}

// The recorded experts of one row, [layers with experts, k].
using Experts = std::vector<uint16_t>;

std::vector<Experts> RecordedExperts(const ModelConfig& config, const DecoderWeights& weights,
                                     const std::vector<int32_t>& tokens) {
  const int64_t moe_layers = std::count(config.moe_layer.begin(), config.moe_layer.end(), true);
  std::vector<Experts> recorded(tokens.size(), Experts(moe_layers * config.moe.experts_per_token, 999));
  Decoder decoder(config, nullptr);
  const ContiguousCache cache(weights, tokens.size());
  std::vector<DecoderRow> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows.push_back({tokens[i], static_cast<int32_t>(i), cache.caches(), recorded[i].data()});
  }
  std::vector<float> hidden(tokens.size() * config.hidden);
  decoder.Forward(weights, rows, hidden.data());
  return recorded;
}

TEST(RecordedExpertsTest, AreThoseOfThePlainDecoder) {
  const ModelConfig config = TinyConfig();
  const TensorMap tensors = RandomTensors(config, 1);
  const auto weights = PackDecoderWeights(config, tensors, DType::kF32);
  ASSERT_TRUE(weights.ok());
  const std::vector<int32_t> tokens = RandomTokens(40, config.vocab, 2);
  const std::vector<Experts> recorded = RecordedExperts(config, **weights, tokens);
  auto plain = ReferenceDecoder::Create(config, tensors, at::kCPU, at::kDouble);
  ASSERT_TRUE(plain.ok());
  std::vector<ReferenceRouting> routing;
  ASSERT_TRUE((*plain)->Logits(tokens, nullptr, &routing).ok());
  const int64_t k = config.moe.experts_per_token;
  ASSERT_EQ(routing.size(), 2u);
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (size_t m = 0; m < routing.size(); ++m) {
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(recorded[t][m * k + i], routing[m].ids[t][i].item<int64_t>()) << "token " << t;
      }
    }
  }
}

class NotANumberTest : public testing::TestWithParam<std::string> {};

// Whatever tensor holds it: no crash, experts in range and distinct, and the result says so.
TEST_P(NotANumberTest, PassesThroughWithoutHarm) {
  const std::string& name = GetParam();
  const ModelConfig config = name.find("k_norm") == std::string::npos
                                 ? TinyConfig({.q_lora_rank = 18})
                                 : TinyConfig({.kv_heads = 2, .qk_norm = true, .interleaved = false});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    TensorMap tensors = RandomTensors(config, 1);
    std::vector<float> values = ToFloats(tensors.at(name));
    for (size_t i = 0; i < values.size(); i += 3) values[i] = std::nanf("");
    tensors[name] = TensorFromFloats(tensors[name].shape, values.data(), DType::kF32);
    const auto weights = PackDecoderWeights(config, tensors, dtype);
    ASSERT_TRUE(weights.ok()) << weights.status();
    const std::vector<int32_t> tokens = RandomTokens(80, config.vocab, 2);
    for (const Experts& row : RecordedExperts(config, **weights, tokens)) {
      for (size_t at = 0; at < row.size(); at += config.moe.experts_per_token) {
        const std::set<uint16_t> ids(row.begin() + at, row.begin() + at + config.moe.experts_per_token);
        EXPECT_EQ(ids.size(), 3u);
        EXPECT_LT(*ids.rbegin(), config.moe.experts);
      }
    }
    ThreadPool pool(2);
    Decoder decoder(config, &pool);
    const ContiguousCache cache(**weights, 80);
    const std::vector<float> logits = LogitsOf(&decoder, **weights, tokens, cache);
    EXPECT_FALSE(std::isfinite(std::accumulate(logits.begin(), logits.end(), 0.0f)));
  }
}

INSTANTIATE_TEST_SUITE_P(Tensors, NotANumberTest,
                         testing::Values("model.embed_tokens.weight", "model.norm.weight", "lm_head.weight",
                                         "model.layers.0.self_attn.q_a_proj.weight",
                                         "model.layers.1.self_attn.kv_b_proj.weight",
                                         "model.layers.0.self_attn.k_norm.weight",
                                         "model.layers.1.mlp.gate.weight",
                                         "model.layers.2.mlp.shared_experts.down_proj.weight"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

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

TEST(PackDecoderWeightsTest, ReleasesTensorsThatItAloneHolds) {
  const ModelConfig config = TinyConfig({.tied = true});
  TensorMap tensors = RandomTensors(config, 1);
  std::vector<std::weak_ptr<const std::string>> bytes;
  for (const auto& [name, tensor] : tensors) bytes.push_back(tensor.bytes);
  const auto packed = PackDecoderWeights(config, std::move(tensors), DType::kF32);
  ASSERT_TRUE(packed.ok());
  for (const auto& tensor : bytes) EXPECT_TRUE(tensor.expired());
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
