// How an attempt ended.
#pragma once

namespace sluice {

// done: all its samples came; lost: its worker's lease or its deadline ran out, or the coordinator restarted;
// hedge_lost: another attempt was first.
enum class AttemptOutcome { kDone, kLost, kFailed, kCancelled, kHedgeLost };

}  // namespace sluice
