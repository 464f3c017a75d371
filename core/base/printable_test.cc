#include "core/base/printable.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(Printable, KeepsUtf8AndEscapesWhatDoesNotShow) {
  EXPECT_EQ(Printable("it's d\xC3\xA9j\xC3\xA0 \xE4\xBD\xA0 \xF0\x9F\x98\x80"),
            "it's d\xC3\xA9j\xC3\xA0 \xE4\xBD\xA0 \xF0\x9F\x98\x80");
  EXPECT_EQ(Printable("\"\\frac\"\n\t\x1b[2J\x7f"), R"(\"\\frac\"\n\t\x1b[2J\x7f)");
  EXPECT_EQ(Printable("\xC3\xA9\xC3 \xFF\xED\xA0\x80"), "\xC3\xA9\\xc3 \\xff\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xE2\x80\xAE\xC2\x85\xE2\x80\x8B\xF3\xA0\x80\x81"), R"(\u202e\u0085\u200b\U000e0001)");
}

TEST(CutToCharacters, CutsBetweenCharacters) {
  EXPECT_EQ(CutToCharacters("\xC3\xA9\xC3\xA9", 4), "\xC3\xA9\xC3\xA9");
  EXPECT_EQ(CutToCharacters("\xC3\xA9\xC3\xA9", 3), "\xC3\xA9");
  EXPECT_EQ(CutToCharacters("\xC3\xA9", 1), "");
  EXPECT_EQ(CutToCharacters("", 1), "");
  EXPECT_EQ(CutToCharacters("\xFF\xFF", 1), "\xFF");
}

}  // namespace
}  // namespace sluice
