#include "reward/length_scorer.h"

#include "absl/strings/str_cat.h"
#include "core/base/character.h"

namespace sluice {
int64_t CountCharacters(const std::string& text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); i += ReadCharacter(text, i).bytes) ++count;
  return count;
}

ItemJudgement LengthItemScorer::Judge(const ScoreItem& item) const {
  const bool tokens = spec_.unit == LengthUnit::kTokens;
  if (tokens && item.completion_tokens <= 0)
    return InvalidRow("the row has no field \"completion_tokens\", the number of tokens");
  const int64_t length = tokens ? item.completion_tokens : CountCharacters(item.completion);
  std::string detail = absl::StrCat(length, tokens ? " tokens" : " characters");
  if (length <= spec_.soft_limit) return {VerdictKind::kCorrect, 0, std::move(detail), "within"};
  if (length >= spec_.hard_limit) return {VerdictKind::kWrong, -1, std::move(detail), "too_long"};
  double over = static_cast<double>(length - spec_.soft_limit);
  return {VerdictKind::kGraded, -over / (spec_.hard_limit - spec_.soft_limit), std::move(detail), "long"};
}

}  // namespace sluice
