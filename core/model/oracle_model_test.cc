// The decoder in float32 against transformers in float64, on tiny checkpoints of the released architectures.
// Their tolerances are those measured with transformers' own float32 (log-probabilities within 2.8e-5), with
// room for another order of summation. SLUICE_ORACLE_DIR holds one folder per preset with config.json,
// model.safetensors and reference.safetensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/file.h"
#include "core/model/decoder_testing.h"
#include "core/model/expert_batch.h"
#include "core/spec/checkpoint/checkpoint_dir.h"

namespace sluice {
namespace {

template <typename T>
std::vector<T> Values(const TensorMap& reference, const std::string& name) {
  const HostTensor& tensor = reference.at(name);
  std::vector<T> values(tensor.elements());
  EXPECT_EQ(values.size() * sizeof(T), tensor.bytes->size()) << name;
  std::memcpy(values.data(), tensor.bytes->data(), tensor.bytes->size());
  return values;
}

std::vector<int32_t> Tokens(const TensorMap& reference, const std::string& name) {
  const std::vector<int64_t> wide = Values<int64_t>(reference, name);
  return std::vector<int32_t>(wide.begin(), wide.end());
}

class OracleTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* root = std::getenv("SLUICE_ORACLE_DIR");
    if (root == nullptr)
      GTEST_SKIP() << "SLUICE_ORACLE_DIR is not set: no reference checkpoints to compare with";
    const std::string directory = std::string(root) + "/" + GetParam();
    if (!FileExists(directory + "/reference.safetensors")) {
      GTEST_SKIP() << directory
                   << " lacks reference.safetensors (make_checkpoint.py, then make_reference.py)";
    }
    auto model = ReadModelDirectory(directory);
    ASSERT_TRUE(model.ok()) << model.status();
    config_ = model->config;
    auto reference = ReadSafetensors(directory + "/reference.safetensors");
    ASSERT_TRUE(reference.ok()) << reference.status();
    reference_ = *std::move(reference);
    auto weights = PackDecoderWeights(config_, model->tensors, DType::kF32);
    ASSERT_TRUE(weights.ok()) << weights.status();
    weights_ = *weights;
    decoder_ = std::make_unique<Decoder>(config_, &pool_);
  }

  ThreadPool pool_{2};
  ModelConfig config_;
  TensorMap reference_;
  std::shared_ptr<const DecoderWeights> weights_;
  std::unique_ptr<Decoder> decoder_;
};

TEST_P(OracleTest, LogProbabilitiesAndBestTokensEqualTransformers) {
  for (const std::string sequence : {"s1", "s7", "s33", "s129", "long"}) {
    const std::vector<int32_t> tokens = Tokens(reference_, "tokens." + sequence);
    const ContiguousCache cache(*weights_, tokens.size());
    const std::vector<float> logits = LogitsOf(decoder_.get(), *weights_, tokens, cache);
    const std::vector<double> expected =  // a single token has none
        tokens.size() == 1 ? std::vector<double>() : Values<double>(reference_, "logprobs." + sequence);
    ASSERT_EQ(expected.size() + 1, tokens.size());
    const std::vector<int32_t> best = Values<int32_t>(reference_, "argmax." + sequence);
    double worst = 0, sum = 0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      const float* row = logits.data() + t * config_.vocab;
      EXPECT_EQ(std::max_element(row, row + config_.vocab) - row, best[t]) << sequence << " position " << t;
      if (t + 1 == tokens.size()) break;
      const double error =
          std::abs(kernels::LogSoftmaxAt(row, config_.vocab, tokens[t + 1], 1.0f, nullptr) - expected[t]);
      worst = std::max(worst, error);
      sum += error;
    }
    EXPECT_LT(worst, 2e-4) << sequence;
    if (tokens.size() > 1) {
      EXPECT_LT(sum / (tokens.size() - 1), 2e-5) << sequence;
    }
    RecordProperty("worst_" + sequence, absl::StrFormat("%.2g", worst));
  }
}

// [layers, tokens, width] against one cached part of each position.
void ExpectCached(const std::vector<double>& expected, int64_t layer, int64_t tokens, int64_t t,
                  const float* actual, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    ASSERT_NEAR(actual[i], expected[(layer * tokens + t) * width + i], 1e-4)
        << "layer " << layer << " token " << t;
  }
}

