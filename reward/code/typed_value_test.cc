#include "reward/code/typed_value.h"

#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

TypedValue Json(const std::string& text) {
  auto value = TypedValueFromJson(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status();
  return value.ok() ? *value : TypedValue();
}

std::string Again(const TypedValue& value) {
  auto decoded = DecodeTypedValue(EncodeTypedValue(value));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? TypedValueToJson(*decoded) : "";
}

absl::StatusCode CodeOf(const std::string& bytes) { return DecodeTypedValue(bytes).status().code(); }

TEST(TypedValue, EncodingKeepsValues) {
  for (const char* text :
       {"null", "true", "0", "-1", "2147483647", "-2147483648", "2147483648", "-9223372036854775808",
        "9223372036854775807", "9223372036854775808", "-123456789012345678901234567890",
        "1267650600228229401496703205376", "0.5", "-1e+300", R"("")", R"("aé\u0000")",
        R"([1, [2, [], {}], "x"])", R"({"a": {"b": [null]}, "": 1})"}) {
    EXPECT_EQ(TypedValueToJson(Json(text)), Again(Json(text))) << text;
  }
  EXPECT_EQ(Again(Json("123456789012345678901234567890")), "123456789012345678901234567890");
}

TEST(TypedValue, ReadsWhatPythonWrites) {
  // marshal.dumps(({1: 'é', None: (True, ...)}, [2**70, -5], {1.5}, 2j, b'\xff'), 2)
  const std::string bytes(
      "\050\005\000\000\000\173\151\001\000\000\000\165\002\000\000\000\303\251\116\050"
      "\002\000\000\000\124\056\060\133\002\000\000\000\154\005\000\000\000\000\000\000"
      "\000\000\000\000\000\000\004\151\373\377\377\377\074\001\000\000\000\147\000\000"
      "\000\000\000\000\370\077\171\000\000\000\000\000\000\000\000\000\000\000\000\000"
      "\000\000\100\163\001\000\000\000\377",
      89);
  auto value = DecodeTypedValue(bytes);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->items[1].items[0].kind, TypedValue::kBigInteger);
  EXPECT_EQ(TypedValueToJson(value->items[1]), "[1180591620717411303424, -5]");
  EXPECT_EQ(EncodeTypedValue(*value), bytes);
}

TEST(TypedValue, RefusesWhatIsNoData) {
  using std::string;
  for (const string& bytes : {
           string(),
           string("c"),
           string("\xe3", 1),
           string("S"),
           string("i\1\0", 3),
           string("u\xff\xff\xff\xff", 5),
           string("[\xff\xff\xff\x7f", 5),
           string("(\xff\xff\xff\xff", 5),
           string("NN"),
           string("{N"),
           string("0"),
           string("u\1\0\0\0\xff", 6),
           string("u\2\0\0\0\xc0\x80", 7),
           string("l\1\0\0\0\0\x80", 7),
           string("l\1\0\0\0\0\0", 7),
           string("l\0\0\0\x80", 5),
           string("<\1\0\0\0[\0\0\0\0", 10),
           string("{[\0\0\0\0N0", 8),
           string("r\0\0\0\0", 5),
           string("<\1\0\0\0(\1\0\0\0<\0\0\0\0", 15),
       }) {
    EXPECT_EQ(CodeOf(bytes), absl::StatusCode::kInvalidArgument) << absl::CHexEscape(bytes);
  }
}

TEST(TypedValue, DepthAndSizeAreBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += std::string("(\1\0\0\0", 5);
  EXPECT_EQ(CodeOf(deep + "N"), absl::StatusCode::kInvalidArgument);
  std::string wide("[\0\0\x20\0", 5);
  wide += std::string(size_t{1} << 21, 'N');
  EXPECT_EQ(CodeOf(wide), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(TypedValueFromJson(std::string(1000, '[') + std::string(1000, ']')).ok());
  EXPECT_FALSE(TypedValueFromJson(std::string(200000, '7')).ok());
}

TEST(TypedValue, JsonErrorsSayWhere) {
  EXPECT_THAT(TypedValueFromJson("[1, 2,,]").status().message(), HasSubstr("byte 7"));
  EXPECT_FALSE(TypedValueFromJson("").ok());
  EXPECT_FALSE(TypedValueFromJson("[1] 2").ok());
  EXPECT_FALSE(TypedValueFromJson("\"\xff\"").ok());
}

}  // namespace
}  // namespace sluice
