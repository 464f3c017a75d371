// Whether an output or a value is the one expected. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"
#include "reward/code/typed_value.h"

namespace sluice {

struct ComparisonRule {
  CodeComparison comparison = CodeComparison::kTokens;  // any but kChecker
  double absolute_tolerance = 1e-6, relative_tolerance = 1e-6;
};

// Of standard output. Numbers count as equal within absolute_tolerance or relative_tolerance of the expected
// one; two integers have to be the same whatever the tolerances.
bool OutputEquals(const ComparisonRule& rule, absl::string_view expected, absl::string_view actual);

// Of a function's value, by Python's ==, with what JSON cannot say read into it: an expected list equals a
// tuple, a key "1" of an expected object also the key 1. kTokens is kExact here.
bool ValueEquals(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual);

}  // namespace sluice
