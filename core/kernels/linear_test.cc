// Linear against its twin in float64. Tolerances: float32 keeps 6e-8; a sum of n products loses about sqrt(n)
// of these, so 1e-5 of the result's size is loose for n <= 2048 and would still show any wrong term. The
// twin's activations are rounded where the path rounds them, so bfloat16 needs no other tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/kernels.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

// Whether products with bfloat16 weights round their activations.
bool RoundsActivations() {
  return KernelPath() == "cpu-avx512-bf16" || KernelPath() == "cpu-amx" || KernelPath() == "cpu-amx-emulated";
}

std::vector<uint16_t> Rounded(const std::vector<float>& values) {
  const at::Tensor halves =
      torch::tensor(at::ArrayRef<float>(values.data(), values.size()), at::kFloat).to(at::kBFloat16);
  std::vector<uint16_t> bits(values.size());
  std::memcpy(bits.data(), halves.data_ptr(), bits.size() * sizeof(uint16_t));
  return bits;
}

std::vector<float> Widened(const std::vector<uint16_t>& halves) {
  std::vector<float> values(halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(halves[i]) << 16;
    std::memcpy(&values[i], &bits, sizeof bits);
  }
  return values;
}

struct LinearShape {
  int64_t rows, out, in;
};
class LinearTest : public testing::TestWithParam<LinearShape> {};

TEST_P(LinearTest, EqualsTwinInFloat32) {
  const auto [rows, out, in] = GetParam();
  const std::vector<float> x = TestValues(rows * in, 1), w = TestValues(out * in, 2),
                           bias = TestValues(out, 3);
  std::vector<float> y(rows * out), with_bias(rows * out);
  const PackedMatrix packed = PackedMatrix::FromF32(w.data(), out, in);
  Linear(x.data(), rows, in, packed, nullptr, y.data(), out, nullptr);
  Linear(x.data(), rows, in, packed, bias.data(), with_bias.data(), out, nullptr);
  const at::Tensor twin = reference::Linear(AsTensor(x, {rows, in}), AsTensor(w, {out, in}));
  EXPECT_LT(Distance(y, twin), 1e-5);
  EXPECT_LT(Distance(with_bias, twin + AsTensor(bias, {out})), 1e-5);
}

TEST_P(LinearTest, EqualsTwinInBF16) {
  const auto [rows, out, in] = GetParam();
  const std::vector<float> x = TestValues(rows * in, 1), bias = TestValues(out, 3);
  const std::vector<uint16_t> w = Rounded(TestValues(out * in, 2));
  std::vector<float> y(rows * out), with_bias(rows * out);
  const PackedMatrix packed = PackedMatrix::FromBF16(w.data(), out, in);
  Linear(x.data(), rows, in, packed, nullptr, y.data(), out, nullptr);
  Linear(x.data(), rows, in, packed, bias.data(), with_bias.data(), out, nullptr);
  const at::Tensor twin = reference::Linear(
      AsTensor(RoundsActivations() ? Widened(Rounded(x)) : x, {rows, in}), AsTensor(Widened(w), {out, in}));
  EXPECT_LT(Distance(y, twin), 1e-5);
  EXPECT_LT(Distance(with_bias, twin + AsTensor(bias, {out})), 1e-5);
}

TEST_P(LinearTest, OfWidenedWeightsGivesTheBitsOfFloat32) {
  if (RoundsActivations()) GTEST_SKIP() << KernelPath() << " rounds activations";
  const auto [rows, out, in] = GetParam();
  const std::vector<float> x = TestValues(rows * in, 1);
  const std::vector<uint16_t> w = Rounded(TestValues(out * in, 2));
  std::vector<float> y(rows * out), y_half(rows * out);
  Linear(x.data(), rows, in, PackedMatrix::FromF32(Widened(w).data(), out, in), nullptr, y.data(), out,
         nullptr);
  Linear(x.data(), rows, in, PackedMatrix::FromBF16(w.data(), out, in), nullptr, y_half.data(), out, nullptr);
  EXPECT_EQ(y, y_half);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         testing::Values(LinearShape{1, 1, 1}, LinearShape{1, 16, 8}, LinearShape{1, 300, 70},
                                         LinearShape{2, 33, 5}, LinearShape{3, 64, 64}, LinearShape{5, 40, 7},
                                         LinearShape{6, 128, 33}, LinearShape{13, 100, 256},
                                         LinearShape{64, 160, 64}, LinearShape{31, 17, 2048},
                                         LinearShape{17, 48, 96}, LinearShape{40, 20, 3100},
                                         LinearShape{130, 35, 1024}, LinearShape{2, 30, 9001}));

