#include "services/wire/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

TEST(ToValidUtf8, KeepsWellFormedText) {
  const std::string text("a\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEE\x80\x80\xF4\x8F\xBF\xBF", 18);
  EXPECT_EQ(ToValidUtf8(text), text);
}

TEST(ToValidUtf8, ReplacesEachByteOfWhatIsNotWellFormed) {
  const std::string r = kReplacement;
  EXPECT_EQ(ToValidUtf8("a\xFF"
                        "b"),
            "a" + r + "b");
  EXPECT_EQ(ToValidUtf8("\xE2\x82"), r + r);                  // cut short
  EXPECT_EQ(ToValidUtf8("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(ToValidUtf8("\xE0\x80\xAF"), r + r + r);          // overlong
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
  EXPECT_EQ(ToValidUtf8("\xE2"
                        "a"),
            r + "a");
}

}  // namespace
}  // namespace sluice
