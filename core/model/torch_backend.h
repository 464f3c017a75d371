// The decoder on a device of LibTorch: the operations of core/kernels by their reference twins, weights and
// cache in the device's memory. For devices without kernels of their own.
//
// The same numbers are multiplied as by KernelBackend (weights rounded to the packing's type, float32
// activations), in another order: results equal its results up to rounding, and may depend on the batch in
// the last bits. So EXACT and INVARIANT do not hold here; version spans say "torch-cpu" or "torch-cuda".
//
// This header is free of LibTorch: services include it beside protobuf.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/decoder_backend.h"

namespace sluice {

// `device` is "cpu", "cuda" (the first one) or "cuda:<n>". FAILED_PRECONDITION: this process or machine has
// no such device; INVALID_ARGUMENT: it is the name of none.
absl::StatusOr<std::shared_ptr<const DecoderBackend>> MakeTorchBackend(const std::string& device);

}  // namespace sluice
