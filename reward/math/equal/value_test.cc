#include "reward/math/equal/value.h"

#include <sys/resource.h>

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "reward/math/parse/parser.h"

namespace sluice::math {
namespace {

Expression Read(const std::string& text) {
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(text);
  EXPECT_TRUE(readings.ok()) << readings.status();
  return readings->front().value;
}

ValueDecision CompareTexts(const std::string& a, const std::string& b, bool strict = false) {
  Work work;
  EquivalenceOptions options;
  options.strict = strict;
  return CompareValues(Read(a), Read(b), options, work);
}

struct Case {
  const char *a, *b, *rule;
};

// In both orders, and by the auditor's way, which may leave more undecided but never says the opposite.
void ExpectAll(Answer answer, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    ValueDecision decision = CompareTexts(c.a, c.b);
    EXPECT_EQ(decision.answer, answer) << c.a << " and " << c.b << ": " << decision.rule;
    if (*c.rule != 0) {
      EXPECT_EQ(decision.rule, c.rule) << c.a << " and " << c.b;
    }
    EXPECT_EQ(CompareTexts(c.b, c.a).answer, answer) << c.b << " and " << c.a;
    Answer strict = CompareTexts(c.a, c.b, true).answer;
    EXPECT_TRUE(strict == answer || strict == Answer::kUndecided) << c.a << " and " << c.b;
  }
}

TEST(ValueTest, EqualValuesAreProvedByTheNamedRule) {
  ExpectAll(Answer::kEqual, {
                                {"2^{10}", "1024", "rational"},
                                {"\\binom{10}{3}", "120", "rational"},
                                {"\\sqrt{50}", "5\\sqrt{2}", "normal form"},
                                {"\\frac{1}{\\sqrt[3]{2}}", "\\frac{\\sqrt[3]{4}}{2}", "normal form"},
                                {"\\sqrt{7+4\\sqrt{3}}", "2+\\sqrt{3}", "algebraic"},
                                {"\\sqrt[3]{2+\\sqrt{5}}+\\sqrt[3]{2-\\sqrt{5}}", "1", "algebraic"},
                                {"\\cos\\frac{\\pi}{5}", "\\frac{1+\\sqrt5}{4}", "algebraic"},
                                {"\\sin\\frac{\\pi}{12}", "\\frac{\\sqrt6-\\sqrt2}{4}", "normal form"},
                                {"\\pi\\cos\\frac{\\pi}{5}", "\\frac{\\pi+\\pi\\sqrt5}{4}", "algebraic"},
                                {"2\\ln 5", "\\ln 25", "normal form"},
                                {"\\log_4 8", "\\frac{3}{2}", ""},
                                {"\\ln(2+\\sqrt3)", "-\\ln(2-\\sqrt3)", "logarithms"},
                                {"\\arctan\\frac12+\\arctan\\frac13", "\\frac{\\pi}{4}", "angles"},
                                {"e^{2\\ln 3}", "9", "normal form"},
                                {"(1+i)^8", "16", "normal form"},
                                {"\\sqrt[3]{-8}", "-2", "rational"},
                                {"(x-2)(x-3)", "x^2-5x+6", "polynomial"},
                                {"\\frac{1}{y}+\\frac{1}{y+1}", "\\frac{2y+1}{y(y+1)}", "rational function"},
                                {"\\sin^2 x+\\cos^2 x", "1", "normal form"},
                                {"\\sin 3x", "3\\sin x-4\\sin^3 x", "normal form"},
                                {"4^x", "2^{2x}", "normal form"},
                                {"\\sqrt{x^2}", "|x|", ""},
                                {"\\sqrt{x+1}-\\sqrt{x}", "\\frac{1}{\\sqrt{x+1}+\\sqrt{x}}", "normal form"},
                                {"\\sqrt{x^4+2x^3+x^2}", "|x^2+x|", ""},
                                {"(n+1)!", "(n+1)n!", "normal form"},
                                {"(x+y+1)^{80}", "(x+y+1)^{40}(1+x+y)^{40}", "modular"},
                                {"(x+1)^{100000}", "(x+1)^{99999}(1+x)", "modular"},
                                {"2^{3^{4^{5}}}", "2^{3^{4^{5}}}", "identical"},
                            });
}

TEST(ValueTest, DifferentValuesAreProvedDifferent) {
  ExpectAll(Answer::kDifferent,
            {
                {"\\frac{1}{2004!}", "\\frac{1}{2006!}", "rational"},
                {"\\frac{1}{20004!}", "\\frac{1}{20006!}", "ball"},
                {"\\frac{1}{3^{70}}", "\\frac{1}{3^{71}}", "rational"},
                {"10^{100000}", "10^{100001}", ""},
                {"10^{-40}\\pi", "10^{-40}\\pi+10^{-90}", "normal form"},
                {"\\sqrt{8}+\\sqrt{2}", "\\sqrt{10}", "normal form"},
                {"e-\\frac13", "e+\\frac13", "normal form"},
                {"e^{\\pi\\sqrt{163}}", "262537412640768744", "ball"},
                {"\\pi", "3.14159265358979323846264338327950288", "normal form"},
                {"(2t+1)^2", "4t^2+1", "polynomial"},
                {"\\frac{x}{x+2}", "\\frac12", "rational function"},
                {"\\sqrt{x^2}", "x", "points"},
                {"\\sin 2x", "2\\sin x", "normal form"},
                {"\\ln(x+y)", "\\ln x+\\ln y", "points"},
                {"x^2+C", "x^2", "polynomial"},
                {"(x+y+1)^{80}", "(x+y+1)^{80}+10^{-9}", ""},
                {"f(x)", "f(x)+1", "normal form"},
                {"f(2)x", "f(3)x", "normal form"},
                {"|x-10^{9}|", "10^{9}-x", "points"},
                {"\\sqrt{(x-100)^2}", "100-x", "points"},
                {"\\lfloor\\frac{2n-1}{5}\\rfloor", "\\lfloor\\frac{2n-1}{6}\\rfloor", "points"},
            });
}

TEST(ValueTest, WhatCannotBeProvedIsUndecidedAndSaysWhy) {
  ValueDecision tower = CompareTexts("2^{3^{4^{5}}}", "2^{3^{4^{5}}}+1");
  EXPECT_EQ(tower.answer, Answer::kUndecided);
  EXPECT_NE(tower.rule.find("limit"), std::string::npos) << tower.rule;
  EXPECT_EQ(CompareTexts("\\int_0^1 x\\,dx", "\\frac12").answer, Answer::kUndecided);
  EXPECT_EQ(CompareTexts("\\det(A)", "\\det(B)").answer, Answer::kUndecided);
  // Agreement at points says little of functions with jumps.
  EXPECT_EQ(CompareTexts("\\lfloor x\\rfloor", "\\lfloor x+10^{-40}\\rfloor").answer, Answer::kUndecided);
}

TEST(ValueTest, DivisionByZeroIsNoValue) {
  EXPECT_EQ(CompareTexts("5", "\\frac{1}{0}").answer, Answer::kDifferent);
  EXPECT_EQ(CompareTexts("5", "\\frac{1}{\\sqrt{2}-\\sqrt{2}}").answer, Answer::kDifferent);
  EXPECT_NE(CompareTexts("x", "\\frac{x(y-y)}{y-y}").answer, Answer::kEqual);
}

// A denominator that is zero, though its normal form is not, proves nothing equal.
TEST(ValueTest, HiddenZeroInADenominatorIsNotEqual) {
  const char* zero = "(\\sqrt{7+4\\sqrt{3}}-2-\\sqrt{3})";
  EXPECT_NE(CompareTexts("5", std::string("\\frac{5") + zero + "+1}{" + zero + "}").answer, Answer::kEqual);
}

TEST(ValueTest, WorkIsBoundedAndDeterministic) {
  for (const char* text :
       {"(x+y+z+w)^{20}(x-y+z-w)^{20}", "\\sqrt{2+\\sqrt{3+\\sqrt{5+\\sqrt{7+\\sqrt{11+\\sqrt{13}}}}}}",
        "\\sin(\\cos(\\tan(\\sin(10^{30}))))", "e^{e^{e^{e^{x}}}}", "100000!",
        "\\frac{1}{(x^2+y^3+z^5+1)^{99}}+x"}) {
    Work first, second;
    Expression a = Read(text), b = Read(std::string(text) + "+x");
    ValueDecision decision = CompareValues(a, b, {}, first);
    EXPECT_NE(decision.answer, Answer::kEqual) << text;
    EXPECT_EQ(CompareValues(a, b, {}, second).rule, decision.rule) << text;
    EXPECT_EQ(first.left(), second.left()) << text;
  }
}

// Threads that end give back what FLINT has kept for them.
TEST(ValueTest, ThreadsLeaveNoMemoryBehind) {
  auto judge = [] {
    std::thread([] { CompareTexts("\\sqrt{7+4\\sqrt{3}}+e^{\\sqrt2}", "2+\\sqrt{3}+e^{\\sqrt2}"); }).join();
  };
  auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  for (int i = 0; i < 50; ++i) judge();
  long before = peak();
  for (int i = 0; i < 500; ++i) judge();
  EXPECT_LT(peak() - before, 4 << 10);
}

}  // namespace
}  // namespace sluice::math
