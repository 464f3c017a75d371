// Attention and its gradients against the plain twin in float64 and its autograd. Scores are sums of key_dim
// products and go through exponentials, hence 2e-5 of the size; gradients pass through both, hence 5e-5. With
// bf16 caches the twin is given what the cache returns; queries and probabilities are rounded to 2^-9 each,
// hence 1e-2 of the size, which a wrong position or head exceeds by far.
#include "core/kernels/attention.h"

#include <gtest/gtest.h>

#include "core/kernels/reference/reference.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

struct Case {
  AttentionShape shape;
  int64_t tokens;
  std::vector<int64_t> lengths;
};

AttentionShape Latent(int64_t heads, int64_t c, int64_t dr) {
  return {heads, 1, c + dr, c, true, 1.0f / std::sqrt(static_cast<float>(c + dr)), false};
}
AttentionShape Grouped(int64_t heads, int64_t kv_heads, int64_t key_dim, int64_t value_dim) {
  return {heads, kv_heads, key_dim, value_dim, false, 1.0f / std::sqrt(static_cast<float>(key_dim)), false};
}
std::vector<Case> Cases() {
  std::vector<Case> cases = {{Latent(1, 16, 4), 1, {1}},
                             {Latent(4, 32, 8), 70, {1, 63, 64, 65, 70}},
                             {Latent(4, 33, 6), 130, {129, 130}},
                             {Latent(3, 20, 4), 200, {200, 5, 64, 128, 1, 199}},
                             {Latent(16, 64, 16), 100, {97, 98, 99, 100}},
                             {Latent(70, 32, 8), 65, {64, 65}},
                             {Latent(2, 512, 64), 129, {128, 129}},
                             {Grouped(2, 2, 8, 8), 3, {1, 2, 3}},
                             {Grouped(9, 3, 64, 64), 200, {198, 199, 200, 63, 64, 65}},
                             {Grouped(4, 1, 20, 12), 70, {70, 1}},
                             {Grouped(6, 6, 33, 17), 130, {127, 128, 129, 130}},
                             {Grouped(8, 2, 128, 128), 66, {64, 65, 66}}};
  std::vector<Case> both = cases;
  for (Case& c : cases) {
    c.shape.bf16 = true;
    both.push_back(c);
  }
  return both;
}

class AttentionTest : public testing::TestWithParam<Case> {
 protected:
  AttentionTest()
      : shape_(GetParam().shape),
        tokens_(GetParam().tokens),
        rows_(GetParam().lengths.size()),
        cache_(shape_, tokens_, 21),
        q_(TestValues(rows_ * shape_.heads * shape_.key_dim, 23)) {
    for (const int64_t length : GetParam().lengths) attention_.push_back({cache_.table.data(), length});
    std::vector<float> keys(cache_.keys.size()), values(tokens_ * shape_.kv_heads * shape_.value_dim);
    for (int64_t t = 0; t < tokens_; ++t) {
      CacheLoad(shape_, cache_.blocks[t / kBlockTokens], t % kBlockTokens, &keys[t * cache_.key_width()],
                &values[t * shape_.kv_heads * shape_.value_dim]);
    }
    q64_ = AsTensor(q_, {rows_, shape_.heads, shape_.key_dim});
    keys64_ = AsTensor(keys, {tokens_, shape_.kv_heads, shape_.key_dim});
    values64_ = AsTensor(values, {tokens_, shape_.kv_heads, shape_.value_dim});
  }
  reference::Attended Twin() const {
    return reference::Attention(q64_, keys64_,
                                shape_.value_in_key ? keys64_.narrow(2, 0, shape_.value_dim) : values64_,
                                torch::tensor(GetParam().lengths, at::kLong), shape_.scale);
  }
  double Tolerance(double exact) const { return shape_.bf16 ? 1e-2 : exact; }

  AttentionShape shape_;
  int64_t tokens_, rows_;
  TestCache cache_;
  std::vector<float> q_;
  std::vector<CachedRow> attention_;
  at::Tensor q64_, keys64_, values64_;
};

TEST_P(AttentionTest, CacheReturnsWhatWasStored) {
  const double tolerance = shape_.bf16 ? 1.0 / 256 : 0;
  EXPECT_LE(Distance(cache_.keys, keys64_), tolerance);
  if (!shape_.value_in_key) {
    EXPECT_LE(Distance(cache_.values, values64_), tolerance);
  } else {
    EXPECT_TRUE(values64_.equal(keys64_.narrow(2, 0, shape_.value_dim)));
  }
}

