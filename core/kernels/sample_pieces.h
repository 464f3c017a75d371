// The pieces of sample.h that are compiled once per instruction set.
#pragma once

#include <stdint.h>

namespace sluice::kernels {

// Weights exp(logits * inverse_temperature - max) and their sums by block of 256.
struct LogitWeightsPiece {
  const float* logits;
  int64_t n;
  float inverse_temperature, max;
  float* weights;         // [n] or null
  float* block_sums;      // [n / 256, rounded up]
  float* block_weighted;  // sums of weight * log weight by block, or null
};

struct SamplePieces {
  // Maxima by block of 256; returns the greatest.
  float (*maxima)(const float* logits, int64_t n, float* block_maxima);
  void (*weights)(const LogitWeightsPiece& piece);
  // Writes first_id + i of each x[i] >= least, rising; returns how many.
  int64_t (*select)(const float* x, int64_t n, float least, int32_t first_id, int32_t* ids);
};

}  // namespace sluice::kernels
