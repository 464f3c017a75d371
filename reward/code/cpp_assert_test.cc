// Asserts about C++ programs, compiled and run in the real sandbox.
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"
#include "reward/code/cpp_asserts.h"

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

CodeScorerSpec Spec() {
  CodeScorerSpec spec;
  spec.language = CodeLanguage::kCpp;
  spec.tests = CodeTests::kAsserts;
  spec.timeout_seconds = 2;
  return spec;
}

ItemJudgement Judge(const std::string& program, const std::vector<std::string>& asserts,
                    const std::string& setup = "", CodeScorerSpec spec = Spec()) {
  json tests = {{"setup", setup}, {"asserts", asserts}};
  return CodeTestBench::Get().Judge(spec, program, {{"tests", tests.dump()}});
}

const char kDouble[] = "int f(int a) { return 2 * a; }";

TEST(CppAsserts, PassAndFailOneByOne) {
  ItemJudgement right = Judge(kDouble, {"assert(f(2)==4);", "assert(f(3) == 6 && f(0) == 0)"});
  EXPECT_EQ(right.kind, VerdictKind::kCorrect) << right.detail;
  EXPECT_TRUE(right.stamps.empty());
  CodeScorerSpec share = Spec();
  share.credit = CodeCredit::kShare;
  ItemJudgement part =
      Judge(kDouble, {"assert(f(2)==4);", "assert(f(2)==5);", "assert(f(1)==2);"}, "", share);
  EXPECT_EQ(part.kind, VerdictKind::kGraded);
  EXPECT_NEAR(part.value, 2.0 / 3, 1e-12);
  EXPECT_EQ(part.tests[1].outcome, "wrong_answer");
  EXPECT_THAT(part.tests[1].detail, HasSubstr("f(2)==5"));
}

TEST(CppAsserts, UseWhatTestsUse) {
  for (auto [program, assertion, setup] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"#include <vector>\nstd::vector<int> f(std::vector<int> v) { for (int& x : v) x++; return v; }",
            "vector<int> v = {1, 2}; assert(f(v) == vector<int>({2, 3})); assert(v[0] == 1);", ""},
           {"#include <cmath>\ndouble f(double a) { return sqrt(a); }",
            "assert(abs(f(2) - 1.41421356) < 1e-6);", ""},
           {"long long gcd(long long a, long long b) { return b ? gcd(b, a % b) : a; }",
            "assert(gcd(12, 18) == 6);", ""},
           {"typedef long long ll;\n#define vi vector<int>\nll f(vi v) { return v.size(); }",
            "assert(f({1, 2}) == 2);", ""},
           {"class Solution {\n public:\n  int rob(vector<int>& v) { return v[0] + v[2]; }\n  int twice(int "
            "n) const { return 2 * n; }\n};",
            "Solution s; vector<int> v{1, 2, 3}; assert(s.rob(v) == 4); assert(Solution().twice(4) == 8);",
            ""},
           {"string f(int a, string s = \"x\") { string r; while (a--) r += s; return r; }",
            "assert(f(2) == \"xx\"); assert(f(2, \"ab\") == \"abab\");", ""},
           {"bool f(string s) { return s.empty(); }", "check(\"\", true); check(\"a\", false);",
            "#include <assert.h>\nvoid check(const char* s, bool want) { assert(f(s) == want); }"},
           {"void f(vector<int>& v) { v.push_back(1); }", "vector<int> v; f(v); f(v); assert(v.size() == 2);",
            ""},
           {"int f(int n) { static int calls = 0; return ++calls; }", "assert(f(1) == 1); assert(f(1) == 2);",
            ""},
           {"pair<int, string> f() { return {1, \"a\"}; }",
            "auto [n, s] = f(); assert(n == 1 && s == \"a\");", ""},
           {"int f(int n) { if (n < 0) throw out_of_range(\"n\"); return n; }",
            "try { f(-1); assert(false); } catch (const out_of_range&) {} assert(f(1) == 1);", ""}}) {
    ItemJudgement judged = Judge(program, {assertion}, setup);
    EXPECT_EQ(judged.kind, VerdictKind::kCorrect)
        << program << ": " << judged.outcome << ", " << judged.detail;
  }
}

TEST(CppAsserts, FailByClass) {
  for (auto [program, assertion, outcome, detail] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"int f(int a) { return a }", "assert(f(2)==4);", "compile_error", "expected"},
           {"int g(int a) { return a; }", "assert(f(2)==4);", "compile_error", "none of the functions"},
           {"string f(int a) { return \"4\"; }", "assert(f(2)==4);", "compile_error",
            "do not compile with it"},
           {"struct Odd {};\nOdd f(int a) { return {}; }", "assert(f(2)==4);", "compile_error",
            "the result of f is Odd"},
           {"int f(int a) { throw runtime_error(\"no way\"); }", "assert(f(2)==4);", "runtime_error",
            "no way"},
           {"int f(int a) { exit(0); }", "assert(f(2)==4);", "runtime_error", "before the test did"},
           {"int f(int a) { for (volatile int i = 0;; i++) {} }", "assert(f(2)==4);", "time_limit", ""},
           {"vector<int> f(int a) { return {}; }", "assert(f(2).at(0)==4);", "runtime_error", "range_check"},
           {"double gcd(double a) { return 0; }\ndouble abs(double) { return 0; }\nlong f(long) { return 7; "
            "}",
            "assert(abs(f(2) - 4.0) < 1e-6);", "wrong_answer", ""}}) {
    ItemJudgement judged = Judge(program, {assertion});
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << program;
    EXPECT_EQ(judged.outcome, outcome) << program << ": " << judged.detail;
    EXPECT_THAT(judged.detail, HasSubstr(detail));
  }
}

TEST(CppAsserts, RowsThatAreNotRightAreUndecided) {
  for (auto [assertion, why] : std::vector<std::pair<std::string, std::string>>{
           {"assert(f(2)==);", "is no C++"},
           {"f(2) == 4;", "assert(...) is expected"},
           {"Stack s; s.push(f(1)); assert(s.top() == 2);", "class Stack"}}) {
    ItemJudgement judged = Judge(kDouble, {assertion});
    EXPECT_EQ(judged.kind, VerdictKind::kUndecided) << assertion << judged.outcome;
    EXPECT_THAT(judged.detail, HasSubstr(why));
  }
}

TypedValue Described(const char* result, const char* parameter) {
  return TypedValue::Tuple(
      {TypedValue::Text("signature"), TypedValue::Text(result), TypedValue::Integer(1),
       TypedValue::List({TypedValue::List({TypedValue::Text(parameter), {TypedValue::kBool, 1}})})});
}

TEST(CppAsserts, SignaturesAreOfStandardTypesAlone) {
  auto signature =
      ReadCppSignature(Described("std::map<std::string,std::array<unsigned long long,3>>", "int*"));
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_TRUE(signature->parameters[0].changes);
  EXPECT_TRUE(ReadCppSignature(Described("void", "std::tuple<>")).ok());
  for (const char* type :
       {"Agree", "int x", "int;", "std::vector<Agree>", "std::vector<int", "std::vector<int>>",
        "std::string&", "std::vector<>x", "int>", "", "std::vector<int,std::allocator<Agree>>"}) {
    EXPECT_FALSE(ReadCppSignature(Described(type, "int")).ok()) << type;
    EXPECT_FALSE(ReadCppSignature(Described("int", type)).ok()) << type;
  }
}

}  // namespace
}  // namespace sluice
