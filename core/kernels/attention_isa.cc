// Attention of one group over one head of the cache: flash attention (Dao et al. 2022, algorithm 1) with its
// products on the tiles of tile.h. Scores have their lanes over positions, so that no sum runs across lanes.
#include <math.h>

#include "core/kernels/attention_block.h"
#include "core/kernels/isa_pieces.h"
#include "core/kernels/tile.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

struct Scratch {
  float *turned, *scores, *max, *sum, *correction;
};
Scratch Divide(float* memory, int64_t m, const CacheHead& cache) {
  Scratch s;
  s.turned = memory;
  s.scores = s.turned + kTokens * cache.key_dim;
  s.max = s.scores + m * kTokens;
  s.sum = s.max + m;
  s.correction = s.sum + m;
  return s;
}

// One head's scores of one block, in place, become exponentials below the new running maximum; the running
// sum is rescaled. Returns what earlier sums are multiplied with.
float SoftmaxStep(float* scores, int64_t n, float scale, float* max, float* sum) {
  const float lowest = -__builtin_inff();
  Lanes best = Splat(lowest);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes s =
        Mul(n - i >= kLanes ? Load(scores + i) : LoadFirst(scores + i, n - i, lowest), Splat(scale));
    Store(scores + i, s);
    best = Max(s, best);
  }
  const float block_max = MaxOf(best);
  const float new_max = block_max > *max ? block_max : *max;
  const float correction = ExpOne(*max - new_max);
  Lanes total = Splat(0.0f);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes p = Exp(Sub(Load(scores + i), Splat(new_max)));
    Store(scores + i, p);
    total = Add(total, p);
  }
  *sum = *sum * correction + Sum(total);
  *max = new_max;
  return correction;
}

// scores [m, 64] of the rows that see block b.
void Scores(const AttentionGroup& g, int64_t b, int64_t most, const Scratch& s) {
  const int64_t key_dim = g.cache.key_dim;
  const float* keys = Keys(g, b);
  if (g.cache.value_in_key) {
    Transpose(Rows(g, b), g.cache.stride, LanesOver(most), key_dim, s.turned, kTokens);
    keys = s.turned;
  }
  for (int64_t r = 0; r < g.rows; ++r) {
    if (Seen(g, r, b) == 0) continue;
    const int64_t end = RunEnd(g, r, b, false), first = r * g.heads;
    const Product<float> product = {
        g.q + first * key_dim,      key_dim, keys, kTokens, kLanes, key_dim, LanesOver(most),
        s.scores + first * kTokens, kTokens};
    Multiply(product, (end - r) * g.heads);
    r = end - 1;
  }
}

// out = out * correction + probabilities times values.
void AddValues(const AttentionGroup& g, int64_t b, const Scratch& s, float* out) {
  const int64_t value_dim = g.cache.value_dim;
  for (int64_t r = 0; r < g.rows; ++r) {
    const int64_t n = Seen(g, r, b), first = r * g.heads;
    if (n == 0) continue;
    const int64_t end = RunEnd(g, r, b, true);
    Product<float> product = {
        s.scores + first * kTokens, kTokens,  Rows(g, b), g.cache.stride, kLanes, n, value_dim,
        out + first * value_dim,    value_dim};
    product.accumulate = b > 0;
    product.row_scale = b > 0 ? s.correction + first : nullptr;
    Multiply(product, (end - r) * g.heads);
    r = end - 1;
  }
}

}  // namespace

void AttentionIsa(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  const int64_t m = g.rows * g.heads, value_dim = g.cache.value_dim;
  const Scratch s = Divide(memory, m, g.cache);
  for (int64_t i = 0; i < m; ++i) {
    s.max[i] = -__builtin_inff();
    s.sum[i] = 0.0f;
  }
  for (int64_t b = 0;; ++b) {
    const int64_t most = MostSeen(g, b);
    if (most == 0) break;
    Scores(g, b, most, s);
    for (int64_t i = 0; i < m; ++i) {
      const int64_t n = Seen(g, i / g.heads, b);
      if (n == 0) continue;
      s.correction[i] = SoftmaxStep(s.scores + i * kTokens, n, g.scale, s.max + i, s.sum + i);
    }
    AddValues(g, b, s, out);
  }
  for (int64_t i = 0; i < m; ++i) {
    const float inverse = 1.0f / s.sum[i];
    for (int64_t j = 0; j < value_dim; ++j) out[i * value_dim + j] *= inverse;
    if (log_sum_exp != nullptr) log_sum_exp[i] = s.max[i] + static_cast<float>(log(s.sum[i]));
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
