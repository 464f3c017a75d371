#include "reward/math_scorer.h"

#include "absl/strings/str_cat.h"
#include "reward/answer.h"
#include "reward/quotation.h"

namespace sluice {

ItemJudgement MathItemScorer::Judge(const ScoreItem& item) const {
  auto field = item.fields.find("answer");
  if (field == item.fields.end()) return InvalidRow("the prompt has no field \"answer\"");
  Answer gold = ReadGold(field->second);
  if (gold.reading.state == NumberReading::kTooLarge) {
    return Undecided(absl::StrCat("the prompt's answer has more than ", kMaxDigits, " digits"));
  }
  if (gold.reading.state != NumberReading::kNumber) {
    return Undecided(absl::StrCat("the prompt's answer ", Quotation(field->second), " is not a number"));
  }
  Answer answer = FindAnswer(item.completion);
  if (answer.rule == AnswerRule::kNone) return Wrong("the completion has no number");
  std::string found = absl::StrCat(Quotation(answer.reading.text), " by ", AnswerRuleName(answer.rule));
  switch (answer.reading.state) {
    case NumberReading::kTooLarge:
      return Undecided(absl::StrCat(found, " has more than ", kMaxDigits, " digits"));
    case NumberReading::kNotANumber:
      return Wrong(absl::StrCat(found, " is not a number"));
    case NumberReading::kNumber:
      break;
  }
  if (answer.reading.value == gold.reading.value) return Correct(absl::StrCat(found, " is right"));
  return Wrong(absl::StrCat(found, " is not ", Quotation(gold.reading.text)));
}

}  // namespace sluice
