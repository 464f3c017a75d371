// The pieces of the kernels that are compiled once per instruction set (linear_isa.cc, rowwise_isa.cc,
// attention*_isa.cc), and the table of the set that this process uses. What threads do, how rows are grouped
// and who owns scratch memory is decided above, in linear.cc, attention.cc and kernels.cc, compiled once.
#pragma once

#include <stdint.h>

#include "core/kernels/attention_pieces.h"
#include "core/kernels/gradient_pieces.h"
#include "core/kernels/limit_pieces.h"
#include "core/kernels/sample_pieces.h"

namespace sluice::kernels {

// Scratch memory of a LinearPiece.
constexpr int64_t kLinearScratch = 384 * 1024;

// A piece of Linear: rows by a range of panels of 16 outputs. `w` as PackedMatrix::data().
struct LinearPiece {
  const float* x;
  int64_t x_stride;
  const void* w;
  int64_t in, out;
  int64_t panel_inputs;  // k in each panel, with padding
  const float* bias;
  float* y;
  int64_t y_stride;
  int64_t row, row_end, panel, panel_end;
  void* scratch;  // LinearScratch(): [kLinearScratch] bytes, aligned to 64
  // Where weights begin that this thread will probably multiply after the piece, to be fetched meanwhile; or
  // null.
  const void* next = nullptr;
};
// The calling thread's.
void* LinearScratch();

// ApplyRope of kernels.h.
struct RopePiece {
  float* x;
  int64_t rows, row_stride, heads, head_stride, dim;
  const float *cos, *sin;
  bool interleaved;
  float* scratch;  // [dim]
};

struct KernelTable {
  const char* path;
  void (*linear_f32)(const LinearPiece& piece);   // weights float32, [panel][k][16]
  void (*linear_bf16)(const LinearPiece& piece);  // weights bfloat16, [panel][pair of k][16][2]
  int64_t panel_inputs;                           // bfloat16 panels have a multiple of this many k
  LimitPieces limits;
  void (*rms_norm)(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight,
                   float epsilon, float* y, int64_t y_stride);
  void (*apply_rope)(const RopePiece& piece);
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* y);
  void (*add)(const float* x, int64_t n, float* y);
  void (*add_scaled)(const float* x, float scale, int64_t n, float* y);
  void (*sigmoid)(float* x, int64_t n);  // in place
  void (*softmax)(float* x, int64_t n);  // in place
  SamplePieces sample;
  float (*dot)(const float* a, const float* b, int64_t n);
  AttentionPieces attention;
  GradientPieces gradients;
};

namespace generic {
KernelTable Table();
}
namespace avx2 {
KernelTable Table();
}
namespace avx512 {
KernelTable Table();
}
namespace avx512_bf16 {
void LinearDottedIsa(const LinearPiece& piece);  // vdpbf16ps
void AttentionDottedIsa(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
int64_t MultiplyDottedLimitIsa(int64_t rounds);
void LinearAmxIsa(const LinearPiece& piece);  // the process must have been given the tiles
int64_t MultiplyAmxLimitIsa(int64_t rounds);
}  // namespace avx512_bf16
namespace amx_emulated {
void LinearAmxIsa(const LinearPiece& piece);
int64_t MultiplyAmxLimitIsa(int64_t rounds);
}  // namespace amx_emulated

const KernelTable& ActiveKernels();

}  // namespace sluice::kernels
