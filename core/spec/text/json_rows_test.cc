#include "core/spec/text/json_rows.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

std::vector<std::pair<std::string, std::string>> MembersOf(absl::string_view row) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto members = RawMembers(row);
  if (!members) return {{"", "broken"}};
  for (const RawMember& m : *members) out.emplace_back(m.name, m.value);
  return out;
}

TEST(JsonRowTest, SaysWhereARowIsMalformedWithoutTheParsersName) {
  for (const char* text : {"{bad", "{\"a\": 1e999}", "{\"a\": \"\xff\"}", ""}) {
    const auto row = ParseJsonRow(text);
    ASSERT_EQ(row.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(row.status().message()), StartsWith("malformed JSON"));
    EXPECT_THAT(std::string(row.status().message()), Not(HasSubstr("json.exception")));
  }
  EXPECT_THAT(std::string(ParseJsonRow("{bad").status().message()), HasSubstr("column 2"));
}

TEST(JsonRowTest, RefusesWhatIsNoObjectOrTooDeep) {
  EXPECT_FALSE(ParseJsonRow("[1]").ok());
  EXPECT_FALSE(ParseJsonRow("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}").ok());
  EXPECT_TRUE(ParseJsonRow("{\"a\":[[[1]]]}").ok());
}

TEST(RawMembersTest, KeepNumbersAsTheyAreWritten) {
  EXPECT_THAT(MembersOf(R"({"a": 0.10, "b":1e400 , "c":123456789012345678901234567890,"d":-0})"),
              ElementsAre(Pair("a", "0.10"), Pair("b", "1e400"), Pair("c", "123456789012345678901234567890"),
                          Pair("d", "-0")));
}

TEST(RawMembersTest, ReadOverStringsAndNestedValues) {
  EXPECT_THAT(MembersOf(R"( {"a\"b" : "x,}]\\\"" , "c":[1,{"d":"]"}], "e":{} , "f": null} )"),
              ElementsAre(Pair("a\"b", R"("x,}]\\\"")"), Pair("c", R"([1,{"d":"]"}])"), Pair("e", "{}"),
                          Pair("f", "null")));
  EXPECT_THAT(MembersOf("{}"), ElementsAre());
}

TEST(RawMembersTest, TellTheIdOfARowWithTextThatIsNoUtf8) {
  EXPECT_THAT(MembersOf("{\"id\": 7, \"completion\": \"\xff\"}"),
              ElementsAre(Pair("id", "7"), Pair("completion", "\"\xff\"")));
}

TEST(RawMembersTest, BrokenStructureIsNothing) {
  for (const char* text : {"", "{", "[1]", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1}x", "{\"a\":\"x}",
                           "{\"a\":1,}", "{\"a\\ud800\":1}"}) {
    EXPECT_FALSE(RawMembers(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sluice
