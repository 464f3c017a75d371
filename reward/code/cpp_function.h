// Programs of C++ whose functions are called with data: the program between a harness that stands before it,
// out of its macros' reach, and the calls of its functions. Pure and thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// A function that is called, as the tests name it: "f", or "Owner.method" of an object that is made anew in
// each process.
struct CppEntry {
  std::string name;
  std::string owner;         // a class; empty: a function
  std::string function;      // without its owner
  std::set<size_t> arities;  // how many arguments the tests give
};

// INVALID_ARGUMENT: neither "name" nor "Owner.method". A plain name that the program defines only in its
// class `Solution` is a method of that.
absl::StatusOr<CppEntry> ReadCppEntry(absl::string_view name, absl::string_view program);

// Readings of the program with the harness; the first that compiles is meant. It answers as
// harness_cpp/candidate.h says.
std::vector<std::string> CallableCpp(absl::string_view program, const std::vector<CppEntry>& entries);

extern const char* const kCppValues;
extern const char* const kCppChannel;
extern const char* const kCppCandidate;

}  // namespace sluice
