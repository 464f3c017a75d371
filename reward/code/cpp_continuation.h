// Programs of C++ rows whose completion goes on from a function's head. Candidate and tests are translation
// units of their own, so no macro, operator or overload of the one means anything in the other. Pure and
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reward/code/test_set.h"

namespace sluice {

struct CppContinuation {
  std::vector<std::string> candidates;  // readings of the completion; the first that compiles is meant
  std::string tests;                    // has main; proves by kProof that the tests ran to their end
};

// To be linked with "-Wl,--wrap=main". `tag`: 32 bytes that only the tests' unit and the service know.
// INVALID_ARGUMENT: the prompt does not end in the head of a function.
absl::StatusOr<CppContinuation> ContinueCpp(const HumanEvalTest& row, absl::string_view completion,
                                            absl::string_view tag);

}  // namespace sluice
