// The layout of a cache block, for the functions of attention.h.
#pragma once

#include "core/kernels/attention.h"
#include "core/kernels/attention_pieces.h"

namespace sluice::kernels {

CacheHead CacheHeadOf(const AttentionShape& shape);

}  // namespace sluice::kernels
