// Finds the answer of a solution. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"
#include "reward/number.h"

namespace sluice {

// Which rule found the answer.
enum class AnswerRule { kBoxed, kHashes, kLastNumber, kWhole, kNone };
const char* AnswerRuleName(AnswerRule rule);

struct Answer {
  AnswerRule rule = AnswerRule::kNone;
  NumberReading reading;
};

// A completion's answer: the last complete \boxed{}, else the first number after the last "####", else the
// last number. A box that holds no number is the answer all the same.
Answer FindAnswer(absl::string_view completion);

// A reference answer: by \boxed{} or "####" where it has them, else the whole text.
Answer ReadGold(absl::string_view gold);

}  // namespace sluice
