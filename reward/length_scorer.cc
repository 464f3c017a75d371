#include "reward/length_scorer.h"

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Bytes of the code point at i, or 1 where the bytes are no UTF-8.
size_t CharacterBytes(const std::string& text, size_t i) {
  unsigned char lead = static_cast<unsigned char>(text[i]);
  size_t bytes = lead >= 0xC2 && lead < 0xE0   ? 2
                 : lead >= 0xE0 && lead < 0xF0 ? 3
                 : lead >= 0xF0 && lead < 0xF5 ? 4
                                               : 1;
  if (i + bytes > text.size()) return 1;
  for (size_t k = 1; k < bytes; ++k) {
    if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return 1;
  }
  return bytes;
}

}  // namespace

int64_t CountCharacters(const std::string& text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); i += CharacterBytes(text, i)) ++count;
  return count;
}

absl::StatusOr<std::unique_ptr<ItemScorer>> LengthItemScorer::Create(const LengthScorerSpec& spec) {
  if (spec.soft_limit < 1) {
    return absl::InvalidArgumentError(absl::StrCat("length.soft_limit is ", spec.soft_limit, "; at least 1"));
  }
  if (spec.hard_limit <= spec.soft_limit) {
    return absl::InvalidArgumentError(absl::StrCat("length.hard_limit is ", spec.hard_limit,
                                                   "; it must be above soft_limit, ", spec.soft_limit));
  }
  return std::unique_ptr<ItemScorer>(new LengthItemScorer(spec));
}

ItemJudgement LengthItemScorer::Judge(const ScoreItem& item) const {
  int64_t length = CountCharacters(item.completion);
  std::string detail = absl::StrCat(length, " characters");
  if (length <= spec_.soft_limit) return {VerdictKind::kCorrect, 0, std::move(detail)};
  if (length >= spec_.hard_limit) return {VerdictKind::kWrong, -1, std::move(detail)};
  double over = static_cast<double>(length - spec_.soft_limit);
  return {VerdictKind::kGraded, -over / (spec_.hard_limit - spec_.soft_limit), std::move(detail)};
}

}  // namespace sluice
