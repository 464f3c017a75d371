#include "reward/repetition_scorer.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/character.h"
#include "reward/script.h"

namespace sluice {
namespace {

bool StandsAlone(int32_t character) {
  switch (ScriptOf(character)) {
    case Script::kHan:
    case Script::kKana:
    case Script::kHangul:
      return true;
    default:
      return false;
  }
}

// A number for each word, equal for equal words.
std::vector<uint32_t> NumberWords(const std::string& text) {
  absl::flat_hash_map<absl::string_view, uint32_t> numbers;
  std::vector<uint32_t> out;
  const auto add = [&](size_t begin, size_t end) {
    if (begin < end)
      out.push_back(
          numbers.emplace(absl::string_view(text).substr(begin, end - begin), numbers.size()).first->second);
  };
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const Character c = ReadCharacter(text, i);
    const bool blank = c.bytes == 1 && absl::ascii_isspace(static_cast<unsigned char>(text[i]));
    const bool alone = StandsAlone(c.code_point);
    if (blank || alone) add(begin, i);
    if (alone) add(i, i + c.bytes);
    i += c.bytes;
    if (blank || alone) begin = i;
  }
  add(begin, text.size());
  return out;
}

}  // namespace

ItemJudgement RepetitionItemScorer::Judge(const ScoreItem& item) const {
  const std::string text = absl::AsciiStrToLower(item.completion);
  const std::vector<uint32_t> words = NumberWords(text);
  const size_t n = static_cast<size_t>(spec_.ngram);
  if (words.size() < n)
    return {VerdictKind::kCorrect, 0, absl::StrCat(words.size(), " words"), "no_repetition"};
  const size_t total = words.size() - n + 1;
  absl::flat_hash_set<absl::Span<const uint32_t>> seen;
  size_t repeated = 0;
  for (size_t i = 0; i < total; ++i)
    repeated += !seen.insert(absl::MakeConstSpan(words).subspan(i, n)).second;
  std::string detail = absl::StrCat(repeated, " of ", total, " ", n, "-grams occurred before");
  if (repeated == 0) return {VerdictKind::kCorrect, 0, std::move(detail), "no_repetition"};
  return {VerdictKind::kGraded, -spec_.scale * static_cast<double>(repeated) / static_cast<double>(total),
          std::move(detail), "repetition"};
}

}  // namespace sluice
