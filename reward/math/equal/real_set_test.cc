#include "reward/math/equal/real_set.h"

#include <string>

#include "gtest/gtest.h"
#include "reward/math/parse/parser.h"

namespace sluice::math {
namespace {

std::optional<RealSet> SetOf(const std::string& text) {
  Work work;
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(text);
  for (const Reading& r : *readings) {
    std::optional<RealSet> set = RealSet::Of(r.value, {}, work);
    if (set) return set;
  }
  return std::nullopt;
}

// Nothing where either is no set or they cannot be told apart.
std::optional<bool> AreEqual(const std::string& a, const std::string& b) {
  std::optional<RealSet> x = SetOf(a), y = SetOf(b);
  Work work;
  return x && y ? x->Equals(*y, {}, work) : std::nullopt;
}

TEST(RealSetTest, PiecesThatTouchAreMerged) {
  EXPECT_EQ(AreEqual("[1,2]\\cup[2,3]", "[1,3]"), true);
  EXPECT_EQ(AreEqual("[1,2)\\cup\\{2\\}\\cup(2,3]", "[1,3]"), true);
  EXPECT_EQ(AreEqual("(1,2)\\cup(2,3)", "(1,3)"), false);
  EXPECT_EQ(AreEqual("[0,9]\\cup[1,2]\\cup[3,4)", "[0,9]"), true);
  EXPECT_EQ(AreEqual("(-\\infty,1]\\cup(0,\\infty)", "\\mathbb{R}"), true);
  EXPECT_EQ(AreEqual("[\\sqrt2,2]\\cup[2,\\pi)", "[2^{1/2},\\pi)"), true);
}

TEST(RealSetTest, SetOperationsAreCarriedOut) {
  EXPECT_EQ(AreEqual("(0,5)\\cap[3,8)", "[3,5)"), true);
  EXPECT_EQ(AreEqual("[0,5]\\setminus\\{2\\}", "[0,2)\\cup(2,5]"), true);
  EXPECT_EQ(AreEqual("[0,5]\\setminus(1,2]", "[0,1]\\cup(2,5]"), true);
  EXPECT_EQ(AreEqual("(0,1)\\cap(1,2)", "\\emptyset"), true);
}

TEST(RealSetTest, LinearInequalitiesAreSets) {
  EXPECT_EQ(AreEqual("1<x\\le 4", "(1,4]"), true);
  EXPECT_EQ(AreEqual("-2x>6", "(-\\infty,-3)"), true);
  EXPECT_EQ(AreEqual("x\\ne\\sqrt3", "(-\\infty,\\sqrt3)\\cup(\\sqrt3,\\infty)"), true);
  EXPECT_EQ(AreEqual("-\\infty<x<2", "(-\\infty,2)"), true);
  EXPECT_EQ(AreEqual("\\{x\\mid x>2\\}", "(2,\\infty)"), true);
  EXPECT_EQ(AreEqual("\\pi x\\ge\\pi^2", "[\\pi,\\infty)"), true);
}

TEST(RealSetTest, WhatIsNoSetOfNumbersIsNone) {
  for (const char* text : {"[5,2]", "(1,1)", "[a,b]", "x^2>4", "x>y", "\\{(1,2),(3,4)\\}", "7"}) {
    EXPECT_FALSE(SetOf(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sluice::math
