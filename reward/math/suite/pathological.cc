#include "reward/math/suite/pathological.h"

#include "absl/strings/str_cat.h"

namespace sluice::math {
namespace {

std::string Repeat(const std::string& part, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += part;
  return out;
}

std::string Nest(const std::string& open, const std::string& inner, const std::string& close, size_t depth) {
  return Repeat(open, depth) + inner + Repeat(close, depth);
}

void AddDeep(std::vector<Pathological>* out) {
  for (const size_t depth : {60, 1000, 100000}) {
    const auto add = [&](const char* name, std::string text) {
      out->push_back({absl::StrCat(name, " ", depth), std::move(text)});
    };
    add("parentheses", Nest("(", "1", ")", depth));
    add("braces", Nest("{", "1", "}", depth));
    add("open only", Repeat("(", depth));
    add("close only", Repeat(")", depth));
    add("fractions", Nest("\\frac{1}{1+", "1", "}", depth));
    add("fractions above", Nest("\\frac{", "1", "}{2}", depth));
    add("roots", Nest("\\sqrt{1+", "1", "}", depth));
    add("powers", Nest("2^{", "2", "}", depth));
    add("powers of x", Nest("x^{1+", "2", "}", depth));
    add("signs", Repeat("-", depth) + "1");
    add("factorials", "3" + Repeat("!", depth));
    add("bracketed factorials", Nest("(", "3", "!)", depth));
    add("boxes", Nest("\\boxed{", "1", "}", depth));
    add("texts", Nest("\\text{", "1", "}", depth));
    add("sizes", Nest("\\left(", "1", "\\right)", depth));
    add("environments", Nest("\\begin{pmatrix}", "1", "\\end{pmatrix}", depth));
    add("sets", Nest("\\{", "1", "\\}", depth));
    add("absolute values", Repeat("|", depth));
    add("logarithms", Nest("\\ln(", "2", ")", depth));
    add("sines", Nest("\\sin(", "2", ")", depth));
    add("subscripts", Nest("x_{", "1", "}", depth));
  }
}

void AddLarge(std::vector<Pathological>* out) {
  const auto add = [&](const char* name, std::string text) { out->push_back({name, std::move(text)}); };
  const std::string million = Repeat("7", 1000000);
  add("a million digits", million);
  add("a million decimals", "0." + million);
  add("a million digits over a million", "\\frac{" + million + "}{" + million + "9}");
  add("four thousand digits", Repeat("7", 4000));
  add("a million blanks", Repeat(" ", 1000000) + "7");
  add("a million commas", Repeat(",", 1000000));
  add("a million backslashes", Repeat("\\", 1000000));
  add("a million dollars", Repeat("$", 1000000));
  add("ten megabytes of words", Repeat("lorem ipsum ", 900000));
  add("a megabyte of sums", Repeat("1+", 500000) + "1");
  add("a megabyte of boxes", Repeat("\\boxed{1}", 100000));
  add("a megabyte of open boxes", Repeat("\\boxed{", 150000));
  add("a megabyte of phrases", Repeat("the final answer is 1. ", 45000));
  add("a megabyte of reasoning tags", Repeat("<think>", 150000));
  add("a megabyte of hashes", Repeat("####", 250000));
  add("zero bytes", std::string(100000, '\0'));
  add("invalid UTF-8", Repeat("\xff\xfe\xc0\x80", 50000));
  add("a thousand commas", Repeat("1,", 1000) + "1");
  add("a set of a thousand", "\\{" + Repeat("\\frac{1}{x+1},", 1000) + "1\\}");
  add("a thousand unions", Repeat("[1,2]\\cup", 1000) + "[3,4]");
  add("a list of roots", Repeat("\\sqrt{2},", 300) + "\\sqrt{3}");
  add("a thousand or", Repeat("1 or ", 1000) + "1");
  add("a thousand plus-minus", Repeat("1\\pm", 1000) + "1");
  add("nested plus-minus", Repeat("\\pm(1+", 20) + "1" + Repeat(")", 20));
  add("thirty plus-minus", Repeat("\\pm1", 30));
  add("digits and capitals", Repeat("2C", 8000));
  add("digits and capitals of a base", Repeat("2A", 8000) + "Z_{16}");
  add("a matrix", "\\begin{pmatrix}" + Repeat("1&", 1500) + "1\\end{pmatrix}");
  add("equality chain", Repeat("1=", 2000) + "1");
  add("inequality chain", Repeat("x<", 2000) + "1");
}

void AddCostly(std::vector<Pathological>* out) {
  for (const char* text :
       {"9^{9^{9^{9^{9}}}}",
        "2^{2^{2^{2^{2^{2}}}}}",
        "10^{10^{10}}",
        "(10^{100})!",
        "1000000!",
        "100000!",
        "((((9!)!)!)!)!",
        "9!!!!!!!!",
        "2^{1000000000}",
        "2^{-1000000000}",
        "(1+10^{-9})^{1000000000}",
        "1.000001^{100000000}",
        "10^{-1000000000}",
        "1e999999999",
        "1e-999999999",
        "3^{100000}-3^{100000}+1",
        "\\sqrt[1000000000]{2}",
        "\\sqrt[100]{2}+\\sqrt[101]{3}+\\sqrt[103]{5}",
        "2^{1/1000003}",
        "\\binom{1000000}{500000}",
        "\\binom{100000000000}{50000000000}",
        "(x+1)^{1000000}",
        "(x+y+z+w)^{60}",
        "(x+y+z+a+b+c+d+u+v+w)^{20}",
        "((((((x^2+1)^2+1)^2+1)^2+1)^2+1)^2+1)^2+1",
        "x^{100000000000}",
        "x^{x^{x^{x^{x}}}}",
        "(x^{1000}-1)/(x-1)",
        "\\frac{x^{100000}-1}{x-1}",
        "\\sin(10^{1000})",
        "\\sin(10^{100000})",
        "\\tan(10^{50})",
        "\\sin^{1000}x",
        "\\log_{1.0000000001} 2",
        "\\ln(10^{1000000})",
        "e^{e^{e^{e^{e}}}}",
        "e^{-e^{e^{e^{e}}}}",
        "e^{10^{10}}",
        "\\exp(\\exp(\\exp(100)))",
        "\\sqrt{\\sqrt{2}+\\sqrt{3}}-\\sqrt{\\sqrt{3}+\\sqrt{2}}",
        "\\sqrt{2}+\\sqrt{3}+\\sqrt{5}+\\sqrt{7}+\\sqrt{11}+\\sqrt{13}+\\sqrt{17}+\\sqrt{19}+\\sqrt{23}",
        "\\frac{1}{\\sqrt{2}+\\sqrt{3}+\\sqrt{5}+\\sqrt{7}+\\sqrt{11}+\\sqrt{13}}",
        "\\ln(\\ln(\\ln(\\ln 10)))",
        "\\arctan(10^{1000})",
        "\\Gamma(10^{10})",
        "\\cos(\\cos(\\cos(\\cos(\\cos(\\cos(1))))))",
        "i^{i^{i^{i}}}",
        "(1+i)^{1000000}",
        "(-1)^{10^{100}}",
        "(-8)^{1/3}",
        "0^0",
        "\\frac{1}{0}",
        "0^{-1}",
        "\\frac{0}{0}",
        "\\ln 0",
        "\\frac{1}{\\sin\\pi}",
        "\\tan\\frac{\\pi}{2}",
        "\\sum_{n=1}^{\\infty}\\frac{1}{n^2}",
        "\\int_0^1 x^{1000}dx",
        "\\prod_{k=1}^{1000000}k",
        "1_{1}",
        "123456789_{1000000000}",
        "zzzz_{36}",
        "\\lfloor 10^{1000}\\pi\\rfloor",
        "\\lfloor e^{100}\\rfloor",
        "\\lceil\\sqrt{10^{2000}+1}\\rceil",
        "\\gcd(2^{10000}-1,2^{5000}-1)",
        "7^{7^{7}}\\bmod 10",
        "10^{4000}\\cdot10^{4000}",
        "0.\\overline{123456789012}",
        "\\max(1,2,3)",
        "\\frac{1}{10^{4000}}+\\frac{1}{7^{4000}}",
        "x_{1_{2_{3_{4}}}}"}) {
    out->push_back({text, text});
  }
  std::string product = "1", sum = "0", fractions = "0";
  for (int i = 1; i <= 60; ++i) {
    absl::StrAppend(&product, "(x+", i, ")");
    absl::StrAppend(&sum, "+\\sqrt{", i, "}");
    absl::StrAppend(&fractions, "+\\frac{1}{x+", i, "}");
  }
  out->push_back({"sixty factors", product});
  out->push_back({"sixty roots", sum});
  out->push_back({"sixty fractions", fractions});
  out->push_back({"sixty fractions of y", fractions + "+\\frac{1}{y+1}+\\frac{1}{x y+2}"});
}

}  // namespace

std::vector<Pathological> PathologicalAnswers() {
  std::vector<Pathological> out;
  AddDeep(&out);
  AddLarge(&out);
  AddCostly(&out);
  return out;
}

}  // namespace sluice::math
