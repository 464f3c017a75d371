#include "core/weights/policy_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/weights/fetch_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Ramp(int64_t n, float first) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return TensorFromFloats({n}, values.data(), DType::kF32);
}

TensorMap SomeTensors(float first) {
  // The second is larger than one chunk of the channel.
  return {{"a.weight", Ramp(10, first)}, {"b.weight", Ramp(300000, first)}, {"c.empty", Ramp(0, 0)}};
}

const ModelFiles kFiles = {{"config.json", "{\"x\": 1}"}, {"tokenizer.json", "{}"}};

class PolicyStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = absl::StrCat(::testing::TempDir(), "/policy_store_", getpid(), "_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(RemoveTree(root_).ok());
    Reopen();
  }
  void TearDown() override { RemoveTree(root_).IgnoreError(); }
  void Reopen() {
    auto store = PolicyStore::Open(root_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<FetchedPolicy> Fetch(const PolicyRef& ref) {
    return FetchPolicy(*store_, ref, absl::InfiniteFuture());
  }
  // Turns one byte of a file over.
  void Corrupt(const std::string& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.good()) << path;
    file.seekg(at);
    char byte;
    file.get(byte);
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }

  std::string root_;
  std::unique_ptr<PolicyStore> store_;
};

TEST_F(PolicyStoreTest, FetchGivesWhatWasPublished) {
  const TensorMap tensors = SomeTensors(1);
  auto ref = store_->Publish("job", 3, 2, tensors, kFiles);
  ASSERT_TRUE(ref.ok()) << ref.status();
  EXPECT_EQ(ref->source, root_);
  auto fetched = Fetch(*ref);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(fetched->manifest.parent, 2);
  EXPECT_EQ(fetched->files, kFiles);
  ASSERT_EQ(fetched->tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(*fetched->tensors[name].bytes, *tensor.bytes) << name;
    EXPECT_EQ(fetched->tensors[name].shape, tensor.shape) << name;
  }
  EXPECT_GT(fetched->bytes, 300010 * 4);
}

TEST_F(PolicyStoreTest, SurvivesReopening) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok()) << ref.status();
  Reopen();
  auto found = store_->Lookup("job", 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, *ref);
  EXPECT_TRUE(Fetch(*found).ok());
}

TEST_F(PolicyStoreTest, PublishIsIdempotentAndRefusesOtherContent) {
  auto first = store_->Publish("job", 1, 0, SomeTensors(1), kFiles);
  auto again = store_->Publish("job", 1, 0, SomeTensors(1), kFiles);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*first, *again);
  auto other = store_->Publish("job", 1, 0, SomeTensors(2), kFiles);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists) << other.status();
  EXPECT_EQ(*Fetch(*first)->tensors["a.weight"].bytes, *SomeTensors(1)["a.weight"].bytes);
}

TEST_F(PolicyStoreTest, LeftoversOfACrashAreNoVersionAndAreRemoved) {
  ASSERT_TRUE(store_->Publish("job", 0, -1, SomeTensors(0), kFiles).ok());
  const std::string leftover = absl::StrCat(root_, "/job/versions/.tmp.1");
  ASSERT_TRUE(MakeDirectories(leftover).ok());
  ASSERT_TRUE(WriteFileAtomically(absl::StrCat(leftover, "/tensors.bin"), "half").ok());
  EXPECT_THAT(*store_->ListVersions("job"), ElementsAre(0));
  EXPECT_TRUE(absl::IsNotFound(store_->Lookup("job", 1).status()));
  auto ref = store_->Publish("job", 1, 0, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok()) << ref.status();
  EXPECT_FALSE(FileExists(leftover));
  EXPECT_TRUE(Fetch(*ref).ok());
}

TEST_F(PolicyStoreTest, PruneKeepsExactlyWhatIsAsked) {
  for (PolicyVersion v = 0; v < 5; ++v) {
    ASSERT_TRUE(store_->Publish("job", v, v - 1, SomeTensors(static_cast<float>(v)), kFiles).ok());
  }
  ASSERT_TRUE(store_->Prune("job", {1, 4}).ok());
  EXPECT_THAT(*store_->ListVersions("job"), ElementsAre(1, 4));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadManifest("job", 0, absl::InfiniteFuture()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadTensor("job", 0, "a.weight", absl::InfiniteFuture(),
                                                  [](absl::string_view) { return absl::OkStatus(); })));
  EXPECT_TRUE(store_->Prune("unknown", {}).ok());
}

TEST_F(PolicyStoreTest, FetchNamesTheCorruptedTensor) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok());
  Corrupt(absl::StrCat(root_, "/job/versions/0/tensors.bin"), 41);
  const absl::Status status = Fetch(*ref).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tensor b.weight"));
}

TEST_F(PolicyStoreTest, FetchRefusesAnotherManifest) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok());
  PolicyRef other = *ref;
  other.manifest_hash = std::string(64, 'a');
  EXPECT_TRUE(absl::IsDataLoss(Fetch(other).status()));
}

TEST_F(PolicyStoreTest, FetchNamesTheCorruptedModelFile) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok());
  Corrupt(absl::StrCat(root_, "/job/files/config.json"), 3);
  const absl::Status status = Fetch(*ref).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("config.json"));
}

TEST_F(PolicyStoreTest, TruncatedTensorsAreDataLoss) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok());
  Reopen();
  std::filesystem::resize_file(absl::StrCat(root_, "/job/versions/0/tensors.bin"), 1000);
  EXPECT_TRUE(absl::IsDataLoss(Fetch(*ref).status()));
}

TEST_F(PolicyStoreTest, FetchHonoursLimitsAndDeadline) {
  auto ref = store_->Publish("job", 0, -1, SomeTensors(1), kFiles);
  ASSERT_TRUE(ref.ok());
  FetchLimits limits;
  limits.tensor_bytes = 1000;
  EXPECT_TRUE(absl::IsResourceExhausted(FetchPolicy(*store_, *ref, absl::InfiniteFuture(), limits).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(FetchPolicy(*store_, *ref, absl::InfinitePast()).status()));
}

TEST_F(PolicyStoreTest, RefusesNamesThatLeaveTheRoot) {
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Publish("../job", 0, -1, SomeTensors(1), kFiles).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Publish("job", -1, -1, SomeTensors(1), kFiles).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Publish("job", 0, -1, SomeTensors(1), {{"a/b", ""}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->ReadModelFile("job", "../x", absl::InfiniteFuture()).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->ReadModelFile("job", "absent.json", absl::InfiniteFuture()).status()));
}

TEST_F(PolicyStoreTest, RefusesTensorsWhoseBytesDoNotMatch) {
  TensorMap tensors = SomeTensors(1);
  tensors["a.weight"].shape = {11};
  const absl::Status status = store_->Publish("job", 0, -1, tensors, kFiles).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("a.weight"));
}

TEST_F(PolicyStoreTest, RefusesOtherModelFilesOfTheSameJob) {
  ASSERT_TRUE(store_->Publish("job", 0, -1, SomeTensors(1), kFiles).ok());
  const ModelFiles other = {{"config.json", "{\"x\": 2}"}};
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Publish("job", 1, 0, SomeTensors(2), other).status()));
  EXPECT_TRUE(store_->Publish("job2", 1, 0, SomeTensors(2), other).ok());
}

}  // namespace
}  // namespace sluice
