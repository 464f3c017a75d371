// For tests: tiny models of random tensors with a byte-level tokenizer, a folder that publishes versions of
// one, and a clock that runs something at a chosen step of an engine.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/random.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "core/weights/policy_store.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "rollout/engine.h"

namespace sluice::testing_model {

constexpr int32_t kBytes = 256, kEos = 256,
                  kVocab = 264;  // ids below 256 are bytes, 256 to 263 special tokens
constexpr int64_t kMaxPositions = 512;

// Latent attention with and without experts, and grouped attention with norms of its heads.
enum class Family { kLatentExperts, kLatentDense, kGrouped };
inline const char* FamilyName(Family family) {
  return family == Family::kLatentExperts ? "LatentExperts"
         : family == Family::kLatentDense ? "LatentDense"
                                          : "Grouped";
}

inline std::string ConfigJson(Family family = Family::kLatentExperts) {
  constexpr char kLatent[] = R"("q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
    "norm_topk_prob": true, "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 16,
    "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.0, )";
  std::string own;
  if (family == Family::kGrouped) {
    own = R"("model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, )";
  } else {
    own = absl::StrCat(R"("model_type": "deepseek_v3", "num_attention_heads": 2, "num_key_value_heads": 2, )",
                       kLatent, "\"first_k_dense_replace\": ", family == Family::kLatentDense ? 3 : 1, ", ");
  }
  return absl::StrCat("{", own, R"("hidden_act": "silu", "hidden_size": 32, "num_hidden_layers": 3,
    "intermediate_size": 48, "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "tie_word_embeddings": false,
    "attention_bias": false, "torch_dtype": "bfloat16", "vocab_size": )",
                      kVocab, ", \"max_position_embeddings\": ", kMaxPositions, ", \"eos_token_id\": ", kEos,
                      "}");
}

// The character that byte-level tokenizers write a byte as (Radford et al. 2019, bytes_to_unicode).
inline std::string ByteCharacter(int32_t byte) {
  const auto printable = [](int32_t b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  uint32_t code = static_cast<uint32_t>(byte);
  if (!printable(byte)) {
    code = 256;
    for (int32_t b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

inline std::string TokenizerJson() {
  std::string vocab, added;
  for (int32_t b = 0; b < kBytes; ++b) {
    std::string character = ByteCharacter(b);
    if (character == "\"" || character == "\\") character.insert(0, "\\");
    absl::StrAppend(&vocab, b == 0 ? "" : ", ", "\"", character, "\": ", b);
  }
  for (int32_t id = kBytes; id < kVocab; ++id) {
    absl::StrAppend(
        &added, id == kBytes ? "" : ", ", "{\"id\": ", id, ", \"content\": \"<|", id, "|>\", ",
        R"("single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})");
  }
  return absl::StrCat(
      R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)", added,
      R"(], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
      "trim_offsets": true, "use_regex": false}, "post_processor": null, "decoder": {"type": "ByteLevel",
      "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "dropout": null,
      "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
      "byte_fallback": false, "vocab": {)",
      vocab, R"(}, "merges": []}})");
}

inline ModelFiles Files(Family family = Family::kLatentExperts) {
  return {{"config.json", ConfigJson(family)}, {"tokenizer.json", TokenizerJson()}};
}

// Weights whose distributions are neither flat nor one-hot; a seed for each version.
inline TensorMap Tensors(uint64_t seed, DType dtype = DType::kBF16, Family family = Family::kLatentExperts) {
  const absl::StatusOr<ModelConfig> config = ParseModelConfig(ConfigJson(family));
  if (!config.ok()) ADD_FAILURE() << config.status();
  if (!config.ok()) return {};
  TensorMap out;
  uint64_t draw = 0;
  for (const TensorShape& shape : TensorTable(*config)) {
    int64_t elements = 1;
    for (int64_t d : shape.shape) elements *= d;
    const bool matrix = shape.shape.size() == 2;
    const float scale = matrix ? 3.0f / std::sqrt(static_cast<float>(shape.shape[1])) : 0.2f;
    const float center = matrix || shape.always_f32 ? 0.0f : 1.0f;
    std::vector<float> values(static_cast<size_t>(elements));
    for (size_t i = 0; i < values.size(); ++i) {
      const float u = UniformAt(seed, RandomDomain::kShuffle, draw, 0, static_cast<uint32_t>(i));
      values[i] = center + scale * (2 * u - 1);
    }
    ++draw;
    out[shape.name] = TensorFromFloats(shape.shape, values.data(), shape.always_f32 ? DType::kF32 : dtype);
  }
  return out;
}

// A folder of published versions, removed in the end.
class Publisher {
 public:
  explicit Publisher(Family family = Family::kLatentExperts) : family_(family) {
    static std::atomic<int> count{0};
    root_ = absl::StrCat(::testing::TempDir(), "/sluice_policies_", getpid(), "_", count++);
    RemoveTree(root_).IgnoreError();  // of a process that died with this number
    absl::StatusOr<std::unique_ptr<PolicyStore>> store = PolicyStore::Open(root_);
    if (store.ok()) store_ = *std::move(store);
    EXPECT_NE(store_, nullptr);
  }
  ~Publisher() { RemoveTree(root_).IgnoreError(); }

  PolicyRef Publish(const JobId& job, PolicyVersion version, DType dtype = DType::kBF16) {
    absl::StatusOr<PolicyRef> ref =
        store_->Publish(job, version, version - 1,
                        Tensors(static_cast<uint64_t>(version) + 11, dtype, family_), Files(family_));
    if (!ref.ok()) ADD_FAILURE() << ref.status();
    return ref.ok() ? *ref : PolicyRef();
  }
  // Publishes a version and turns one bit of one tensor over.
  PolicyRef PublishCorrupt(const JobId& job, PolicyVersion version) {
    const PolicyRef ref = Publish(job, version);
    const std::string path = absl::StrCat(root_, "/", job, "/versions/", version, "/tensors.bin");
    absl::StatusOr<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) ADD_FAILURE() << bytes.status();
    if (!bytes.ok()) return ref;
    (*bytes)[bytes->size() / 2] ^= 1;
    EXPECT_TRUE(WriteFileAtomically(path, *bytes).ok());
    return ref;
  }
  static absl::StatusOr<std::unique_ptr<WeightChannel>> OpenChannel(const std::string& source) {
    absl::StatusOr<std::unique_ptr<PolicyStore>> store = PolicyStore::Open(source);
    if (!store.ok()) return store.status();
    return std::unique_ptr<WeightChannel>(*std::move(store));
  }
  const std::string& root() const { return root_; }

 private:
  const Family family_;
  std::string root_;
  std::unique_ptr<PolicyStore> store_;
};

// Counts the readings of an engine's thread (one a step) and runs an action before a chosen one. Readings
// made by the action itself are not counted.
class StepClock final : public Clock {
 public:
  absl::Time Now() const override {
    std::function<void()> action;
    {
      absl::MutexLock lock(&mu_);
      if (acting_) return now_;
      ++readings_;
      if (--left_ != 0) return now_;
      acting_ = true;
      action = action_;
    }
    action();
    absl::MutexLock lock(&mu_);
    acting_ = false;
    return now_;
  }
  // `action` runs on the thread that makes the `reading`-th reading from now, counted from 1.
  void At(int reading, std::function<void()> action) {
    absl::MutexLock lock(&mu_);
    left_ = reading;
    action_ = std::move(action);
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mu_);
    now_ += by;
  }
  int readings() const {
    absl::MutexLock lock(&mu_);
    return readings_;
  }

 private:
  mutable absl::Mutex mu_;
  mutable int readings_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::UnixEpoch() + absl::Hours(24);
  mutable int left_ ABSL_GUARDED_BY(mu_) = 0;
  mutable bool acting_ ABSL_GUARDED_BY(mu_) = false;
  std::function<void()> action_ ABSL_GUARDED_BY(mu_);
};

