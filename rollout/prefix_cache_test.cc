#include "rollout/prefix_cache.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

using kernels::kBlockTokens;

const KernelBackend kBackend;

class PrefixCacheTest : public ::testing::Test {
 protected:
  CacheBlock Block() { return pool_.Allocate(kSize); }
  static std::vector<int32_t> Tokens(int32_t first) {
    std::vector<int32_t> out(static_cast<size_t>(kBlockTokens));
    std::iota(out.begin(), out.end(), first);
    return out;
  }
  // Keeps a chain of blocks; the nodes' ids.
  std::vector<uint64_t> Chain(const std::vector<int32_t>& firsts) {
    std::vector<uint64_t> out;
    uint64_t parent = kPrefixRoot;
    for (int32_t first : firsts) out.push_back(parent = cache_.Insert(parent, Tokens(first), Block())->id);
    return out;
  }
  bool Has(uint64_t parent, int32_t first) const { return cache_.Find(parent, Tokens(first)) != nullptr; }

  static constexpr int64_t kSize = 256;
  BlockPool pool_{&kBackend, kSize * 4};  // four blocks
  PrefixCache cache_;
};

TEST_F(PrefixCacheTest, FindsABlockOnlyAfterTheSameTokens) {
  const std::vector<uint64_t> ids = Chain({0, 100});
  EXPECT_TRUE(Has(kPrefixRoot, 0));
  EXPECT_TRUE(Has(ids[0], 100));
  EXPECT_FALSE(Has(kPrefixRoot, 100)) << "the same tokens at another place";
  EXPECT_FALSE(Has(ids[0], 0));
  EXPECT_FALSE(Has(kPrefixRoot, 1));
  std::vector<int32_t> almost = Tokens(0);
  almost.back() += 1;
  EXPECT_EQ(cache_.Find(kPrefixRoot, almost), nullptr);
}

TEST_F(PrefixCacheTest, ASecondBlockOfTheSameTokensIsNotKept) {
  const CacheBlock first = Block(), second = Block();
  const uint64_t id = cache_.Insert(kPrefixRoot, Tokens(0), first)->id;
  const PrefixCache::Node* again = cache_.Insert(kPrefixRoot, Tokens(0), second);
  EXPECT_EQ(again->id, id);
  EXPECT_EQ(again->block, first);
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_EQ(cache_.blocks(), 1);
}

TEST_F(PrefixCacheTest, GivesUpTheLongestUnusedChainFromItsEnd) {
  const std::vector<uint64_t> old = Chain({0, 100}), young = Chain({500, 600});
  EXPECT_EQ(pool_.used_blocks(), 4);
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(old[0], 100));
  EXPECT_TRUE(Has(kPrefixRoot, 0));
  cache_.Touch(old[0]);
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(young[0], 600)) << "the other one was touched";
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(kPrefixRoot, 500));
  EXPECT_TRUE(Has(kPrefixRoot, 0));
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(cache_.Evict());
  EXPECT_EQ(pool_.used_blocks(), 0);
}

TEST_F(PrefixCacheTest, TouchingAChainKeepsChildrenBeforeTheirParents) {
  const std::vector<uint64_t> a = Chain({0, 100, 200});
  cache_.Touch(a[2]);
  for (int32_t left : {200, 100, 0}) {
    ASSERT_TRUE(cache_.Evict());
    EXPECT_EQ(Has(kPrefixRoot, 0), left != 0);
    EXPECT_EQ(Has(a[0], 100), left == 200);
  }
}

// What is added to an old chain is as new as its last use, not as old as its beginning.
TEST_F(PrefixCacheTest, AConversationThatGoesOnOutlivesNewerPromptsThatAreIdle) {
  const std::vector<uint64_t> talk = Chain({0});
  Chain({500});
  Chain({600});
  const uint64_t tail = cache_.Insert(talk[0], Tokens(100), Block())->id;
  EXPECT_EQ(pool_.used_blocks(), 4);
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(kPrefixRoot, 500));
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(kPrefixRoot, 600));
  EXPECT_TRUE(Has(talk[0], 100));
  ASSERT_NE(cache_.Insert(tail, Tokens(200), Block()), nullptr);
  Chain({700});
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(tail, 200)) << "the prompt is newer";
  Chain({800});
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(talk[0], 100));
  EXPECT_TRUE(Has(kPrefixRoot, 0));
  Chain({900});
  ASSERT_TRUE(cache_.Evict());
  EXPECT_FALSE(Has(kPrefixRoot, 0)) << "was used with its tail, before the prompts";
  EXPECT_TRUE(Has(kPrefixRoot, 700));
}

TEST_F(PrefixCacheTest, GivingUpManyBlocksTakesNoScanOverThoseInUse) {
  BlockPool pool(&kBackend, kSize * 40000);
  PrefixCache cache;
  std::vector<CacheBlock> held;
  for (int32_t i = 0; i < 40000; ++i) {
    CacheBlock block = pool.Allocate(kSize);
    if (i < 20000) held.push_back(block);
    cache.Insert(kPrefixRoot, Tokens(i * 16), std::move(block));
  }
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(cache.Evict());
  EXPECT_FALSE(cache.Evict());
  EXPECT_EQ(cache.blocks(), 20000);
}

TEST_F(PrefixCacheTest, BlocksInUseAreNotGivenUp) {
  Chain({0});
  const CacheBlock held = cache_.Find(kPrefixRoot, Tokens(0))->block;
  Chain({500});
  ASSERT_TRUE(cache_.Evict());
  EXPECT_TRUE(Has(kPrefixRoot, 0));
  EXPECT_FALSE(Has(kPrefixRoot, 500));
  EXPECT_FALSE(cache_.Evict());
}

TEST_F(PrefixCacheTest, ThePoolTakesBlocksBack) {
  pool_.set_reclaim([this] { return cache_.Evict(); });
  Chain({0, 100, 200, 300});
  std::vector<CacheBlock> held;
  for (int i = 0; i < 4; ++i) held.push_back(Block());
  for (const CacheBlock& block : held) EXPECT_NE(block, nullptr);
  EXPECT_EQ(cache_.blocks(), 0);
  EXPECT_EQ(Block(), nullptr);
}

TEST_F(PrefixCacheTest, AfterClearNothingIsFoundAndOldNodesTakeNoChildren) {
  const std::vector<uint64_t> ids = Chain({0, 100});
  cache_.Clear();
  EXPECT_EQ(pool_.used_blocks(), 0);
  EXPECT_FALSE(Has(kPrefixRoot, 0));
  EXPECT_EQ(cache_.Insert(ids[1], Tokens(200), Block()), nullptr);
  const std::vector<uint64_t> again = Chain({0});
  EXPECT_NE(again[0], ids[0]);
}

}  // namespace
}  // namespace sluice
