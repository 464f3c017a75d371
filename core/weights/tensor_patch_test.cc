#include "core/weights/tensor_patch.h"

#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Makes the patch seeing the tensors in pieces of `step` bytes.
std::string Patch(const std::string& base, const std::string& target, size_t step) {
  std::string out;
  PatchWriter writer([&](absl::string_view chunk) {
    EXPECT_FALSE(chunk.empty());
    EXPECT_LE(chunk.size(), size_t{1} << 20);
    out.append(chunk.data(), chunk.size());
    return absl::OkStatus();
  });
  for (size_t at = 0; at < base.size(); at += step) {
    EXPECT_TRUE(
        writer.Add(absl::string_view(base).substr(at, step), absl::string_view(target).substr(at, step))
            .ok());
  }
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

absl::Status Apply(const std::string& patch, size_t step, std::string& bytes) {
  PatchReader reader(bytes);
  for (size_t at = 0; at < patch.size(); at += step) {
    if (absl::Status s = reader.Add(absl::string_view(patch).substr(at, step)); !s.ok()) return s;
  }
  return reader.Finish();
}

std::string Random(std::mt19937_64& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(TensorPatchTest, GivesTheTargetWhateverChangedAndHoweverItIsCut) {
  std::mt19937_64 random(7);
  for (const double share : {0.0, 0.001, 0.05, 0.5, 1.0}) {
    for (const size_t size : {0u, 1u, 2u, 63u, 64u, 65u, 4099u, 300000u}) {
      const std::string base = Random(random, size);
      std::string target = base;
      std::bernoulli_distribution change(share);
      for (char& c : target) {
        if (change(random)) c = static_cast<char>(random());
      }
      for (const size_t step : {size_t{1} << 20, size_t{1009}, size_t{7}}) {
        const std::string patch = Patch(base, target, step);
        std::string out = base;
        ASSERT_TRUE(Apply(patch, step, out).ok()) << share << " " << size << " " << step;
        EXPECT_EQ(out, target);
        ASSERT_TRUE(Apply(patch, step, out).ok());  // again: the same
        EXPECT_EQ(out, target);
      }
    }
  }
}

TEST(TensorPatchTest, IsSmallWhereLittleChanged) {
  std::mt19937_64 random(11);
  const std::string base = Random(random, 2000000);
  std::string target = base;
  for (int i = 0; i < 10000; ++i) target[2 * (random() % 1000000)] ^= 1;  // one bfloat16 in a hundred
  EXPECT_LT(Patch(base, target, 1 << 20).size(), 10000u * 5);
  EXPECT_TRUE(Patch(base, base, 1 << 20).empty());
  EXPECT_LT(Patch(base, std::string(base.size(), 'x'), 1 << 20).size(), base.size() + base.size() / 1000);
}

TEST(TensorPatchTest, TheWriterPassesAnErrorOn) {
  PatchWriter writer([](absl::string_view) { return absl::CancelledError("gone"); });
  ASSERT_TRUE(writer.Add("aaaa", "aaab").ok());
  EXPECT_TRUE(absl::IsCancelled(writer.Finish()));
  EXPECT_FALSE(PatchWriter([](absl::string_view) { return absl::OkStatus(); }).Add("a", "ab").ok());
}

TEST(TensorPatchTest, RefusesWhatLeavesTheTensor) {
  const auto refused = [](const std::string& patch) {
    std::string bytes = "0123456789";
    const absl::Status status = Apply(patch, 3, bytes);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(std::string("\x0b\x01x", 3)), HasSubstr("beyond"));    // gap
  EXPECT_THAT(refused(std::string("\x09\x02xy", 4)), HasSubstr("beyond"));   // length
  EXPECT_THAT(refused(std::string("\x00\x00", 2)), HasSubstr("empty run"));  // no bytes
  EXPECT_THAT(refused("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
              HasSubstr("digits"));  // endless number
  EXPECT_THAT(refused("\x02"), HasSubstr("ends within"));
  EXPECT_THAT(refused("\x82"), HasSubstr("ends within"));
  EXPECT_THAT(refused("\x02\x03xy"), HasSubstr("ends within"));
}

TEST(TensorPatchTest, RandomBytesNeverLeaveTheTensor) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 64, 'a');
    const size_t size = bytes.size();
    std::string patch = Random(random, random() % 40);
    for (char& c : patch) {
      if (random() % 2 == 0) c = static_cast<char>(random() % 8);  // small numbers go further
    }
    Apply(patch, 1 + random() % 5, bytes).IgnoreError();
    ASSERT_EQ(bytes.size(), size);
  }
}

}  // namespace
}  // namespace sluice
