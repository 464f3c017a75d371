// The layout of a cache block, for the functions of attention.h.
#pragma once

#include "core/kernels/attention.h"
#include "core/kernels/attention_pieces.h"

namespace sluice::kernels {

CacheHead CacheHeadOf(const AttentionShape& shape);

// Rounds n values to bfloat16, nearest even; NaN stays NaN.
void RoundToBF16(float* values, int64_t n);

}  // namespace sluice::kernels
