// What --device names. Which of device_cpu.cc and device_cuda.cc defines it is decided by the build: only the
// preset "cuda" links LibTorch, and its CUDA libraries are loaded only when a CUDA device is asked for.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/decoder_backend.h"

namespace sluice {

// "cpu" or "cuda". INVALID_ARGUMENT: another name, a build without CUDA, or a machine without a CUDA device.
absl::StatusOr<std::shared_ptr<const DecoderBackend>> OpenDevice(const std::string& device);

}  // namespace sluice
