// Tiny models with random weights, for tests of the learner.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/model/decoder.h"
#include "core/model/decoder_backend.h"
#include "core/model/decoder_weights.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"
#include "gtest/gtest.h"

namespace sluice {

struct TinyModel {
  std::string name;
  bool moe = false;
  bool sigmoid = true;
  int q_lora = 0;
  bool tied = false;
  bool attention_bias = false;
  bool all_experts = false;  // every row goes to every expert: the loss is smooth
  std::string grouped;       // model_type of a model with two query heads to a key head; empty: latent
};

inline std::string TinyGroupedConfigJson(const TinyModel& m, int vocab) {
  return R"({"model_type":")" + m.grouped + R"(","vocab_size":)" + std::to_string(vocab) +
         R"(,"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
    "head_dim":8,"intermediate_size":40,"rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":512,
    "hidden_act":"silu","bos_token_id":0,"eos_token_id":1,"pad_token_id":2,"torch_dtype":"float32",
    "tie_word_embeddings":)" +
         (m.tied ? "true" : "false") + "}";
}

inline std::string TinyConfigJson(const TinyModel& m, int vocab = 48) {
  if (!m.grouped.empty()) return TinyGroupedConfigJson(m, vocab);
  std::string json =
      R"({"vocab_size":)" + std::to_string(vocab) +
      R"(,"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":2,"num_key_value_heads":2,
    "intermediate_size":40,"rms_norm_eps":1e-6,"rope_theta":10000.0,"max_position_embeddings":512,
    "kv_lora_rank":16,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8,"hidden_act":"silu",
    "bos_token_id":0,"eos_token_id":1,"pad_token_id":2,"torch_dtype":"float32","moe_layer_freq":1,
    "n_routed_experts":8,"n_shared_experts":1,"moe_intermediate_size":16,)";
  json += R"("num_experts_per_tok":)" + std::string(m.all_experts ? "8," : "2,");
  json +=
      m.sigmoid
          ? R"("model_type":"deepseek_v3","architectures":["DeepseekV3ForCausalLM"],"topk_method":"noaux_tc",
    "scoring_func":"sigmoid","norm_topk_prob":true,"n_group":2,)" +
                std::string(m.all_experts ? R"("topk_group":2,)" : R"("topk_group":1,)") +
                R"("routed_scaling_factor":2.5,)"
          : R"("model_type":"deepseek_v2","architectures":["DeepseekV2ForCausalLM"],"topk_method":"greedy",
    "scoring_func":"softmax","norm_topk_prob":false,"n_group":1,"topk_group":1,"routed_scaling_factor":1.0,)";
  json += R"("first_k_dense_replace":)" + std::string(m.moe ? "1" : "2");
  json += R"(,"q_lora_rank":)" + (m.q_lora > 0 ? std::to_string(m.q_lora) : std::string("null"));
  json += R"(,"tie_word_embeddings":)" + std::string(m.tied ? "true" : "false");
  json += R"(,"attention_bias":)" + std::string(m.attention_bias ? "true" : "false");
  return json + "}";
}

// Uniform values of the size that keeps activations of order 1; norms around 1.
inline TensorMap RandomTensors(const ModelConfig& config, uint64_t seed, DType dtype) {
  TensorMap tensors;
  uint64_t draw = 0;
  for (const TensorShape& t : TensorTable(config)) {
    int64_t n = 1;
    for (int64_t d : t.shape) n *= d;
    const bool vector = t.shape.size() == 1;
    const bool norm = vector && t.name.find("norm") != std::string::npos;
    const float size = vector ? 0.2f : 1.7f / std::sqrt(static_cast<float>(t.shape.back()));
    std::vector<float> values(n);
    for (int64_t i = 0; i < n; ++i) {
      const float u = UniformAt(seed, RandomDomain::kShuffle, draw, 0, static_cast<uint32_t>(i));
      values[i] = (norm ? 1.0f : 0.0f) + size * (2 * u - 1);
    }
    ++draw;
    tensors[t.name] = TensorFromFloats(t.shape, values.data(), t.always_f32 ? DType::kF32 : dtype);
  }
  return tensors;
}

inline ModelConfig TinyConfig(const TinyModel& m) {
  auto config = ParseModelConfig(TinyConfigJson(m));
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

inline std::vector<TinyModel> TinyModels() {
  return {
      {"Dense", false, true, 0, false, false},      {"DenseTiedBiased", false, true, 12, true, true},
      {"MoeSigmoid", true, true, 12, false, false}, {"MoeSoftmax", true, false, 0, false, false},
      {.name = "Llama", .grouped = "llama"},        {.name = "Qwen2Tied", .tied = true, .grouped = "qwen2"},
      {.name = "Qwen3", .grouped = "qwen3"}};
}

inline std::vector<int32_t> RandomTokens(uint64_t seed, uint64_t draw, int count, int vocab = 48) {
  std::vector<int32_t> tokens(count);
  for (int i = 0; i < count; ++i) {
    tokens[i] = static_cast<int32_t>(UniformAt(seed, RandomDomain::kTraining, draw, 1, i) * vocab);
  }
  return tokens;
}

// The engine: one row at a time into a cache of blocks. `experts_of(t)` is where the experts of token t are
// written, null: nowhere; on_hidden(t, hidden) may be null.
inline void RunEngine(const ModelConfig& config, const DecoderWeights& weights,
                      const std::vector<int32_t>& tokens, const std::function<uint16_t*(size_t)>& experts_of,
                      const std::function<void(size_t, Decoder&, const float*)>& on_hidden) {
  Decoder decoder(config, nullptr);
  const int64_t blocks = static_cast<int64_t>(tokens.size()) / kernels::kBlockTokens + 1;
  const int64_t bytes = kernels::CacheBlockBytes(weights.attention);
  const auto cache = KernelBackend().AllocateCache(config.layers * blocks * bytes);
  std::vector<std::vector<std::byte*>> pointers(config.layers);
  std::vector<std::byte* const*> caches;
  for (int64_t l = 0; l < config.layers; ++l) {
    for (int64_t b = 0; b < blocks; ++b) pointers[l].push_back(cache.get() + (l * blocks + b) * bytes);
    caches.push_back(pointers[l].data());
  }
  std::vector<float> hidden(config.hidden);
  for (size_t t = 0; t < tokens.size(); ++t) {
    const DecoderRow row{tokens[t], static_cast<int32_t>(t), caches.data(),
                         experts_of == nullptr ? nullptr : experts_of(t)};
    decoder.Forward(weights, {&row, 1}, hidden.data());
    if (on_hidden != nullptr) on_hidden(t, decoder, hidden.data());
  }
}

// Log-probabilities of tokens[first..].
inline std::vector<float> EngineLogprobs(const ModelConfig& config, const DecoderWeights& weights,
                                         const std::vector<int32_t>& tokens, size_t first) {
  std::vector<float> logits(config.vocab), out;
  RunEngine(config, weights, tokens, nullptr, [&](size_t t, Decoder& decoder, const float* hidden) {
    if (t + 1 < first || t + 1 == tokens.size()) return;
    decoder.Logits(weights, hidden, 1, logits.data());
    out.push_back(kernels::LogSoftmaxAt(logits.data(), config.vocab, tokens[t + 1], 1.0f, nullptr));
  });
  return out;
}

}  // namespace sluice
