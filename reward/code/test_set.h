// The tests of a row, in the forms that data sets have them (docs/rewards.md lists them). Pure and
// thread-safe.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "core/rl/scorer.h"
#include "reward/code/typed_value.h"

namespace sluice {

struct AssertTests {
  std::string setup;
  std::vector<std::string> asserts;
};
struct StdioTest {
  std::string input, expected;
};
struct StdioTests {
  std::vector<StdioTest> tests;
};
struct FunctionCase {
  TypedValue args;    // a list
  TypedValue kwargs;  // a dict with text keys
  TypedValue expected;
  bool wrapped = false;  // `expected` is a list of one member, which is right as well
};
struct FunctionTests {
  std::string entry_point;
  std::vector<FunctionCase> cases;
};
struct HumanEvalTest {
  std::string prompt, test, entry_point;
};
using TestSet = std::variant<AssertTests, StdioTests, FunctionTests, HumanEvalTest>;

size_t CountTests(const TestSet& tests);

// INVALID_ARGUMENT names the field, what it holds and what is expected.
absl::StatusOr<TestSet> ReadTests(const CodeScorerSpec& spec, const ScoreItem& item);

}  // namespace sluice
