// Which scorers a reward service has, by the names of RewardComponent's oneof: "math", "regex", "tags", ...
// Filled once, then only read; reading is thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "reward/item_scorer.h"
#include "reward/judge_call.h"

namespace sluice {

// The name of the alternative that `spec` holds.
const char* ScorerName(const ScorerSpec& spec);
// Of every scorer that a spec can ask for, whether or not this service has it.
std::vector<std::string> ScorerNames();

class ScorerRegistry {
 public:
  // INVALID_ARGUMENT: the spec's parameters. FAILED_PRECONDITION: what it asks for cannot be had here; the
  // message says how to get it.
  using Factory = std::function<absl::StatusOr<std::unique_ptr<ItemScorer>>(const ScorerSpec&)>;
  using BatchFactory = std::function<absl::StatusOr<std::unique_ptr<BatchScorer>>(const ScorerSpec&)>;

  // The scorers of this folder that need nothing else.
  static ScorerRegistry Builtin();

  // ALREADY_EXISTS: a second one of a name.
  absl::Status Register(const std::string& name, Factory factory);
  absl::Status RegisterBatch(const std::string& name, BatchFactory factory);
  // INVALID_ARGUMENT also where there is no scorer of that name; the message lists those there are.
  absl::StatusOr<std::unique_ptr<ItemScorer>> Make(const ScorerSpec& spec) const;
  // As Make, of either kind; without a place.
  absl::StatusOr<ComponentScorer> MakeComponent(const ScorerSpec& spec) const;
  std::vector<std::string> names() const;  // sorted

 private:
  absl::Status Unknown(const ScorerSpec& spec) const;

  std::map<std::string, Factory> factories_;
  std::map<std::string, BatchFactory> batch_factories_;
};

}  // namespace sluice
