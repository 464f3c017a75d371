// Reference answers written otherwise, by editing their LaTeX: the same value in another spelling, and other
// values that look alike. Works on text alone, so that it shares nothing with the parser that it tests.
#pragma once

#include <string>
#include <vector>

namespace sluice::math {

struct Rewritten {
  std::string by;  // the rewrite's name
  std::string text;
};

// Spellings of the same value. `gold` is LaTeX as data sets hold it.
std::vector<Rewritten> SameValue(const std::string& gold);

// Other values: a digit, a sign or an operator changed. Leaves out changes that may keep the value ("0/5" to
// "0/6", the sign inside a square or an absolute value).
std::vector<Rewritten> OtherValue(const std::string& gold);

}  // namespace sluice::math
