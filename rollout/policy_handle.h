// A policy version ready to sample from. Immutable, hence thread-safe; running sequences pin the one they
// started on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_backend.h"
#include "core/rl/types.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tensors/tensor.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "rollout/paged_cache.h"

namespace sluice {

struct LoadedPolicy {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  std::string manifest_hash;
  ModelConfig config;
  // Shared with the job's other versions; null where the model has no tokenizer.json: then there are no
  // texts.
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string tokenizer_hash;                     // SHA-256 of tokenizer.json
  std::shared_ptr<const ChatTemplate> chat;       // shared with who renders; null: no usable template
  std::shared_ptr<const BackendWeights> weights;  // shared with what runs on them
  CacheShape cache;                               // of a sequence that runs on them
};

// Shared by the engine, which serves it, and the sequences that pin it.
using PolicyHandle = std::shared_ptr<const LoadedPolicy>;

// Where a policy is to run and in which type. `dtype` empty: bfloat16 where the embedding is stored so, else
// float32.
struct PolicyTarget {
  const DecoderBackend& backend;
  std::optional<DType> dtype;
};

// Tensors that nobody else holds are released as they are packed. `previous` (may be null) lends its
// tokenizer when tokenizer.json is the same. Job, version and manifest hash are taken from `ref`.
absl::StatusOr<PolicyHandle> MakePolicy(const PolicyRef& ref, const ModelFiles& files, TensorMap tensors,
                                        const PolicyTarget& target, const LoadedPolicy* previous);

// A policy with the decoder (and its workspace) that runs it. The decoder is used by the engine's thread
// only.
struct PolicyRun {
  // `backend` made the policy's weights. `ordinal` counts the policies that the engine served.
  PolicyRun(PolicyHandle handle, uint64_t ordinal, const DecoderBackend& backend, ThreadPool* pool)
      : policy(std::move(handle)), ordinal(ordinal), decoder(backend.NewRun(policy->weights, pool)) {}
  CacheShape cache_shape() const { return policy->cache; }
  // Of one cache block: all layers.
  int64_t block_bytes() const { return cache_shape().block_bytes(); }
  const PolicyHandle policy;
  const uint64_t ordinal;
  const std::unique_ptr<DecoderRun> decoder;
};

}  // namespace sluice
