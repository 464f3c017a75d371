#include "core/kernels/attention_forward.h"

namespace sluice::kernels::SLUICE_ISA {

void AttentionIsa(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  Attend<FloatMath>(g, out, log_sum_exp, memory);
}

void AttentionWidenedIsa(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  Attend<WidenedMath>(g, out, log_sum_exp, memory);
}

}  // namespace sluice::kernels::SLUICE_ISA
