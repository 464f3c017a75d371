#include "reward/code/test_set.h"

#include "gmock/gmock.h"

namespace sluice {
namespace {

TestSet Read(CodeTests form, std::map<std::string, std::string> fields) {
  CodeScorerSpec spec;
  spec.tests = form;
  auto tests = ReadTests(spec, {"PROMPT", "", std::move(fields)});
  EXPECT_TRUE(tests.ok()) << tests.status();
  return tests.ok() ? *tests : TestSet();
}

TEST(TestSet, ReadsAssertsOfAllForms) {
  auto nested = std::get<AssertTests>(
      Read(CodeTests::kAsserts, {{"tests", R"({"setup": "import math", "asserts": ["assert 1"]})"}}));
  EXPECT_EQ(nested.setup, "import math");
  auto flat = std::get<AssertTests>(
      Read(CodeTests::kAsserts, {{"tests", R"(["assert 1", "assert 2"])"}, {"setup", "x = 1"}}));
  EXPECT_EQ(flat.setup, "x = 1");
  EXPECT_THAT(flat.asserts, ::testing::ElementsAre("assert 1", "assert 2"));
}

TEST(TestSet, ReadsStdioOfAllForms) {
  auto list = std::get<StdioTests>(
      Read(CodeTests::kStdio, {{"tests", R"([{"stdin": "1", "expected_stdout": "2"}])"}}));
  EXPECT_EQ(list.tests[0].expected, "2");
  auto pairs = std::get<StdioTests>(
      Read(CodeTests::kStdio, {{"tests", R"({"inputs": ["1", ["2", "3"]], "outputs": ["a", "b"]})"}}));
  EXPECT_EQ(pairs.tests[1].input, "2\n3\n");
}

TEST(TestSet, ReadsHumanEvalInsideAndBeside) {
  auto inside = std::get<HumanEvalTest>(
      Read(CodeTests::kHumanEval, {{"tests", R"({"prompt": "p", "test": "t", "entry_point": "f"})"}}));
  EXPECT_EQ(inside.prompt + inside.test + inside.entry_point, "ptf");
  auto beside = std::get<HumanEvalTest>(Read(CodeTests::kHumanEval, {{"test", "t"}, {"entry_point", "f"}}));
  EXPECT_EQ(beside.prompt, "PROMPT");
}

TEST(TestSet, ReadsTheEndOfACppProgramInsideAndAlone) {
  CodeScorerSpec spec;
  spec.language = CodeLanguage::kCpp;
  spec.tests = CodeTests::kHumanEval;
  for (const char* tests :
       {R"({"prompt": "p", "tests": "} int main() {}", "entry_point": "f"})", "} int main() {}"}) {
    ScoreItem item;
    item.prompt = "p";
    item.fields = {{"tests", tests}, {"entry_point", "f"}};
    auto set = ReadTests(spec, item);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(std::get<HumanEvalTest>(*set).test, "} int main() {}");
  }
}

TEST(TestSet, ReadsFunctionCases) {
  auto tests = std::get<FunctionTests>(Read(
      CodeTests::kFunction,
      {{"tests",
        R"({"entry_point": "f", "cases": [{"args": [1], "expected": null}, {"kwargs": {"a": 1}, "expected": 2}]})"}}));
  EXPECT_EQ(tests.cases.size(), 2u);
  EXPECT_EQ(tests.cases[1].args.kind, TypedValue::kList);
}

TEST(TestSet, ReadsPairsOfAProgramOrAFunctionByTheRow) {
  for (CodeTests form : {CodeTests::kStdio, CodeTests::kFunction}) {
    auto programs = std::get<StdioTests>(
        Read(form, {{"input_output", R"({"inputs": ["1\n", ["2", "3"]], "outputs": ["a", ["b", "c"]]})"}}));
    EXPECT_EQ(programs.tests[1].input, "2\n3\n");
    EXPECT_EQ(programs.tests[1].expected, "b\nc\n");
    auto calls = std::get<FunctionTests>(Read(
        form, {{"input_output",
                R"({"fn_name": "f", "inputs": [[1, [2]], [{"3": 4}], 5], "outputs": [[6], [7, 8], 9]})"}}));
    EXPECT_EQ(calls.entry_point, "f");
    ASSERT_EQ(calls.cases.size(), 3u);
    EXPECT_EQ(TypedValueToJson(calls.cases[0].args), "[1, [2]]");
    EXPECT_TRUE(calls.cases[0].wrapped);
    EXPECT_EQ(calls.cases[1].args.items[0].items[0].integer, 3);
    EXPECT_FALSE(calls.cases[1].wrapped);
    EXPECT_EQ(TypedValueToJson(calls.cases[2].args), "[5]");
    EXPECT_EQ(calls.cases[2].expected.integer, 9);
  }
}

TEST(TestSet, TestsStandBeforePairs) {
  auto tests =
      std::get<StdioTests>(Read(CodeTests::kStdio, {{"tests", R"({"inputs": ["1"], "outputs": ["2"]})"},
                                                    {"input_output", "nonsense"}}));
  EXPECT_EQ(tests.tests[0].expected, "2");
}

TEST(TestSet, NamesTheFieldOfPairs) {
  for (auto [text, message] : std::vector<std::pair<const char*, const char*>>{
           {"", "field \"input_output\": no JSON"},
           {R"({"inputs": [[1]], "outputs": []})", "field \"input_output\": 1 inputs and 0 outputs"},
           {R"({"fn_name": 3, "inputs": [[1]], "outputs": [1]})",
            "input_output.fn_name: a string is expected"},
           {R"({"fn_name": "", "inputs": [[1]], "outputs": [1]})", "input_output.fn_name"},
           {R"({"inputs": [[1]], "outputs": ["1"]})", "input_output.inputs[0]"}}) {
    CodeScorerSpec spec;
    spec.tests = CodeTests::kStdio;
    auto tests = ReadTests(spec, {"", "", {{"input_output", text}}});
    EXPECT_THAT(std::string(tests.status().message()), ::testing::HasSubstr(message)) << text;
  }
}

TEST(TestSet, SaysWhatIsWrong) {
  struct Case {
    CodeTests form;
    const char *tests, *message;
  };
  for (const Case& c : {
           Case{CodeTests::kAsserts, "nonsense", "field \"tests\": no JSON"},
           {CodeTests::kAsserts, "{}", "it is missing"},
           {CodeTests::kAsserts, R"({"asserts": [], "setup": 3})",
            "tests.setup: a string is expected, it is an integer"},
           {CodeTests::kStdio, "3", "it is an integer"},
           {CodeTests::kStdio, "[3]", "tests[0]: an object is expected"},
           {CodeTests::kStdio, R"({"inputs": ["a"], "outputs": []})", "1 inputs and 0 outputs"},
           {CodeTests::kFunction, R"({"entry_point": "f"})", "\"cases\""},
           {CodeTests::kFunction, R"({"entry_point": "f", "cases": [{"args": 1, "expected": 1}]})",
            "tests.cases[0].args"},
           {CodeTests::kFunction, R"({"entry_point": "f", "cases": [{"args": []}]})",
            "tests.cases[0].expected is missing"},
           {CodeTests::kFunction, R"({"entry_point": "", "cases": [{"args": []}]})", "it is empty"},
           {CodeTests::kHumanEval, "{}", "field \"test\" is missing"},
       }) {
    CodeScorerSpec spec;
    spec.tests = c.form;
    auto tests = ReadTests(spec, {"", "", {{"tests", c.tests}}});
    EXPECT_EQ(tests.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tests.status().message()), ::testing::HasSubstr(c.message)) << c.tests;
  }
}

}  // namespace
}  // namespace sluice
