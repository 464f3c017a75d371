// Each row-wise kernel against its twin in float64. Tolerances: float32 keeps 6e-8; a sum of n
// products loses about sqrt(n) of these, so 1e-5 of the result's size is loose for n <= 2048 and would still
// show any wrong term.
#include "core/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/kernels/kernel_table.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

TEST(RmsNormTest, EqualsTwinAtAnyWidth) {
  for (const int64_t dim : {1, 15, 16, 17, 64, 1000}) {
    const std::vector<float> x = TestValues(4 * dim, 4), weight = TestValues(dim, 5);
    std::vector<float> y(4 * dim);
    RmsNorm(x.data(), 4, dim, dim, weight.data(), 1e-6f, y.data(), dim);
    EXPECT_LT(Distance(y, reference::RmsNorm(AsTensor(x, {4, dim}), AsTensor(weight, {dim}), 1e-6)), 2e-6)
        << dim;
  }
}

TEST(RmsNormTest, MayWriteOverItsInput) {
  std::vector<float> x = TestValues(2 * 40, 4), y(2 * 40);
  const std::vector<float> weight = TestValues(40, 5);
  RmsNorm(x.data(), 2, 40, 40, weight.data(), 1e-6f, y.data(), 40);
  RmsNorm(x.data(), 2, 40, 40, weight.data(), 1e-6f, x.data(), 40);
  EXPECT_EQ(x, y);
}

TEST(SwiGluTest, EqualsTwinAlsoForLargeGates) {
  std::vector<float> gate = TestValues(200, 6, 10.0f);
  gate[0] = 100, gate[1] = -100, gate[2] = -88, gate[3] = 0;
  const std::vector<float> up = TestValues(200, 7);
  std::vector<float> y(200);
  SwiGlu(gate.data(), up.data(), 200, y.data());
  EXPECT_LT(Distance(y, reference::SwiGlu(AsTensor(gate, {200}), AsTensor(up, {200}))), 1e-6);
}

TEST(SwiGluTest, PassesNanOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), one = 1;
  float y = 0;
  SwiGlu(&nan, &one, 1, &y);
  EXPECT_TRUE(std::isnan(y));
  SwiGlu(&one, &nan, 1, &y);
  EXPECT_TRUE(std::isnan(y));
}

TEST(AddTest, AddsAndScales) {
  const std::vector<float> x = TestValues(37, 8);
  std::vector<float> y = TestValues(37, 9), z = y;
  const at::Tensor tx = AsTensor(x, {37}), ty = AsTensor(y, {37});
  Add(x.data(), 37, y.data());
  AddScaled(x.data(), 0.3f, 37, z.data());
  EXPECT_LT(Distance(y, tx + ty), 1e-6);
  EXPECT_LT(Distance(z, tx * 0.3 + ty), 1e-6);
}

TEST(RopeTest, EqualsTwinInBothLayouts) {
  const int64_t rows = 5, heads = 3, dim = 8, head_stride = 12, row_stride = 40;
  const std::vector<int32_t> positions = {0, 1, 63, 64, 100000};
  const std::vector<float> frequencies = {1.0f, 0.1f, 0.01f, 0.001f};
  std::vector<float> cos(rows * dim / 2), sin(rows * dim / 2);
  RopeCosSin(positions, frequencies, 1.25f, cos.data(), sin.data());
  const reference::Rotation rotation = reference::RopeCosSin(torch::tensor({0, 1, 63, 64, 100000}, at::kLong),
                                                             AsTensor(frequencies, {4}), 1.25);
  EXPECT_LT(Distance(cos, rotation.cos), 3e-7);
  EXPECT_LT(Distance(sin, rotation.sin), 3e-7);
  for (const bool interleaved : {false, true}) {
    std::vector<float> x = TestValues(rows * row_stride, 10);
    at::Tensor twin = AsTensor(x, {rows, row_stride});
    at::Tensor part =
        twin.narrow(1, 0, heads * head_stride).unflatten(1, {heads, head_stride}).narrow(2, 0, dim);
    part.copy_(reference::ApplyRope(part.clone(), rotation, interleaved));
    ApplyRope(x.data(), rows, row_stride, heads, head_stride, dim, cos.data(), sin.data(), interleaved);
    EXPECT_LT(Distance(x, twin), 1e-6) << interleaved;
  }
}

TEST(LogSoftmaxTest, EqualsTwinWithTemperature) {
  for (const int64_t vocab : {2, 16, 77, 1003}) {
    const std::vector<float> logits = TestValues(vocab, 11, 5.0f);
    for (const float temperature : {1.0f, 0.5f, 1.7f}) {
      for (const int32_t target : {0, static_cast<int32_t>(vocab) - 1}) {
        float entropy = 0;
        const float log_p = LogSoftmaxAt(logits.data(), vocab, target, temperature, &entropy);
        const auto twin = reference::LogSoftmaxAt(AsTensor(logits, {1, vocab}),
                                                  torch::full({1}, target, at::kLong), temperature);
        const double size = 1 + std::abs(twin.log_probability.item<double>());
        EXPECT_NEAR(log_p, twin.log_probability.item<double>(), 1e-6 * size);
        EXPECT_NEAR(entropy, twin.entropy.item<double>(), 5e-6);
      }
    }
  }
}

TEST(LogSoftmaxTest, BearsLogitsOfMinusInfinityAndShowsNan) {
  std::vector<float> logits = {1.0f, -std::numeric_limits<float>::infinity(), 1.0f};
  float entropy = 0;
  EXPECT_NEAR(LogSoftmaxAt(logits.data(), 3, 0, 1.0f, &entropy), -std::log(2.0), 1e-6);
  EXPECT_NEAR(entropy, std::log(2.0), 1e-6);
  EXPECT_EQ(LogSoftmaxAt(logits.data(), 3, 1, 1.0f, nullptr), -std::numeric_limits<float>::infinity());
  logits[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(LogSoftmaxAt(logits.data(), 3, 0, 1.0f, nullptr)));
}

// The paths that this processor can run do the same operations, so the test may ask for equal bits.
TEST(KernelPathTest, PathsGiveTheSameBits) {
  const int64_t rows = 7, in = 50, out = 70;
  const std::vector<float> x = TestValues(rows * in, 1), w = TestValues(out * in, 2),
                           up = TestValues(rows * in, 3);
  const PackedMatrix packed = PackedMatrix::FromF32(w.data(), out, in);
  const auto run = [&](const KernelTable& table) {
    std::vector<float> y(rows * out), s(rows * in), n(rows * in), p = x;
    table.linear_f32(
        {x.data(), in, packed.data(), in, out, in, nullptr, y.data(), out, 0, rows, 0, 5, LinearScratch()});
    table.swiglu(x.data(), up.data(), rows * in, s.data());
    table.rms_norm(x.data(), rows, in, in, w.data(), 1e-6f, n.data(), in);
    table.softmax(p.data(), rows * in);
    for (const auto* more : {&s, &n, &p}) y.insert(y.end(), more->begin(), more->end());
    return y;
  };
  EXPECT_EQ(run(generic::Table()), run(ActiveKernels()));
#if defined(__x86_64__)
  if (KernelPath() == "cpu-avx512") {
    EXPECT_EQ(run(avx2::Table()), run(ActiveKernels()));
  }
#endif
}

}  // namespace
}  // namespace sluice::kernels
