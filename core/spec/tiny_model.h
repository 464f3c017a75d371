// Small valid model files for tests.
#pragma once

#include <string>
#include <vector>

#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/tokenizer/byte_level.h"
#include "nlohmann/json.hpp"

namespace sluice {

inline nlohmann::json TinyConfig() {
  return nlohmann::json::parse(R"({
    "model_type": "deepseek_v3", "vocab_size": 40, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 12, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "q_lora_rank": 6, "kv_lora_rank": 4,
    "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 4, "rope_theta": 10000.0, "rope_scaling": null,
    "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
    "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "norm_topk_prob": true, "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "bos_token_id": 0, "eos_token_id": [1, 2],
    "torch_dtype": "bfloat16"})");
}

// Two key heads for four query heads of 4 dimensions (qwen3: its class default, unless head_dim is added).
inline nlohmann::json TinyGroupedConfig(const std::string& model_type) {
  nlohmann::json json = nlohmann::json::parse(R"({
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 12, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "rope_scaling": null, "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16"})");
  json["model_type"] = model_type;
  return json;
}

// Every tensor of the table, with values that tell them apart.
inline TensorMap TinyTensors(const ModelConfig& config) {
  TensorMap out;
  float next = 0;
  for (const TensorShape& shape : TensorTable(config)) {
    HostTensor like{DType::kF32, shape.shape, nullptr};
    std::vector<float> values(static_cast<size_t>(like.elements()));
    for (float& value : values) value = (next += 0.25f);
    out[shape.name] =
        TensorFromFloats(shape.shape, values.data(), shape.always_f32 ? DType::kF32 : DType::kBF16);
  }
  return out;
}

// All 256 bytes, some merges ("h e", "l l", "he ll", "hell o", "Ġ w"), two special tokens and an added one.
inline nlohmann::json TinyTokenizer() {
  nlohmann::json vocab;
  int id = 0;
  for (int byte = 0; byte < 256; ++byte) vocab[ToByteLevel(std::string(1, static_cast<char>(byte)))] = id++;
  for (const char* token : {"he", "ll", "hell", "hello", "Ġw", "<s>", "</s>"}) vocab[token] = id++;
  const auto added = [](int number, const char* content, bool special) {
    return nlohmann::json{{"id", number},           {"content", content}, {"special", special},
                          {"normalized", !special}, {"lstrip", false},    {"rstrip", false},
                          {"single_word", false}};
  };
  const nlohmann::json bos = {{"id", "<s>"}, {"ids", {261}}, {"tokens", {"<s>"}}};
  return {{"added_tokens", {added(261, "<s>", true), added(262, "</s>", true), added(263, "<think>", false)}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}, {"trim_offsets", true}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
            {"special_tokens", {{"<s>", bos}}}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", {"h e", "l l", nlohmann::json::array({"he", "ll"}), "hell o", "Ġ w"}}}}};
}

}  // namespace sluice
