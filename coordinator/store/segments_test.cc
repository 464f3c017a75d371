#include "coordinator/store/segments.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "coordinator/store/crc32c.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class SegmentsTest : public testing::Test {
 protected:
  SegmentsTest() {
    folder_ =
        testing::TempDir() + "segments_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Open(const SegmentRef& last = {}, SegmentOptions options = {}) {
    segments_.reset();
    auto opened = Segments::Open(folder_, last, std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    segments_ = *std::move(opened);
  }
  SegmentRef Append(const std::string& payload) {
    auto ref = segments_->Append(payload);
    EXPECT_TRUE(ref.ok()) << ref.status();
    return ref.ok() ? *ref : SegmentRef{};
  }
  std::string Read(const SegmentRef& ref) {
    auto bytes = segments_->Read(ref);
    return bytes.ok() ? *bytes : bytes.status().ToString();
  }
  std::string File(int number) const { return folder_ + "/0000000" + std::to_string(number) + ".seg"; }
  void Damage(int number, int64_t offset) {
    std::fstream file(File(number), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file.put('\x7f');
  }
  std::string folder_;
  std::unique_ptr<Segments> segments_;
};

TEST(Crc32c, GivesTheCheckValuesOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST_F(SegmentsTest, ReadsBackWhatWasWrittenAfterReopening) {
  Open();
  const SegmentRef first = Append("one"), second = Append(std::string(100000, 'x'));
  ASSERT_TRUE(segments_->Sync().ok());
  Open(second);
  EXPECT_EQ(Read(first), "one");
  EXPECT_EQ(Read(second).size(), 100000u);
}

TEST_F(SegmentsTest, CutsWhatNothingRefersToAndGoesOn) {
  Open();
  const SegmentRef first = Append("kept");
  Append("of a transaction that was not committed");
  std::filesystem::resize_file(File(0), std::filesystem::file_size(File(0)) - 3);  // and torn
  Open(first);
  EXPECT_EQ(std::filesystem::file_size(File(0)), 8u + 8u + 4u);  // headers of file and record
  const SegmentRef next = Append("after");
  EXPECT_EQ(Read(first), "kept");
  EXPECT_EQ(Read(next), "after");
}

TEST_F(SegmentsTest, CutsNothingThatIsReferredToBehindADamagedRecord) {
  Open();
  const SegmentRef damaged = Append("first"), whole = Append("second");
  Damage(0, damaged.offset + 8);
  Open(whole);
  EXPECT_THAT(Read(damaged), HasSubstr("DATA_LOSS"));
  EXPECT_EQ(Read(whole), "second");
  EXPECT_EQ(Read(Append("third")), "third");
  EXPECT_EQ(Read(whole), "second");
}

TEST_F(SegmentsTest, StartsANewFileWhereTheEndOfTheNewestIsMissing) {
  Open();
  const SegmentRef first = Append("first"), last = Append("the last");
  std::filesystem::resize_file(File(0), static_cast<uintmax_t>(last.offset) + 10);
  Open(last);
  const SegmentRef next = Append("THE LAST");
  EXPECT_EQ(next.segment, 1);
  EXPECT_EQ(Read(first), "first");
  EXPECT_THAT(Read(last), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("00000000.seg")));
  EXPECT_EQ(Read(next), "THE LAST");
}

TEST_F(SegmentsTest, DoesNotGiveANumberAgainWhereAllFilesAreMissing) {
  Open({}, {.rotate_bytes = 16});
  SegmentRef last;
  for (int i = 0; i < 3; ++i) last = Append("payload of a file");
  std::filesystem::remove_all(folder_);
  Open(last);
  EXPECT_GT(Append("payload of a file").segment, last.segment);
  EXPECT_THAT(Read(last), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("is missing")));
}

