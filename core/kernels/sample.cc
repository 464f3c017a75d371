#include "core/kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>

#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

// Most probable first; lower ids first among equals.
struct Before {
  const float* logits;
  bool operator()(int32_t a, int32_t b) const {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  }
};

float* BlockBuffer(int64_t floats) {
  thread_local std::vector<float> memory;
  if (static_cast<int64_t>(memory.size()) < floats) memory.resize(floats);
  return memory.data();
}

double SumOf(const float* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

SoftmaxSums SumsOf(const LogitWeightsPiece& piece) {
  ActiveKernels().sample.weights(piece);
  SoftmaxSums sums = {piece.inverse_temperature, piece.max, 0, 0};
  sums.total = SumOf(piece.block_sums, LogitBlocks(piece.n));
  sums.log_total = static_cast<float>(std::log(sums.total));
  return sums;
}

void AllIds(int64_t vocab, std::vector<int32_t>* ids) {
  ids->resize(vocab);
  std::iota(ids->begin(), ids->end(), 0);
}

// Ids with values of at least `least`, rising, from the blocks whose maxima reach it.
void SelectAtLeast(const float* values, int64_t vocab, const float* block_maxima, float least,
                   std::vector<int32_t>* ids) {
  ids->resize(vocab + 16);
  int64_t count = 0;
  for (int64_t b = 0; b < LogitBlocks(vocab); ++b) {
    if (!(block_maxima[b] >= least)) continue;
    const int64_t first = b * kLogitBlock;
    count += ActiveKernels().sample.select(values + first, std::min(kLogitBlock, vocab - first), least,
                                           static_cast<int32_t>(first), ids->data() + count);
  }
  ids->resize(count);
}

// The `count` greatest, in no order.
void KeepGreatest(const float* logits, int64_t vocab, const float* block_maxima, int64_t count,
                  std::vector<int32_t>* ids) {
  const int64_t blocks = LogitBlocks(vocab);
  if (count <= blocks) {
    // At least `count` logits reach the count-th greatest maximum.
    std::vector<float> maxima(block_maxima, block_maxima + blocks);
    std::nth_element(maxima.begin(), maxima.begin() + (count - 1), maxima.end(), std::greater<float>());
    SelectAtLeast(logits, vocab, block_maxima, maxima[count - 1], ids);
  } else {
    AllIds(vocab, ids);
  }
  if (static_cast<int64_t>(ids->size()) <= count) return;
  std::nth_element(ids->begin(), ids->begin() + count, ids->end(), Before{logits});
  ids->resize(count);
}

// Weights summed by how far their logits are below the greatest, in steps of 1/16 nat.
class Ladder {
 public:
  explicit Ladder(const WeighedLogits& row) : row_(row), scale_(row.inverse_temperature * 16) {}
  int Step(int32_t id) const {
    return static_cast<int>(std::min((row_.greatest - row_.logits[id]) * scale_, kSteps - 1.0f));
  }
  // The first step at which the cumulative weight reaches `wanted`, and the weight before it.
  int Reach(const std::vector<int32_t>& ids, double wanted, double* before) const {
    std::vector<double> sums(kSteps, 0.0);
    for (const int32_t id : ids) sums[Step(id)] += row_.weights[id];
    int step = 0;
    for (*before = 0; step < kSteps - 1 && *before + sums[step] < wanted; ++step) *before += sums[step];
    return step;
  }

 private:
  static constexpr int kSteps = 104 * 16;  // below that a weight is 0
  const WeighedLogits& row_;
  const float scale_;
};

// Leaves of `ids` (rising; empty: all of the row) those that weigh at least `least`.
void DropLighter(const WeighedLogits& row, float least, std::vector<int32_t>* ids) {
  if (!ids->empty()) {
    std::erase_if(*ids, [&](int32_t id) { return row.weights[id] < least; });
    return;
  }
  ids->resize(row.vocab + 16);
  ids->resize(ActiveKernels().sample.select(row.weights, row.vocab, least, 0, ids->data()));
}

// Leaves of `ids` (rising; empty: all of the row) the smallest set of the most probable with `share` of
// `total`, their weight.
void KeepNucleus(const WeighedLogits& row, double share, double total, std::vector<int32_t>* ids) {
  const double wanted = share * total, count = static_cast<double>(ids->empty() ? row.vocab : ids->size());
  // All that are lighter than this together weigh less than what may be left out, so none of them is needed.
  DropLighter(row, static_cast<float>((1 - share) * total / count * (1 - 1e-6)), ids);
  const Ladder ladder(row);
  double sum = 0;
  const int step = ladder.Reach(*ids, wanted, &sum);
  std::vector<int32_t> border;
  std::copy_if(ids->begin(), ids->end(), std::back_inserter(border),
               [&](int32_t id) { return ladder.Step(id) == step; });
  if (border.empty()) return;  // rounding: all of them are needed
  const Before before{row.logits};
  std::sort(border.begin(), border.end(), before);
  size_t last = 0;
  for (sum += row.weights[border[0]]; last + 1 < border.size() && sum < wanted;)
    sum += row.weights[border[++last]];
  std::erase_if(*ids, [&](int32_t id) { return before(border[last], id); });
}

}  // namespace

