#include "core/kernels/isa_pieces.h"
#include "core/kernels/pair_linear.h"
#include "core/kernels/tile.h"

namespace sluice::kernels::SLUICE_ISA {

Activations<float> WidenedPairs::Prepare(const LinearPiece& p, int64_t row, int64_t rows, int64_t k,
                                         int64_t count) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  const float* x = p.x + row * p.x_stride + k;
  if (p.x_stride % (kPage / 2) != 0 || rows <= 4) return {x, p.x_stride};
  float* copy = static_cast<float*>(p.scratch);
  const int64_t stride = (count + kLanes - 1) / kLanes * kLanes + kLanes;
  for (int64_t r = 0; r < rows; ++r)
    __builtin_memcpy(copy + r * stride, x + r * p.x_stride, count * sizeof(float));
  return {copy, stride};
}

void LinearWidenedIsa(const LinearPiece& p) { LinearOfPairs<WidenedPairs>(p); }

void LinearIsa(const LinearPiece& p) {
  Product<float> product = {
      p.x, p.x_stride, static_cast<const float*>(p.w), kLanes, p.in * kLanes, p.in, p.out, p.y, p.y_stride};
  product.bias = p.bias;
  Multiply(product, p.row, p.row_end, p.panel, p.panel_end);
}

#define SLUICE_NAME_OF(isa) "cpu-" #isa
#define SLUICE_PATH_OF(isa) SLUICE_NAME_OF(isa)

KernelTable Table() {
  return {SLUICE_PATH_OF(SLUICE_ISA),
          LinearIsa,
          LinearWidenedIsa,
          2,
          {MultiplyLimitIsa, MultiplyLimitIsa, ReadLimitIsa},
          RmsNormIsa,
          ApplyRopeIsa,
          SwiGluIsa,
          AddIsa,
          AddScaledIsa,
          SigmoidIsa,
          SoftmaxIsa,
          {LogitMaximaIsa, LogitWeightsIsa, SelectAtLeastIsa},
          DotIsa,
          {CacheStoreIsa, AttentionIsa, AttentionWidenedIsa, false, AttentionBackwardBlockIsa,
           AttentionBackwardQueriesIsa},
          {RmsNormBackwardIsa, SwiGluBackwardIsa, LogitGradientIsa}};
}

}  // namespace sluice::kernels::SLUICE_ISA
