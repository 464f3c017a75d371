// Collectives over a c10d backend (Gloo, NCCL), and c10d's rendezvous store over a KeyValue. This header
// includes LibTorch; callers use gloo_collectives.h or nccl_collectives.h.
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/comm/collectives.h"
#include "core/comm/key_value.h"

namespace sluice {

// Keys of the gang with this prefix, in `values`, which must outlive the result.
c10::intrusive_ptr<c10d::Store> MakeRendezvousStore(KeyValue* values, const std::string& gang,
                                                    absl::Time deadline);

// The backend's operations on tensors of `device`: buffers of the caller are in host memory and are copied
// there and back where the device is another.
std::unique_ptr<Collectives> MakeC10dCollectives(c10::intrusive_ptr<c10d::Backend> backend, int rank,
                                                 int size, at::Device device);

// Time left as c10d takes it, at least 1 ms.
std::chrono::milliseconds TimeLeft(absl::Time deadline);
// DEADLINE_EXCEEDED or UNAVAILABLE, with the operation and the rank in the message.
absl::Status C10dStatus(const std::string& operation, const std::exception& error, absl::Time deadline);

}  // namespace sluice
