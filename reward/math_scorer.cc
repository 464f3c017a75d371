#include "reward/math_scorer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

std::string Sentence(const math::Explanation& e) {
  if (!e.answered) return e.decision.rule == "no answer" ? "no answer found" : e.decision.rule;
  std::string found = Quotation(e.prediction);
  if (e.extracted_by != math::ExtractionRule::kNone) {
    absl::StrAppend(&found, " by ", math::ExtractionRuleName(e.extracted_by));
  }
  if (!e.reason.empty()) return absl::StrCat(found, ": ", e.reason);
  switch (e.decision.answer) {
    case math::Answer::kEqual:
      return absl::StrCat(found, " is right: ", e.decision.rule);
    case math::Answer::kDifferent:
      return absl::StrCat(found, " is not ", Quotation(e.gold), ": ", e.decision.rule);
    case math::Answer::kUndecided:
      break;
  }
  return absl::StrCat(found, " may be ", Quotation(e.gold), ": ", e.decision.rule);
}

ItemJudgement JudgementOf(const math::Explanation& e, bool explain) {
  std::string detail = explain ? math::ToText(e) : Sentence(e);
  ItemJudgement out = e.decision.answer == math::Answer::kEqual       ? Correct(std::move(detail))
                      : e.decision.answer == math::Answer::kDifferent ? Wrong(std::move(detail))
                                                                      : Undecided(std::move(detail));
  out.outcome = e.decision.rule;
  return out;
}

}  // namespace

ItemJudgement MathItemScorer::Judge(const ScoreItem& item) const {
  bool pair = spec_.mode == MathMode::kPair;
  const char* reference = pair ? "gold" : "answer";
  auto gold = item.fields.find(reference);
  if (gold == item.fields.end()) return InvalidRow(absl::StrCat("the row has no field \"", reference, "\""));
  if (absl::StripAsciiWhitespace(gold->second).empty()) {
    return InvalidRow(absl::StrCat("the row's field \"", reference, "\" is empty"));
  }
  math::EquivalenceOptions options = options_;
  options.explain = item.explain;
  options.question = item.prompt;
  if (!pair) return JudgementOf(math::JudgeCompletion(gold->second, item.completion, options), item.explain);
  auto prediction = item.fields.find("prediction");
  if (prediction == item.fields.end()) return InvalidRow("the row has no field \"prediction\"");
  return JudgementOf(math::ComparePair(gold->second, prediction->second, options), item.explain);
}

}  // namespace sluice
