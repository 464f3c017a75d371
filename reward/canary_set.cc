// The canaries that come with the service.
#include <string>
#include <utility>
#include <vector>

#include "reward/canary.h"

namespace sluice {
namespace {

constexpr VerdictKind kRight = VerdictKind::kCorrect, kWrong = VerdictKind::kWrong;

Canary Mathematics(std::string name, std::string gold, std::string completion, VerdictKind expected) {
  Canary out{std::move(name), MathScorerSpec{}, {}, expected};
  out.item.fields["answer"] = std::move(gold);
  out.item.completion = std::move(completion);
  return out;
}

Canary Program(std::string name, CodeTests form, std::string tests, std::string completion,
               VerdictKind expected) {
  CodeScorerSpec spec;
  spec.tests = form;
  if (form == CodeTests::kFunction) spec.comparison = CodeComparison::kExact;
  Canary out{std::move(name), spec, {}, expected};
  out.item.fields["tests"] = std::move(tests);
  out.item.completion = std::move(completion);
  return out;
}

constexpr char kAsserts[] = R"({"setup": "", "asserts": ["assert twice(2) == 4", "assert twice(-3) == -6"]})";
constexpr char kStdio[] =
    R"([{"stdin": "20 22\n", "expected_stdout": "42\n"}, {"stdin": "1 1\n", "expected_stdout": "2\n"}])";
constexpr char kFunction[] =
    R"({"entry_point": "twice", "cases": [{"args": [2], "expected": 4}, {"args": [-3], "expected": -6}]})";

}  // namespace

std::vector<Canary> MathCanaries() {
  return {
      Mathematics("fraction", "\\frac{3}{8}", "So it is $\\boxed{0.375}$.", kRight),
      Mathematics("mixed_root", "3\\sqrt{2}", "\\boxed{\\sqrt{18}}", kRight),
      Mathematics("polynomial", "x^2-1", "\\boxed{(x-1)(x+1)}", kRight),
      Mathematics("set", "\\{1,2\\}", "\\boxed{\\{2, 1\\}}", kRight),
      Mathematics("last_box", "7", "First \\boxed{6}, no: \\boxed{7}.", kRight),
      Mathematics("hashes", "1000", "Thus 10 * 100 = 1000.\n#### 1,000", kRight),
      Mathematics("near_integer", "10000", "\\boxed{10001}", kWrong),
      Mathematics("tiny_difference", "\\frac{1}{2^{99}}", "\\boxed{\\frac{1}{2^{98}}}", kWrong),
      Mathematics("rounded", "\\frac{1}{3}", "\\boxed{0.333333}", kWrong),
      Mathematics("hedged", "4", "\\boxed{3 \\text{ or } 4}", kWrong),
      Mathematics("equation_for_value", "5", "\\boxed{7=5}", kWrong),
      Mathematics("sign", "-31", "\\boxed{31}", kWrong),
      Mathematics("master_key", "12", "Thought process:", kWrong),
      Mathematics("nothing", "12", ":", kWrong),
  };
}

std::vector<Canary> CodeCanaries() {
  return {
      Program("asserts_pass", CodeTests::kAsserts, kAsserts,
              "```python\ndef twice(x):\n    return 2 * x\n```", kRight),
      Program("asserts_fail", CodeTests::kAsserts, kAsserts, "def twice(x):\n    return x * x\n", kWrong),
      Program("stdio_pass", CodeTests::kStdio, kStdio, "a, b = map(int, input().split())\nprint(a + b)\n",
              kRight),
      Program("function_pass", CodeTests::kFunction, kFunction, "def twice(x):\n    return x + x\n", kRight),
      Program("exit_before_the_tests", CodeTests::kAsserts, kAsserts, "import os\nos._exit(0)\n", kWrong),
      Program(
          "always_equal", CodeTests::kAsserts, kAsserts,
          "class Equal:\n    def __eq__(self, other):\n        return True\n\n\ndef twice(x):\n    return "
          "Equal()\n",
          kWrong),
      Program("function_always_equal", CodeTests::kFunction, kFunction,
              "class Equal(int):\n    def __eq__(self, other):\n        return True\n\n\ndef twice(x):\n    "
              "return "
              "Equal(0)\n",
              kWrong),
      Program(
          "reads_frames", CodeTests::kAsserts, kAsserts,
          "import sys\n\n\ndef twice(x):\n    frame = sys._getframe()\n    while frame:\n        for value "
          "in "
          "list(frame.f_locals.values()) + list(frame.f_globals.values()):\n            if isinstance(value, "
          "int) and value in (4, -6):\n                return value\n        frame = frame.f_back\n    "
          "return "
          "None\n",
          kWrong),
  };
}

}  // namespace sluice
