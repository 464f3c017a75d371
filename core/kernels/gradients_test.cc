// Gradients against LibTorch's autograd of the float64 twins.
#include "core/kernels/gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/kernels/kernels.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/sample.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

at::Tensor Leaf(const std::vector<float>& values, std::vector<int64_t> shape) {
  return AsTensor(values, std::move(shape)).to(at::kDouble).clone().set_requires_grad(true);
}

TEST(RmsNormBackwardTest, EqualsAutogradOfTheTwinAndAddsToTheWeightsGradient) {
  for (const int64_t dim : {1, 5, 16, 64, 77, 576}) {
    const int64_t rows = 4;
    const std::vector<float> x = TestValues(rows * dim, 1), w = TestValues(dim, 2),
                             dy = TestValues(rows * dim, 3);
    const at::Tensor tx = Leaf(x, {rows, dim}), tw = Leaf(w, {dim});
    reference::RmsNorm(tx, tw, 1e-5).backward(AsTensor(dy, {rows, dim}).to(at::kDouble));
    std::vector<float> dx = dy, dw(dim, 1.0f);
    RmsNormBackward({dx.data(), dim, x.data(), dim, dx.data(), dim, dw.data()}, rows, dim, w.data(), 1e-5f);
    EXPECT_LT(Distance(dx, tx.grad()), 1e-5) << dim;
    EXPECT_LT(Distance(dw, tw.grad() + 1), 1e-5) << dim;
  }
}

TEST(SwiGluBackwardTest, EqualsAutogradOfTheTwin) {
  for (const int64_t n : {1, 16, 37}) {
    const std::vector<float> gate = TestValues(n, 1), up = TestValues(n, 2), d = TestValues(n, 3);
    const at::Tensor tg = Leaf(gate, {n}), tu = Leaf(up, {n});
    const at::Tensor act = reference::SwiGlu(tg, tu);
    act.backward(AsTensor(d, {n}).to(at::kDouble));
    std::vector<float> d_gate = gate, d_up = up, again(n);
    SwiGluBackward(d.data(), d_gate.data(), d_up.data(), n, again.data(), d_gate.data(), d_up.data());
    EXPECT_LT(Distance(d_gate, tg.grad()), 1e-5) << n;
    EXPECT_LT(Distance(d_up, tu.grad()), 1e-5) << n;
    EXPECT_LT(Distance(again, act.detach()), 1e-5) << n;
  }
}

TEST(RopeBackwardTest, IsTheTransposeOfApplyRope) {
  const int64_t rows = 3, heads = 2, dim = 6, n = rows * heads * dim;
  const std::vector<int32_t> positions = {0, 7, 100};
  const std::vector<float> frequencies = {1.0f, 0.1f, 0.01f};
  std::vector<float> cos(rows * dim / 2), sin(rows * dim / 2);
  RopeCosSin(positions, frequencies, 1.3f, cos.data(), sin.data());
  for (const bool interleaved : {false, true}) {
    const std::vector<float> x = TestValues(n, 1), d = TestValues(n, 2);
    std::vector<float> y = x, back = d;
    ApplyRope(y.data(), rows, heads * dim, heads, dim, dim, cos.data(), sin.data(), interleaved);
    RopeBackward(back.data(), rows, heads * dim, heads, dim, dim, cos.data(), sin.data(), interleaved);
    double forward = 0, backward = 0;
    for (int64_t i = 0; i < n; ++i) {
      forward += static_cast<double>(y[i]) * d[i];
      backward += static_cast<double>(x[i]) * back[i];
    }
    EXPECT_NEAR(forward, backward, 1e-5);
  }
}

TEST(LogSoftmaxBackwardTest, EqualsAutogradOfTheTwin) {
  const int64_t vocab = 301, token = 17;
  const double temperature = 0.7, d_logprob = -1.5, d_entropy = 0.4;
  const std::vector<float> logits = TestValues(vocab, 1);
  const at::Tensor tl = Leaf(logits, {1, vocab});
  const auto scores = reference::LogSoftmaxAt(tl, at::tensor({token}), temperature);
  (d_logprob * scores.log_probability + d_entropy * scores.entropy).sum().backward();
  float entropy = 0;
  const SoftmaxSums sums = LogSoftmaxSums(logits.data(), vocab, 0.7f, &entropy);
  std::vector<float> row = logits;
  LogSoftmaxBackward({1 / 0.7f, sums.max + sums.log_total, -1.5f, 0.4f, entropy}, vocab, row.data());
  row[token] += -1.5f / 0.7f;
  EXPECT_LT(Distance(row, tl.grad().view({vocab})), 1e-5);
}

TEST(LogSoftmaxBackwardTest, GivesTokensOfProbabilityZeroNoGradient) {
  std::vector<float> row = {1.0f, -std::numeric_limits<float>::infinity(), 2.0f};
  float entropy = 0;
  const SoftmaxSums sums = LogSoftmaxSums(row.data(), 3, 1.0f, &entropy);
  LogSoftmaxBackward({1, sums.max + sums.log_total, 1, 1, entropy}, 3, row.data());
  EXPECT_EQ(row[1], 0.0f);
  EXPECT_TRUE(std::isfinite(row[0]) && std::isfinite(row[2]));
}

}  // namespace
}  // namespace sluice::kernels
