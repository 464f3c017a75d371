#include "core/comm/gloo_collectives.h"

#include <ATen/ATen.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "absl/strings/str_cat.h"
#include "core/comm/c10d_collectives.h"

namespace sluice {
namespace {

// c10d's flight recorder is one per process and is not safe when several groups of one process call it at
// once (a test's ranks do). It is switched off before its first use; an operator's own setting stays.
void SwitchOffFlightRecorder() {
  [[maybe_unused]] static const int once = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Collectives>> ConnectGloo(const GlooOptions& options, KeyValue* store,
                                                         absl::Time deadline) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " of ", options.size, " ranks"));
  }
  if (options.address.empty() == options.interface_name.empty()) {
    return absl::InvalidArgumentError(
        "Gloo needs an address or the name of an interface to listen on, not both");
  }
  SwitchOffFlightRecorder();
  try {
    auto gloo = c10d::ProcessGroupGloo::Options::create(TimeLeft(deadline));
    gloo->threads = 1;
    gloo->devices.push_back(options.interface_name.empty()
                                ? c10d::ProcessGroupGloo::createDeviceForHostname(options.address)
                                : c10d::ProcessGroupGloo::createDeviceForInterface(options.interface_name));
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        MakeRendezvousStore(store, options.gang, deadline), options.rank, options.size, gloo);
    return MakeC10dCollectives(std::move(group), options.rank, options.size, at::kCPU);
  } catch (const std::exception& error) {
    return C10dStatus("connecting the ranks", error, deadline);
  }
}

}  // namespace sluice
