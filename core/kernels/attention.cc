// How attention is divided: consecutive rows of one sequence form a group, whose blocks are read once for
// each kv head.
#include "core/kernels/attention.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "core/kernels/attention_rows.h"
#include "core/kernels/kernel_table.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kWorthAThread = 2'000'000;  // multiply-adds
constexpr int64_t kGroupPairs = 64;           // (row, head) pairs of a group, at least one row

struct Free {
  void operator()(float* p) const { std::free(p); }
};

}  // namespace

float* ThreadScratch(int64_t floats) {
  thread_local std::unique_ptr<float, Free> memory;
  thread_local int64_t size = 0;
  if (size < floats) {
    const int64_t padded = (floats + 15) / 16 * 16;
    memory.reset(static_cast<float*>(std::aligned_alloc(64, padded * sizeof(float))));
    if (memory == nullptr) throw std::bad_alloc();
    size = padded;
  }
  return memory.get();
}

void RunPieces(ThreadPool* pool, int64_t count, int64_t work, const std::function<void(int64_t)>& body) {
  if (pool != nullptr && count > 1 && work >= 2 * kWorthAThread) {
    pool->ParallelFor(count, body);
  } else {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
}

void Attention(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows, float* out,
               float* log_sum_exp, ThreadPool* pool) {
  const KernelTable& kernels = ActiveKernels();
  const CacheHead cache = CacheHeadOf(shape);
  const int64_t heads = shape.heads / shape.kv_heads;  // that read one kv head
  const std::vector<int64_t> lengths = LengthsOf(rows);
  const std::vector<RowGroup> groups =
      GroupRows(rows.size(), std::max<int64_t>(1, kGroupPairs / heads),
                [&](int64_t r) { return rows[r].blocks == rows[r - 1].blocks; });
  const auto forward = shape.bf16 ? kernels.attention.forward_bf16 : kernels.attention.forward;
  int64_t work = 0;
  for (const int64_t length : lengths) work += length * shape.heads * (shape.key_dim + shape.value_dim);
  RunPieces(pool, groups.size() * shape.kv_heads, work, [&](int64_t i) {
    const RowGroup& group = groups[i / shape.kv_heads];
    const int64_t kv_head = i % shape.kv_heads, m = group.rows * heads, first = group.first * shape.heads;
    const HeadSlice keys = {shape.heads, kv_head * heads, heads, shape.key_dim};
    const HeadSlice values = {shape.heads, kv_head * heads, heads, shape.value_dim};
    const HeadSlice single = {shape.heads, kv_head * heads, heads, 1};
    float* my_q = ThreadScratch(m * (shape.key_dim + shape.value_dim + 1) + 48 + AttentionScratch(m, cache));
    float* my_out = my_q + (m * shape.key_dim + 15) / 16 * 16;
    float* my_lse = my_out + (m * shape.value_dim + 15) / 16 * 16;
    float* scratch = my_lse + (m + 15) / 16 * 16;
    keys.Gather(q + first * shape.key_dim, group.rows, my_q);
    forward({cache, kv_head * cache.part_bytes, my_q, rows[group.first].blocks, lengths.data() + group.first,
             group.rows, heads, shape.scale},
            my_out, my_lse, scratch);
    values.Scatter(my_out, group.rows, out + first * shape.value_dim);
    if (log_sum_exp != nullptr) single.Scatter(my_lse, group.rows, log_sum_exp + first);
  });
}

}  // namespace sluice::kernels
