// The port through which a policy's tensors are read: the learner's published folder, or its weight service
// over gRPC. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/rl/types.h"

namespace sluice {

class WeightChannel {
 public:
  virtual ~WeightChannel() = default;
  // The manifest as published (JSON, core/spec/tensors/manifest.h). NOT_FOUND: no such version (any more).
  virtual absl::StatusOr<std::string> ReadManifest(const JobId& job, PolicyVersion version,
                                                   absl::Time deadline) = 0;
  // The bytes of one tensor, in order, in chunks of at most 1 MiB.
  virtual absl::Status ReadTensor(const JobId& job, PolicyVersion version, const std::string& tensor,
                                  absl::Time deadline,
                                  const std::function<absl::Status(absl::string_view)>& on_chunk) = 0;
  // In the same way, a patch (core/weights/tensor_patch.h) that makes the tensor's bytes from those of the
  // older version `base` of its job. NOT_FOUND: one of the versions is not here (any more);
  // FAILED_PRECONDITION: the base here has another manifest, or the tensor another size in it; UNIMPLEMENTED:
  // this channel makes none. In all three cases ReadTensor is the way.
  virtual absl::Status ReadPatch(const PolicyRef& /*base*/, PolicyVersion /*version*/,
                                 const std::string& /*tensor*/, absl::Time /*deadline*/,
                                 const std::function<absl::Status(absl::string_view)>& /*on_chunk*/) {
    return absl::UnimplementedError("no patches here");
  }
  // A small file that belongs to the model: config.json, tokenizer.json, ... NOT_FOUND where the model has
  // none.
  virtual absl::StatusOr<std::string> ReadModelFile(const JobId& job, const std::string& name,
                                                    absl::Time deadline) = 0;
};

}  // namespace sluice
