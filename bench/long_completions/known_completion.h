// Completions that are known beforehand: every token, log-probability and expert is a function of its place,
// so that each process can check what reached it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/rl/types.h"

namespace sluice::bench {

struct CompletionShape {
  int32_t tokens = 16384;  // of the longest; the shortest has three quarters
  int32_t moe_layers = 48, per_token = 8;
};

int32_t TokensOf(const CompletionShape& shape, SampleKey key);
// Tokens [begin, end) without spans, as a part (core/rl/trajectory_parts) has them; from 0 to the last token
// it is the whole, finished.
Trajectory KnownPart(const CompletionShape& shape, SampleKey key, int32_t prompt_tokens, int32_t begin,
                     int32_t end);
// DATA_LOSS names what of the first tokens, up to those it has, is not as KnownPart has it.
absl::Status CheckKnown(const CompletionShape& shape, int32_t prompt_tokens, const Trajectory& whole);

}  // namespace sluice::bench
