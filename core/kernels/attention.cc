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

constexpr int64_t kWorthAThread = 100'000;  // multiply-adds
constexpr int64_t kLeastHeads = 4;          // of a piece: fewer do not use the tiles
constexpr int64_t kGroupPairs = 64;         // (row, head) pairs of a group, at least one row

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

int64_t Threads(const ThreadPool* pool, int64_t work) {
  return pool == nullptr || work < 2 * kWorthAThread ? 1 : pool->threads();
}

void RunPieces(ThreadPool* pool, int64_t count, int64_t work, const std::function<void(int64_t)>& body) {
  if (count > 1 && Threads(pool, work) > 1) {
    pool->ParallelFor(count, body);
  } else {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
}

namespace {

// Query heads of one kv head that a piece takes: all of them unless there are too few pieces for the threads.
int64_t HeadsOfPiece(int64_t heads, int64_t pieces, int64_t threads) {
  while (pieces < 2 * threads && heads % 2 == 0 && heads >= 2 * kLeastHeads) {
    heads /= 2;
    pieces *= 2;
  }
  return heads;
}

// Memory of one piece.
struct PieceMemory {
  PieceMemory(int64_t m, const CacheHead& cache)
      : q(ThreadScratch(Padded(m * cache.key_dim) + Padded(m * cache.value_dim) + Padded(m) +
                        AttentionScratch(m, cache))),
        out(q + Padded(m * cache.key_dim)),
        log_sum_exp(out + Padded(m * cache.value_dim)),
        scratch(log_sum_exp + Padded(m)) {}
  static int64_t Padded(int64_t n) { return (n + 15) / 16 * 16; }
  float *const q, *const out, *const log_sum_exp, *const scratch;
};

}  // namespace

void Attention(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows, float* out,
               float* log_sum_exp, ThreadPool* pool) {
  const AttentionPieces& kernels = ActiveKernels().attention;
  const auto forward = shape.bf16 ? kernels.forward_bf16 : kernels.forward;
  const CacheHead cache = CacheHeadOf(shape);
  const int64_t heads = shape.heads / shape.kv_heads;  // that read one kv head
  const std::vector<int64_t> lengths = LengthsOf(rows);
  int64_t work = 0;
  for (const int64_t length : lengths) work += length * shape.heads * (shape.key_dim + shape.value_dim);
  const int64_t threads = Threads(pool, work);
  const std::vector<RowGroup> groups =
      GroupRows(rows.size(), std::max<int64_t>(1, kGroupPairs / heads),
                [&](int64_t r) { return rows[r].blocks == rows[r - 1].blocks; });
  const int64_t some = HeadsOfPiece(heads, groups.size() * shape.kv_heads, threads);
  const int64_t parts = shape.heads / some;  // of the heads
  RunPieces(pool, groups.size() * parts, work, [&](int64_t i) {
    const RowGroup& group = groups[i / parts];
    const int64_t first_head = i % parts * some, kv_head = first_head / heads;
    const int64_t m = group.rows * some, first = group.first * shape.heads;
    const PieceMemory memory(m, cache);
    HeadSlice{shape.heads, first_head, some, shape.key_dim}.Gather(q + first * shape.key_dim, group.rows,
                                                                   memory.q);
    forward({cache, kv_head * cache.part_bytes, memory.q, rows[group.first].blocks,
             lengths.data() + group.first, group.rows, some, shape.scale},
            memory.out, memory.log_sum_exp, memory.scratch);
    HeadSlice{shape.heads, first_head, some, shape.value_dim}.Scatter(memory.out, group.rows,
                                                                      out + first * shape.value_dim);
    if (log_sum_exp != nullptr) {
      HeadSlice{shape.heads, first_head, some, 1}.Scatter(memory.log_sum_exp, group.rows,
                                                          log_sum_exp + first);
    }
  });
}

}  // namespace sluice::kernels
