// Invariant INVARIANT: a row's bits do not depend on its neighbours, the threads, or the grouping.
#include <gtest/gtest.h>

#include "core/kernels/kernels.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

std::vector<float> RowsAlone(const std::vector<float>& x, int64_t in, const PackedMatrix& w) {
  std::vector<float> y(x.size() / in * w.out());
  for (size_t r = 0; r < x.size() / in; ++r) {
    Linear(&x[r * in], 1, in, w, nullptr, &y[r * w.out()], w.out(), nullptr);
  }
  return y;
}

TEST(InvariantTest, LinearRowIsTheSameAloneAndAmongOthersOnAnyThreads) {
  const int64_t in = 700, out = 530;  // enough work for several threads
  const PackedMatrix w = PackedMatrix::FromF32(TestValues(out * in, 1).data(), out, in);
  ThreadPool two(2), three(3);
  for (const int64_t rows : {2, 5, 6, 7, 64}) {
    const std::vector<float> x = TestValues(rows * in, 2);
    const std::vector<float> alone = RowsAlone(x, in, w);
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
      std::vector<float> y(rows * out);
      Linear(x.data(), rows, in, w, nullptr, y.data(), out, pool);
      EXPECT_EQ(y, alone) << rows;
    }
  }
}

TEST(InvariantTest, LinearBatchGivesTheBitsOfLinearForJobsOfAnySizes) {
  ThreadPool two(2), three(3);
  const int64_t shapes[][3] = {{1, 530, 700}, {17, 100, 64}, {0, 40, 8}, {64, 96, 300}, {3, 1, 5}};
  std::vector<PackedMatrix> weights;
  std::vector<std::vector<float>> xs, ys, biases, alone;
  for (const auto& [rows, out, in] : shapes) {
    weights.push_back(PackedMatrix::FromF32(TestValues(out * in, 1).data(), out, in));
    xs.push_back(TestValues(rows * in, 2));
    biases.push_back(TestValues(out, 3));
    alone.emplace_back(rows * out);
    Linear(xs.back().data(), rows, in, weights.back(), biases.back().data(), alone.back().data(), out,
           nullptr);
  }
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
    std::vector<LinearJob> jobs;
    ys = alone;
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto& [rows, out, in] = shapes[i];
      std::fill(ys[i].begin(), ys[i].end(), -7.0f);
      jobs.push_back({xs[i].data(), rows, in, &weights[i], biases[i].data(), ys[i].data(), out});
    }
    LinearBatch(jobs, pool);
    EXPECT_EQ(ys, alone);
  }
  LinearBatch({}, &two);
}

struct AttentionCase {
  static constexpr int64_t kHeads = 6, kC = 40, kDr = 12, kWidth = kC + kDr, kRows = 64, kTokens = 300;
  AttentionCase() : cache(kTokens, kWidth, 3), q(TestValues(kRows * kHeads * kWidth, 4)) {
    for (int64_t r = 0; r < kRows; ++r) rows.push_back({cache.block.data(), kTokens - kRows + r + 1});
  }
  std::vector<float> Run(int64_t chunk, ThreadPool* pool) const {
    std::vector<float> out(kRows * kHeads * kC), lse(kRows * kHeads);
    for (int64_t r = 0; r < kRows; r += chunk) {
      MlaAttention(&q[r * kHeads * kWidth], absl::MakeConstSpan(rows).subspan(r, chunk), kHeads, kC, kDr,
                   0.3f, &out[r * kHeads * kC], &lse[r * kHeads], pool);
    }
    out.insert(out.end(), lse.begin(), lse.end());
    return out;
  }
  TestCache cache;
  std::vector<float> q;
  std::vector<AttentionRow> rows;
};

TEST(InvariantTest, AttentionRowIsTheSameAloneAndInAnyChunkOnAnyThreads) {
  const AttentionCase test;
  const std::vector<float> alone = test.Run(1, nullptr);
  ThreadPool pool(3);
  for (const int64_t chunk : {3, 17, 64}) {
    EXPECT_EQ(test.Run(chunk, nullptr), alone) << chunk;
    EXPECT_EQ(test.Run(chunk, &pool), alone) << chunk;
  }
}

TEST(InvariantTest, AttentionDoesNotDependOnWhereBlocksLieOrWhatFollows) {
  AttentionCase test;
  const std::vector<float> before = test.Run(64, nullptr);
  TestCache longer(AttentionCase::kTokens + 100, AttentionCase::kWidth, 9);
  std::copy(test.cache.values.begin(), test.cache.values.end(), longer.memory.begin());
  for (AttentionRow& row : test.rows) row.blocks = longer.block.data();
  EXPECT_EQ(test.Run(64, nullptr), before);
}

TEST(InvariantTest, AttentionGradientIsTheSameInAnyChunkOnAnyThreads) {
  const AttentionCase test;
  constexpr int64_t kHeads = AttentionCase::kHeads, kC = AttentionCase::kC, kWidth = AttentionCase::kWidth;
  const std::vector<float> forward = test.Run(64, nullptr);
  const float* lse = &forward[AttentionCase::kRows * kHeads * kC];
  const std::vector<float> d_out = TestValues(AttentionCase::kRows * kHeads * kC, 5);
  const auto run = [&](int64_t chunk, ThreadPool* pool) {
    std::vector<float> d_q(test.q.size()), d_cache(test.cache.memory.size(), 0.0f);
    std::vector<float*> d_block;
    for (size_t b = 0; b < test.cache.block.size(); ++b)
      d_block.push_back(&d_cache[b * kBlockTokens * kWidth]);
    const std::vector<float* const*> d_blocks(AttentionCase::kRows, d_block.data());
    for (int64_t r = 0; r < AttentionCase::kRows; r += chunk) {
      const int64_t i = r * kHeads;
      MlaAttentionBackward(&test.q[i * kWidth], absl::MakeConstSpan(test.rows).subspan(r, chunk),
                           absl::MakeConstSpan(d_blocks).subspan(r, chunk), kHeads, kC, AttentionCase::kDr,
                           0.3f, &forward[i * kC], lse + i, &d_out[i * kC], &d_q[i * kWidth], pool);
    }
    d_q.insert(d_q.end(), d_cache.begin(), d_cache.end());
    return d_q;
  };
  const std::vector<float> alone = run(1, nullptr);
  ThreadPool pool(3);
  for (const int64_t chunk : {4, 32, 64}) {
    EXPECT_EQ(run(chunk, nullptr), alone) << chunk;
    EXPECT_EQ(run(chunk, &pool), alone) << chunk;
  }
}

}  // namespace
}  // namespace sluice::kernels
