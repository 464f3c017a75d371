#include "core/comm/nccl_collectives.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "absl/strings/str_cat.h"
#include "core/comm/c10d_collectives.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<Collectives>> ConnectNccl(const NcclOptions& options, KeyValue* store,
                                                         absl::Time deadline) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " of ", options.size, " ranks"));
  }
  if (std::getenv("NCCL_SOCKET_IFNAME") == nullptr) {
    return absl::FailedPreconditionError(
        "NCCL would listen on every interface: set NCCL_SOCKET_IFNAME to the one to use");
  }
  try {
    const int seen = static_cast<int>(torch::cuda::device_count());
    if (options.device < 0 || options.device >= seen) {
      return absl::FailedPreconditionError(
          absl::StrCat("CUDA device ", options.device, ": this process sees ", seen, " devices"));
    }
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    nccl->timeout = TimeLeft(deadline);
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
        MakeRendezvousStore(store, options.gang, deadline), options.rank, options.size, nccl);
    return MakeC10dCollectives(std::move(group), options.rank, options.size,
                               at::Device(at::kCUDA, static_cast<at::DeviceIndex>(options.device)));
  } catch (const std::exception& error) {
    return C10dStatus("connecting the ranks", error, deadline);
  }
}

}  // namespace sluice
