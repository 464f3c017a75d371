// What an engine runs a model on: a device, its memory and the decoder there. KernelBackend is the
// processor with the kernels of core/kernels; torch_backend.h is any device of LibTorch with their reference
// twins.
//
// A backend has no mutable state that callers can see and is thread-safe; a DecoderRun is used by one thread
// at a time. Backends outlive the weights, runs and cache memory that they gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// The weights of one policy version where the backend wants them. Immutable; thread-safe.
class BackendWeights {
 public:
  virtual ~BackendWeights() = default;
};

// The decoder over one policy version, with its workspace.
class DecoderRun {
 public:
  virtual ~DecoderRun() = default;
  // As Decoder::Forward and Decoder::Logits: `hidden` [rows, hidden] and `logits` [rows, vocab] are in host
  // memory, `rows` point into memory of AllocateCache. An error leaves the caches of these rows undefined.
  virtual absl::Status Forward(absl::Span<const DecoderRow> rows, float* hidden) = 0;
  virtual absl::Status Logits(const float* hidden, int64_t rows, float* logits) = 0;
};

class DecoderBackend {
 public:
  virtual ~DecoderBackend() = default;

  // Stamped in version spans: "cpu-avx2" and so on, "torch-cpu", "torch-cuda".
  virtual const std::string& kernel_path() const = 0;

  // `dtype` kBF16 or kF32: what matrices are rounded to; everything is accumulated in float32. Tensors that
  // nobody else holds are released as they are packed.
  virtual absl::StatusOr<std::shared_ptr<const BackendWeights>> PackWeights(const ModelConfig& config,
                                                                            TensorMap tensors,
                                                                            DType dtype) const = 0;
  // `weights` are of this backend's PackWeights; `pool` outlives the run.
  virtual std::unique_ptr<DecoderRun> NewRun(std::shared_ptr<const BackendWeights> weights,
                                             ThreadPool* pool) const = 0;

  // Of kBlockTokens positions in one layer, a multiple of 64; a block of all layers is one after another.
  virtual int64_t LayerBlockBytes(const ModelConfig& config, DType dtype) const = 0;
  // Memory for the cache, on the device, aligned to 64 bytes: the pointer is for DecoderRow and CopyCache and
  // is read by nobody else. Shared with whoever holds a block of it. Null when the device has no memory left.
  virtual std::shared_ptr<std::byte[]> AllocateCache(int64_t bytes) const = 0;
  // A copy that fails makes every later Forward fail.
  virtual void CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const = 0;
};

// The processor, with the kernels of core/kernels.
class KernelBackend final : public DecoderBackend {
 public:
  const std::string& kernel_path() const override;
  absl::StatusOr<std::shared_ptr<const BackendWeights>> PackWeights(const ModelConfig& config,
                                                                    TensorMap tensors,
                                                                    DType dtype) const override;
  std::unique_ptr<DecoderRun> NewRun(std::shared_ptr<const BackendWeights> weights,
                                     ThreadPool* pool) const override;
  int64_t LayerBlockBytes(const ModelConfig& config, DType dtype) const override;
  std::shared_ptr<std::byte[]> AllocateCache(int64_t bytes) const override;
  void CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const override;
};

}  // namespace sluice
