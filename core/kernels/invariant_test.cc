// Invariant INVARIANT: a row's bits do not depend on its neighbours, the threads, or the grouping.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

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

// bfloat16 by cutting off what does not fit.
PackedMatrix Packed(bool bf16, int64_t out, int64_t in) {
  const std::vector<float> w = TestValues(out * in, 1);
  if (!bf16) return PackedMatrix::FromF32(w.data(), out, in);
  std::vector<uint16_t> halves(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &w[i], sizeof bits);
    halves[i] = static_cast<uint16_t>(bits >> 16);
  }
  return PackedMatrix::FromBF16(halves.data(), out, in);
}

// Sizes with work for several threads, inputs of several blocks, and rows that lie a page apart.
TEST(InvariantTest, LinearRowIsTheSameAloneAndAmongOthersOnAnyThreads) {
  ThreadPool two(2), three(3);
  for (const bool bf16 : {false, true}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{701, 530}, {4200, 40}, {1024, 100}}) {
      const PackedMatrix w = Packed(bf16, out, in);
      for (const int64_t rows : {2, 5, 6, 7, 13, 14, 15, 17, 20, 23, 26, 33, 64}) {
        const std::vector<float> x = TestValues(rows * in, 2);
        const std::vector<float> alone = RowsAlone(x, in, w);
        for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &two, &three}) {
          std::vector<float> y(rows * out);
          Linear(x.data(), rows, in, w, nullptr, y.data(), out, pool);
          EXPECT_EQ(y, alone) << rows << " rows of " << in;
        }
      }
    }
  }
}

TEST(InvariantTest, LinearBatchGivesTheBitsOfLinearForJobsOfAnySizes) {
  ThreadPool two(2), three(3);
  const int64_t shapes[][3] = {{1, 530, 700}, {17, 100, 64}, {0, 40, 8}, {64, 96, 300}, {3, 1, 5}};
  std::vector<PackedMatrix> weights;
  std::vector<std::vector<float>> xs, ys, biases, alone;
  for (const auto& [rows, out, in] : shapes) {
    weights.push_back(Packed(/*bf16=*/weights.size() % 2 == 0, out, in));
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

}  // namespace
}  // namespace sluice::kernels
