// Time of what a sampler does to 64 rows of logits: sample_bench [THREADS]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/kernels/sample.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kRows = 64;

struct Scratch {
  std::vector<float> weights, maxima, sums;
  std::vector<int32_t> ids;
};

// A token and its log-probability, with the filter's distribution where there is one.
float Sample(const float* logits, int64_t vocab, float temperature, const TokenFilter& filter, Scratch* s) {
  s->weights.resize(vocab);
  s->maxima.resize(LogitBlocks(vocab));
  s->sums.resize(LogitBlocks(vocab));
  const GreatestLogit greatest = FindGreatest(logits, vocab, s->maxima.data());
  const SoftmaxSums sums =
      SumWeights(logits, vocab, greatest.logit, temperature, s->weights.data(), s->sums.data());
  int32_t token = 0;
  if (filter.KeepsAll(vocab)) {
    token = InvertWeights(s->weights.data(), s->sums.data(), vocab, sums.total, 0.6);
  } else {
    FilterTokens({logits, s->weights.data(), s->maxima.data(), vocab, greatest.logit,
                  sums.inverse_temperature, sums.total},
                 filter, &s->ids);
    token = InvertWeightsOf(s->ids, s->weights.data(), TotalWeight(s->ids, s->weights.data()), 0.6);
  }
  if (temperature == 1) return LogProbability(sums, logits[token]);
  return LogSoftmaxAt(logits, vocab, token, 1, nullptr);
}

void Run(int threads) {
  ThreadPool pool(threads);
  std::printf("%s, %d threads, %ld rows\n", KernelPath().c_str(), threads, kRows);
  for (const int64_t vocab : {49152, 160000}) {
    for (const float size : {0.5f, 3.0f}) {  // of the logits: nearly even, and like a trained model's
      std::mt19937 generator(1);
      std::normal_distribution<float> normal(0, size);
      std::vector<float> logits(kRows * vocab);
      for (float& logit : logits) logit = normal(generator);
      const auto time = [&](const char* name, float temperature, const TokenFilter& filter) {
        std::vector<float> out(kRows);
        double best = 1e9;
        for (int i = 0; i < 7; ++i) {
          const absl::Time start = absl::Now();
          pool.ParallelFor(kRows, [&](int64_t r) {
            thread_local Scratch scratch;
            out[r] = Sample(&logits[r * vocab], vocab, temperature, filter, &scratch);
          });
          best = std::min(best, absl::ToDoubleMilliseconds(absl::Now() - start));
        }
        std::printf("vocab %6ld size %.1f %-16s %7.3f ms\n", vocab, size, name, best);
      };
      time("plain", 1, {});
      time("temperature 0.8", 0.8f, {});
      time("top-k 50", 1, {50, 1, 0});
      time("top-p 0.9", 1, {0, 0.9f, 0});
      time("min-p 0.05", 1, {0, 1, 0.05f});
      time("all three", 0.8f, {50, 0.9f, 0.05f});
    }
  }
}

}  // namespace
}  // namespace sluice::kernels

int main(int argc, char** argv) {
  sluice::kernels::Run(argc > 1 ? std::atoi(argv[1]) : 2);
  return 0;
}
