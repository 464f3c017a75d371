#include "core/weights/policy_cache.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kValues = 400000;  // of the large tensor: more than one chunk

// Version v: a frozen tensor, one in which a few values follow v, and one that is small.
TensorMap TensorsOf(PolicyVersion v) {
  std::vector<float> values(kValues, 1.5f);
  for (int64_t i = 0; i < 50; ++i) values[static_cast<size_t>(i * 7919)] = static_cast<float>(v + i);
  const float small[] = {static_cast<float>(v), 2};
  const std::vector<float> frozen(1000, 3);
  return {{"frozen", TensorFromFloats({1000}, frozen.data(), DType::kF32)},
          {"large", TensorFromFloats({kValues}, values.data(), DType::kBF16)},
          {"small", TensorFromFloats({2}, small, DType::kF32)}};
}

const ModelFiles kFiles = {{"config.json", "{}"}};

// A publisher's store that counts and spoils what it gives out.
class Source final : public WeightChannel {
 public:
  explicit Source(PolicyStore& store) : store_(store) {}
  absl::StatusOr<std::string> ReadManifest(const JobId& job, PolicyVersion version,
                                           absl::Time deadline) override {
    return store_.ReadManifest(job, version, deadline);
  }
  absl::Status ReadTensor(const JobId& job, PolicyVersion version, const std::string& tensor,
                          absl::Time deadline,
                          const std::function<absl::Status(absl::string_view)>& on_chunk) override {
    whole.push_back(tensor);
    return store_.ReadTensor(job, version, tensor, deadline, on_chunk);
  }
  absl::Status ReadPatch(const PolicyRef& base, PolicyVersion version, const std::string& tensor,
                         absl::Time deadline,
                         const std::function<absl::Status(absl::string_view)>& on_chunk) override {
    if (!patches.ok()) return patches;
    patched.push_back(tensor);
    return store_.ReadPatch(base, version, tensor, deadline, [&](absl::string_view chunk) {
      std::string bytes(chunk);
      if (spoil) bytes.back() ^= 1;
      if (cut) bytes.pop_back();
      return on_chunk(bytes);
    });
  }
  absl::StatusOr<std::string> ReadModelFile(const JobId& job, const std::string& name,
                                            absl::Time deadline) override {
    return store_.ReadModelFile(job, name, deadline);
  }

  absl::Status patches;
  bool spoil = false, cut = false;
  std::vector<std::string> whole, patched;

 private:
  PolicyStore& store_;
};

class PolicyCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(::testing::TempDir(), "/policy_cache_", getpid(), "_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(RemoveTree(root_).ok());
    store_ = *PolicyStore::Open(root_ + "/learner");
    source_ = std::make_unique<Source>(*store_);
    Reopen();
    for (PolicyVersion v = 0; v < 4; ++v)
      refs_.push_back(*store_->Publish("job", v, v - 1, TensorsOf(v), kFiles));
  }
  void TearDown() override { RemoveTree(root_).IgnoreError(); }
  void Reopen() { cache_ = *PolicyCache::Open(root_ + "/worker"); }

  // Fetches and keeps; the tensors are those of the version.
  FetchedPolicy Take(PolicyVersion v) {
    source_->whole.clear();
    source_->patched.clear();
    auto fetched = cache_->Fetch(*source_, refs_[static_cast<size_t>(v)], absl::InfiniteFuture());
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    if (!fetched.ok()) return {};
    for (const auto& [name, tensor] : TensorsOf(v)) {
      EXPECT_EQ(*fetched->tensors[name].bytes, *tensor.bytes) << name;
      EXPECT_EQ(fetched->tensors[name].shape, tensor.shape) << name;
    }
    EXPECT_TRUE(cache_->Keep(*fetched).ok());
    return *std::move(fetched);
  }

  std::string root_;
  std::unique_ptr<PolicyStore> store_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<PolicyCache> cache_;
  std::vector<PolicyRef> refs_;
};

