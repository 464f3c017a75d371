// The gradients of attention over one head of the cache (Dao 2023, section 3.1), on float32 copies of a
// block.
#include "core/kernels/attention_block.h"
#include "core/kernels/isa_pieces.h"
#include "core/kernels/tile.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

// A block in float32: keys by position and by dimension, values by dimension.
struct Scratch {
  float *keys, *keys_turned, *values, *values_turned;
  float *scores, *d_probability, *factors, *factors_turned, *terms;
};
Scratch Divide(float* memory, int64_t m, const CacheHead& cache) {
  const int64_t key = LanesOver(cache.key_dim), value = LanesOver(cache.value_dim);
  Scratch s;
  s.keys = memory;
  s.keys_turned = s.keys + kTokens * key;
  s.values = s.keys_turned + kTokens * key;
  s.values_turned = s.values + kTokens * value;
  s.scores = s.values_turned + kTokens * value;
  s.d_probability = s.scores + m * kTokens;
  s.factors = s.d_probability + m * kTokens;
  s.factors_turned = s.factors + kTokens * kTokens;
  s.terms = s.factors_turned + kTokens * kTokens;
  return s;
}

inline float FloatOf(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
// n pairs of bf16: the first ones, the second ones.
void Widen(const uint32_t* pairs, int64_t n, float* first, float* second) {
  for (int64_t i = 0; i < n; ++i) {
    first[i] = FloatOf(pairs[i] << 16);
    second[i] = FloatOf(pairs[i] & 0xFFFF0000u);
  }
}

// rows [64, stride] in float32.
const float* RowsInFloat(const AttentionGroup& g, int64_t b, float* memory) {
  if (!g.cache.bf16) return Rows(g, b);
  const int64_t stride = g.cache.stride;
  const uint32_t* pairs = reinterpret_cast<const uint32_t*>(Rows(g, b));
  for (int64_t t = 0; t < kTokens; t += 2) {
    Widen(pairs + t / 2 * stride, stride, memory + t * stride, memory + (t + 1) * stride);
  }
  return memory;
}

// Keys [key_dim, 64] in float32. `rows` as RowsInFloat.
const float* KeysByDimension(const AttentionGroup& g, int64_t b, const float* rows, float* memory) {
  const int64_t key_dim = g.cache.key_dim;
  if (g.cache.value_in_key) {
    Transpose(rows, g.cache.stride, kTokens, key_dim, memory, kTokens);
    return memory;
  }
  if (!g.cache.bf16) return Keys(g, b);
  const uint32_t* pairs = reinterpret_cast<const uint32_t*>(Keys(g, b));
  for (int64_t i = 0; i < key_dim; i += 2) {
    Widen(pairs + i / 2 * kTokens, kTokens, memory + i * kTokens, memory + (i + 1) * kTokens);
  }
  return memory;
}

// One head's 64 positions: scores become probabilities; d_scores = scale p (dp - d_dot). Positions that are
// not attended to may hold anything, so they are made 0.
void ScoreGradient(const AttentionBackwardGroup& backward, int64_t i, int64_t n, float* scores,
                   const float* dp, float* d_scores) {
  const Lanes lse = Splat(backward.log_sum_exp[i]), dot = Splat(backward.d_dot[i]);
  const Lanes scale = Splat(backward.forward.scale);
  for (int64_t t = 0; t < kTokens; t += kLanes) {
    const int64_t left = n - t < 0 ? 0 : n - t;
    if (left >= kLanes) {
      const Lanes p = Exp(Sub(Mul(Load(scores + t), scale), lse));
      Store(d_scores + t, Mul(Mul(p, Sub(Load(dp + t), dot)), scale));
      Store(scores + t, p);
    } else {
      const Lanes p = Exp(Sub(Mul(LoadFirst(scores + t, left, 0.0f), scale), lse));
      const Lanes d_score = Mul(Mul(p, Sub(LoadFirst(dp + t, left, 0.0f), dot)), scale);
      Store(d_scores + t, KeepFirst(d_score, left));
      Store(scores + t, KeepFirst(p, left));
    }
  }
}

// d[t, :] += sum over i in [0, count) and terms j of factors_j[i, t] * rows_j[i, :], in rising (i, j): one
// accumulator per output, whatever the rows' grouping.
struct Term {
  const float* factors;  // [count, 64]
  const float* rows;     // [count, dim]
  int64_t dim;
};
void AddTerms(const Term* terms, int64_t each, int64_t count, int64_t positions, int64_t width,
              const Scratch& s, float* d, int64_t d_stride) {
  const int64_t stride = LanesOver(width), some = kTokens / each;
  for (int64_t i = 0; i < count; i += some) {
    const int64_t rows = (count - i < some ? count - i : some) * each;
    for (int64_t k = 0; k < rows; ++k) {
      const Term& term = terms[k % each];
      const int64_t row = i + k / each;
      __builtin_memcpy(s.terms + k * stride, term.rows + row * term.dim, term.dim * sizeof(float));
      __builtin_memset(s.terms + k * stride + term.dim, 0, (stride - term.dim) * sizeof(float));
      __builtin_memcpy(s.factors + k * kTokens, term.factors + row * kTokens, kTokens * sizeof(float));
    }
    Transpose(s.factors, kTokens, rows, kTokens, s.factors_turned, kTokens);
    Product<float> product = {s.factors_turned, kTokens, s.terms, stride, kLanes, rows, width, d, d_stride};
    product.accumulate = true;
    Multiply(product, positions);
  }
}

// d_keys += d_scores^T q, d_values += p^T d_out, for (row, head) = first .. first + count.
void AddBlockGradient(const AttentionBackwardGroup& backward, const Scratch& s, int64_t first, int64_t count,
                      int64_t positions, const float* d_scores, const BlockGradient& d) {
  const CacheHead& cache = backward.forward.cache;
  const Term terms[2] = {
      {d_scores + first * kTokens, backward.forward.q + first * cache.key_dim, cache.key_dim},
      {s.scores + first * kTokens, backward.d_out + first * cache.value_dim, cache.value_dim}};
  if (cache.value_in_key) {
    AddTerms(terms, 2, count, positions, cache.key_dim, s, d.keys, d.stride);
  } else {
    AddTerms(terms, 1, count, positions, cache.key_dim, s, d.keys, d.stride);
    AddTerms(terms + 1, 1, count, positions, cache.value_dim, s, d.values, d.stride);
  }
}

}  // namespace

