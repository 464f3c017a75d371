// The manifest of a policy version: every tensor with its type, shape and SHA-256 (invariant ATTEST).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/types.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

struct ManifestTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  PolicyVersion parent = kNoPolicyVersion;
  std::vector<ManifestTensor> tensors;             // by rising name
  std::map<std::string, std::string> model_files;  // name -> SHA-256
};

// Canonical JSON: the same manifest gives the same bytes. Its SHA-256 names the version's content.
std::string SerializeManifest(const Manifest& manifest);
absl::StatusOr<Manifest> ParseManifest(
    absl::string_view json);  // bounded; refuses duplicates and wrong sizes
std::string ManifestHash(absl::string_view manifest_json);

}  // namespace sluice
