// The pieces of the kernels that are compiled once per instruction set (linear_isa.cc, rowwise_isa.cc,
// attention_isa.cc), and the table of the set that this process uses. What threads do, how rows are grouped
// and who owns scratch memory is decided above, in linear.cc, attention.cc and rowwise.cc, compiled once.
#pragma once

#include <stdint.h>

namespace sluice::kernels {

// A piece of Linear: rows by a range of panels of 16 outputs. `w` as PackedMatrix::data().
struct LinearPiece {
  const float* x;
  int64_t x_stride;
  const void* w;
  bool is_bf16;
  int64_t in, out;
  const float* bias;
  float* y;
  int64_t y_stride;
  int64_t row, row_end, panel, panel_end;
};

// Consecutive rows that read the same blocks. q, out and so on point to the first of them.
struct AttentionGroup {
  const float* q;              // [rows, heads, c + dr]
  const float* const* blocks;  // [block] -> [64, c + dr]
  const int64_t* lengths;      // by row
  int64_t rows, heads, c, dr;
  float scale;
};

struct AttentionBackwardGroup {
  AttentionGroup forward;
  const float* out;          // [rows, heads, c]
  const float* log_sum_exp;  // [rows, heads]
  const float* d_out;        // [rows, heads, c]
  const float* d_dot;        // [rows, heads]: sum of d_out * out
};

struct KernelTable {
  const char* path;
  void (*linear)(const LinearPiece& piece);
  void (*rms_norm)(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight,
                   float epsilon, float* y, int64_t y_stride);
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* y);
  void (*add)(const float* x, int64_t n, float* y);
  void (*add_scaled)(const float* x, float scale, int64_t n, float* y);
  void (*sigmoid)(float* x, int64_t n);  // in place
  void (*softmax)(float* x, int64_t n);  // in place
  // The maximum m of z = logits / temperature, then the sums of e and of e (z - m), e = exp(z - m).
  void (*log_softmax_sums)(const float* logits, int64_t vocab, float inverse_temperature, float* max,
                           float* sum, float* weighted);
  float (*dot)(const float* a, const float* b, int64_t n);
  // Scratch in floats: AttentionScratch(rows * heads, c + dr).
  void (*attention)(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
  // Gradients of the scores of block `b` into d_scores [rows * heads, 64]; adds its share to d_block unless
  // null.
  void (*attention_backward_block)(const AttentionBackwardGroup& group, int64_t b, float* d_block,
                                   float* d_scores, float* scratch);
  // d_q of rows [row, row_end) of the group, from d_scores [blocks][rows * heads, 64].
  void (*attention_backward_queries)(const AttentionGroup& group, int64_t row, int64_t row_end,
                                     const float* d_scores, float* d_q, float* scratch);
};

// Enough for each of the three, `m` = rows * heads of the group and `width` = c + dr.
constexpr int64_t AttentionScratch(int64_t m, int64_t width) {
  return 64 * width + 64 * 16 + m * (2 * 64 + 3) + 2 * 64 * 64 + 64 * (width + 16);
}

namespace generic {
KernelTable Table();
}
namespace avx2 {
KernelTable Table();
}
namespace avx512 {
KernelTable Table();
}

const KernelTable& ActiveKernels();

}  // namespace sluice::kernels
