// Builds of the preset "cuda".
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/model/torch_backend.h"
#include "services/rollout/device.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const DecoderBackend>> OpenDevice(const std::string& device) {
  if (device == "cpu") return std::make_shared<const KernelBackend>();
  if (device != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat("--device ", device, ": want cpu or cuda"));
  }
  // The library registers its devices when it is loaded; its dependencies come with it. Not linked: the
  // thread-local memory of these libraries would not fit beside the small stacks of the metrics server's
  // threads.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device cuda: ", dlerror(), "; run deploy/setup/install.sh --cuda, or use --device cpu"));
  }
  absl::StatusOr<std::shared_ptr<const DecoderBackend>> backend = MakeTorchBackend(device);
  if (backend.ok()) return backend;
  return absl::InvalidArgumentError(absl::StrCat("--", backend.status().message(), "; or use --device cpu"));
}

}  // namespace sluice