TEST_P(OracleTest, CacheHoldsWhatTransformersCaches) {
  const std::vector<int32_t> tokens = Tokens(reference_, "tokens.s33");
  const ContiguousCache cache(*weights_, tokens.size());
  LogitsOf(decoder_.get(), *weights_, tokens, cache);
  const bool latent = config_.attention == AttentionKind::kLatent;
  const int64_t n = tokens.size(), c = config_.kv_lora_rank, head = config_.qk_rope_dim;
  for (int64_t l = 0; l < config_.layers; ++l) {
    for (int64_t t = 0; t < n; ++t) {
      const ContiguousCache::Entry entry = cache.At(l, t);
      if (latent) {
        ExpectCached(Values<double>(reference_, "cache_latent.s33"), l, n, t, entry.key.data(), c);
        ExpectCached(Values<double>(reference_, "cache_k_pe.s33"), l, n, t, entry.key.data() + c, head);
        continue;
      }
      for (int64_t h = 0; h < config_.kv_heads; ++h) {  // [layers, kv_heads, tokens, head]
        ExpectCached(Values<double>(reference_, "cache_key.s33"), l * config_.kv_heads + h, n, t,
                     entry.key.data() + h * head, head);
        ExpectCached(Values<double>(reference_, "cache_value.s33"), l * config_.kv_heads + h, n, t,
                     entry.value.data() + h * head, head);
      }
    }
  }
}

TEST_P(OracleTest, HiddenStatesAndLogitsEqualTransformers) {
  const std::vector<int32_t> tokens = Tokens(reference_, "tokens.s33");
  const ContiguousCache cache(*weights_, tokens.size());
  const int64_t n = tokens.size(), d = config_.hidden;
  std::vector<DecoderRow> rows;
  for (int64_t t = 0; t < n; ++t) rows.push_back({tokens[t], static_cast<int32_t>(t), cache.caches()});
  std::vector<float> hidden(n * d), logits(n * config_.vocab);
  decoder_->Forward(*weights_, rows, hidden.data());
  decoder_->Logits(*weights_, hidden.data(), n, logits.data());
  const std::vector<double> expected = Values<double>(reference_, "hidden.s33");  // the last: after the norm
  for (int64_t i = 0; i < n * d; ++i) {
    ASSERT_NEAR(hidden[i], expected[(config_.layers + 1) * n * d + i], 1e-3) << "token " << i / d;
  }
  const std::vector<double> wanted = Values<double>(reference_, "logits.s33");
  for (int64_t i = 0; i < n * config_.vocab; ++i) {
    ASSERT_NEAR(logits[i], wanted[i], 1e-3) << "token " << i / config_.vocab;
  }
}

// The experts that a whole forward reports, on its own hidden states.
TEST_P(OracleTest, RecordedExpertsEqualTransformers) {
  if (config_.moe.experts == 0) GTEST_SKIP() << GetParam() << " has no layers with experts";
  for (const std::string sequence : {"s7", "s33", "s129", "long"}) {
    const std::vector<int32_t> tokens = Tokens(reference_, "tokens." + sequence);
    const std::vector<int32_t> expected = Values<int32_t>(reference_, "experts." + sequence);
    const size_t n = tokens.size(), k = config_.moe.experts_per_token, layers = expected.size() / (n * k);
    std::vector<uint16_t> experts(n * layers * k);
    const ContiguousCache cache(*weights_, n);
    std::vector<DecoderRow> rows;
    for (size_t t = 0; t < n; ++t) {
      rows.push_back({tokens[t], static_cast<int32_t>(t), cache.caches(), &experts[t * layers * k]});
    }
    std::vector<float> hidden(n * config_.hidden);
    decoder_->Forward(*weights_, rows, hidden.data());
    for (size_t m = 0; m < layers; ++m) {
      for (size_t i = 0; i < n * k; ++i) {
        ASSERT_EQ(experts[(i / k * layers + m) * k + i % k], expected[m * n * k + i])
            << sequence << " layer " << m << " token " << i / k;
      }
    }
  }
}

