// Row-wise work between the products of a layer, divided among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/thread_pool.h"

namespace sluice {

// Calls body(first, count) over ranges that cover [0, rows), on the pool's threads where they pay for being
// woken: `floats` is what the body touches of one row. A row's result must not depend on its range.
template <typename Body>
void ForRowRanges(ThreadPool* pool, int64_t rows, int64_t floats, const Body& body) {
  constexpr int64_t kWorthAThread = 12'000;  // floats, a few us of one core
  const int64_t threads = pool == nullptr ? 1 : pool->threads();
  const int64_t parts = std::min({rows, 2 * threads, rows * floats / kWorthAThread});
  if (threads == 1 || parts < 2) {
    if (rows > 0) body(int64_t{0}, rows);
    return;
  }
  pool->ParallelFor(parts, [&](int64_t i) {
    const int64_t first = rows * i / parts;
    body(first, rows * (i + 1) / parts - first);
  });
}

}  // namespace sluice
