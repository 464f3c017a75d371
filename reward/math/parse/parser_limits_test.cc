// Answers made to hurt: every one is read or refused, within the limits.
#include <string>

#include "gtest/gtest.h"
#include "reward/math/parse/parser.h"

namespace sluice::math {
namespace {

std::string Repeat(const std::string& piece, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += piece;
  return out;
}

// Nodes of a tree and its depth.
struct Size {
  int nodes = 0, depth = 0;
};
Size SizeOf(const Expression& e) {
  Size size{1, 1};
  for (const Expression& a : e.args) {
    Size inner = SizeOf(a);
    size.nodes += inner.nodes;
    size.depth = std::max(size.depth, inner.depth + 1);
  }
  return size;
}

TEST(ReadAnswerTest, HostileAnswersAreReadWithinTheLimits) {
  const std::string pieces[] = {"9",
                                "9 ",
                                "9,999",
                                "1/",
                                "1e9",
                                "1e",
                                "9.",
                                ".",
                                "-",
                                "\\frac",
                                "\\frac{",
                                "\\frac{1}{",
                                "\\frac{1}{0}",
                                "\\boxed{",
                                "}",
                                "{",
                                "(",
                                "[",
                                "((3)",
                                "$",
                                "\\text{",
                                "1\\,",
                                "\\sqrt{3",
                                "\\sqrt",
                                "^2",
                                "10^",
                                "^",
                                " ",
                                "a",
                                "1 million ",
                                "5 1/2 ",
                                "=",
                                "1+",
                                "\\",
                                "|",
                                "|x",
                                "!",
                                "x!",
                                "\\{",
                                "\\left(",
                                "\\begin{pmatrix}",
                                "1&2\\\\",
                                "\\sin ",
                                "\\sin^",
                                "f(",
                                "f'",
                                "x_",
                                "x_{",
                                "'",
                                "5%",
                                "^\\circ",
                                "\\pm ",
                                "a\\pm ",
                                "A\\cup ",
                                "A \\setminus ",
                                "x<",
                                "x>1 or ",
                                "1,",
                                ",1",
                                "x and ",
                                "two ",
                                "hundred ",
                                "one hundred and ",
                                "km ",
                                "per ",
                                "5 km/",
                                "\\text{km} ",
                                "square ",
                                "\\$",
                                "\xE2\x82\xAC",
                                "\xE2\x88\x9A",
                                "\xC2\xB2",
                                "\xFF",
                                "\xE2",
                                std::string(1, '\0'),
                                "\\log_",
                                "\\sum_",
                                "\\overline{",
                                "\\binom{",
                                "{a \\choose ",
                                "C(",
                                "A(1,2)",
                                "1:",
                                "\\to ",
                                "x \\in ",
                                "\\{x|",
                                "[[1],",
                                "]2,",
                                "\\mathbb{",
                                "sinx",
                                "e^",
                                "0.\\overline{3",
                                "1011_",
                                "\\\\frac{1}",
                                "0.333...",
                                "4 ft 3 in ",
                                "5 and a half "};
  for (const std::string& piece : pieces) {
    for (size_t bytes : {size_t{1}, size_t{60}, size_t{1000}, size_t{16000}, size_t{1} << 20}) {
      auto readings = ReadAnswer(Repeat(piece, bytes));
      if (!readings.ok()) {
        EXPECT_EQ(readings.status().code(), absl::StatusCode::kResourceExhausted) << piece;
        continue;
      }
      ASSERT_FALSE(readings->empty()) << piece;
      for (const Reading& r : *readings) {
        Size size = SizeOf(r.value);
        EXPECT_LE(size.nodes, 4 * ParseLimits().nodes) << piece << " " << bytes;
        EXPECT_LE(size.depth, 16 * ParseLimits().depth) << piece << " " << bytes;
        EXPECT_LT(ToText(r).size(), 40000u);
      }
    }
  }
}

TEST(ReadAnswerTest, MessageNamesTheLimitThatWasPassed) {
  const struct {
    std::string answer, message;
  } cases[] = {
      {std::string(20000, 'x'), "more than 16384 bytes"},
      {std::string(5000, '7'), "more than 4096 digits"},
      {"1e999999999", "more than 4096 digits"},
      {"1e-99999999999999999999", "more than 4096 digits"},
      {Repeat("(", 200) + "1" + Repeat(")", 200), "nested deeper than 64"},
      {Repeat("2^", 400) + "2", "nested deeper than 64"},
      {Repeat("\\frac{", 600) + "1}{2}", "nested deeper than 64"},
      {"1" + Repeat("+x", 9000), "more than 4096 parts"},
  };
  for (const auto& c : cases) {
    auto readings = ReadAnswer(c.answer);
    ASSERT_FALSE(readings.ok()) << c.answer.substr(0, 40);
    EXPECT_NE(readings.status().message().find(c.message), absl::string_view::npos) << readings.status();
  }
}

TEST(ReadAnswerTest, LimitOfDigitsIsExact) {
  std::string most(4096, '9');
  EXPECT_TRUE(ReadAnswer(most).ok());
  EXPECT_FALSE(ReadAnswer(most + "9").ok());
  EXPECT_EQ(ReadAnswer(most)->front().value.number->get_str(), most);
}

TEST(ReadAnswerTest, LargePowersAreReadNotEvaluated) {
  auto readings = ReadAnswer("9^9^9^9");
  ASSERT_TRUE(readings.ok());
  EXPECT_EQ(ToText(readings->front()), "9^(9^(9^9))");
  EXPECT_EQ(ToText(ReadAnswer("10^{999999999}")->front()), "10^999999999");
  EXPECT_EQ(ToText(ReadAnswer("(9999999!)!")->front()), "factorial(factorial(9999999))");
}

TEST(ReadAnswerTest, TextOfAReadingIsPrintableAscii) {
  for (const char* answer : {"\xFF\xFE", "\xE7\xAD\x94", "\\text{caf\xC3\xA9}", "a\x01z", "\\text{\x7F}"}) {
    auto readings = ReadAnswer(answer);
    ASSERT_TRUE(readings.ok());
    for (char c : ToText(readings->front())) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << answer;
  }
}

}  // namespace
}  // namespace sluice::math