// Routing of the recorded hidden states: the router of each layer with experts on transformers' own input.
TEST_P(OracleTest, ExpertsEqualTransformers) {
  if (config_.moe.experts == 0 || reference_.count("moe_layers") == 0) {
    GTEST_SKIP() << GetParam() << " has no layers with experts";
  }
  const std::vector<int32_t> layers = Values<int32_t>(reference_, "moe_layers");
  const std::vector<int32_t> ids = Values<int32_t>(reference_, "experts.s33");
  const std::vector<double> weights = Values<double>(reference_, "expert_weights.s33");
  const std::vector<double> hidden = Values<double>(reference_, "hidden.s33");
  const std::vector<double> attention = Values<double>(reference_, "attn_out.s33");
  const int64_t n = 33, d = config_.hidden, k = config_.moe.experts_per_token;
  for (size_t m = 0; m < layers.size(); ++m) {
    const LayerWeights& layer = weights_->layers[layers[m]];
    std::vector<float> x(n * d), y(n * d);
    const int64_t at = layers[m] * n * d;  // hidden[l] is the input of layer l
    for (int64_t i = 0; i < n * d; ++i) x[i] = static_cast<float>(hidden[at + i] + attention[at + i]);
    kernels::RmsNorm(x.data(), n, d, d, layer.post_attention_norm.data(), weights_->norm_epsilon, x.data(),
                     d);
    const float* bias = layer.moe.correction_bias.empty() ? nullptr : layer.moe.correction_bias.data();
    std::vector<float> logits(n * config_.moe.experts);
    kernels::Linear(x.data(), n, d, layer.moe.router, nullptr, logits.data(), config_.moe.experts, nullptr);
    for (int64_t t = 0; t < n; ++t) {
      std::vector<int32_t> mine(k);
      std::vector<float> mine_weights(k);
      kernels::Route(&logits[t * config_.moe.experts], RouterParamsOf(config_, bias), mine.data(),
                     mine_weights.data());
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(mine[i], ids[(m * n + t) * k + i]) << "layer " << layers[m] << " token " << t;
        EXPECT_NEAR(mine_weights[i], weights[(m * n + t) * k + i], 1e-4);
      }
    }
    // The layer's output from here on.
    ExpertBatch experts;
    experts.Forward(layer.moe, RouterParamsOf(config_, bias), x.data(), n, y.data(), nullptr);
    for (int64_t i = 0; i < n * d; ++i) {
      ASSERT_NEAR(hidden[at + i] + attention[at + i] + y[i], hidden[at + n * d + i], 1e-4)
          << "layer " << layers[m];
    }
  }
}

TEST_P(OracleTest, GreedyTokensEqualTransformers) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = "greedy." + std::to_string(i) + ".";
    std::vector<int32_t> tokens = Tokens(reference_, name + "prompt");
    const std::vector<int32_t> expected = Tokens(reference_, name + "tokens");
    const ContiguousCache cache(*weights_, tokens.size() + expected.size());
    std::vector<int32_t> chosen, next = tokens;
    int32_t position = 0;
    while (chosen.size() < expected.size()) {
      const std::vector<float> logits = LogitsOf(decoder_.get(), *weights_, next, cache, position);
      position += next.size();
      const auto row = logits.end() - config_.vocab;
      chosen.push_back(std::max_element(row, logits.end()) - row);
      next = {chosen.back()};
    }
    EXPECT_EQ(chosen, expected) << name;
  }
}

// The presets, and whatever variations lie beside them.
std::vector<std::string> Checkpoints() {
  std::vector<std::string> names = {"mla-dense",     "v2-lite", "v2",    "v3",    "moonlight", "kimi-k2",
                                    "glm4-moe-lite", "llama",   "qwen2", "qwen3", "gpt-mha"};
  const char* root = std::getenv("SLUICE_ORACLE_DIR");
  std::error_code none;
  if (root == nullptr || !std::filesystem::is_directory(root, none)) return names;
  std::vector<std::string> more;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (FileExists(entry.path().string() + "/reference.safetensors") &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      more.push_back(name);
    }
  }
  std::sort(more.begin(), more.end());
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, OracleTest, testing::ValuesIn(Checkpoints()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace sluice
