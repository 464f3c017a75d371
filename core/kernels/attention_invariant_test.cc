// Invariant INVARIANT of attention: a row's bits do not depend on its neighbours, the threads, the grouping,
// or on where its blocks lie and what they hold beyond its length.
#include <gtest/gtest.h>

#include "core/kernels/attention.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kRows = 64, kTokens = 300;

std::vector<AttentionShape> Shapes() {
  std::vector<AttentionShape> shapes = {{6, 1, 52, 40, true, 0.3f, false},
                                        {9, 3, 64, 64, false, 0.2f, false},
                                        {4, 4, 36, 20, false, 0.3f, false}};
  for (int i = 0; i < 3; ++i) {
    shapes.push_back(shapes[i]);
    shapes.back().bf16 = true;
  }
  return shapes;
}

class AttentionInvariantTest : public testing::TestWithParam<AttentionShape> {
 protected:
  AttentionInvariantTest()
      : shape_(GetParam()), cache_(shape_, kTokens, 3), q_(TestValues(kRows * q_width(), 4)) {
    for (int64_t r = 0; r < kRows; ++r) rows_.push_back({cache_.table.data(), kTokens - kRows + r + 1});
  }
  int64_t q_width() const { return shape_.heads * shape_.key_dim; }
  int64_t out_width() const { return shape_.heads * shape_.value_dim; }
  // out, then log_sum_exp
  std::vector<float> Run(int64_t chunk, ThreadPool* pool) const {
    std::vector<float> out(kRows * out_width()), lse(kRows * shape_.heads);
    for (int64_t r = 0; r < kRows; r += chunk) {
      Attention(shape_, &q_[r * q_width()], absl::MakeConstSpan(rows_).subspan(r, chunk),
                &out[r * out_width()], &lse[r * shape_.heads], pool);
    }
    out.insert(out.end(), lse.begin(), lse.end());
    return out;
  }
  // d_q, then the gradient of the cache
  std::vector<float> RunBackward(int64_t chunk, ThreadPool* pool, const std::vector<float>& forward) const {
    const std::vector<float> d_out = TestValues(kRows * out_width(), 5);
    const int64_t block = kBlockTokens * (cache_.key_width() + cache_.value_width());
    std::vector<float> d_q(q_.size()), d_cache(cache_.blocks.size() * block, 0.0f);
    std::vector<float*> d_block;
    for (size_t b = 0; b < cache_.blocks.size(); ++b) d_block.push_back(&d_cache[b * block]);
    const std::vector<float* const*> d_blocks(kRows, d_block.data());
    for (int64_t r = 0; r < kRows; r += chunk) {
      const AttentionGradient gradient = {
          &forward[r * out_width()], &forward[kRows * out_width() + r * shape_.heads],
          &d_out[r * out_width()], absl::MakeConstSpan(d_blocks).subspan(r, chunk), &d_q[r * q_width()]};
      AttentionBackward(shape_, &q_[r * q_width()], absl::MakeConstSpan(rows_).subspan(r, chunk), gradient,
                        pool);
    }
    d_q.insert(d_q.end(), d_cache.begin(), d_cache.end());
    return d_q;
  }

  AttentionShape shape_;
  TestCache cache_;
  std::vector<float> q_;
  std::vector<CachedRow> rows_;
};

TEST_P(AttentionInvariantTest, RowIsTheSameAloneAndInAnyChunkOnAnyThreads) {
  const std::vector<float> alone = Run(1, nullptr);
  ThreadPool pool(3);
  for (const int64_t chunk : {4, 16, 64}) {
    EXPECT_EQ(Run(chunk, nullptr), alone) << chunk;
    EXPECT_EQ(Run(chunk, &pool), alone) << chunk;
  }
}

TEST(AttentionHeadsTest, OfOneRowAreTheSameOnAnyThreads) {
  for (const bool bf16 : {false, true}) {
    const AttentionShape shape = {64, 2, 80, 64, false, 0.2f, bf16};
    const TestCache cache(shape, 200, 3);
    const std::vector<float> q = TestValues(64 * 80, 4);
    const std::vector<CachedRow> row = {{cache.table.data(), 200}};
    std::vector<float> alone(64 * 64), together(64 * 64);
    Attention(shape, q.data(), row, alone.data(), nullptr, nullptr);
    for (const int threads : {2, 5}) {
      ThreadPool pool(threads);
      Attention(shape, q.data(), row, together.data(), nullptr, &pool);
      EXPECT_EQ(together, alone) << threads;
    }
  }
}

TEST_P(AttentionInvariantTest, RowsOfTheShortAndLongInAnyOrderAreTheSame) {
  const std::vector<float> before = Run(64, nullptr);
  const std::vector<float> q = q_;
  std::reverse(rows_.begin(), rows_.end());
  for (int64_t r = 0; r < kRows; ++r) {
    std::copy_n(&q[r * q_width()], q_width(), &q_[(kRows - 1 - r) * q_width()]);
  }
  const std::vector<float> after = Run(64, nullptr);
  for (int64_t r = 0; r < kRows; ++r) {
    const auto first = before.begin() + r * out_width();
    EXPECT_TRUE(std::equal(first, first + out_width(), after.begin() + (kRows - 1 - r) * out_width())) << r;
  }
}

TEST_P(AttentionInvariantTest, DoesNotDependOnWhereBlocksLieOrWhatFollows) {
  const std::vector<float> before = Run(64, nullptr);
  TestCache longer(shape_, kTokens + 100, 9);
  std::copy(cache_.keys.begin(), cache_.keys.end(), longer.keys.begin());
  std::copy(cache_.values.begin(), cache_.values.end(), longer.values.begin());
  for (int64_t t = 0; t < kTokens; ++t) longer.Store(t);
  for (CachedRow& row : rows_) row.blocks = longer.table.data();
  EXPECT_EQ(Run(64, nullptr), before);
}

TEST_P(AttentionInvariantTest, SequencesOverSharedBlocksAreTheSameTogetherAndAlone) {
  std::vector<std::vector<const std::byte*>> tables(kRows, cache_.table);
  for (int64_t r = 0; r < kRows; ++r) rows_[r].blocks = tables[r].data();
  const std::vector<float> alone = Run(1, nullptr);
  ThreadPool pool(2);
  for (const int64_t chunk : {2, 32, 64}) EXPECT_EQ(Run(chunk, &pool), alone) << chunk;
}

TEST_P(AttentionInvariantTest, GradientIsTheSameInAnyChunkOnAnyThreads) {
  const std::vector<float> forward = Run(64, nullptr);
  const std::vector<float> alone = RunBackward(1, nullptr, forward);
  ThreadPool pool(3);
  for (const int64_t chunk : {4, 32, 64}) {
    EXPECT_EQ(RunBackward(chunk, nullptr, forward), alone) << chunk;
    EXPECT_EQ(RunBackward(chunk, &pool, forward), alone) << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionInvariantTest, testing::ValuesIn(Shapes()));

}  // namespace
}  // namespace sluice::kernels