// With p = exp(score - log_sum_exp), dp = d_out . value: d_score = scale p (dp - d_dot) (Dao 2023, algorithm
// 2).
void AttentionBackwardBlockIsa(const AttentionBackwardGroup& backward, int64_t b,
                               const BlockGradient* gradient, float* d_scores, float* memory) {
  const AttentionGroup& g = backward.forward;
  const int64_t key_dim = g.cache.key_dim, value_dim = g.cache.value_dim;
  const int64_t most = MostSeen(g, b);
  const Scratch s = Divide(memory, g.rows * g.heads, g.cache);
  const float* rows = RowsInFloat(g, b, g.cache.value_in_key ? s.keys : s.values);
  const float* keys = KeysByDimension(g, b, rows, s.keys_turned);
  const float* values = keys;
  if (!g.cache.value_in_key) {
    Transpose(rows, g.cache.stride, LanesOver(most), value_dim, s.values_turned, kTokens);
    values = s.values_turned;
  }
  for (int64_t r = 0; r < g.rows; ++r) {
    if (Seen(g, r, b) == 0) continue;
    const int64_t end = RunEnd(g, r, b, false), first = r * g.heads, count = (end - r) * g.heads;
    Multiply(Product<float>{g.q + first * key_dim, key_dim, keys, kTokens, kLanes, key_dim, LanesOver(most),
                            s.scores + first * kTokens, kTokens},
             count);
    Multiply(Product<float>{backward.d_out + first * value_dim, value_dim, values, kTokens, kLanes, value_dim,
                            LanesOver(most), s.d_probability + first * kTokens, kTokens},
             count);
    for (int64_t i = first; i < first + count; ++i) {
      ScoreGradient(backward, i, Seen(g, i / g.heads, b), s.scores + i * kTokens,
                    s.d_probability + i * kTokens, d_scores + i * kTokens);
    }
    if (gradient != nullptr) AddBlockGradient(backward, s, first, count, most, d_scores, *gradient);
    r = end - 1;
  }
}

void AttentionBackwardQueriesIsa(const AttentionGroup& g, int64_t row, int64_t row_end, const float* d_scores,
                                 float* d_q, float* memory) {
  const int64_t m = g.rows * g.heads, key_dim = g.cache.key_dim;
  const Scratch s = Divide(memory, m, g.cache);
  for (int64_t b = 0; MostSeen(g, b) > 0; ++b) {
    const float* keys = s.keys;
    int64_t stride = LanesOver(key_dim);
    if (g.cache.value_in_key) {
      keys = RowsInFloat(g, b, s.keys);
      stride = g.cache.stride;
    } else {
      Transpose(KeysByDimension(g, b, nullptr, s.keys_turned), kTokens, key_dim, kTokens, s.keys, stride);
    }
    for (int64_t r = row; r < row_end; ++r) {
      const int64_t n = Seen(g, r, b), first = r * g.heads;
      if (n == 0) continue;
      int64_t end = RunEnd(g, r, b, true);
      if (end > row_end) end = row_end;
      Product<float> product = {d_scores + (b * m + first) * kTokens,
                                kTokens,
                                keys,
                                stride,
                                kLanes,
                                n,
                                key_dim,
                                d_q + first * key_dim,
                                key_dim};
      product.accumulate = b > 0;
      Multiply(product, (end - r) * g.heads);
      r = end - 1;
    }
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
