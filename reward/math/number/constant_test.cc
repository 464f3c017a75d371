#include "reward/math/number/constant.h"

#include "gtest/gtest.h"
#include "reward/math/number/zero_bound.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

Expression Sqrt(Expression e) { return RootOf(std::move(e), NumberOf(2)); }
Expression Sum(Expression a, Expression b) { return NodeOf(Kind::kSum, std::move(a), std::move(b)); }

// sqrt(a) + sqrt(b) - sqrt(a + b + 2 sqrt(a b)) is zero.
Expression HiddenZero(int a, int b) {
  Expression inner = NodeOf(Kind::kProduct, NumberOf(2), Sqrt(NumberOf(a * b)));
  return Difference(Sum(Sqrt(NumberOf(a)), Sqrt(NumberOf(b))), Sqrt(Sum(NumberOf(a + b), std::move(inner))));
}

TEST(SignTest, HiddenZerosAreProvedWithinThePrecisionTheirBoundAsksFor) {
  for (int a : {2, 3, 7}) {
    Work work;
    std::optional<double> bits = ZeroBoundBits(HiddenZero(a, 11), work);
    ASSERT_TRUE(bits.has_value());
    EXPECT_LT(*bits, 1000);
    EXPECT_EQ(SignOf(HiddenZero(a, 11), 4096, work), RealSign::kZero);
    EXPECT_EQ(SignOf(HiddenZero(a, 11), 8, work), RealSign::kUnknown) << "8 bits are less than the bound";
  }
}

TEST(SignTest, TinyDifferencesAreSeparated) {
  Work work;
  Expression tiny = NodeOf(Kind::kPower, NumberOf(10), NumberOf(-300));
  EXPECT_EQ(SignOf(Sum(HiddenZero(2, 3), tiny), 4096, work), RealSign::kPositive);
  EXPECT_EQ(SignOf(Sum(HiddenZero(2, 3), Negated(tiny)), 4096, work), RealSign::kNegative);
}

TEST(SignTest, WhatIsNoRealConstantSaysSo) {
  Work work;
  EXPECT_EQ(SignOf(SymbolOf("x"), 256, work), RealSign::kUnknown);
  EXPECT_EQ(SignOf(SymbolOf("infinity"), 256, work), RealSign::kUnknown);
  EXPECT_EQ(SignOf(SymbolOf("i"), 256, work), RealSign::kNotReal);
  EXPECT_EQ(SignOf(Inverted(NumberOf(0)), 256, work), RealSign::kUndefined);
  EXPECT_EQ(SignOf(Difference(SymbolOf("pi"), NumberOf(mpq_class(22, 7))), 256, work), RealSign::kNegative);
}

TEST(SignTest, NoProofWithoutABound) {
  // ln 2 + ln 3 - ln 6, which no algebraic bound covers.
  Expression sum =
      Difference(Sum(Applied("ln", NumberOf(2)), Applied("ln", NumberOf(3))), Applied("ln", NumberOf(6)));
  Work work;
  EXPECT_FALSE(ZeroBoundBits(sum, work).has_value());
  EXPECT_EQ(SignOf(sum, 4096, work), RealSign::kUnknown);
}

TEST(SignTest, SpentWorkProvesNothing) {
  Work work(100);
  EXPECT_EQ(SignOf(HiddenZero(2, 3), 4096, work), RealSign::kUnknown);
  EXPECT_STREQ(work.limit(), "work");
}

}  // namespace
}  // namespace sluice::math
