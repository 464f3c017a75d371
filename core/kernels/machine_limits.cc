#include "core/kernels/machine_limits.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/kernels/kernel_table.h"

namespace sluice::kernels {
namespace {

void OverPieces(ThreadPool* pool, int64_t pieces, const std::function<void(int64_t)>& body) {
  if (pool != nullptr) return pool->ParallelFor(pieces, body);
  for (int64_t i = 0; i < pieces; ++i) body(i);
}

double SecondsOf(const std::function<void()>& work) {
  const absl::Time start = absl::Now();
  work();
  return std::max(1e-9, absl::ToDoubleSeconds(absl::Now() - start));
}

double FlopsPerSecond(int64_t (*multiply)(int64_t), ThreadPool* pool) {
  constexpr double kTry = 0.03;
  constexpr int kTries = 6;
  const int64_t pieces = 32 * (pool == nullptr ? 1 : pool->threads());
  int64_t rounds = 1;
  while (SecondsOf([&] { multiply(rounds); }) < kTry / 32 && rounds < int64_t{1} << 40) rounds *= 2;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::vector<int64_t> done(pieces);
    const double seconds =
        SecondsOf([&] { OverPieces(pool, pieces, [&](int64_t p) { done[p] = multiply(rounds); }); });
    best = std::max(best, static_cast<double>(done[0]) * static_cast<double>(pieces) / seconds);
  }
  return best;
}

constexpr int64_t kMiB = 1 << 20;

// A multiple of 1 MiB.
int64_t BufferBytes() {
  const int64_t last_cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  const int64_t available = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
  const int64_t most = std::clamp<int64_t>(available / 4, 64 * kMiB, 1024 * kMiB);
  return std::clamp<int64_t>(2 * last_cache, 64 * kMiB, most) / kMiB * kMiB;
}

double ReadBytesPerSecond(ThreadPool* pool) {
  constexpr int kTries = 6;
  const int64_t bytes = BufferBytes(), pieces = bytes / kMiB;
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(std::aligned_alloc(kMiB, static_cast<size_t>(bytes))), std::free);
  if (memory == nullptr) return 0;
  const auto piece = [&](int64_t p) { return memory.get() + p * kMiB; };
  OverPieces(pool, pieces, [&](int64_t p) { std::memset(piece(p), 1, kMiB); });
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = SecondsOf(
        [&] { OverPieces(pool, pieces, [&](int64_t p) { ActiveKernels().limits.read(piece(p), kMiB); }); });
    best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace

MachineLimits MeasureMachineLimits(ThreadPool* pool) {
  const LimitPieces& limits = ActiveKernels().limits;
  MachineLimits found;
  found.f32_flops = FlopsPerSecond(limits.multiply_f32, pool);
  found.bf16_flops = limits.multiply_bf16 == limits.multiply_f32 ? found.f32_flops
                                                                 : FlopsPerSecond(limits.multiply_bf16, pool);
  found.read_bytes = ReadBytesPerSecond(pool);
  return found;
}

}  // namespace sluice::kernels
