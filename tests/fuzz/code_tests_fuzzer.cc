// The first byte chooses form and language; the rest is the row's "tests".
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reward/code/comparison.h"
#include "reward/code/test_set.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  sluice::CodeScorerSpec spec;
  spec.tests = static_cast<sluice::CodeTests>(data[0] % 4);
  spec.language = static_cast<sluice::CodeLanguage>(data[0] / 4 % 2);
  sluice::ScoreItem item;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  item.fields["tests"] = text;
  if (data[0] & 8) item.fields["entry_point"] = "solve";
  if (data[0] & 16) item.fields["test"] = text;
  const auto tests = sluice::ReadTests(spec, item);
  if (!tests.ok()) {
    if (tests.status().code() != absl::StatusCode::kInvalidArgument) std::abort();
    return 0;
  }
  const size_t count = sluice::CountTests(*tests);
  if (count == 0 || count > static_cast<size_t>(spec.max_tests)) std::abort();
  if (const auto* stdio = std::get_if<sluice::StdioTests>(&*tests)) {
    for (const sluice::StdioTest& test : stdio->tests) {
      for (int c = 0; c < 4; ++c) {
        const sluice::ComparisonRule rule{static_cast<sluice::CodeComparison>(c)};
        if (!sluice::OutputEquals(rule, test.expected, test.expected)) std::abort();
        (void)sluice::OutputEquals(rule, test.expected, test.input);
      }
    }
  }
  return 0;
}
