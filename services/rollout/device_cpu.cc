// Builds without CUDA.
#include "absl/strings/str_cat.h"
#include "services/rollout/device.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const DecoderBackend>> OpenDevice(const std::string& device) {
  if (device == "cpu") return std::make_shared<const KernelBackend>();
  if (device == "cuda") {
    return absl::InvalidArgumentError(
        "--device cuda: this sluice-rollout was built without CUDA; build it with \"cmake --preset cuda\" "
        "(after "
        "deploy/setup/install.sh --cuda), or use --device cpu");
  }
  return absl::InvalidArgumentError(absl::StrCat("--device ", device, ": want cpu or cuda"));
}

}  // namespace sluice
