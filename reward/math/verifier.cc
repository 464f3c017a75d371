#include "reward/math/verifier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "reward/math/echo.h"
#include "reward/math/parse/legible.h"
#include "reward/math/parse/parser.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxQuoted = 200;
constexpr size_t kMaxKept = 4096;  // of what was extracted
constexpr const char* kUnreadableGold = "unreadable gold";

// `from` names who wrote it, for the reason.
std::vector<Reading> ReadOr(absl::string_view text, const char* from, std::string* reason) {
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(text);
  if (readings.ok()) return *std::move(readings);
  *reason = absl::StrCat(from, ": ", readings.status().message());
  return {};
}

// The readings of the reference; sets the decision where nobody can read it.
std::vector<Reading> ReadGold(absl::string_view gold, Explanation* out) {
  std::vector<Reading> readings = ReadOr(gold, "the reference answer", &out->reason);
  if (!out->reason.empty() || !IsBroken(gold, readings)) return readings;
  out->reason = "the reference answer is no whole formula";
  out->decision.rule = kUnreadableGold;
  return {};
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Printable(CutToCharacters(text, kMaxQuoted)),
                      text.size() > kMaxQuoted ? "...\"" : "\"");
}

const char* AnswerName(Answer answer) {
  switch (answer) {
    case Answer::kEqual:
      return "equal";
    case Answer::kDifferent:
      return "different";
    case Answer::kUndecided:
      return "undecided";
  }
  return "";
}

// "130" of "130 (120 + 10)": the working behind an answer that is worth the same; else the text as it is.
absl::string_view WithoutWorking(absl::string_view text) {
  size_t open = text.rfind(" (");
  if (open == absl::string_view::npos || open == 0 || text.back() != ')') return text;
  absl::string_view front = text.substr(0, open), inside = text.substr(open + 2, text.size() - open - 3);
  bool digits = front.find_first_of("0123456789") != absl::string_view::npos &&
                front.find_first_of("()") == absl::string_view::npos;
  if (!digits || inside.find_first_of("()") != absl::string_view::npos) return text;
  std::string reason;
  std::vector<Reading> value = ReadOr(front, "", &reason), working = ReadOr(inside, "", &reason);
  bool same = reason.empty() && Compare(value, working).answer == Answer::kEqual;
  return same ? front : text;
}

// Choices as a list: "B, C, D" of "BCD" and of "B, C and D"; empty for what is no set of choices in their
// order.
std::string Spread(absl::string_view text) {
  std::string out;
  char last = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ',' || c == ' ' || c == '(' || c == ')') continue;
    if (absl::StartsWith(text.substr(i), "and ")) {
      i += 3;
      continue;
    }
    if (c < 'A' || c > 'J' || c <= last) return "";
    absl::StrAppend(&out, out.empty() ? "" : ", ", std::string(1, c));
    last = c;
  }
  return out.size() > 4 ? out : "";
}

// Several answers stand for one where each of them is right.
bool AllEqual(absl::string_view gold, const std::vector<std::string>& alternatives,
              const EquivalenceOptions& options) {
  return !alternatives.empty() &&
         std::all_of(alternatives.begin(), alternatives.end(), [&](const std::string& one) {
           return ComparePair(gold, one, options).decision.answer == Answer::kEqual;
         });
}

}  // namespace

Explanation ComparePair(absl::string_view gold, absl::string_view prediction,
                        const EquivalenceOptions& options) {
  Explanation out;
  out.gold = std::string(gold.substr(0, kMaxKept));
  out.prediction = std::string(prediction.substr(0, kMaxKept));
  absl::string_view bare = StripWrapping(gold);
  const bool same = !bare.empty() && bare == StripWrapping(prediction);
  std::vector<Reading> g;
  if (!same || MayBeBroken(gold)) g = ReadGold(gold, &out);
  if (same && out.decision.rule != kUnreadableGold) {
    out.reason.clear();
    out.decision = {Answer::kEqual, "same text", "", ""};
  }
  if (same || !out.reason.empty()) return out;
  std::vector<Reading> p = ReadOr(WithoutWorking(prediction), "the answer", &out.reason);
  if (!out.reason.empty()) return out;
  out.decision = Compare(g, p, options);
  bool echo = out.decision.answer == Answer::kEqual && !options.question.empty() &&
              RepeatsQuestion(options.question, gold, prediction);
  if (echo) {
    out.decision.answer = Answer::kDifferent;
    out.decision.rule = "repeats the question";
  }
  return out;
}

Explanation JudgeCompletion(absl::string_view gold, absl::string_view completion,
                            const EquivalenceOptions& options) {
  const std::string reference = ExtractGold(gold).text;
  Extraction answer = ExtractAnswer(completion, AskedBy(reference));
  if (answer.rule == ExtractionRule::kNone) {
    Explanation out;
    if (MayBeBroken(reference)) ReadGold(reference, &out);
    out.gold = reference.substr(0, kMaxKept);
    if (out.reason.empty()) out.decision = {Answer::kDifferent, answer.missing, "", ""};
    out.answered = false;
    return out;
  }
  Explanation out = ComparePair(reference, answer.text, options);
  if (out.decision.answer != Answer::kEqual && AllEqual(reference, answer.alternatives, options)) {
    out = ComparePair(reference, answer.alternatives[0], options);
  }
  if (out.decision.answer != Answer::kEqual && !answer.listed.empty()) {
    Explanation listed = ComparePair(reference, answer.listed, options);
    if (listed.decision.answer == Answer::kEqual) out = std::move(listed);
  }
  std::string spread_gold = Spread(reference), spread = Spread(answer.text);
  if (out.decision.answer != Answer::kEqual && !spread_gold.empty() && !spread.empty()) {
    out = ComparePair(spread_gold, spread, options);
  }
  if (out.decision.answer == Answer::kEqual && answer.approximate) {
    out.decision = {Answer::kUndecided, "approximate", out.decision.gold, out.decision.prediction};
  }
  out.extracted_by = answer.rule;
  return out;
}

std::string ToText(const Explanation& e) {
  std::string out;
  if (e.extracted_by != ExtractionRule::kNone) {
    absl::StrAppend(&out, "extracted by: ", ExtractionRuleName(e.extracted_by), "\n");
  }
  absl::StrAppend(&out, "gold:         ", Quoted(e.gold), "\n");
  absl::StrAppend(&out, "prediction:   ", Quoted(e.prediction), "\n");
  if (!e.decision.gold.empty()) {
    absl::StrAppend(&out, "gold is       ", e.decision.gold, "\n", "prediction is ", e.decision.prediction,
                    "\n");
  }
  if (!e.reason.empty()) {
    absl::StrAppend(&out, "undecided:    ", e.reason, "\n");
  } else {
    absl::StrAppend(&out, AnswerName(e.decision.answer), " by: ", e.decision.rule, "\n");
  }
  return out;
}

}  // namespace sluice::math
