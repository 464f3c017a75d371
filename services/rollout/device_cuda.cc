// Builds of the preset "cuda".
#include "absl/strings/str_cat.h"
#include "core/model/torch_backend.h"
#include "services/rollout/device.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const DecoderBackend>> OpenDevice(const std::string& device) {
  if (device == "cpu") return std::make_shared<const KernelBackend>();
  if (device != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat("--device ", device, ": want cpu or cuda"));
  }
  absl::StatusOr<std::shared_ptr<const DecoderBackend>> backend = MakeTorchBackend(device);
  if (backend.ok()) return backend;
  return absl::InvalidArgumentError(absl::StrCat("--", backend.status().message(), "; or use --device cpu"));
}

}  // namespace sluice