TEST(LinearTest, LeavesWhatLiesBetweenStridedRows) {
  const std::vector<float> x = TestValues(3 * 10, 1), w = TestValues(20 * 4, 2);
  std::vector<float> y(3 * 25, -7.0f);
  Linear(x.data(), 3, 10, PackedMatrix::FromF32(w.data(), 20, 4), nullptr, y.data(), 25, nullptr);
  const at::Tensor twin = reference::Linear(AsTensor(x, {3, 10}).narrow(1, 0, 4), AsTensor(w, {20, 4}));
  const at::Tensor mine = AsTensor(y, {3, 25});
  EXPECT_LT((mine.narrow(1, 0, 20) - twin).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE((mine.narrow(1, 20, 5) == -7).all().item<bool>());
}

PackedMatrix PackedIn(bool bf16, const std::vector<float>& w, int64_t out, int64_t in) {
  return bf16 ? PackedMatrix::FromBF16(Rounded(w).data(), out, in) : PackedMatrix::FromF32(w.data(), out, in);
}

TEST(LinearTest, WithoutRowsInputsOrOutputsDoesNoMoreThanTheBias) {
  for (const bool bf16 : {false, true}) {
    const std::vector<float> bias = {1, 2, 3};
    std::vector<float> y(6, -7.0f);
    Linear(nullptr, 0, 0, PackedIn(bf16, TestValues(15, 1), 3, 5), bias.data(), y.data(), 3, nullptr);
    Linear(TestValues(10, 2).data(), 2, 5, PackedIn(bf16, {}, 0, 5), nullptr, y.data(), 0, nullptr);
    EXPECT_EQ(y, std::vector<float>(6, -7.0f));
    Linear(y.data(), 2, 0, PackedIn(bf16, {}, 3, 0), bias.data(), y.data(), 3, nullptr);
    EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 1, 2, 3}));
  }
}

TEST(LinearTest, KeepsNanAndInfinityWhereTheyBelong) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const int64_t rows = 19, in = 45, out = 40;
  for (const bool bf16 : {false, true}) {
    std::vector<float> x = TestValues(rows * in, 1), w = TestValues(out * in, 2), y(rows * out);
    x[3 * in + in - 1] = nan;
    x[7 * in] = infinity;
    w[12 * in + 20] = nan;
    Linear(x.data(), rows, in, PackedIn(bf16, w, out, in), nullptr, y.data(), out, nullptr);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        const float value = y[r * out + o];
        if (r == 3 || o == 12) {
          EXPECT_TRUE(std::isnan(value)) << r << " " << o;
        } else {
          EXPECT_EQ(std::isinf(value), r == 7) << r << " " << o << " " << value;
        }
      }
    }
  }
}

TEST(PackedMatrixTest, TakesTheMemoryOfItsValuesAndLittlePadding) {
  const std::vector<uint16_t> w(576 * 192);
  EXPECT_EQ(PackedMatrix::FromBF16(w.data(), 192, 576).bytes(), 192 * 576 * 2);
  EXPECT_LE(PackedMatrix::FromBF16(w.data(), 17, 5).bytes(), 32 * 32 * 2);
}

TEST(PackedMatrixTest, GivesTheWeightsOfAnOutputBack) {
  const int64_t out = 37, in = 53;  // neither whole panels nor whole pairs
  std::vector<uint16_t> halves(out * in);
  std::vector<float> floats(out * in);
  for (int64_t i = 0; i < out * in; ++i) {
    halves[i] = static_cast<uint16_t>(0x3f00 + i % 251);
    const uint32_t bits = static_cast<uint32_t>(halves[i]) << 16;
    std::memcpy(&floats[i], &bits, sizeof(bits));
  }
  WeightMemory memory;
  for (const PackedMatrix& matrix : {PackedMatrix::FromBF16(halves.data(), out, in),
                                     PackedMatrix::FromF32(floats.data(), out, in, &memory),
                                     PackedMatrix::FromBF16(halves.data(), out, in, &memory)}) {
    for (int64_t o = 0; o < out; ++o) {
      std::vector<float> weights(in);
      matrix.ReadOutput(o, weights.data());
      EXPECT_EQ(weights, std::vector<float>(floats.begin() + o * in, floats.begin() + (o + 1) * in)) << o;
    }
  }
}

TEST(WeightMemoryTest, PiecesAreAlignedApartAndOutliveIt) {
  std::vector<std::pair<std::shared_ptr<void>, int64_t>> pieces;
  {
    WeightMemory memory;
    for (const int64_t bytes : {1, 64, 100'000, 5'000'000, 3, 40'000'000, 70'000}) {
      pieces.emplace_back(memory.Take(bytes), bytes);
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces[i].first.get()) % 64, 0u);
    std::memset(pieces[i].first.get(), static_cast<int>(i + 1), pieces[i].second);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const unsigned char* bytes = static_cast<const unsigned char*>(pieces[i].first.get());
    EXPECT_EQ(bytes[0], i + 1);
    EXPECT_EQ(bytes[pieces[i].second - 1], i + 1);
  }
}

}  // namespace
}  // namespace sluice::kernels
