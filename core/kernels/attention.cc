// How attention is divided: consecutive rows of one sequence form a group, whose blocks are read once.
#include <algorithm>
#include <functional>

#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kWorthAThread = 2'000'000;  // multiply-adds

float* ThreadScratch(int64_t floats) {
  thread_local std::vector<float> memory;
  if (static_cast<int64_t>(memory.size()) < floats) memory.resize(floats);
  return memory.data();
}

struct Group {
  int64_t first = 0, rows = 0;
};

// Runs of rows with the same blocks, of at most `most` rows. `same` says whether a row may join the one
// before.
std::vector<Group> GroupRows(int64_t rows, int64_t most, const std::function<bool(int64_t)>& same) {
  std::vector<Group> groups;
  for (int64_t r = 0; r < rows; ++r) {
    if (!groups.empty() && groups.back().rows < most && same(r)) {
      ++groups.back().rows;
    } else {
      groups.push_back({r, 1});
    }
  }
  return groups;
}

std::vector<int64_t> LengthsOf(absl::Span<const AttentionRow> rows) {
  std::vector<int64_t> lengths;
  lengths.reserve(rows.size());
  for (const AttentionRow& row : rows) lengths.push_back(row.length);
  return lengths;
}

void Run(ThreadPool* pool, int64_t count, int64_t work, const std::function<void(int64_t)>& body) {
  if (pool != nullptr && work >= 2 * kWorthAThread) {
    pool->ParallelFor(count, body);
  } else {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace

void MlaAttention(const float* q, absl::Span<const AttentionRow> rows, int64_t heads, int64_t c, int64_t dr,
                  float scale, float* out, float* log_sum_exp, ThreadPool* pool) {
  const KernelTable& kernels = ActiveKernels();
  const int64_t width = c + dr;
  const std::vector<int64_t> lengths = LengthsOf(rows);
  const std::vector<Group> groups = GroupRows(rows.size(), std::max<int64_t>(1, 64 / heads), [&](int64_t r) {
    return rows[r].blocks == rows[r - 1].blocks;
  });
  int64_t work = 0;
  for (const int64_t length : lengths) work += length * heads * (width + c);
  Run(pool, groups.size(), work, [&](int64_t i) {
    const Group& group = groups[i];
    const AttentionGroup piece = {q + group.first * heads * width,
                                  rows[group.first].blocks,
                                  lengths.data() + group.first,
                                  group.rows,
                                  heads,
                                  c,
                                  dr,
                                  scale};
    kernels.attention(piece, out + group.first * heads * c,
                      log_sum_exp == nullptr ? nullptr : log_sum_exp + group.first * heads,
                      ThreadScratch(AttentionScratch(group.rows * heads, width)));
  });
}

void MlaAttentionBackward(const float* q, absl::Span<const AttentionRow> rows,
                          absl::Span<float* const* const> d_blocks, int64_t heads, int64_t c, int64_t dr,
                          float scale, const float* out, const float* log_sum_exp, const float* d_out,
                          float* d_q, ThreadPool* pool) {
  const KernelTable& kernels = ActiveKernels();
  const int64_t width = c + dr;
  const std::vector<int64_t> lengths = LengthsOf(rows);
  const std::vector<Group> groups = GroupRows(rows.size(), std::max<int64_t>(1, 256 / heads), [&](int64_t r) {
    return rows[r].blocks == rows[r - 1].blocks && d_blocks[r] == d_blocks[r - 1];
  });
  std::vector<float> d_dot(rows.size() * heads);
  for (size_t i = 0; i < d_dot.size(); ++i) d_dot[i] = kernels.dot(d_out + i * c, out + i * c, c);
  std::vector<float> d_scores;
  for (const Group& group : groups) {
    const int64_t first = group.first * heads, m = group.rows * heads;
    const AttentionBackwardGroup piece = {{q + first * width, rows[group.first].blocks,
                                           lengths.data() + group.first, group.rows, heads, c, dr, scale},
                                          out + first * c,
                                          log_sum_exp + first,
                                          d_out + first * c,
                                          d_dot.data() + first};
    const int64_t longest =
        *std::max_element(lengths.begin() + group.first, lengths.begin() + group.first + group.rows);
    const int64_t blocks = (longest + kBlockTokens - 1) / kBlockTokens;
    if (static_cast<int64_t>(d_scores.size()) < blocks * m * kBlockTokens)
      d_scores.resize(blocks * m * kBlockTokens);
    const int64_t work = m * longest * width * 5;
    // Blocks are independent of each other; then the rows are.
    Run(pool, blocks, work, [&](int64_t b) {
      float* const* gradients = d_blocks[group.first];
      kernels.attention_backward_block(piece, b, gradients == nullptr ? nullptr : gradients[b],
                                       d_scores.data() + b * m * kBlockTokens,
                                       ThreadScratch(AttentionScratch(m, width)));
    });
    const int64_t rows_each = std::max<int64_t>(1, 64 / heads);
    Run(pool, (group.rows + rows_each - 1) / rows_each, work, [&](int64_t i) {
      kernels.attention_backward_queries(piece.forward, i * rows_each,
                                         std::min(group.rows, (i + 1) * rows_each), d_scores.data(),
                                         d_q + first * width, ThreadScratch(AttentionScratch(m, width)));
    });
  }
}

}  // namespace sluice::kernels
