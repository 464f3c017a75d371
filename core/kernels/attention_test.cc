// Attention and its gradients against the plain twin in float64 and its autograd. Scores are sums of c+dr
// products and go through exponentials, hence 2e-5 of the size; gradients pass through both, hence 5e-5.
#include <gtest/gtest.h>

#include "core/kernels/kernels.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

struct Shape {
  int64_t heads, c, dr, tokens;
  std::vector<int64_t> lengths;
};

class AttentionTest : public testing::TestWithParam<Shape> {
 protected:
  AttentionTest()
      : shape_(GetParam()),
        width_(shape_.c + shape_.dr),
        rows_(shape_.lengths.size()),
        cache_(shape_.tokens, width_, 21),
        q_(TestValues(rows_ * shape_.heads * width_, 22)),
        scale_(1.0f / std::sqrt(static_cast<float>(width_))) {
    for (const int64_t length : shape_.lengths) attention_.push_back({cache_.block.data(), length});
  }
  at::Tensor Lengths() const { return torch::tensor(shape_.lengths, at::kLong); }

  Shape shape_;
  int64_t width_, rows_;
  TestCache cache_;
  std::vector<float> q_;
  float scale_;
  std::vector<AttentionRow> attention_;
};

TEST_P(AttentionTest, EqualsTwin) {
  std::vector<float> out(rows_ * shape_.heads * shape_.c), lse(rows_ * shape_.heads);
  MlaAttention(q_.data(), attention_, shape_.heads, shape_.c, shape_.dr, scale_, out.data(), lse.data(),
               nullptr);
  const auto twin =
      reference::MlaAttention(AsTensor(q_, {rows_, shape_.heads, width_}),
                              AsTensor(cache_.values, {shape_.tokens, width_}), Lengths(), shape_.c, scale_);
  EXPECT_LT(Distance(out, twin.out), 2e-5);
  EXPECT_LT(Distance(lse, twin.log_sum_exp), 2e-5);
}

TEST_P(AttentionTest, GradientsEqualAutogradOfTwin) {
  const int64_t heads = shape_.heads, c = shape_.c;
  std::vector<float> out(rows_ * heads * c), lse(rows_ * heads), d_q(q_.size(), 99.0f);
  MlaAttention(q_.data(), attention_, heads, c, shape_.dr, scale_, out.data(), lse.data(), nullptr);
  const std::vector<float> d_out = TestValues(out.size(), 23);
  std::vector<float> d_memory(cache_.memory.size(), 1.0f);  // gradients are added to what is there
  std::vector<float*> d_block;
  for (size_t b = 0; b < cache_.block.size(); ++b) d_block.push_back(&d_memory[b * kBlockTokens * width_]);
  const std::vector<float* const*> d_blocks(rows_, d_block.data());
  ThreadPool pool(2);
  MlaAttentionBackward(q_.data(), attention_, d_blocks, heads, c, shape_.dr, scale_, out.data(), lse.data(),
                       d_out.data(), d_q.data(), &pool);
  const at::Tensor q = AsTensor(q_, {rows_, heads, width_}).requires_grad_();
  const at::Tensor cache = AsTensor(cache_.values, {shape_.tokens, width_}).requires_grad_();
  (reference::MlaAttention(q, cache, Lengths(), c, scale_).out * AsTensor(d_out, {rows_, heads, c}))
      .sum()
      .backward();
  EXPECT_LT(Distance(d_q, q.grad()), 5e-5);
  d_memory.resize(shape_.tokens * width_);
  EXPECT_LT(Distance(d_memory, cache.grad() + 1), 5e-5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         testing::Values(Shape{1, 16, 4, 1, {1}}, Shape{4, 32, 8, 70, {1, 63, 64, 65, 70}},
                                         Shape{4, 33, 6, 130, {129, 130}},
                                         Shape{3, 20, 4, 200, {200, 5, 64, 128, 1, 199}},
                                         Shape{16, 64, 16, 100, {97, 98, 99, 100}},
                                         Shape{70, 32, 8, 65, {64, 65}}, Shape{2, 512, 64, 129, {128, 129}}));

TEST(AttentionBackwardTest, SkipsBlocksWithoutAGradient) {
  const int64_t c = 16, dr = 8, width = 24;
  TestCache cache(100, width, 1);
  const std::vector<float> q = TestValues(2 * width, 2), d_out = TestValues(2 * c, 3);
  std::vector<float> out(2 * c), lse(2), d_q(2 * width), second(kBlockTokens * width, 0.0f);
  const std::vector<AttentionRow> rows = {{cache.block.data(), 100}};
  MlaAttention(q.data(), rows, 2, c, dr, 0.2f, out.data(), lse.data(), nullptr);
  const std::vector<float*> blocks = {nullptr, second.data()};
  const std::vector<float* const*> d_blocks = {blocks.data()};
  MlaAttentionBackward(q.data(), rows, d_blocks, 2, c, dr, 0.2f, out.data(), lse.data(), d_out.data(),
                       d_q.data());
  EXPECT_NE(second[0], 0.0f);
  EXPECT_EQ(second[36 * width], 0.0f);  // position 100 is not attended to
}

TEST(AttentionTest, ShowsNanOfAnAttendedPosition) {
  TestCache cache(3, 24, 1);
  cache.memory[30] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> q = TestValues(24, 2);
  std::vector<float> out(16);
  const std::vector<AttentionRow> rows = {{cache.block.data(), 3}};
  MlaAttention(q.data(), rows, 1, 16, 8, 1.0f, out.data(), nullptr, nullptr);
  EXPECT_TRUE(std::isnan(out[0]));
}

}  // namespace
}  // namespace sluice::kernels
