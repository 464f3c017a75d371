// Asserts about the functions of a C++ program: a program of their own, in which each function is a stub that
// asks for the value. The stubs have the parameters and results that the program's functions have, of
// standard types alone, so that no macro, operator or class of the program means anything among the tests.
// Pure and thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reward/code/cpp_function.h"
#include "reward/code/test_set.h"
#include "reward/code/typed_value.h"

namespace sluice {

struct CppSignature {
  struct Parameter {
    std::string type;  // without const and reference; "T*": an array
    bool changes = false;
  };
  std::string result;
  size_t least = 0;  // arguments of a call
  std::vector<Parameter> parameters;
};

// Of an answer to ("describe", ...). INVALID_ARGUMENT: it names anything but types of the standard library.
absl::StatusOr<CppSignature> ReadCppSignature(const TypedValue& answer);

// What the tests call of the program: functions that it defines, methods of its class `Solution`.
// INVALID_ARGUMENT: what tests of this form cannot do, by their text alone.
absl::StatusOr<std::vector<CppEntry>> CallsOfAsserts(const AssertTests& tests, absl::string_view program);

// The program of the tests; `signatures` in the order of the entries.
std::string AssertsUnit(const AssertTests& tests, const std::vector<CppEntry>& entries,
                        const std::vector<CppSignature>& signatures);

extern const char* const kCppTests;

}  // namespace sluice
