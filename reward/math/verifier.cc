#include "reward/math/verifier.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "reward/math/parser.h"
#include "reward/math/wrapping.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxQuoted = 200;
constexpr size_t kMaxKept = 4096;  // of what was extracted

// `from` names who wrote it, for the reason.
std::vector<Reading> ReadOr(absl::string_view text, const char* from, std::string* reason) {
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(text);
  if (readings.ok()) return *std::move(readings);
  *reason = absl::StrCat(from, ": ", readings.status().message());
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

}  // namespace

Explanation ComparePair(absl::string_view gold, absl::string_view prediction,
                        const EquivalenceOptions& options) {
  Explanation out;
  out.gold = std::string(gold.substr(0, kMaxKept));
  out.prediction = std::string(prediction.substr(0, kMaxKept));
  if (absl::string_view bare = StripWrapping(gold); !bare.empty() && bare == StripWrapping(prediction)) {
    out.decision = {Answer::kEqual, "same text", "", ""};
    return out;
  }
  std::vector<Reading> g = ReadOr(gold, "the reference answer", &out.reason);
  if (!out.reason.empty()) return out;
  std::vector<Reading> p = ReadOr(prediction, "the answer", &out.reason);
  if (!out.reason.empty()) return out;
  out.decision = Compare(g, p, options);
  return out;
}

Explanation JudgeCompletion(absl::string_view gold, absl::string_view completion,
                            const EquivalenceOptions& options) {
  Extraction answer = ExtractAnswer(completion);
  if (answer.rule == ExtractionRule::kNone) {
    Explanation out;
    out.gold = ExtractGold(gold).text.substr(0, kMaxKept);
    out.decision = {Answer::kDifferent, "no answer", "", ""};
    return out;
  }
  Explanation out = ComparePair(ExtractGold(gold).text, answer.text, options);
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
