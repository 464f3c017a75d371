// What became of a version that was tried on one worker.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/rl/types.h"

namespace sluice {

enum class CanaryVerdict { kPassed, kRefused, kTaken };  // kTaken: refused, and a person went on with it
const char* CanaryVerdictName(CanaryVerdict verdict);    // "passed", "refused", "taken"
std::optional<CanaryVerdict> CanaryVerdictOf(absl::string_view name);

struct CanaryRecord {
  PolicyVersion version = kNoPolicyVersion;
  CanaryVerdict verdict = CanaryVerdict::kPassed;
  double score = 0;         // not a number: no sample has a reward
  std::string worker, why;  // that tried it; it was refused
};

}  // namespace sluice
