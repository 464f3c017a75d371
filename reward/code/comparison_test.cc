#include "reward/code/comparison.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

struct OutputCase {
  CodeComparison comparison;
  const char *expected, *actual;
  bool equal;
};

TEST(Comparison, OfOutputs) {
  using enum CodeComparison;
  for (const OutputCase& c : {
           OutputCase{kExact, "a b\n", "a b", true},
           {kExact, "a b\n", "a b  \r\n\n\n", true},
           {kExact, "a b", "a  b", false},
           {kExact, "a", "\na", false},
           {kExact, "", "", true},
           {kExact, "", " \n", true},
           {kExact, "a", "A", false},
           {kTokens, "1 2\n3", "1\n2 3\n", true},
           {kTokens, "12", "1 2", false},
           {kTokens, "1.0", "1", false},
           {kTokens, "a", "", false},
           {kTokens, "a", "a a", false},
           {kNumeric, "0.3333333333", "0.33333333", true},
           {kNumeric, "0.3333", "0.33", false},
           {kNumeric, "1.0", "1", true},
           {kNumeric, "20240000", "20240001", false},
           {kNumeric, "20240000.0", "20240001", true},
           {kNumeric, "+007", "7", true},
           {kNumeric, "-0", "0", true},
           {kNumeric, "YES 1.5", "YES 1.50000001", true},
           {kNumeric, "YES 1.5", "NO 1.5", false},
           {kNumeric, "1", "nan", false},
           {kNumeric, "1", "inf", false},
           {kNumeric, "1e9", "1000000000", true},
           {kNumeric, "16", "0x10", false},
           {kNumeric, "1 2", "1", false},
           {kNumeric, "0", "1e-7", true},
           {kNumeric, "0", "1e-5", false},
           {kNumeric, "inf", "inf", true},
           {kUnordered, "a\nb\n", "b \na", true},
           {kUnordered, "a\na\nb", "a\nb\nb", false},
           {kUnordered, "a b", "b a", false},
       }) {
    EXPECT_EQ(OutputEquals({c.comparison}, c.expected, c.actual), c.equal)
        << static_cast<int>(c.comparison) << " " << c.expected << " | " << c.actual;
  }
}

TypedValue Json(const char* text) { return *TypedValueFromJson(text); }

TEST(Comparison, OfValuesFromJson) {
  using enum CodeComparison;
  for (const OutputCase& c : {
           OutputCase{kExact, "2", "2.0", true},
           {kExact, "1", "true", true},
           {kExact, "0", "null", false},
           {kExact, "\"1\"", "1", false},
           {kExact, "[]", "{}", false},
           {kExact, "[[1, 2], 3]", "[[1, 2], 3]", true},
           {kExact, "[1, 2]", "[2, 1]", false},
           {kExact, "0.1", "0.10000000000000002", false},
           {kExact, R"({"a": 1, "b": [2]})", R"({"b": [2.0], "a": 1})", true},
           {kExact, R"({"a": 1})", R"({"a": 1, "b": 1})", false},
           {kExact, "12345678901234567890123", "12345678901234567890124", false},
           {kExact, "1e22", "10000000000000000000000", true},
           {kNumeric, "[0.1, {\"a\": 3}]", "[0.10000000000000002, {\"a\": 3.0000001}]", true},
           {kNumeric, "[0.1]", "[0.2]", false},
           {kNumeric, "1000000000", "1000000001", false},
           {kNumeric, "[1.0]", "1.0", false},
           {kUnordered, "[[1, 2], [3]]", "[[3], [1, 2]]", true},
           {kUnordered, "[1, 1, 2]", "[1, 2, 2]", false},
           {kUnordered, "[[1, 2]]", "[[2, 1]]", false},
           {kUnordered, "\"ab\"", "\"ba\"", false},
       }) {
    EXPECT_EQ(ValueEquals({c.comparison}, Json(c.expected), Json(c.actual)), c.equal)
        << static_cast<int>(c.comparison) << " " << c.expected << " | " << c.actual;
  }
}

TEST(Comparison, ReadsIntoJsonWhatItCannotSay) {
  ComparisonRule exact{CodeComparison::kExact};
  TypedValue one = TypedValue::Integer(1), tuple = TypedValue::Tuple({one, TypedValue::Text("x")});
  EXPECT_TRUE(ValueEquals(exact, Json("[1, \"x\"]"), tuple));
  EXPECT_TRUE(ValueEquals(exact, Json(R"({"1": 1})"), {TypedValue::kDict, 0, 0, "", {one, one}}));
  TypedValue set{TypedValue::kSet, 0, 0, "", {TypedValue::Integer(2), one}};
  EXPECT_FALSE(ValueEquals(exact, Json("[1, 2]"), set));
  EXPECT_TRUE(ValueEquals({CodeComparison::kUnordered}, Json("[1, 2]"), set));
  EXPECT_FALSE(ValueEquals(exact, Json("\"x\""), TypedValue::Bytes("x")));
  // No text can be made to look like the parts of another value.
  EXPECT_FALSE(ValueEquals(exact, Json(R"(["a", "b"])"), Json(R"(["a,1:b"])")));
}

}  // namespace
}  // namespace sluice