inline EngineOptions Options() {
  EngineOptions options;
  options.name = "engine-under-test";
  options.open_channel = &Publisher::OpenChannel;
  return options;
}

// An engine with a registry of its own.
class TestEngine {
 public:
  explicit TestEngine(EngineOptions options = Options(), Clock& clock = Clock::Real()) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(std::move(options), registry_, clock);
    if (engine.ok()) engine_ = *std::move(engine);
    EXPECT_NE(engine_, nullptr) << engine.status();
  }
  Engine* operator->() { return engine_.get(); }
  Engine& operator*() { return *engine_; }

  // Completions by index, or the error. Reports of progress are left out.
  absl::StatusOr<std::map<uint32_t, Trajectory>> Sample(const RolloutRequest& request,
                                                        const CancelToken& cancel = CancelToken()) {
    std::map<uint32_t, Trajectory> out;
    absl::Status status = engine_->Generate(request, cancel, [&](Trajectory t) {
      if (t.finish_reason == FinishReason::kUnspecified) return;
      EXPECT_EQ(out.count(t.key.index), 0u);
      out[t.key.index] = std::move(t);
    });
    if (!status.ok()) return status;
    return out;
  }
  // Sum over the labels of a counter or gauge.
  double Metric(const std::string& name) const {
    double out = 0;
    bool found = false;
    for (const auto& family : registry_.Collect()) {
      if (family.name != name) continue;
      found = true;
      for (const auto& metric : family.metric) out += metric.counter.value + metric.gauge.value;
    }
    EXPECT_TRUE(found) << name;
    return out;
  }

 private:
  prometheus::Registry registry_;
  std::unique_ptr<Engine> engine_;
};

// A prompt of letters that differ with `salt`.
inline std::vector<int32_t> Prompt(int32_t size, int32_t salt = 0) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < size; ++i) out.push_back('a' + (i * 7 + salt * 3 + i / 5) % 26);
  return out;
}

// The first `tokens` of a completion, as a worker that was stopped there reported them.
inline Trajectory BegunOf(const Trajectory& whole, size_t tokens, size_t prompt_size) {
  Trajectory out = whole;
  const size_t alternatives = whole.alternatives.size() / whole.tokens.size();
  const size_t experts = static_cast<size_t>(whole.experts.moe_layers * whole.experts.per_token);
  out.tokens.resize(tokens);
  out.raw_logprobs.resize(tokens);
  out.processed_logprobs.resize(tokens);
  out.alternatives.resize(tokens * alternatives);
  out.experts.ids.resize((prompt_size + tokens - 1) * experts);
  while (!out.spans.empty() && out.spans.back().begin >= static_cast<int32_t>(tokens)) out.spans.pop_back();
  if (!out.spans.empty()) out.spans.back().end = static_cast<int32_t>(tokens);
  out.finish_reason = FinishReason::kUnspecified;
  out.worker = "another";
  return out;
}

inline RolloutRequest Request(Draw draw, int32_t prompt_size, int32_t group_size, int32_t max_new_tokens) {
  RolloutRequest out;
  out.job = "job";
  out.seed = 7;
  out.draw = draw;
  for (int32_t i = 0; i < group_size; ++i) out.indices.push_back(static_cast<uint32_t>(i));
  out.prompt_tokens = Prompt(prompt_size, static_cast<int32_t>(draw));
  out.sampling.max_new_tokens = max_new_tokens;
  out.sampling.ignore_eos = true;
  return out;
}

}  // namespace sluice::testing_model
