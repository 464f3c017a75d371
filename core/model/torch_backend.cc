#include "core/model/torch_backend.h"

#include <ATen/Parallel.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <cstring>
#include <exception>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/model/torch_decoder.h"

namespace sluice {
namespace {

// LibTorch throws; here it ends. `what` says what was tried.
template <typename Body>
absl::Status Caught(const char* what, const Body& body) {
  try {
    const c10::InferenceMode no_gradients;
    return body();
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": ", error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

// What went wrong on the device where nobody could be told. Shared by a backend and its runs.
class Failure {
 public:
  void Set(absl::Status status) {
    absl::MutexLock lock(&mu_);
    status_.Update(std::move(status));
  }
  absl::Status Get() const {
    absl::MutexLock lock(&mu_);
    return status_;
  }

 private:
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

struct TorchWeights final : BackendWeights {
  explicit TorchWeights(TorchModel m) : model(std::move(m)) {}
  const TorchModel model;
};

class TorchRun final : public DecoderRun {
 public:
  TorchRun(std::shared_ptr<const BackendWeights> weights, int threads, std::shared_ptr<const Failure> failure)
      : weights_(std::move(weights)),
        threads_(threads),
        model_(static_cast<const TorchWeights&>(*weights_).model),
        failure_(std::move(failure)) {}

  absl::Status Forward(absl::Span<const DecoderRow> rows, float* hidden) override {
    SLUICE_RETURN_IF_ERROR(failure_->Get());
    if (rows.empty()) return absl::OkStatus();
    return Caught("the decoder's forward", [&] {
      UseThreads();
      Download(TorchForward(model_, rows), hidden);
      return absl::OkStatus();
    });
  }
  absl::Status Logits(const float* hidden, int64_t rows, float* logits) override {
    SLUICE_RETURN_IF_ERROR(failure_->Get());
    return Caught("the decoder's logits", [&] {
      UseThreads();
      const at::Tensor host =
          at::from_blob(const_cast<float*>(hidden), {rows, model_.config.hidden}, at::kFloat);
      Download(TorchLogits(model_, host.to(model_.device)), logits);
      return absl::OkStatus();
    });
  }

 private:
  // Of LibTorch on its processor device; the number belongs to the calling thread.
  void UseThreads() const {
    if (model_.device.is_cpu()) at::set_num_threads(threads_);
  }
  static void Download(const at::Tensor& from, float* to) {
    const at::Tensor host = from.to(at::kCPU, at::kFloat).contiguous();
    std::memcpy(to, host.const_data_ptr<float>(), static_cast<size_t>(host.numel()) * sizeof(float));
  }

  const std::shared_ptr<const BackendWeights> weights_;  // pinned while the run lives
  const int threads_;
  const TorchModel& model_;
  const std::shared_ptr<const Failure> failure_;
};

class TorchBackend final : public DecoderBackend {
 public:
  explicit TorchBackend(at::Device device)
      : device_(device), path_(device.is_cpu() ? "torch-cpu" : "torch-cuda") {}

  const std::string& kernel_path() const override { return path_; }

  absl::StatusOr<std::shared_ptr<const BackendWeights>> PackWeights(const ModelConfig& config,
                                                                    TensorMap tensors,
                                                                    DType dtype) const override {
    std::shared_ptr<const BackendWeights> out;
    SLUICE_RETURN_IF_ERROR(Caught("moving the model to the device", [&]() -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(TorchModel model, UploadModel(config, std::move(tensors), dtype, device_));
      out = std::make_shared<const TorchWeights>(std::move(model));
      return absl::OkStatus();
    }));
    return out;
  }

  std::unique_ptr<DecoderRun> NewRun(std::shared_ptr<const BackendWeights> weights,
                                     ThreadPool* pool) const override {
    return std::make_unique<TorchRun>(std::move(weights), pool == nullptr ? 1 : pool->threads(), failure_);
  }

  int64_t LayerBlockBytes(const ModelConfig& config, DType) const override {
    return TorchCacheWidth(config) * kernels::kBlockTokens * static_cast<int64_t>(sizeof(float));
  }

  std::shared_ptr<std::byte[]> AllocateCache(int64_t bytes) const override {
    std::shared_ptr<std::byte[]> out;
    // Null says it: whatever the reason, there is no memory here.
    Caught("memory for the cache", [&] {
      const at::Tensor memory = at::zeros({bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
      out = std::shared_ptr<std::byte[]>(reinterpret_cast<std::byte*>(memory.data_ptr<uint8_t>()),
                                         [memory](std::byte*) {});
      return absl::OkStatus();
    }).IgnoreError();
    return out;
  }

  void CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const override {
    failure_->Set(Caught("copying a cache block", [&] {
      View(to, bytes).copy_(View(const_cast<std::byte*>(from), bytes));
      return absl::OkStatus();
    }));
  }

 private:
  at::Tensor View(std::byte* memory, int64_t bytes) const {
    return at::for_blob(memory, {bytes})
        .options(at::TensorOptions().dtype(at::kByte).device(device_))
        .target_device(device_)
        .make_tensor();
  }

  const at::Device device_;
  const std::string path_;
  const std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();  // shared with the runs
};

}  // namespace

absl::StatusOr<std::shared_ptr<const DecoderBackend>> MakeTorchBackend(const std::string& device) {
  std::shared_ptr<const DecoderBackend> out;
  SLUICE_RETURN_IF_ERROR(Caught("asking for devices", [&]() -> absl::Status {
    const bool named = device == "cpu" || device == "cuda" || device.rfind("cuda:", 0) == 0;
    if (!named) return absl::InvalidArgumentError(absl::StrCat("device \"", device, "\": want cpu or cuda"));
    at::Device parsed(at::kCPU);
    try {
      parsed = at::Device(device);
    } catch (const c10::Error&) {
      return absl::InvalidArgumentError(absl::StrCat("device \"", device, "\": want cpu, cuda or cuda:0"));
    }
    if (parsed.is_cuda()) {
      const int64_t index = parsed.has_index() ? parsed.index() : 0;
      const int64_t found =
          torch::cuda::is_available() ? static_cast<int64_t>(torch::cuda::device_count()) : 0;
      if (index >= found) {
        return absl::FailedPreconditionError(absl::StrCat(
            "device ", device, ": this process sees ", found,
            " CUDA devices; check the driver, the libraries beside LibTorch and CUDA_VISIBLE_DEVICES"));
      }
      parsed = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
    }
    out = std::make_shared<const TorchBackend>(parsed);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace sluice
