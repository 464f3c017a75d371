// The packed weights of the last versions, for the audit. Bounded; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/model/decoder.h"
#include "core/rl/types.h"

namespace sluice {

class KeptVersions {
 public:
  static constexpr int64_t kBytes = int64_t{512} << 20;  // after Trim
  static constexpr size_t kVersions = 16;

  // Null: not kept.
  std::shared_ptr<const DecoderWeights> Find(PolicyVersion version, const std::string& manifest_hash) const {
    auto found = kept_.find(version);
    return found != kept_.end() && found->second.first == manifest_hash ? found->second.second : nullptr;
  }
  void Keep(PolicyVersion version, const std::string& manifest_hash,
            std::shared_ptr<const DecoderWeights> weights) {
    kept_[version] = {manifest_hash, std::move(weights)};
  }
  // Forgets the oldest ones until the rest is within the bounds.
  void Trim() {
    int64_t bytes = 0;
    for (const auto& [version, kept] : kept_) bytes += PackedBytes(*kept.second);
    while (!kept_.empty() && (bytes > kBytes || kept_.size() > kVersions)) {
      bytes -= PackedBytes(*kept_.begin()->second.second);
      kept_.erase(kept_.begin());
    }
  }

 private:
  std::map<PolicyVersion, std::pair<std::string, std::shared_ptr<const DecoderWeights>>> kept_;
};

}  // namespace sluice
