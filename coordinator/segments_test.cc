#include "coordinator/segments.h"

#include <filesystem>
#include <fstream>

#include "coordinator/crc32c.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class SegmentsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "segments_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST(Crc32c, GivesTheCheckValuesOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST_F(SegmentsTest, ReadsBackWhatWasWrittenAfterReopening) {
  SegmentRef first, second;
  {
    auto segments = Segments::Open(folder_);
    ASSERT_TRUE(segments.ok()) << segments.status();
    first = *(*segments)->Append("one");
    second = *(*segments)->Append(std::string(100000, 'x'));
    ASSERT_TRUE((*segments)->Sync().ok());
  }
  auto segments = Segments::Open(folder_);
  ASSERT_TRUE(segments.ok());
  EXPECT_EQ(*(*segments)->Read(first), "one");
  EXPECT_EQ((*segments)->Read(second)->size(), 100000u);
}

TEST_F(SegmentsTest, CutsATornTailAndGoesOn) {
  SegmentRef first;
  {
    auto segments = Segments::Open(folder_);
    first = *(*segments)->Append("kept");
    ASSERT_TRUE((*segments)->Append("torn record").ok());
  }
  const std::string file = folder_ + "/00000000.seg";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  auto segments = Segments::Open(folder_);
  ASSERT_TRUE(segments.ok());
  EXPECT_EQ(std::filesystem::file_size(file), 8u + 4u);
  const SegmentRef next = *(*segments)->Append("after");
  EXPECT_EQ(*(*segments)->Read(first), "kept");
  EXPECT_EQ(*(*segments)->Read(next), "after");
}

TEST_F(SegmentsTest, RefusesARecordThatWasChanged) {
  auto segments = Segments::Open(folder_);
  const SegmentRef ref = *(*segments)->Append("honest");
  std::fstream file(folder_ + "/00000000.seg", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put('H');
  file.close();
  EXPECT_EQ((*segments)->Read(ref).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*segments)->Read({0, 4000, 3}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*segments)->Read({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SegmentsTest, StartsANewFileWhenOneIsFull) {
  auto segments = Segments::Open(folder_, /*rotate_bytes=*/64);
  std::vector<SegmentRef> refs;
  for (int i = 0; i < 10; ++i)
    refs.push_back(*(*segments)->Append(std::string(30, static_cast<char>('a' + i))));
  EXPECT_GE(refs.back().segment, 3);
  for (int i = 0; i < 10; ++i) EXPECT_EQ((*(*segments)->Read(refs[i]))[0], 'a' + i);
}

}  // namespace
}  // namespace sluice
