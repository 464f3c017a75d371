// How the rows of a call are divided: runs of rows that read the same blocks, one kv head at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/kernels/attention_cache.h"

namespace sluice::kernels {

struct RowGroup {
  int64_t first = 0, rows = 0;
};

// Runs of rows with the same blocks, of at most `most` rows. `same` says whether a row may join the one
// before.
template <typename Same>
std::vector<RowGroup> GroupRows(int64_t rows, int64_t most, const Same& same) {
  std::vector<RowGroup> groups;
  for (int64_t r = 0; r < rows; ++r) {
    if (!groups.empty() && groups.back().rows < most && same(r)) {
      ++groups.back().rows;
    } else {
      groups.push_back({r, 1});
    }
  }
  return groups;
}

inline std::vector<int64_t> LengthsOf(absl::Span<const CachedRow> rows) {
  std::vector<int64_t> lengths;
  lengths.reserve(rows.size());
  for (const CachedRow& row : rows) lengths.push_back(row.length);
  return lengths;
}

// The heads of one kv head out of [rows, heads, dim], to or from [rows, count, dim].
struct HeadSlice {
  int64_t heads, first, count, dim;
  void Gather(const float* all, int64_t rows, float* part) const {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = all + (r * heads + first) * dim;
      std::copy(from, from + count * dim, part + r * count * dim);
    }
  }
  void Scatter(const float* part, int64_t rows, float* all) const {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = part + r * count * dim;
      std::copy(from, from + count * dim, all + (r * heads + first) * dim);
    }
  }
};

// How many threads `work` multiply-adds are worth waking; `pool` may be null.
int64_t Threads(const ThreadPool* pool, int64_t work);

// Runs body(i) for i in [0, count), on Threads(pool, work) threads.
void RunPieces(ThreadPool* pool, int64_t count, int64_t work, const std::function<void(int64_t)>& body);

// Memory of this thread, aligned to 64 bytes, kept from call to call; the next call takes it back.
float* ThreadScratch(int64_t floats);

}  // namespace sluice::kernels
