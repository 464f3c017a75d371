#include "services/cli/rows/line_reader.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::string Written(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/line_reader_test.txt";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::vector<std::pair<size_t, std::string>> AllOf(const std::string& text) {
  const auto reader = LineReader::Open(Written(text));
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<std::pair<size_t, std::string>> out;
  while (true) {
    const auto line = (*reader)->Next();
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok() || !line->has_value()) return out;
    out.emplace_back((*line)->number, (*line)->text);
  }
}

TEST(LineReaderTest, NumbersLinesAsAnEditorDoesAndSkipsBlankOnes) {
  EXPECT_THAT(AllOf("a\n\n  \r\n b\r\nc"), ElementsAre(Pair(1, "a"), Pair(4, "b"), Pair(5, "c")));
  EXPECT_THAT(AllOf(""), ElementsAre());
  EXPECT_THAT(AllOf("\xEF\xBB\xBF{}\n"), ElementsAre(Pair(1, "{}")));
}

TEST(LineReaderTest, LongLinesAreReadWhole) {
  const std::string a(700'000, 'a'), b(300'000, 'b');
  EXPECT_THAT(AllOf(a + "\n" + b + "\nc\n"), ElementsAre(Pair(1, a), Pair(2, b), Pair(3, "c")));
}

TEST(LineReaderTest, OfALineThatIsTooLongOnlyAPartIsKept) {
  const std::string path = Written(std::string(70 << 20, 'x') + "\nnext\n");
  const auto reader = *LineReader::Open(path);
  const auto line = *reader->Next();
  EXPECT_GT(line->text.size(), size_t{64} << 20);
  EXPECT_LT(line->text.size(), size_t{66} << 20);
  EXPECT_EQ(reader->bytes_read(), (70 << 20) + 1);
  EXPECT_EQ((*reader->Next())->text, "next");
  EXPECT_EQ(reader->bytes_read(), reader->size());
}

TEST(LineReaderTest, TellsOffsetsAndALineThatIsCutOff) {
  const auto reader = *LineReader::Open(Written("ab\n\ncd"));
  const auto first = **reader->Next();
  EXPECT_TRUE(first.ended);
  EXPECT_EQ(reader->bytes_read(), 3);
  const auto second = **reader->Next();
  EXPECT_EQ(second.begin, 4);
  EXPECT_FALSE(second.ended);
}

TEST(LineReaderTest, EndsWhenToldToThoughAPipeStaysOpen) {
  const std::string path = ::testing::TempDir() + "/line_reader_test.pipe";
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int writer = open(path.c_str(), O_RDWR);
  ASSERT_EQ(write(writer, "one\nhalf", 8), 8);
  const int stop = eventfd(0, 0);
  const auto reader = *LineReader::Open(path, stop);
  EXPECT_EQ((*reader->Next())->text, "one");
  EXPECT_FALSE(reader->Ready());
  const uint64_t value = 1;
  ASSERT_EQ(write(stop, &value, sizeof(value)), 8);
  EXPECT_FALSE((*reader->Next()).has_value());
  close(writer);
  close(stop);
}

TEST(LineReaderTest, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(LineReader::Open("/does/not/exist").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LineReader::Open("/tmp").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::cli
