// Time of Attention by shape, form of the cache and number of positions, as shares of what this processor
// can do: attention_bench [THREADS]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "core/kernels/attention.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

struct Model {
  const char* name;
  AttentionShape shape;
};

std::vector<float> Values(int64_t n) {
  static std::mt19937 generator(1);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(generator() % 2001) / 1000.0f - 1;
  return values;
}

// Blocks of `sequences` of `tokens` positions; the first `shared` positions belong to all.
struct Cache {
  Cache(const AttentionShape& shape, int64_t sequences, int64_t tokens, int64_t shared)
      : bytes(CacheBlockBytes(shape)) {
    const int64_t each = (tokens + kBlockTokens - 1) / kBlockTokens, common = shared / kBlockTokens;
    blocks = common + sequences * (each - common);
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, blocks * bytes)));
    const std::vector<float> key = Values(shape.kv_heads * shape.key_dim),
                             value = Values(shape.kv_heads * shape.value_dim);
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t t = 0; t < kBlockTokens; ++t)
        CacheStore(shape, key.data(), value.data(), t, memory.get() + b * bytes);
    }
    for (int64_t s = 0; s < sequences; ++s) {
      tables.emplace_back();
      for (int64_t b = 0; b < each; ++b)
        tables.back().push_back(memory.get() +
                                (b < common ? b : common + s * (each - common) + b - common) * bytes);
    }
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  int64_t bytes, blocks;
  std::unique_ptr<std::byte, Free> memory;
  std::vector<std::vector<const std::byte*>> tables;
};

double SecondsOf(const std::function<void()>& body) {
  body();
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    const absl::Time start = absl::Now();
    body();
    best = std::min(best, absl::ToDoubleSeconds(absl::Now() - start));
  }
  return best;
}

void Print(const Model& m, const char* what, int64_t rows, int64_t tokens, double positions, int64_t bytes,
           double seconds) {
  const AttentionShape& s = m.shape;
  const double flops = 2.0 * positions * s.heads * (s.key_dim + s.value_dim);
  std::printf("%-10s %-4s %-8s rows %4ld tokens %5ld  %9.3f ms %8.1f GFLOP/s %7.2f GB/s\n", m.name,
              s.bf16 ? "bf16" : "f32", what, rows, tokens, seconds * 1e3, flops / seconds / 1e9,
              bytes / seconds / 1e9);
}

void Decode(const Model& m, int64_t sequences, int64_t tokens, int64_t shared, ThreadPool* pool) {
  const Cache cache(m.shape, sequences, tokens, shared);
  const std::vector<float> q = Values(sequences * m.shape.heads * m.shape.key_dim);
  std::vector<float> out(sequences * m.shape.heads * m.shape.value_dim);
  std::vector<CachedRow> rows;
  for (const auto& table : cache.tables) rows.push_back({table.data(), tokens});
  const double seconds = SecondsOf([&] { Attention(m.shape, q.data(), rows, out.data(), nullptr, pool); });
  Print(m, shared > 0 ? "group" : "decode", sequences, tokens, static_cast<double>(sequences) * tokens,
        cache.blocks * cache.bytes, seconds);
}

void Prefill(const Model& m, int64_t tokens, ThreadPool* pool) {
  const Cache cache(m.shape, 1, tokens, 0);
  const std::vector<float> q = Values(tokens * m.shape.heads * m.shape.key_dim);
  std::vector<float> out(tokens * m.shape.heads * m.shape.value_dim);
  std::vector<CachedRow> rows;
  for (int64_t t = 0; t < tokens; ++t) rows.push_back({cache.tables[0].data(), t + 1});
  const double seconds = SecondsOf([&] { Attention(m.shape, q.data(), rows, out.data(), nullptr, pool); });
  Print(m, "prefill", tokens, tokens, tokens * (tokens + 1) / 2.0, cache.blocks * cache.bytes, seconds);
}

void Backward(const Model& m, int64_t tokens, ThreadPool* pool) {
  const Cache cache(m.shape, 1, tokens, 0);
  const AttentionShape& s = m.shape;
  const std::vector<float> q = Values(tokens * s.heads * s.key_dim),
                           d_out = Values(tokens * s.heads * s.value_dim);
  std::vector<float> out(d_out.size()), lse(tokens * s.heads), d_q(q.size());
  std::vector<CachedRow> rows;
  for (int64_t t = 0; t < tokens; ++t) rows.push_back({cache.tables[0].data(), t + 1});
  Attention(s, q.data(), rows, out.data(), lse.data(), pool);
  const int64_t width = s.kv_heads * (s.key_dim + (s.value_in_key ? 0 : s.value_dim));
  std::vector<float> d_cache(cache.blocks * kBlockTokens * width);
  std::vector<float*> blocks;
  for (int64_t b = 0; b < cache.blocks; ++b) blocks.push_back(&d_cache[b * kBlockTokens * width]);
  const std::vector<float* const*> d_blocks(tokens, blocks.data());
  const double seconds = SecondsOf([&] {
    AttentionBackward(s, q.data(), rows, {out.data(), lse.data(), d_out.data(), d_blocks, d_q.data()}, pool);
  });
  Print(m, "backward", tokens, tokens, 2.5 * tokens * (tokens + 1) / 2.0, cache.blocks * cache.bytes,
        seconds);
}

void Run(int threads) {
  ThreadPool pool(threads);
  std::printf("%s, %d threads\n", KernelPath().c_str(), threads);
  for (const bool bf16 : {false, true}) {
    for (const Model& m : {Model{"smollm2", {9, 3, 64, 64, false, 0.125f, bf16}},
                           Model{"mla-45m", {8, 1, 160, 128, true, 0.1f, bf16}},
                           Model{"v2-lite", {16, 1, 576, 512, true, 0.05f, bf16}},
                           Model{"v3", {128, 1, 576, 512, true, 0.05f, bf16}}}) {
      for (const int64_t tokens : {256, 4096}) Decode(m, 1, tokens, 0, &pool);
      for (const int64_t tokens : {128, 1024, 4096}) Decode(m, 64, tokens, 0, &pool);
      Decode(m, 64, 1024, 896, &pool);
      for (const int64_t tokens : {128, 512}) Prefill(m, tokens, &pool);
      if (m.shape.heads <= 16) Backward(m, 512, &pool);
    }
  }
}

}  // namespace
}  // namespace sluice::kernels

int main(int argc, char** argv) {
  sluice::kernels::Run(argc > 1 ? std::atoi(argv[1]) : 2);
  return 0;
}
