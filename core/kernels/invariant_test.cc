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

}  // namespace
}  // namespace sluice::kernels
