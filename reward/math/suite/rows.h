// The suite's files: pairs and completions with the verdict that a careful person gives, one JSON object a
// line.
#pragma once

#include <string>
#include <vector>

namespace sluice::math {

struct SuiteRow {
  int line = 0;
  std::string gold, answer;  // answer: a bare prediction or a whole completion
  bool expected = false;     // states the gold's value
  bool clear = true;         // false: people differ on it; reported, not asserted
  bool known = false;        // judged wrong so far; the test fails once it is judged right
  std::string category;
};

// Rows of a file with the members gold, prediction or completion, expected, category and, where people
// differ, "clear": false, or where the verdict is wrong so far, "known": true. Dies with the line on a
// malformed one, for the files are our own.
std::vector<SuiteRow> ReadSuite(const std::string& path);

// A string member of each row.
std::vector<std::string> ReadMember(const std::string& path, const std::string& member);

}  // namespace sluice::math
