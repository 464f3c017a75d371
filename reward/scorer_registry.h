// Which scorers a reward service has, by the names of RewardComponent's oneof: "math", "regex", "expression",
// "length". Filled once, then only read; reading is thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "reward/item_scorer.h"

namespace sluice {

// The name of the alternative that `spec` holds.
const char* ScorerName(const ScorerSpec& spec);

class ScorerRegistry {
 public:
  // INVALID_ARGUMENT: the spec's parameters.
  using Factory = std::function<absl::StatusOr<std::unique_ptr<ItemScorer>>(const ScorerSpec&)>;

  // The scorers of this folder.
  static ScorerRegistry Builtin();

  // ALREADY_EXISTS: a second one of a name.
  absl::Status Register(const std::string& name, Factory factory);
  // INVALID_ARGUMENT also where there is no scorer of that name; the message lists those there are.
  absl::StatusOr<std::unique_ptr<ItemScorer>> Make(const ScorerSpec& spec) const;

 private:
  std::map<std::string, Factory> factories_;
};

}  // namespace sluice
