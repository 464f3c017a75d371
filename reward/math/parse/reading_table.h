// Rows of tests of reading: an answer and the text of its readings.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "reward/math/parse/parser.h"

namespace sluice::math {

struct ReadingRow {
  const char* answer;
  const char* readings;  // with " | " between them
};

inline std::string ReadingsOf(absl::string_view answer) {
  auto readings = ReadAnswer(answer);
  if (!readings.ok()) return std::string(readings.status().message());
  std::string out;
  for (const Reading& r : *readings) absl::StrAppend(&out, out.empty() ? "" : " | ", ToText(r));
  return out;
}

}  // namespace sluice::math
