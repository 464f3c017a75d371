// Speed of Linear by shape and number of rows, as shares of what this machine could do at most, measured in
// the same run: linear_bench [THREADS] [f32|bf16]
//
// Each round takes fresh weights out of enough copies to overflow the last cache where the model does, as
// decoding a token does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "core/kernels/kernels.h"
#include "core/kernels/machine_limits.h"

namespace sluice::kernels {
namespace {

struct Shape {
  const char* name;
  int64_t in, out;
  int copies;  // matrices of this shape in the model
};
// SmolLM2-135M, then a latent-attention model with small experts.
constexpr Shape kShapes[] = {
    {"smollm2 q/o", 576, 576, 60},   {"smollm2 k/v", 576, 192, 60},    {"smollm2 gate/up", 576, 1536, 60},
    {"smollm2 down", 1536, 576, 30}, {"smollm2 head", 576, 49152, 1},  {"mla q_a", 512, 192, 8},
    {"mla q_b", 192, 768, 8},        {"mla kv_a", 512, 160, 8},        {"mla absorb", 64, 128, 64},
    {"mla o", 512, 512, 8},          {"mla expert up", 512, 256, 126}, {"mla expert down", 256, 512, 63},
    {"mla head", 512, 8192, 1},
};

PackedMatrix Weights(const Shape& shape, bool bf16) {
  const int64_t n = shape.in * shape.out;
  if (!bf16) return PackedMatrix::FromF32(std::vector<float>(n, 0.5f).data(), shape.out, shape.in);
  return PackedMatrix::FromBF16(std::vector<uint16_t>(n, 0x3F00).data(), shape.out, shape.in);
}

// Seconds of one product: the median of rounds over all copies.
double SecondsOf(const Shape& shape, const std::vector<PackedMatrix>& weights, int64_t rows,
                 ThreadPool* pool) {
  std::vector<float> x(rows * shape.in, 0.25f), y(rows * shape.out);
  std::vector<double> seconds;
  const absl::Time end = absl::Now() + absl::Milliseconds(120);
  while (seconds.size() < 5 || absl::Now() < end) {
    const absl::Time start = absl::Now();
    for (const PackedMatrix& w : weights) {
      Linear(x.data(), rows, shape.in, w, nullptr, y.data(), shape.out, pool);
    }
    seconds.push_back(absl::ToDoubleSeconds(absl::Now() - start) / static_cast<double>(weights.size()));
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

void Run(int threads, bool bf16) {
  ThreadPool pool(threads);
  const MachineLimits limits = MeasureMachineLimits(&pool);
  const double flops = bf16 ? limits.bf16_flops : limits.f32_flops;
  std::printf("%s, %d threads, %s weights: at most %.0f GFLOP/s, %.1f GB/s\n", KernelPath().c_str(), threads,
              bf16 ? "bf16" : "f32", flops / 1e9, limits.read_bytes / 1e9);
  std::printf("%-18s %6s %10s %9s %6s %8s %6s\n", "shape", "rows", "us", "GFLOP/s", "share", "GB/s", "share");
  for (const Shape& shape : kShapes) {
    const std::vector<PackedMatrix> weights = [&] {
      std::vector<PackedMatrix> all;
      for (int i = 0; i < shape.copies; ++i) all.push_back(Weights(shape, bf16));
      return all;
    }();
    for (const int64_t rows : {1, 8, 32, 64, 512, 2048}) {
      if (rows * shape.out > int64_t{64} << 20) continue;
      const double seconds = SecondsOf(shape, weights, rows, &pool);
      const double done = 2.0 * static_cast<double>(rows * shape.in * shape.out) / seconds;
      const double read = static_cast<double>(weights[0].bytes()) / seconds;
      std::printf("%-18s %6ld %10.1f %9.1f %5.0f%% %8.1f %5.0f%%\n", shape.name, static_cast<long>(rows),
                  seconds * 1e6, done / 1e9, 100 * done / flops, read / 1e9, 100 * read / limits.read_bytes);
    }
  }
}

}  // namespace
}  // namespace sluice::kernels

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const bool bf16 = argc <= 2 || std::string(argv[2]) == "bf16";
  if (threads < 1 || argc > 3) {
    std::fprintf(stderr, "usage: linear_bench [THREADS] [f32|bf16]\n");
    return 2;
  }
  sluice::kernels::Run(threads, bf16);
}