TEST_P(AttentionTest, EqualsTwin) {
  std::vector<float> out(rows_ * shape_.heads * shape_.value_dim), lse(rows_ * shape_.heads);
  Attention(shape_, q_.data(), attention_, out.data(), lse.data(), nullptr);
  const auto twin = Twin();
  EXPECT_LT(Distance(out, twin.out), Tolerance(2e-5));
  EXPECT_LT(Distance(lse, twin.log_sum_exp), Tolerance(2e-5));
}

TEST_P(AttentionTest, GradientsEqualAutogradOfTwin) {
  std::vector<float> out(rows_ * shape_.heads * shape_.value_dim), lse(rows_ * shape_.heads);
  std::vector<float> d_q(q_.size(), 99.0f);
  Attention(shape_, q_.data(), attention_, out.data(), lse.data(), nullptr);
  const std::vector<float> d_out = TestValues(out.size(), 24);
  const int64_t width = cache_.key_width() + cache_.value_width();
  std::vector<float> d_memory(cache_.blocks.size() * kBlockTokens * width, 1.0f);  // added to what is there
  std::vector<float*> d_block;
  for (size_t b = 0; b < cache_.blocks.size(); ++b) d_block.push_back(&d_memory[b * kBlockTokens * width]);
  const std::vector<float* const*> d_blocks(rows_, d_block.data());
  ThreadPool pool(2);
  AttentionBackward(shape_, q_.data(), attention_,
                    {out.data(), lse.data(), d_out.data(), d_blocks, d_q.data()}, &pool);
  q64_.requires_grad_();
  keys64_.requires_grad_();
  values64_.requires_grad_();
  (Twin().out * AsTensor(d_out, {rows_, shape_.heads, shape_.value_dim})).sum().backward();
  EXPECT_LT(Distance(d_q, q64_.grad()), Tolerance(5e-5));
  d_memory.resize(tokens_ * width);
  at::Tensor d_twin = keys64_.grad().flatten(1);
  if (!shape_.value_in_key) d_twin = at::cat({d_twin, values64_.grad().flatten(1)}, 1);
  EXPECT_LT(Distance(d_memory, d_twin + 1), Tolerance(5e-5));
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest, testing::ValuesIn(Cases()));

TEST(AttentionBackwardTest, SkipsBlocksWithoutAGradient) {
  const AttentionShape shape = Grouped(2, 1, 24, 16);
  TestCache cache(shape, 100, 1);
  const std::vector<float> q = TestValues(2 * 24, 2), d_out = TestValues(2 * 16, 3);
  std::vector<float> out(2 * 16), lse(2), d_q(2 * 24), second(kBlockTokens * 40, 0.0f);
  const std::vector<CachedRow> rows = {{cache.table.data(), 100}};
  Attention(shape, q.data(), rows, out.data(), lse.data(), nullptr);
  const std::vector<float*> blocks = {nullptr, second.data()};
  const std::vector<float* const*> d_blocks = {blocks.data()};
  AttentionBackward(shape, q.data(), rows, {out.data(), lse.data(), d_out.data(), d_blocks, d_q.data()},
                    nullptr);
  EXPECT_NE(second[0], 0.0f);
  EXPECT_NE(second[35 * 40 + 39], 0.0f);
  EXPECT_EQ(second[36 * 40], 0.0f);  // position 100 is not attended to
}

TEST(AttentionTest, ShowsNanOfAnAttendedPosition) {
  for (const bool bf16 : {false, true}) {
    for (AttentionShape shape : {Latent(1, 16, 8), Grouped(2, 2, 16, 16)}) {
      shape.bf16 = bf16;
      TestCache cache(shape, 3, 1);
      cache.keys[cache.key_width() + 6] = std::numeric_limits<float>::quiet_NaN();
      cache.Store(1);
      const std::vector<float> q = TestValues(3 * shape.heads * shape.key_dim, 2);
      std::vector<float> out(3 * shape.heads * 16);
      const std::vector<CachedRow> rows = {
          {cache.table.data(), 1}, {cache.table.data(), 2}, {cache.table.data(), 3}};
      Attention(shape, q.data(), rows, out.data(), nullptr, nullptr);
      EXPECT_FALSE(std::isnan(out[0]));  // does not attend to it
      EXPECT_TRUE(std::isnan(out[shape.heads * 16]));
      EXPECT_TRUE(std::isnan(out[2 * shape.heads * 16]));
    }
  }
}

}  // namespace
}  // namespace sluice::kernels
