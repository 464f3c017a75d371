#include "reward/math/parse/clock.h"

#include <cstdlib>
#include <numeric>
#include <string>

#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

bool IsRatio(const Expression& e) { return e.kind == Kind::kFunction && e.name == "ratio"; }

}  // namespace

ClockForm ClockFormOf(const std::vector<Reading>& readings) {
  if (readings.empty() || readings[0].value.kind != Kind::kText) return ClockForm::kNone;
  const std::string& text = readings[0].value.name;
  size_t colon = text.find(':');
  bool form = (colon == 1 || colon == 2) && text.size() == colon + 3 && IsDigit(text[0]) &&
              IsDigit(text[colon - 1]) && IsDigit(text[colon + 1]) && IsDigit(text[colon + 2]);
  if (!form) return ClockForm::kNone;
  int hours = std::atoi(text.c_str()), minutes = std::atoi(text.c_str() + colon + 1);
  if (hours > 24 || minutes > 59) return ClockForm::kNone;
  bool reduced = std::gcd(hours, minutes) == 1 && minutes >= 10 && minutes % 15 != 0;
  return reduced ? ClockForm::kEither : ClockForm::kClock;
}

bool ClockAllows(ClockForm gold, ClockForm prediction, const Reading& g, const Reading& p) {
  if (gold == ClockForm::kNone && prediction == ClockForm::kNone) return true;
  bool ratios = IsRatio(g.value) && IsRatio(p.value);
  if (gold == ClockForm::kClock) return !IsRatio(g.value);
  if (prediction == ClockForm::kClock) return ratios || !IsRatio(p.value);
  return true;
}

}  // namespace sluice::math
