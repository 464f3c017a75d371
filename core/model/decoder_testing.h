// Test support: random tiny models, and one sequence that runs through the decoder with its cache.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/model/decoder.h"
#include "core/model/decoder_backend.h"
#include "core/model/decoder_weights.h"

namespace sluice {

// What a tiny model has; everything else is fixed.
struct TinyModel {
  int64_t kv_heads = 0;  // 0: latent attention, else grouped
  bool qk_norm = false;
  int64_t q_lora_rank = 0;
  bool attention_bias = false, tied = false, interleaved = true;
  RouterScore score = RouterScore::kSigmoid;
  int32_t experts = 8, shared_experts = 1;
};

inline ModelConfig TinyConfig(const TinyModel& model = {}) {
  ModelConfig c;
  c.model_type = "deepseek_v3";
  c.vocab = 83;
  c.hidden = 40;
  c.layers = 3;
  c.heads = model.kv_heads > 0 ? 4 : 3;
  c.intermediate = 56;
  c.max_positions = 1024;
  if (model.kv_heads > 0) {
    c.model_type = "qwen3";
    c.attention = AttentionKind::kGrouped;
    c.kv_heads = model.kv_heads;
    c.qk_norm = model.qk_norm;
    c.qk_rope_dim = c.v_dim = 12;
  } else {
    c.q_lora_rank = model.q_lora_rank;
    c.kv_lora_rank = 20;
    c.qk_nope_dim = 12;
    c.qk_rope_dim = 8;
    c.v_dim = 10;
  }
  c.qkv_bias = c.o_bias = model.attention_bias;
  c.rope_interleaved = model.interleaved;
  c.tied_embeddings = model.tied;
  c.moe_layer.assign(c.layers, model.experts > 0);
  c.moe_layer[0] = false;
  if (model.experts == 0) return c;
  c.moe.experts = model.experts;
  c.moe.experts_per_token = 3;
  c.moe.shared_experts = model.shared_experts;
  c.moe.intermediate = 24;
  c.moe.score = model.score;
  if (model.score == RouterScore::kSigmoid) {
    c.moe.groups = 4;
    c.moe.groups_kept = 2;
    c.moe.group_score = RouterGroupScore::kTopTwoSum;
    c.moe.correction_bias = true;
    c.moe.normalize_weights = true;
    c.moe.scaling = 2.5;
  }
  return c;
}

// Random tensors of the config's table: norms about 1, matrices of a size that keeps activations about 1.
inline TensorMap RandomTensors(const ModelConfig& config, uint32_t seed, DType dtype = DType::kF32) {
  std::mt19937 generator(seed);
  TensorMap tensors;
  for (const TensorShape& row : TensorTable(config)) {
    int64_t elements = 1;
    for (const int64_t d : row.shape) elements *= d;
    const bool matrix = row.shape.size() == 2;
    std::normal_distribution<float> normal(
        matrix || row.always_f32 || row.name.find("bias") != std::string::npos ? 0.0f : 1.0f,
        matrix ? 1.2f / std::sqrt(static_cast<float>(row.shape[1])) : 0.2f);
    std::vector<float> values(elements);
    for (float& value : values) value = normal(generator);
    tensors[row.name] = TensorFromFloats(row.shape, values.data(), row.always_f32 ? DType::kF32 : dtype);
  }
  return tensors;
}

inline std::vector<int32_t> RandomTokens(int64_t n, int64_t vocab, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& token : tokens) token = static_cast<int32_t>(generator() % vocab);
  return tokens;
}

// The cache of one sequence; memory not written yet is not a number in any type.
class ContiguousCache {
 public:
  ContiguousCache(const DecoderWeights& weights, int64_t tokens) : shape_(weights.attention) {
    const int64_t blocks = (tokens + kernels::kBlockTokens - 1) / kernels::kBlockTokens;
    const int64_t bytes = weights.config.layers * blocks * kernels::CacheBlockBytes(shape_);
    memory_ = KernelBackend().AllocateCache(bytes);
    std::memset(memory_.get(), 0xff, static_cast<size_t>(bytes));
    std::byte* next = memory_.get();
    pointers_.resize(weights.config.layers);
    for (std::vector<std::byte*>& layer : pointers_) {
      for (int64_t b = 0; b < blocks; ++b, next += kernels::CacheBlockBytes(shape_)) layer.push_back(next);
      layers_.push_back(layer.data());
    }
  }
  std::byte* const* const* caches() const { return layers_.data(); }
  struct Entry {
    std::vector<float> key, value;  // [kv_heads, key_dim], [kv_heads, value_dim] (of latent attention empty)
  };
  Entry At(int64_t layer, int64_t position) const {
    Entry entry = {std::vector<float>(shape_.kv_heads * shape_.key_dim), {}};
    if (!shape_.value_in_key) entry.value.resize(shape_.kv_heads * shape_.value_dim);
    kernels::CacheLoad(shape_, pointers_[layer][position / kernels::kBlockTokens],
                       position % kernels::kBlockTokens, entry.key.data(),
                       shape_.value_in_key ? nullptr : entry.value.data());
    return entry;
  }

 private:
  const kernels::AttentionShape shape_;
  std::shared_ptr<std::byte[]> memory_;
  std::vector<std::vector<std::byte*>> pointers_;
  std::vector<std::byte* const*> layers_;
};

// Logits [tokens, vocab] after each of `tokens`, placed from `first` on, in one call.
inline std::vector<float> LogitsOf(Decoder* decoder, const DecoderWeights& weights,
                                   const std::vector<int32_t>& tokens, const ContiguousCache& cache,
                                   int32_t first = 0) {
  std::vector<DecoderRow> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows.push_back({tokens[i], first + static_cast<int32_t>(i), cache.caches()});
  }
  std::vector<float> hidden(tokens.size() * decoder->config().hidden);
  std::vector<float> logits(tokens.size() * decoder->config().vocab);
  decoder->Forward(weights, rows, hidden.data());
  decoder->Logits(weights, hidden.data(), tokens.size(), logits.data());
  return logits;
}

}  // namespace sluice
