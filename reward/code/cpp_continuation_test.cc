#include "reward/code/cpp_continuation.h"

#include "gmock/gmock.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTag(32, 'k');
const HumanEvalTest kRow = {
    "#include<assert.h>\n#include<bits/stdc++.h>\n// f(1)\nstd::map<long,int> f(std::vector<std::pair<int, "
    "int>> v, "
    "long n = 3) {\n",
    "}\nint main() {\n    auto candidate = f;\n    assert(candidate({}, 1).empty());\n}\n", "f"};

TEST(CppContinuation, ClosesBodies) {
  auto open = *ContinueCpp(kRow, "  return {};\n", kTag);
  EXPECT_THAT(open.candidates[0], HasSubstr("  return {};\n\n}\nstd::map<long,int> sluice_entry_point("));
  EXPECT_THAT(open.candidates[0], HasSubstr("return f(v, n);"));
  auto closed = *ContinueCpp(
      kRow, "  if (n) { return {}; } // }\n  char c = '}'; auto s = \"}\\\"}\";\n  return {};\n}\nint x(",
      kTag);
  EXPECT_THAT(closed.candidates[0], HasSubstr("return {};\n}\nstd::map"));
  EXPECT_THAT(closed.candidates[0], Not(HasSubstr("int x(")));
}

TEST(CppContinuation, KnowsWholePrograms) {
  auto whole = *ContinueCpp(
      kRow, "std::map<long,int> f(std::vector<std::pair<int, int>> v, long n) {\n  return {};\n}\n", kTag);
  ASSERT_EQ(whole.candidates.size(), 2u);
  EXPECT_THAT(whole.candidates[0], HasSubstr("#include<bits/stdc++.h>\nstd::map<long,int> f("));
  auto body = *ContinueCpp(kRow, "return f(v, n - 1);\n", kTag);
  EXPECT_EQ(body.candidates.size(), 1u);
}

TEST(CppContinuation, TestsDoNotSeeTheCandidate) {
  auto program = *ContinueCpp(kRow, "  MARKER\n", kTag);
  EXPECT_THAT(program.tests, Not(HasSubstr("MARKER")));
  EXPECT_THAT(program.tests, HasSubstr("#define f sluice_entry_point"));
  EXPECT_THAT(program.candidates[0], Not(HasSubstr("107,107")));
}

TEST(CppContinuation, NeedsAFunctionsHead) {
  for (const char* prompt : {"", "int x;", "int f(int) {\n", "struct S {\n", "f() {\n"}) {
    EXPECT_EQ(ContinueCpp({prompt, "}", "f"}, "", kTag).status().code(), absl::StatusCode::kInvalidArgument)
        << prompt;
  }
}

}  // namespace
}  // namespace sluice
