// Functions of C++ called with data, compiled and run in the real sandbox.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

CodeScorerSpec Spec() {
  CodeScorerSpec spec;
  spec.language = CodeLanguage::kCpp;
  spec.tests = CodeTests::kFunction;
  spec.comparison = CodeComparison::kExact;
  spec.timeout_seconds = 2;
  return spec;
}

// `cases`: "{"args": ..., "expected": ...}, ...".
ItemJudgement Judge(const std::string& program, const std::string& cases, CodeScorerSpec spec = Spec(),
                    const std::string& entry_point = "f") {
  std::string tests = absl::StrCat(R"({"entry_point": ")", entry_point, R"(", "cases": [)", cases, "]}");
  return CodeTestBench::Get().Judge(spec, program, {{"tests", tests}});
}

struct Typed {
  const char *name, *program, *cases;
};

// Types of parameters and results, and the forms that programs come in.
constexpr Typed kRight[] = {
    {"Integers", "int f(int a, long b) { return a + b; }",
     R"({"args": [2, 3], "expected": 5}, {"args": [-2, -3], "expected": -5})"},
    {"LongIntegers", "long long f(long long a) { return a + 1; }",
     R"({"args": [9223372036854775806], "expected": 9223372036854775807}, {"args": [-9223372036854775808], "expected": -9223372036854775807})"},
    {"UnsignedIntegers", "unsigned long long f(unsigned long long a) { return a; }",
     R"({"args": [18446744073709551615], "expected": 18446744073709551615})"},
    {"Booleans", "bool f(bool a, int n) { return a && n > 1; }",
     R"({"args": [true, 2], "expected": true}, {"args": [true, 1], "expected": false})"},
    {"Reals", "double f(double a, float b) { return a * b; }", R"({"args": [1.5, 2], "expected": 3.0})"},
    {"Characters", "char f(string s, char c) { return s[0] < c ? s[0] : c; }",
     R"({"args": ["hi", "z"], "expected": "h"})"},
    {"Unicode", "string f(string s) { return s + s; }",
     R"({"args": ["\u00e9\ud83d\ude00"], "expected": "\u00e9\ud83d\ude00\u00e9\ud83d\ude00"})"},
    {"Lists", "vector<int> f(const vector<int>& v) { auto r = v; reverse(r.begin(), r.end()); return r; }",
     R"({"args": [[1, 2, 3]], "expected": [3, 2, 1]}, {"args": [[]], "expected": []})"},
    {"NestedLists", "vector<vector<string>> f(vector<vector<string>> v) { swap(v[0], v[1]); return v; }",
     R"({"args": [[["a", "b"], []]], "expected": [[], ["a", "b"]]})"},
    {"ListsOfBooleans", "vector<bool> f(vector<bool> v) { v.push_back(false); return v; }",
     R"({"args": [[true]], "expected": [true, false]})"},
    {"PairsAndTuples", "tuple<int, string> f(pair<string, int> p) { return {p.second, p.first}; }",
     R"({"args": [["x", 4]], "expected": [4, "x"]})"},
    {"Arrays", "array<int, 2> f(array<int, 2> a) { return {a[1], a[0]}; }",
     R"({"args": [[1, 2]], "expected": [2, 1]})"},
    {"Sets", "set<int> f(const unordered_set<int>& s) { return {s.begin(), s.end()}; }",
     R"({"args": [[3, 1, 2]], "expected": [1, 2, 3]})"},
    {"Maps",
     "map<string, int> f(unordered_map<string, int> m) { map<string, int> r(m.begin(), m.end()); r[\"z\"]++; "
     "return r; }",
     R"({"args": [{"a": 1}], "expected": {"a": 1, "z": 1}})"},
    {"MapsOfNumbers", "map<int, vector<int>> f(map<int, vector<int>> m) { m[7].push_back(1); return m; }",
     R"({"args": [{"7": [0]}], "expected": {"7": [0, 1]}})"},
    {"Optionals", "optional<int> f(optional<int> a) { if (!a) return 1; return nullopt; }",
     R"({"args": [null], "expected": 1}, {"args": [3], "expected": null})"},
    {"Pointers", "int f(int a[], int n) { return accumulate(a, a + n, 0); }",
     R"({"args": [[1, 2, 3], 3], "expected": 6})"},
    {"Texts", "const char* f(const char* s) { return s + 1; }", R"({"args": ["abc"], "expected": "bc"})"},
    {"Views", "string_view f(string_view s) { return s; }", R"({"args": ["abc"], "expected": "abc"})"},
    {"RvalueReferences", "size_t f(vector<int>&& v, const int& n) { auto w = move(v); return w.size() + n; }",
     R"({"args": [[1, 2], 1], "expected": 3})"},
    {"References", "const string& f(const vector<string>& v) { return v[0]; }",
     R"({"args": [["a"]], "expected": "a"})"},
    {"ChangesInPlace", "void f(vector<int>& v, int k) { rotate(v.begin(), v.begin() + k, v.end()); }",
     R"({"args": [[1, 2, 3], 1], "expected": [2, 3, 1]})"},
    {"NoResult", "void f(int) {}", R"({"args": [1], "expected": null})"},
    {"NoArguments", "int f() { return 4; }", R"({"args": [], "expected": 4})"},
    {"Defaults", "int f(int a, int b = 10) { return a + b; }",
     R"({"args": [1], "expected": 11}, {"args": [1, 2], "expected": 3})"},
    {"Overloads",
     "int f(int a, int b) { return b ? f(b, a % b) : a; }\nint f(vector<int> v) { return f(v[0], v[1]); }",
     R"({"args": [12, 18], "expected": 6})"},
    {"Deduced", "auto f(int a) { return make_pair(a, to_string(a)); }",
     R"({"args": [1], "expected": [1, "1"]})"},
    {"Solution",
     "class Solution {\npublic:\n  vector<int> f(vector<int>& nums, int target) {\n    unordered_map<int, "
     "int> seen;\n    for (int i = 0; i < (int)nums.size(); i++) {\n      if (seen.count(target - nums[i])) "
     "return {seen[target - nums[i]], i};\n      seen[nums[i]] = i;\n    }\n    return {};\n  }\n};",
     R"({"args": [[2, 7, 11, 15], 9], "expected": [0, 1]})"},
    {"SolutionOfHelpers",
     "struct Solution {\n  int memo = 3;\n  int g(int n) const { return n * memo; }\n  int f(int n) const "
     "noexcept { return g(n); }\n  static int h();\n};",
     R"({"args": [2], "expected": 6})"},
    {"StaticMethod", "class Solution { public: static int f(int n) { return n; } };",
     R"({"args": [2], "expected": 2})"},
    {"WholeProgram",
     "#include <bits/stdc++.h>\nusing namespace std;\n#define int long long\n#define A 5\n#define value "
     "first\ntypedef vector<int> vi;\nvi f(vi a) { for (int& x : a) x += A; return a; }\nsigned main() { int "
     "n; cin >> n; cout << n; }",
     R"({"args": [[1]], "expected": [6]})"},
    {"HeadersOfItsOwn",
     "#include <vector>\n#include <string>\nint y1 = 3;\nstd::vector<std::string> f(int n) { return "
     "std::vector<std::string>(n + y1, \"a\"); }",
     R"({"args": [0], "expected": ["a", "a", "a"]})"},
    {"Namespace", "namespace solution\n{\n  int f(int a) { return a; }\n}\nusing namespace solution;",
     R"({"args": [1], "expected": 1})"},
    {"NameOfTheStandardLibrary",
     "#include <bits/stdc++.h>\nusing namespace std;\nlong f(long a, long b) { return b == 0 ? a : f(b, a % "
     "b); }\nvector<int> data() { return {}; }",
     R"({"args": [12, 18], "expected": 6})"},
    {"PrintsToo", "int f(int a) { printf(\"the answer is 5\\n\"); cout << 7 << endl; return a; }",
     R"({"args": [1], "expected": 1})"},
};

