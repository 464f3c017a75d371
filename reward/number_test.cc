#include "reward/number.h"

#include <string>

#include "gtest/gtest.h"
#include "reward/prose_number.h"

namespace sluice {
namespace {

struct Case {
  const char* text;
  const char* value;  // as GMP writes it; "": not a number
};

std::string ValueOf(const NumberReading& r) {
  if (r.state == NumberReading::kTooLarge) return "too large";
  return r.state == NumberReading::kNumber ? r.value.get_str() : "";
}

TEST(NumberTest, WholeNumberIsReadExactly) {
  const Case cases[] = {
      {"72", "72"},
      {"72.0", "72"},
      {"$72", "72"},
      {"72.", "72"},
      {" 72 ", "72"},
      {"+72", "72"},
      {"007", "7"},
      {"-5", "-5"},
      {"- 5", "-5"},
      {"\xE2\x88\x92"
       "5",
       "-5"},
      {"-$5", "-5"},
      {"$-5", "-5"},
      {"\\$72", "72"},
      {"1,000", "1000"},
      {"1,234,567.50", "2469135/2"},
      {"1{,}000", "1000"},
      {"1\\,000", "1000"},
      {"1\\!000", "1000"},
      {"0.25", "1/4"},
      {".5", "1/2"},
      {"3/4", "3/4"},
      {"6/8", "3/4"},
      {"-3 / 4", "-3/4"},
      {"0.5/0.25", "2"},
      {"\\frac{3}{4}", "3/4"},
      {"-\\frac{3}{4}", "-3/4"},
      {"\\dfrac{-3}{4}", "-3/4"},
      {"\\tfrac34", "3/4"},
      {"\\frac 1 2", "1/2"},
      {"\\frac{ 10 }{ 4 }", "5/2"},
      {"5\\frac{1}{2}", "11/2"},
      {"5 1/2", "11/2"},
      {"-5 1/2", "-11/2"},
      {"50%", "50"},
      {"50\\%", "50"},
      {"50 percent", "50"},
      {"72 km/h", "72"},
      {"72kg", "72"},
      {"72 \\text{ dollars}", "72"},
      {"72\\text{ cm}^2", "72"},
      {"72 cm^{2}", "72"},
      {"9 m/s^2", "9"},
      {"30^\\circ", "30"},
      {"20\xC2\xB0"
       "C",
       "20"},
      {"72 \xE2\x82\xAC", "72"},
      {"x = 5", "5"},
      {"\\text{total} = 5", "5"},
      {"**72**", "72"},
      {"$72$", "72"},
      {"\\(72\\)", "72"},
      {"(72)", "72"},
      {"\"72\"", "72"},
      {"1.5e3", "1500"},
      {"2E-2", "1/50"},
      {"3 \\times 10^{8}", "300000000"},
      {"3*10^2", "300"},
      {"5 \\cdot 10^{-1}", "1/2"},
      {"2 million", "2000000"},
      {"1.5 billion dollars", "1500000000"},
      {"5 apples", "5"},
      {"5 square meters", "5"},
      {"7 m", "7"},
  };
  for (const Case& c : cases) EXPECT_EQ(ValueOf(ReadWholeNumber(c.text)), c.value) << c.text;
}

TEST(NumberTest, WhatIsNoNumberIsNotReadAsOne) {
  const char* cases[] = {
      "",      "abc",          "sue5",         "5x",       "5 x",       "x",
      "5!",    "2\\sqrt{3}",   "2^5",          "5 or 6",   "5 dozen",   "5 and a half",
      "1,2",   "1,00",         "1,0000",       "{1,2}",    "3+4",       "10-5",
      "5/0",   "\\frac{1}{0}", "\\frac{x}{2}", "7=5",      "3x-y+13=0", "1/2004!",
      "1_000", "0x10",         "1e",           "--5",      "+-5",       "5--",
      "\\pi",  "5\\pi",        "inf",          "nan",      "5i",        "5 million million",
      "1/2/3", "1.2.3",        "5 halves",     "5 squared"};
  for (const char* text : cases) EXPECT_EQ(ValueOf(ReadWholeNumber(text)), "") << text;
}

TEST(NumberTest, LimitOfDigitsIsExact) {
  std::string most(kMaxDigits, '9');
  EXPECT_EQ(ValueOf(ReadWholeNumber(most)), most);
  EXPECT_EQ(ValueOf(ReadWholeNumber(most + "9")), "too large");
  EXPECT_EQ(ValueOf(ReadWholeNumber("1e4096")), "1" + std::string(4096, '0'));
  EXPECT_EQ(ValueOf(ReadWholeNumber("1e4097")), "too large");
  EXPECT_EQ(ValueOf(ReadWholeNumber("1e-99999999999999999999")), "too large");
  EXPECT_EQ(ValueOf(ReadWholeNumber("2*10^{999999999}")), "too large");
  EXPECT_EQ(ValueOf(ReadWholeNumber(most + "9/3")), "too large");
}

TEST(NumberTest, LargeNumbersThatDifferInTheLastDigitDiffer) {
  std::string a(4000, '1'), b = a;
  b.back() = '2';
  EXPECT_NE(ReadWholeNumber(a).value, ReadWholeNumber(b).value);
  EXPECT_NE(ReadWholeNumber("1/" + a).value, ReadWholeNumber("1/" + b).value);
}

TEST(ProseNumberTest, LastNumberOfProseIsFound) {
  const Case cases[] = {
      {"So it is 3 and then 72.", "72"},
      {"He has $1,234.50 left!", "2469/2"},
      {"10-5", "5"},
      {"equals -5.", "-5"},
      {"x=-5", "-5"},
      {"from 3-4", "4"},
      {"lost -$7", "-7"},
      {"so 3/4 of it", "3/4"},
      {"is \\frac{3}{4}.", "3/4"},
      {"area is 72 cm^2.", "72"},
      {"area is 72 cm^{2}", "72"},
      {"it took 5 on the 3rd", "5"},
      {"I am sue5", ""},
      {"with x_1 it is 7 and x_2", "7"},
      {"so 2^5", ""},
      {"so \\sqrt{3}", ""},
      {"so 2\\sqrt{3}", ""},
      {"so 5\\pi", ""},
      {"so \\frac{\\pi}{4}", ""},
      {"so \\frac{1}{0}", ""},
      {"a pages 1, 2 and 3", "3"},
      {"", ""},
      {"none", ""},
      {"sold 3 million", "3000000"},
      {"on 1/2/2003", ""},
      {"version 1.2.3", ""},
      {"so **72**", "72"},
      {"\xE7\xAD\x94"
       "72",
       "72"},
      {"is 50%", "50"},
      {"mix 5 1/2", "11/2"},
  };
  for (const Case& c : cases) EXPECT_EQ(ValueOf(FindLastNumber(c.text)), c.value) << c.text;
}

TEST(ProseNumberTest, FirstNumberOfProseIsFound) {
  EXPECT_EQ(ValueOf(FindFirstNumber(" The answer is 72, not 73")), "72");
  EXPECT_EQ(ValueOf(FindFirstNumber("2^5 is 32")), "");
  EXPECT_EQ(ValueOf(FindFirstNumber("nothing")), "");
}

TEST(NumberTest, PlainDecimalHasNothingElse) {
  EXPECT_EQ(ValueOf(ReadPlainDecimal("12.50")), "25/2");
  for (const char* text : {"", ".", "1.", ".5", "1.2.3", "-1", "1 ", "1,000", "1e3", "\xFF"}) {
    EXPECT_EQ(ValueOf(ReadPlainDecimal(text)), "") << text;
  }
  EXPECT_EQ(ValueOf(ReadPlainDecimal(std::string(kMaxDigits + 1, '1'))), "too large");
}

}  // namespace
}  // namespace sluice
