// A step that failed and why, for code that runs where neither Abseil nor exceptions are at hand.
#pragma once

#include <cerrno>
#include <cstdio>

namespace sluice::jail {

struct Failure {
  int error = 0;  // errno; 0: none
  char step[120] = {};
  explicit operator bool() const { return error != 0; }
};

// `failure`, with the name of the property that it is about in front.
inline Failure About(const char* property, Failure failure) {
  if (!failure) return failure;
  Failure named;
  named.error = failure.error;
  std::snprintf(named.step, sizeof named.step, "%s: %s", property, failure.step);
  return named;
}

// Of a call that returns a negative number and sets errno.
inline Failure Check(const char* step, long result, const char* detail = "") {
  Failure f;
  if (result >= 0) return f;
  f.error = errno != 0 ? errno : EINVAL;
  std::snprintf(f.step, sizeof f.step, "%s%s%s", step, *detail ? " " : "", detail);
  return f;
}

}  // namespace sluice::jail
