// The port to a reward service: turns completions into verdicts. Implementations: the registry's composition
// (reward/), the gRPC client (services/clients), a fake (tests/fakes). Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

struct ScoreItem {
  std::string prompt;                         // text
  std::string completion;                     // text
  std::map<std::string, std::string> fields;  // the prompt's
  int32_t completion_tokens = 0;              // 0: not known
  bool explain = false;                       // details say all that is known, over several lines
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  // One verdict for each item, in order. A checker that fails gives an INFRASTRUCTURE verdict for its item
  // only; the call itself fails only when nothing could be judged (INVALID_ARGUMENT: the spec;
  // FAILED_PRECONDITION: what the spec asks for cannot be had here; RESOURCE_EXHAUSTED: too much is under
  // way; UNAVAILABLE; DEADLINE_EXCEEDED; CANCELLED).
  virtual absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec,
                                                     absl::Span<const ScoreItem> items, absl::Time deadline,
                                                     const CancelToken& cancel) = 0;
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline) {
    return Score(spec, items, deadline, CancelToken());
  }
};

}  // namespace sluice
