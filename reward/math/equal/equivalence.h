// Whether two answers state the same value. Exact or UNDECIDED, never a guess: rational normal forms, closed
// constants by ball arithmetic of growing precision, free variables by exact normal forms or evaluation
// modulo large primes. Pure and thread-safe; bounded in time and memory.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

enum class Answer { kEqual, kDifferent, kUndecided };

struct Decision {
  Answer answer = Answer::kUndecided;
  std::string rule;              // what decided, for example "rational", "ball", "polynomial", "set", "text"
  std::string gold, prediction;  // normal forms that were compared, as text, ASCII, cut to 200 bytes
};

struct EquivalenceOptions {
  int max_precision_bits = 4096;
  bool strict = false;  // the auditor's: no leniency of notation (units dropped, percent, lists as sets), and
                        // values decided by evaluation before normal forms
  bool explain = false;  // fills Decision::gold and prediction
  // What was asked, if known; an answer that repeats a formula of it is none (echo.h). Words behind
  // a number that it says too are its unit.
  absl::string_view question = {};
};

// Not symmetric where symmetry would pay for echoing the question or for hedging: an inequality that is asked
// for accepts its interval, an interval that is asked for does not accept an inequality; several values never
// answer for one.
Decision Compare(const std::vector<Reading>& gold, const std::vector<Reading>& prediction,
                 const EquivalenceOptions& options = {});

}  // namespace sluice::math