class CppTypes : public ::testing::TestWithParam<Typed> {};

TEST_P(CppTypes, PassBothWays) {
  ItemJudgement judged = Judge(GetParam().program, GetParam().cases);
  EXPECT_EQ(judged.kind, VerdictKind::kCorrect) << judged.detail;
  EXPECT_TRUE(judged.stamps.empty());
}
INSTANTIATE_TEST_SUITE_P(Forms, CppTypes, ::testing::ValuesIn(kRight),
                         [](const auto& info) { return std::string(info.param.name); });

struct Failing {
  const char *program, *cases, *outcome, *detail;
};

TEST(CppFunction, FailsByClass) {
  for (const Failing& c : {
           Failing{"int f(int a) { return a; }", R"({"args": [1], "expected": 2})", "wrong_answer",
                   "the value is \"1\""},
           {"int f(int a) { return a }", R"({"args": [1], "expected": 1})", "compile_error", "expected"},
           {"int g(int a) { return a; }", R"({"args": [1], "expected": 1})", "compile_error", "f"},
           {"int f(string s) { return 1; }", R"({"args": [3], "expected": 1})", "compile_error",
            "f: argument 1 is an integer, not std::string"},
           {"int f(int a, vector<int> b) { return 1; }", R"({"args": [3, ["x"]], "expected": 1})",
            "compile_error", "f: argument 2 is a string, not int"},
           {"int f(int a) { return 1; }", R"({"args": [3000000000], "expected": 1})", "compile_error",
            "f: argument 1 is an integer beyond int"},
           {"int f(int a) { return 1; }", R"({"args": [2.5], "expected": 1})", "compile_error",
            "a real number, not int"},
           {"int f(unsigned a) { return 1; }", R"({"args": [-1], "expected": 1})", "compile_error",
            "beyond unsigned int"},
           {"int f(int a, int b) { return 1; }", R"({"args": [3], "expected": 1})", "compile_error",
            "f takes 2 arguments, and the test has 1"},
           {"struct P { int x; };\nint f(int a, P* p) { return 1; }", R"({"args": [3, 4], "expected": 1})",
            "compile_error", "parameter 2 of f is P*"},
           {"struct P { int x; };\nP f(int a) { return {a}; }", R"({"args": [3], "expected": 3})",
            "compile_error", "the result of f is P"},
           {"int f(int a) { throw runtime_error(\"no way\"); }", R"({"args": [3], "expected": 3})",
            "runtime_error", "no way"},
           {"int f(int a) { vector<int> v; return v.at(3); }", R"({"args": [3], "expected": 3})",
            "runtime_error", "range_check"},
           {"int f(int a) { return *(volatile int*)8; }", R"({"args": [3], "expected": 3})", "runtime_error",
            "signal 11"},
           {"int f(int a) { exit(0); }", R"({"args": [3], "expected": 3})", "runtime_error",
            "without an answer"},
           {"int f(int a) { for (volatile int i = 0;; i++) {} }", R"({"args": [3], "expected": 3})",
            "time_limit", ""},
           {"size_t f(int a) { vector<string*> v; for (;;) v.push_back(new string(1 << 20, 'x')); }",
            R"({"args": [3], "expected": 3})", "memory_limit", ""},
           {"int f(int a) { for (;;) puts(\"3\"); }", R"({"args": [3], "expected": 3})", "output_limit", ""},
           {"string f(int a) { return string(100 << 20, 'x'); }", R"({"args": [3], "expected": 3})",
            "output_limit", ""},
       }) {
    ItemJudgement judged = Judge(c.program, c.cases);
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << c.program;
    EXPECT_EQ(judged.outcome, c.outcome) << c.program << ": " << judged.detail;
    EXPECT_THAT(judged.detail, HasSubstr(c.detail)) << c.program;
  }
}

