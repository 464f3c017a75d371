// The input is a gold and, after a line end, a prediction. An answer never differs from itself, plain values
// are equal in both directions or in none, and no pair takes long.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "absl/strings/string_view.h"
#include "reward/math/parse/parser.h"
#include "reward/math/verifier.h"

namespace {

using sluice::math::Answer;
using sluice::math::Kind;

double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One value without a unit, a name or alternatives, and with one way to read it.
bool IsPlain(absl::string_view text) {
  const auto readings = sluice::math::ReadAnswer(text);
  if (!readings.ok() || readings->size() != 1) return false;
  const sluice::math::Reading& reading = readings->front();
  const Kind kind = reading.value.kind;
  const bool value = kind == Kind::kNumber || kind == Kind::kSymbol || kind == Kind::kSum ||
                     kind == Kind::kProduct || kind == Kind::kPower || kind == Kind::kFunction;
  return value && !reading.percent && !reading.hedged && reading.base == 0 && reading.unit.empty() &&
         reading.choice.empty() && reading.name.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  const absl::string_view gold = input.substr(0, end);
  const absl::string_view prediction = end == absl::string_view::npos ? "" : input.substr(end + 1);
  const double start = ProcessorSeconds();
  const Answer answer = sluice::math::ComparePair(gold, prediction).decision.answer;
  // 100 ms is promised; sanitizers and coverage slow this build down.
  if (ProcessorSeconds() - start > 2) std::fputs("slow pair\n", stderr), std::abort();
  if (sluice::math::ComparePair(gold, gold).decision.answer == Answer::kDifferent) std::abort();
  if (!IsPlain(gold) || !IsPlain(prediction)) return 0;
  const Answer turned = sluice::math::ComparePair(prediction, gold).decision.answer;
  if ((answer == Answer::kEqual) != (turned == Answer::kEqual)) std::abort();
  return 0;
}
