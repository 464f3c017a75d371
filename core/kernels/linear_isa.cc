#include "core/kernels/isa_pieces.h"
#include "core/kernels/tile.h"

namespace sluice::kernels::SLUICE_ISA {

template <typename Weight>
static void LinearOf(const LinearPiece& p) {
  Product<Weight> product = {
      p.x, p.x_stride, static_cast<const Weight*>(p.w), kLanes, p.in * kLanes, p.in, p.out, p.y, p.y_stride};
  product.bias = p.bias;
  Multiply(product, p.row, p.row_end, p.panel, p.panel_end);
}

void LinearIsa(const LinearPiece& piece) {
  if (piece.is_bf16) {
    LinearOf<uint16_t>(piece);
  } else {
    LinearOf<float>(piece);
  }
}

#define SLUICE_NAME_OF(isa) "cpu-" #isa
#define SLUICE_PATH_OF(isa) SLUICE_NAME_OF(isa)

KernelTable Table() {
  return {SLUICE_PATH_OF(SLUICE_ISA),
          LinearIsa,
          RmsNormIsa,
          SwiGluIsa,
          AddIsa,
          AddScaledIsa,
          SigmoidIsa,
          SoftmaxIsa,
          LogSoftmaxSumsIsa,
          DotIsa,
          {AttentionIsa, AttentionBackwardBlockIsa, AttentionBackwardQueriesIsa}};
}

}  // namespace sluice::kernels::SLUICE_ISA