TEST(CppFunction, ComparesOutside) {
  CodeScorerSpec numeric = Spec();
  numeric.comparison = CodeComparison::kNumeric;
  std::string third = "double f(int a) { return a / 3.0; }",
              cases = R"({"args": [1], "expected": 0.3333333})";
  EXPECT_EQ(Judge(third, cases, numeric).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge(third, cases).kind, VerdictKind::kWrong);
  CodeScorerSpec unordered = Spec();
  unordered.comparison = CodeComparison::kUnordered;
  std::string set =
      "unordered_set<int> f(int n) { unordered_set<int> s; while (n) s.insert(n--); return s; }";
  EXPECT_EQ(Judge(set, R"({"args": [3], "expected": [2, 3, 1]})", unordered).kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge(set, R"({"args": [3], "expected": [2, 3, 4]})", unordered).kind, VerdictKind::kWrong);
  CodeScorerSpec share = Spec();
  share.credit = CodeCredit::kShare;
  ItemJudgement half = Judge("int f(int a) { return 4; }",
                             R"({"args": [2], "expected": 4}, {"args": [3], "expected": 6})", share);
  EXPECT_EQ(half.kind, VerdictKind::kGraded);
  EXPECT_EQ(half.value, 0.5);
}

TEST(CppFunction, EachCaseIsAFreshProcess) {
  EXPECT_EQ(Judge("int f(int a) { static int calls = 0; return ++calls; }",
                  R"({"args": [1], "expected": 1}, {"args": [1], "expected": 1})")
                .kind,
            VerdictKind::kCorrect);
}

TEST(CppFunction, RowsThatNoProgramCanMeetAreUndecided) {
  for (auto [cases, entry, why] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {R"({"args": [1], "kwargs": {"a": 1}, "expected": 1})", "f", "tests.cases[0].kwargs"},
           {R"({"args": [1], "expected": 1}, {"args": [18446744073709551616], "expected": 1})", "f",
            "tests.cases[1].args"},
           {R"({"args": [1], "expected": 1})", "f; int x", "tests.entry_point"},
           {R"({"args": [1], "expected": 1})", "return", "tests.entry_point"}}) {
    ItemJudgement judged = Judge("int f(int a) { return a; }", cases, Spec(), entry);
    EXPECT_EQ(judged.kind, VerdictKind::kUndecided);
    EXPECT_THAT(judged.detail, HasSubstr(why));
  }
}

TEST(CppFunction, MethodsAreNamedWithTheirOwner) {
  const std::string program =
      "struct Sums { int add(int a, int b) { return a + b; } };\nint add(int a, int b) { return 0; }";
  for (const char* entry : {"Sums.add", "Sums::add"}) {
    EXPECT_EQ(Judge(program, R"({"args": [1, 2], "expected": 3})", Spec(), entry).kind,
              VerdictKind::kCorrect);
  }
  EXPECT_EQ(Judge(program, R"({"args": [1, 2], "expected": 3})", Spec(), "add").kind, VerdictKind::kWrong);
}

}  // namespace
}  // namespace sluice