TEST_F(PolicyCacheTest, TheFirstIsReadWholeTheNextAsPatches) {
  EXPECT_GT(Take(0).bytes, kValues * 2);
  EXPECT_THAT(source_->patched, IsEmpty());
  const FetchedPolicy next = Take(1);
  EXPECT_THAT(source_->whole, IsEmpty());
  EXPECT_THAT(source_->patched, ElementsAre("large", "small"));  // the frozen one has the same hash
  EXPECT_LT(next.bytes, 4000);
  EXPECT_GT(next.patched_bytes, kValues * 2);
  EXPECT_LT(Take(3).bytes, 4000);  // over a version that it never had
}

TEST_F(PolicyCacheTest, WhatIsThereAfterARestartIsNotFetched) {
  Take(2);
  Reopen();
  EXPECT_EQ(Take(2).bytes, 0);
  EXPECT_THAT(source_->whole, IsEmpty());
  EXPECT_THAT(source_->patched, IsEmpty());
}

TEST_F(PolicyCacheTest, ADamagedCopyIsThrownAwayAndFetchedAgain) {
  Take(2);
  {
    std::fstream file(root_ + "/worker/job/versions/2/tensors.bin",
                      std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.good());
    file.seekp(5000);
    file.put('!');
  }
  EXPECT_GT(Take(2).bytes, kValues * 2);
  EXPECT_EQ(Take(2).bytes, 0);
}

TEST_F(PolicyCacheTest, AWrongOrTornPatchIsReadWhole) {
  for (const bool cut : {false, true}) {
    ASSERT_TRUE(RemoveTree(root_ + "/worker").ok());
    Reopen();
    source_->spoil = source_->cut = false;
    Take(0);
    (cut ? source_->cut : source_->spoil) = true;
    Take(1);
    EXPECT_THAT(source_->whole, ElementsAre("large", "small"));
  }
}

TEST_F(PolicyCacheTest, WhereThereAreNoPatchesEverythingIsReadWhole) {
  for (const absl::Status& status : {absl::UnimplementedError("none"), absl::NotFoundError("base"),
                                     absl::FailedPreconditionError("another base")}) {
    ASSERT_TRUE(RemoveTree(root_ + "/worker").ok());
    Reopen();
    source_->patches = absl::OkStatus();
    Take(0);
    source_->patches = status;
    Take(1);
    EXPECT_THAT(source_->whole, ElementsAre("large", "small")) << status;
  }
}

TEST_F(PolicyCacheTest, TheStoreRefusesAnotherBase) {
  PolicyRef other = refs_[0];
  other.manifest_hash = refs_[1].manifest_hash;
  const auto ignore = [](absl::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(
      absl::IsFailedPrecondition(store_->ReadPatch(other, 1, "large", absl::InfiniteFuture(), ignore)));
  other.version = 9;
  EXPECT_TRUE(absl::IsNotFound(store_->ReadPatch(other, 1, "large", absl::InfiniteFuture(), ignore)));
}

TEST_F(PolicyCacheTest, KeepsTwoVersionsOfOneJobAndGivesThemToOthers) {
  for (PolicyVersion v = 0; v < 4; ++v) Take(v);
  auto found = PolicyStore::Open(root_ + "/worker");
  EXPECT_THAT(*(*found)->ListVersions("job"), ElementsAre(2, 3));
  auto from_peer = FetchPolicy(cache_->channel(), refs_[3], absl::InfiniteFuture());
  ASSERT_TRUE(from_peer.ok()) << from_peer.status();
  EXPECT_EQ(*from_peer->tensors["large"].bytes, *TensorsOf(3)["large"].bytes);

  refs_.push_back(*store_->Publish("second", 0, -1, TensorsOf(9), kFiles));
  auto fetched = cache_->Fetch(*source_, refs_.back(), absl::InfiniteFuture());
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  ASSERT_TRUE(cache_->Keep(*fetched).ok());
  EXPECT_THAT(*(*found)->ListVersions("job"), IsEmpty());
}

}  // namespace
}  // namespace sluice
