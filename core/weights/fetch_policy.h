// The receiving side of a policy: reads a version through a channel and checks all of it (invariant ATTEST).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/rl/types.h"
#include "core/rl/weight_channel.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/tensors/manifest.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

struct FetchLimits {
  int64_t manifest_bytes = int64_t{64} << 20;
  int64_t tensor_bytes = int64_t{1} << 42;        // of all tensors together
  int64_t model_file_bytes = int64_t{512} << 20;  // of one file
};

// An older version of the same job that is at hand: what did not change since is taken from it.
struct FetchBase {
  WeightChannel& channel;
  PolicyRef policy;
};

struct FetchedPolicy {
  Manifest manifest;
  TensorMap tensors;
  ModelFiles files;
  int64_t bytes = 0;          // received, of everything
  int64_t patched_bytes = 0;  // of the tensors that were made from the base's
};

// With a base, tensors travel as patches where the channel makes them; each is checked like any other, and
// read whole where its patch does not give what the manifest says.
// DATA_LOSS, naming what, when the manifest, a tensor or a model file is not what `policy` or the manifest
// says; RESOURCE_EXHAUSTED above a limit; DEADLINE_EXCEEDED; or the channel's error.
absl::StatusOr<FetchedPolicy> FetchPolicy(WeightChannel& channel, const PolicyRef& policy,
                                          absl::Time deadline, const FetchLimits& limits = FetchLimits(),
                                          const Clock& clock = Clock::Real(),
                                          const FetchBase* base = nullptr);

}  // namespace sluice
