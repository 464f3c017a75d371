#include "core/model/decoder_backend.h"

#include <cstdlib>
#include <cstring>

#include "core/base/status.h"
#include "core/kernels/kernels.h"
#include "core/model/decoder_weights.h"

namespace sluice {
namespace {

// Shared as PackDecoderWeights gives them.
struct KernelWeights final : BackendWeights {
  explicit KernelWeights(std::shared_ptr<const DecoderWeights> w) : packed(std::move(w)) {}
  const std::shared_ptr<const DecoderWeights> packed;
};

class KernelRun final : public DecoderRun {
 public:
  KernelRun(std::shared_ptr<const DecoderWeights> weights, ThreadPool* pool)
      : weights_(std::move(weights)), decoder_(weights_->config, pool) {}
  absl::Status Forward(absl::Span<const DecoderRow> rows, float* hidden) override {
    decoder_.Forward(*weights_, rows, hidden);
    return absl::OkStatus();
  }
  absl::Status Logits(const float* hidden, int64_t rows, float* logits) override {
    decoder_.Logits(*weights_, hidden, rows, logits);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const DecoderWeights> weights_;  // pinned while the run lives
  Decoder decoder_;
};

}  // namespace

const std::string& KernelBackend::kernel_path() const { return kernels::KernelPath(); }

absl::StatusOr<std::shared_ptr<const BackendWeights>> KernelBackend::PackWeights(const ModelConfig& config,
                                                                                 TensorMap tensors,
                                                                                 DType dtype) const {
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const DecoderWeights> packed,
                          PackDecoderWeights(config, std::move(tensors), dtype));
  return std::make_shared<const KernelWeights>(std::move(packed));
}

std::unique_ptr<DecoderRun> KernelBackend::NewRun(std::shared_ptr<const BackendWeights> weights,
                                                  ThreadPool* pool) const {
  return std::make_unique<KernelRun>(static_cast<const KernelWeights&>(*weights).packed, pool);
}

int64_t KernelBackend::LayerBlockBytes(const ModelConfig& config, DType dtype) const {
  return kernels::CacheBlockBytes(AttentionShapeOf(config, dtype));
}

std::shared_ptr<std::byte[]> KernelBackend::AllocateCache(int64_t bytes) const {
  constexpr size_t kAlignment = 64;
  const size_t padded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, padded);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<std::byte[]>(static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); });
}

void KernelBackend::CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace sluice
