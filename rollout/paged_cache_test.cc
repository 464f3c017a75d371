#include "rollout/paged_cache.h"

#include <memory>

#include "core/kernels/kernels.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

const KernelBackend kBackend;
constexpr CacheShape kShape = {2, 64 * 3 * 4};  // layers; three floats a position
constexpr int64_t kBlockBytes = 2 * 64 * 3 * 4;

float& At(const SequenceCache& cache, int64_t layer, int64_t position, int64_t column) {
  std::byte* block = cache.table()[layer][position / kernels::kBlockTokens];
  return reinterpret_cast<float*>(block)[(position % kernels::kBlockTokens) * 3 + column];
}

TEST(BlockPoolTest, NeverHoldsMoreThanItsLimit) {
  BlockPool pool(&kBackend, 1000);
  CacheBlock a = pool.Allocate(400), b = pool.Allocate(400);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(pool.Allocate(400), nullptr);
  EXPECT_EQ(pool.used_bytes(), 800);
  EXPECT_EQ(pool.used_blocks(), 2);
  a = nullptr;
  EXPECT_EQ(pool.used_blocks(), 1);
  EXPECT_NE(pool.Allocate(400), nullptr);
}

TEST(BlockPoolTest, GivesFreeBlocksOfOneSizeUpForAnother) {
  BlockPool pool(&kBackend, 1000);
  pool.Allocate(400);  // used once, free again
  CacheBlock large = pool.Allocate(800);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(pool.Allocate(400), nullptr) << "the large block and a small one are more than the limit";
}

TEST(SequenceCacheTest, ReserveTakesWholeBlocksOrNothing) {
  BlockPool pool(&kBackend, 3 * kBlockBytes);
  SequenceCache a(&pool, kShape), b(&pool, kShape);
  EXPECT_TRUE(a.Reserve(1));
  EXPECT_TRUE(a.Reserve(64));
  EXPECT_EQ(a.blocks(), 1);
  EXPECT_TRUE(a.Reserve(65));
  EXPECT_EQ(a.blocks(), 2);
  EXPECT_FALSE(b.Reserve(65));
  EXPECT_EQ(pool.used_blocks(), 2);
  EXPECT_TRUE(b.Reserve(64));
  a.Clear();
  EXPECT_EQ(pool.used_blocks(), 1);
}

TEST(SequenceCacheTest, ForkSharesFullBlocksAndCopiesThePartialOne) {
  BlockPool pool(&kBackend, 10 * kBlockBytes);
  auto prefix = std::make_unique<SequenceCache>(&pool, kShape);
  ASSERT_TRUE(prefix->Reserve(70));
  for (int64_t l = 0; l < 2; ++l) {
    for (int64_t p = 0; p < 70; ++p) At(*prefix, l, p, 2) = static_cast<float>(1000 * l + p);
  }
  SequenceCache a(&pool, kShape), b(&pool, kShape);
  ASSERT_TRUE(a.Fork(*prefix, 70) && b.Fork(*prefix, 70));
  EXPECT_EQ(pool.used_blocks(), 4);  // one shared, three partial ones
  EXPECT_EQ(a.table()[1][0], prefix->table()[1][0]);
  EXPECT_NE(a.table()[1][1], prefix->table()[1][1]);
  At(a, 1, 70, 2) = 7;
  At(b, 1, 70, 2) = 8;
  prefix = nullptr;
  EXPECT_EQ(pool.used_blocks(), 3);
  EXPECT_EQ(At(a, 1, 70, 2), 7);
  for (int64_t p = 0; p < 70; ++p) EXPECT_EQ(At(b, 1, p, 2), static_cast<float>(1000 + p));
}

TEST(SequenceCacheTest, ForkAtABlockBoundaryTakesNoBlock) {
  BlockPool pool(&kBackend, kBlockBytes);
  SequenceCache prefix(&pool, kShape), a(&pool, kShape);
  ASSERT_TRUE(prefix.Reserve(64));
  EXPECT_TRUE(a.Fork(prefix, 64));
  EXPECT_FALSE(a.Reserve(65));
  EXPECT_EQ(a.blocks(), 1);
}

TEST(SequenceCacheTest, ForkWithoutABlockChangesNothing) {
  BlockPool pool(&kBackend, 2 * kBlockBytes);
  SequenceCache prefix(&pool, kShape), a(&pool, kShape);
  ASSERT_TRUE(prefix.Reserve(70));
  EXPECT_FALSE(a.Fork(prefix, 70));
  EXPECT_EQ(a.blocks(), 0);
  EXPECT_EQ(pool.used_blocks(), 2);
}

}  // namespace
}  // namespace sluice