GreatestLogit FindGreatest(const float* logits, int64_t vocab, float* block_maxima) {
  const float greatest = ActiveKernels().sample.maxima(logits, vocab, block_maxima);
  const int64_t blocks = LogitBlocks(vocab);
  const int64_t first =
      (std::find(block_maxima, block_maxima + blocks, greatest) - block_maxima) * kLogitBlock;
  const float* const end = logits + vocab;
  const float* const at = std::find(logits + std::min(first, vocab), end, greatest);
  return {greatest, at == end ? 0 : static_cast<int32_t>(at - logits)};
}

SoftmaxSums SumWeights(const float* logits, int64_t vocab, float greatest, float temperature, float* weights,
                       float* block_sums) {
  const float inverse = 1.0f / temperature;
  return SumsOf({logits, vocab, inverse, greatest * inverse, weights, block_sums, nullptr});
}

SoftmaxSums LogSoftmaxSums(const float* logits, int64_t vocab, float temperature, float* entropy) {
  const int64_t blocks = LogitBlocks(vocab);
  float* const buffer = BlockBuffer(2 * blocks);
  const float inverse = 1.0f / temperature;
  // The maximum of the scaled values is the scaled maximum: rounding is monotone and the scale positive.
  const float max = ActiveKernels().sample.maxima(logits, vocab, buffer) * inverse;
  float* const weighted = entropy == nullptr ? nullptr : buffer + blocks;
  const SoftmaxSums sums = SumsOf({logits, vocab, inverse, max, nullptr, buffer, weighted});
  if (entropy != nullptr) {
    *entropy = static_cast<float>(std::log(sums.total) - SumOf(weighted, blocks) / sums.total);
  }
  return sums;
}

float LogSoftmaxAt(const float* logits, int64_t vocab, int32_t target, float temperature, float* entropy) {
  return LogProbability(LogSoftmaxSums(logits, vocab, temperature, entropy), logits[target]);
}

int32_t InvertWeights(const float* weights, const float* block_sums, int64_t vocab, double total,
                      double uniform) {
  const double target = uniform * total;
  double sum = 0;
  int64_t block = 0, last = 0;
  for (int64_t b = 0; b < LogitBlocks(vocab); ++b) {
    if (block_sums[b] <= 0) continue;
    block = b;
    if (sum + block_sums[b] > target) break;
    sum += block_sums[b];
  }
  last = block * kLogitBlock;
  for (int64_t i = last; i < std::min(vocab, (block + 1) * kLogitBlock); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return static_cast<int32_t>(last);
}

int32_t InvertWeightsOf(const std::vector<int32_t>& ids, const float* weights, double total, double uniform) {
  const double target = uniform * total;
  double sum = 0;
  int32_t last = ids.front();
  for (const int32_t id : ids) {
    if (weights[id] <= 0) continue;
    last = id;
    sum += weights[id];
    if (sum > target) break;
  }
  return last;
}

double TotalWeight(const std::vector<int32_t>& ids, const float* weights) {
  double total = 0;
  for (const int32_t id : ids) total += weights[id];
  return total;
}

void TopLogits(const float* logits, int64_t vocab, const float* block_maxima, int64_t count,
               std::vector<int32_t>* ids) {
  ids->clear();
  if (count <= 0) return;
  KeepGreatest(logits, vocab, block_maxima, std::min(count, vocab), ids);
  std::sort(ids->begin(), ids->end(), Before{logits});
}

void FilterTokens(const WeighedLogits& row, const TokenFilter& filter, std::vector<int32_t>* ids) {
  ids->clear();
  double total = row.total;
  if (filter.top_k > 0 && filter.top_k < row.vocab) {
    KeepGreatest(row.logits, row.vocab, row.block_maxima, filter.top_k, ids);
    std::sort(ids->begin(), ids->end());  // the order of the sum is part of the result
    total = TotalWeight(*ids, row.weights);
  }
  if (filter.top_p < 1) KeepNucleus(row, filter.top_p, total, ids);
  // The most probable one weighs 1.
  if (filter.min_p > 0) DropLighter(row, filter.min_p, ids);
  if (ids->empty()) AllIds(row.vocab, ids);
}

}  // namespace sluice::kernels
