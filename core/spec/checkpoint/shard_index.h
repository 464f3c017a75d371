// Which files hold a model's tensors.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace sluice {

// Files of tensors by name; with an index, which tensors it places in each.
using Shards = std::map<std::string, std::optional<std::set<std::string>>>;

// model.safetensors of `directory`, or what model.safetensors.index.json names. Files are plain names in that
// folder.
absl::StatusOr<Shards> FindShards(const std::string& directory);

}  // namespace sluice
