// The functions behind one KernelTable, in the namespace of the instruction set being compiled.
#pragma once

#include <stdint.h>

#include "core/kernels/kernel_table.h"

#ifndef SLUICE_ISA
#define SLUICE_ISA generic
#define SLUICE_ISA_GENERIC 1
#endif

namespace sluice::kernels::SLUICE_ISA {

void LinearIsa(const LinearPiece& piece);
void LinearWidenedIsa(const LinearPiece& piece);
int64_t MultiplyLimitIsa(int64_t rounds);
void ReadLimitIsa(const void* memory, int64_t bytes);
void RmsNormIsa(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight,
                float epsilon, float* y, int64_t y_stride);
void ApplyRopeIsa(const RopePiece& piece);
void SwiGluIsa(const float* gate, const float* up, int64_t n, float* y);
void AddIsa(const float* x, int64_t n, float* y);
void AddScaledIsa(const float* x, float scale, int64_t n, float* y);
void SigmoidIsa(float* x, int64_t n);
void SoftmaxIsa(float* x, int64_t n);
float LogitMaximaIsa(const float* logits, int64_t n, float* block_maxima);
void LogitWeightsIsa(const LogitWeightsPiece& piece);
int64_t SelectAtLeastIsa(const float* x, int64_t n, float least, int32_t first_id, int32_t* ids);
float DotIsa(const float* a, const float* b, int64_t n);
void CacheStoreIsa(const CacheHead& cache, std::byte* part, int64_t slot, const float* key,
                   const float* value);
void AttentionIsa(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
void AttentionWidenedIsa(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
void AttentionBackwardBlockIsa(const AttentionBackwardGroup& group, int64_t b, const BlockGradient* gradient,
                               float* d_scores, float* scratch);
void AttentionBackwardQueriesIsa(const AttentionGroup& group, int64_t row, int64_t row_end,
                                 const float* d_scores, float* d_q, float* scratch);
void RmsNormBackwardIsa(const RmsNormGradientPiece& piece);
void SwiGluBackwardIsa(const float* d_act, const float* gate, const float* up, int64_t n, float* act,
                       float* d_gate, float* d_up);
void LogitGradientIsa(const LogitGradientPiece& piece);

}  // namespace sluice::kernels::SLUICE_ISA