TEST_F(SegmentsTest, ReadsAndGoesOnInAFileWithoutAHeader) {
  Open();
  const SegmentRef with = Append("as before");
  segments_.reset();
  // What a program before version 2 wrote: the same without the first eight bytes.
  std::ifstream in(File(0), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::ofstream(File(0), std::ios::binary | std::ios::trunc) << bytes.substr(8);
  const SegmentRef old{0, with.offset - 8, with.bytes};
  EXPECT_EQ(old.offset, 0);
  Open(old);
  EXPECT_EQ(Read(old), "as before");
  const SegmentRef next = Append("today");
  EXPECT_EQ(next, (SegmentRef{0, 8 + 9, 5}));
  Open(next);
  EXPECT_EQ(Read(old), "as before");
  EXPECT_EQ(Read(next), "today");
}

TEST_F(SegmentsTest, RefusesAFileOfANewerProgram) {
  Open();
  segments_.reset();
  std::ofstream(File(0), std::ios::binary | std::ios::trunc) << std::string("SLSG\x09\0\0\0", 8);
  auto opened = Segments::Open(folder_, {});
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()),
              AllOf(HasSubstr("version 9"), HasSubstr("newer program")));
}

TEST_F(SegmentsTest, RefusesARecordThatWasChanged) {
  Open();
  const SegmentRef ref = Append("honest");
  Damage(0, ref.offset + 8);
  EXPECT_EQ(segments_->Read(ref).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(segments_->Read({0, 4000, 3}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(segments_->Read({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SegmentsTest, StartsANewFileWhenOneIsFullAndRemovesOldOnes) {
  Open({}, {.rotate_bytes = 64});
  std::vector<SegmentRef> refs;
  for (int i = 0; i < 10; ++i) refs.push_back(Append(std::string(30, static_cast<char>('a' + i))));
  EXPECT_GE(refs.back().segment, 3);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Read(refs[static_cast<size_t>(i)])[0], 'a' + i);
  EXPECT_EQ(static_cast<int64_t>(segments_->Files().size()), refs.back().segment + 1);
  EXPECT_EQ(segments_->Files().at(0), static_cast<int64_t>(std::filesystem::file_size(File(0))));
  EXPECT_TRUE(segments_->Remove(0).ok());
  EXPECT_TRUE(segments_->Remove(0).ok());
  EXPECT_FALSE(std::filesystem::exists(File(0)));
  EXPECT_EQ(segments_->Files().count(0), 0u);
  EXPECT_FALSE(segments_->Remove(segments_->newest()).ok());
  EXPECT_EQ(Read(refs.back())[0], 'j');
}

TEST_F(SegmentsTest, NamesTheFaultOfTheDiskAndAddsNothing) {
  int error = 0;
  Open({}, {.fault = [&](absl::string_view operation) { return operation == "segment.write" ? error : 0; }});
  const SegmentRef first = Append("first");
  error = ENOSPC;
  EXPECT_EQ(segments_->Append("full").status().code(), absl::StatusCode::kResourceExhausted);
  error = EROFS;
  EXPECT_THAT(segments_->Append("read-only").status().ToString(),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("the disk is read-only")));
  error = EIO;
  EXPECT_THAT(segments_->Append("broken").status().ToString(),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("the disk fails")));
  error = 0;
  const SegmentRef next = Append("next");
  EXPECT_EQ(next.offset, first.offset + 8 + first.bytes);
  EXPECT_EQ(Read(first), "first");
  EXPECT_EQ(Read(next), "next");
}

TEST_F(SegmentsTest, DoesNotTrustAFileWhoseSyncFailed) {
  int error = 0;
  Open({}, {.fault = [&](absl::string_view operation) { return operation == "segment.sync" ? error : 0; }});
  const SegmentRef first = Append("first");
  ASSERT_TRUE(segments_->Sync().ok());
  Append("may be lost");
  error = EIO;
  EXPECT_FALSE(segments_->Sync().ok());
  error = 0;
  const SegmentRef again = Append("may be lost");
  EXPECT_EQ(again.segment, 1);
  EXPECT_TRUE(segments_->Sync().ok());
  EXPECT_EQ(Read(first), "first");
  EXPECT_EQ(Read(again), "may be lost");
}

}  // namespace
}  // namespace sluice
