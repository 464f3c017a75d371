// Functions of C++ of our own: each passes its cases, and with one place changed it does not.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"

namespace sluice {
namespace {

struct Mutated {
  const char *name, *program, *cases;
  const char *place, *first, *second;  // what stands in the program, and what in its stead
};

constexpr Mutated kFunctions[] = {
    {"Factorial", "long long f(int n) { return n <= 1 ? 1 : n * f(n - 1); }",
     R"({"args": [5], "expected": 120}, {"args": [0], "expected": 1}, {"args": [20], "expected": 2432902008176640000})",
     "n - 1", "n - 2", "n / 2"},
    {"Fibonacci",
     "long f(int n) { long a = 0, b = 1; while (n--) { long t = a + b; a = b; b = t; } return a; }",
     R"({"args": [10], "expected": 55}, {"args": [0], "expected": 0})", "a = 0", "a = 1", "a = -1"},
    {"IsPrime",
     "bool f(int n) { if (n < 2) return false; for (int d = 2; d * d <= n; d++) if (n % d == 0) return "
     "false; return true; }",
     R"({"args": [1], "expected": false}, {"args": [9], "expected": false}, {"args": [13], "expected": true}, {"args": [2], "expected": true})",
     "d * d <= n", "d * d < n", "d <= n"},
    {"Reverse", "string f(string s) { reverse(s.begin(), s.end()); return s; }",
     R"({"args": ["abc"], "expected": "cba"})", "s.begin(), s.end()", "s.begin() + 1, s.end()",
     "s.begin(), s.end() - 1"},
    {"Palindrome",
     "bool f(const string& s) { for (size_t i = 0; i < s.size() / 2; i++) if (s[i] != s[s.size() - 1 - i]) "
     "return false; return true; }",
     R"({"args": ["abca"], "expected": false}, {"args": ["abba"], "expected": true})", "!=", "==", ">"},
    {"Maximum", "int f(vector<int> v) { return *max_element(v.begin(), v.end()); }",
     R"({"args": [[3, 9, 2]], "expected": 9}, {"args": [[-5, -2]], "expected": -2})", "max_element",
     "min_element", "prev"},
    {"SecondLargest",
     "optional<int> f(const vector<int>& v) { set<int> s(v.begin(), v.end()); if (s.size() < 2) return "
     "nullopt; return *next(s.rbegin()); }",
     R"({"args": [[5, 1, 5, 3]], "expected": 3}, {"args": [[4, 4]], "expected": null})", "next(s.rbegin())",
     "s.rbegin()", "next(s.begin(), 0)"},
    {"TwoSum",
     "vector<int> f(vector<int> v, int t) { for (int i = 0; i < (int)v.size(); i++) for (int j = i + 1; j < "
     "(int)v.size(); j++) if (v[i] + v[j] == t) return {i, j}; return {}; }",
     R"({"args": [[3, 2, 4], 6], "expected": [1, 2]}, {"args": [[1], 2], "expected": []})", "i + 1", "i",
     "0"},
    {"CountWords",
     "map<string, int> f(string s) { map<string, int> m; stringstream in(s); for (string w; in >> w;) "
     "m[w]++; return m; }",
     R"({"args": ["a b a"], "expected": {"a": 2, "b": 1}})", "m[w]++", "m[w] = 1", "m[w] += 2"},
    {"Transpose",
     "vector<vector<int>> f(vector<vector<int>> m) { vector<vector<int>> r(m[0].size(), "
     "vector<int>(m.size())); for (size_t i = 0; i < m.size(); i++) for (size_t j = 0; j < m[0].size(); j++) "
     "r[j][i] = m[i][j]; return r; }",
     R"({"args": [[[1, 2, 3], [4, 5, 6]]], "expected": [[1, 4], [2, 5], [3, 6]]})", "m[i][j]", "m[0][j]",
     "m[i][0]"},
    {"BinarySearch",
     "int f(vector<int> v, int x) { int a = 0, b = v.size(); while (a < b) { int m = (a + b) / 2; if (v[m] < "
     "x) a = m + 1; else b = m; } return a; }",
     R"({"args": [[1, 3, 3, 7], 3], "expected": 1}, {"args": [[1, 3], 9], "expected": 2})", "v[m] < x",
     "v[m] <= x", "v[m] > x"},
    {"Brackets",
     "bool f(string s) { int d = 0; for (char c : s) { d += c == '(' ? 1 : -1; if (d < 0) return false; } "
     "return d == 0; }",
     R"J({"args": ["(())"], "expected": true}, {"args": [")("], "expected": false}, {"args": ["(("], "expected": false})J",
     "d < 0", "d < -1", "d < 1"},
    {"Mean", "double f(vector<double> v) { return accumulate(v.begin(), v.end(), 0.0) / v.size(); }",
     R"({"args": [[1, 2, 4.5]], "expected": 2.5})", "0.0", "0", "1.0"},
    {"Caesar", "string f(string s, int k) { for (char& c : s) c = 'a' + (c - 'a' + k) % 26; return s; }",
     R"({"args": ["xyz", 3], "expected": "abc"})", "% 26", "% 25", "% 27"},
    {"Digits", "int f(long long n) { int s = 0; for (; n; n /= 10) s += n % 10; return s; }",
     R"({"args": [9007199254740993], "expected": 78})", "n % 10", "n % 9", "1"},
    {"Rotate", "void f(vector<int>& v, int k) { rotate(v.begin(), v.end() - k, v.end()); }",
     R"({"args": [[1, 2, 3, 4], 1], "expected": [4, 1, 2, 3]})", "v.end() - k", "v.begin() + k", "v.end()"},
    {"Anagrams",
     "vector<vector<string>> f(vector<string> words) { map<string, vector<string>> m; for (auto& w : words) "
     "{ string k = w; sort(k.begin(), k.end()); m[k].push_back(w); } vector<vector<string>> r; for (auto& p "
     ": m) r.push_back(p.second); return r; }",
     R"({"args": [["eat", "tan", "ate"]], "expected": [["eat", "ate"], ["tan"]]})", "string k = w",
     "string k = \"x\"", "string k = w + w + 'q' + to_string(m.size())"},
    {"Steps",
     "int f(int n) { vector<int> d(n + 2, 1); for (int i = 2; i <= n; i++) d[i] = d[i - 1] + d[i - 2]; "
     "return d[n]; }",
     R"({"args": [5], "expected": 8}, {"args": [1], "expected": 1})", "d[i - 2]", "d[i - 1]", "1"},
    {"Intersection",
     "set<int> f(set<int> a, set<int> b) { set<int> r; for (int x : a) if (b.count(x)) r.insert(x); return "
     "r; }",
     R"({"args": [[1, 2, 3], [2, 3, 4]], "expected": [2, 3]})", "b.count(x)", "!b.count(x)", "true"},
    {"Divide", "pair<int, int> f(int a, int b) { return {a / b, a % b}; }",
     R"({"args": [17, 5], "expected": [3, 2]})", "a % b", "a - b", "b % a"},
};

class CppMutations : public ::testing::TestWithParam<Mutated> {
 protected:
  static ItemJudgement Judge(const std::string& program) {
    CodeScorerSpec spec;
    spec.language = CodeLanguage::kCpp;
    spec.tests = CodeTests::kFunction;
    spec.comparison = CodeComparison::kExact;
    spec.timeout_seconds = 2;
    return CodeTestBench::Get().Judge(
        spec, program,
        {{"tests", absl::StrCat(R"({"entry_point": "f", "cases": [)", GetParam().cases, "]}")}});
  }
};

TEST_P(CppMutations, TheRightOnePassesAndTheChangedOnesFail) {
  ItemJudgement right = Judge(GetParam().program);
  EXPECT_EQ(right.kind, VerdictKind::kCorrect) << right.detail;
  for (const char* change : {GetParam().first, GetParam().second}) {
    std::string changed = absl::StrReplaceAll(GetParam().program, {{GetParam().place, change}});
    ASSERT_NE(changed, GetParam().program);
    ItemJudgement judged = Judge(changed);
    EXPECT_EQ(judged.kind, VerdictKind::kWrong) << changed;
  }
}
INSTANTIATE_TEST_SUITE_P(Functions, CppMutations, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice
