// From logits to probabilities: what a sampler needs of a row of [vocab] logits, and the log-probability that
// engine and learner report, from one implementation.
//
// A pure function of the row: sums are taken over blocks of kLogitBlock values in 16 lanes and a fixed tree,
// then over the blocks in rising order in double (invariant INVARIANT). A logit may be -infinity (probability
// 0). One that is NaN or +infinity, or a row of only -infinity, makes SoftmaxSums::log_total NaN: check that
// before anything else is believed. Thread-safe; nothing here divides its work.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::kernels {

constexpr int64_t kLogitBlock = 256;
constexpr int64_t LogitBlocks(int64_t vocab) { return (vocab + kLogitBlock - 1) / kLogitBlock; }

// The greatest logit and the lowest id that has it. NaN are passed over.
struct GreatestLogit {
  float logit = 0;
  int32_t id = 0;
};
// block_maxima [LogitBlocks(vocab)]: the greatest of each block.
GreatestLogit FindGreatest(const float* logits, int64_t vocab, float* block_maxima);

struct SoftmaxSums {
  float inverse_temperature = 1;
  float max = 0;        // the greatest logit * inverse_temperature
  double total = 0;     // of the weights exp(logit * inverse_temperature - max)
  float log_total = 0;  // natural log of total, taken in double
};
// `greatest` as FindGreatest gives it, temperature > 0. weights [vocab] and block_sums [LogitBlocks(vocab)]
// receive the weights and their sums by block.
SoftmaxSums SumWeights(const float* logits, int64_t vocab, float greatest, float temperature, float* weights,
                       float* block_sums);
// The natural log of the probability of a token with this logit, in the softmax that `sums` was made of.
inline float LogProbability(const SoftmaxSums& sums, float logit) {
  return (logit * sums.inverse_temperature - sums.max) - sums.log_total;
}
// SumWeights of the row without keeping the weights: log-probabilities of as many tokens as wanted. `entropy`
// (nats) may be null. The same bits as from FindGreatest and SumWeights.
SoftmaxSums LogSoftmaxSums(const float* logits, int64_t vocab, float temperature, float* entropy);

// The first id whose cumulative weight, over rising ids, exceeds `uniform` (in [0, 1)) of the total: the
// block is found by block_sums, the id in it by its weights. Ids of weight 0 are never returned.
int32_t InvertWeights(const float* weights, const float* block_sums, int64_t vocab, double total,
                      double uniform);
// The same over some ids, rising, whose weights sum up to `total` = TotalWeight.
int32_t InvertWeightsOf(const std::vector<int32_t>& ids, const float* weights, double total, double uniform);
// The sum of the weights of `ids`, in their order.
double TotalWeight(const std::vector<int32_t>& ids, const float* weights);

// The ids of the `count` greatest logits, greatest first, the lower id first among equals; `block_maxima` as
// of FindGreatest. count >= vocab gives them all.
void TopLogits(const float* logits, int64_t vocab, const float* block_maxima, int64_t count,
               std::vector<int32_t>* ids);

// Which tokens may be sampled: of all, the top_k greatest (0: all); of those, the smallest set of the most
// probable with at least top_p of their weight (>= 1: all); of those, the ones with at least min_p of the
// greatest weight.
struct TokenFilter {
  int64_t top_k = 0;
  float top_p = 1, min_p = 0;
  bool KeepsAll(int64_t vocab) const { return (top_k <= 0 || top_k >= vocab) && top_p >= 1 && min_p <= 0; }
};
// A row and what was found out about it.
struct WeighedLogits {
  const float* logits = nullptr;
  const float* weights = nullptr;       // of SumWeights
  const float* block_maxima = nullptr;  // of FindGreatest
  int64_t vocab = 0;
  float greatest = 0;  // of FindGreatest
  float inverse_temperature = 1;
  double total = 0;  // of SumWeights
};
// The ids that the filter leaves, rising; at least one.
void FilterTokens(const WeighedLogits& row, const TokenFilter& filter, std::vector<int32_t>* ids);

}  // namespace sluice::kernels
