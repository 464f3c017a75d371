#include "reward/code/compile_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/hash.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class CompileCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = mkdtemp(name_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  char name_[32] = "/tmp/sluice-cache.XXXXXX";
  std::string folder_;
  const std::string a_ = Sha256Hex("a"), b_ = Sha256Hex("b"), c_ = Sha256Hex("c");
};

TEST_F(CompileCacheTest, KeepsWhatWasUsedLast) {
  auto cache = *CompileCache::Open(folder_, 400);
  cache->Put(a_, std::string(100, 'a'));
  cache->Put(b_, std::string(100, 'b'));
  EXPECT_EQ(cache->Get(a_), std::string(100, 'a'));
  cache->Put(c_, std::string(100, 'c'));
  EXPECT_EQ(cache->Get(b_), std::nullopt);
  EXPECT_EQ(cache->Get(a_), std::string(100, 'a'));
  EXPECT_EQ(cache->Get(c_), std::string(100, 'c'));
  EXPECT_LE(cache->bytes(), 400);
  cache->Put(b_, std::string(1000, 'b'));  // larger than all: not kept, and nothing is lost for it
  EXPECT_NE(cache->Get(a_), std::nullopt);
}

TEST_F(CompileCacheTest, OutlivesTheProcess) {
  (*CompileCache::Open(folder_, 1000))->Put(a_, "binary");
  auto again = *CompileCache::Open(folder_, 1000);
  EXPECT_EQ(again->Get(a_), "binary");
  EXPECT_EQ((*CompileCache::Open(folder_, 10))->bytes(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/" + a_));
}

TEST_F(CompileCacheTest, DoesNotReturnDamagedFiles) {
  auto cache = *CompileCache::Open(folder_, 1000);
  cache->Put(a_, "binary");
  std::ofstream(folder_ + "/" + a_, std::ios::app) << "x";
  EXPECT_EQ(cache->Get(a_), std::nullopt);
  EXPECT_EQ(cache->bytes(), 0);
}

TEST_F(CompileCacheTest, WithoutAFolderKeepsNothing) {
  auto cache = *CompileCache::Open("", 1000);
  cache->Put(a_, "binary");
  EXPECT_EQ(cache->Get(a_), std::nullopt);
}

}  // namespace
}  // namespace sluice
