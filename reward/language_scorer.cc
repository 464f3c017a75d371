#include "reward/language_scorer.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/character.h"

namespace sluice {
namespace {

struct ScriptLanguages {
  const char* languages;  // ISO 639-1
  std::vector<Script> scripts;
};

const std::vector<ScriptLanguages>& Table() {
  static const auto* table = new std::vector<ScriptLanguages>{
      {"af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lb lt lv ms mt nl no nb nn pl "
       "pt ro "
       "sk sl so sq sv sw tl tr uz vi xh yo zu",
       {Script::kLatin}},
      {"be bg kk ky mk mn ru sr tg uk", {Script::kCyrillic}},
      {"ar fa ps ug ur", {Script::kArabic}},
      {"hi mr ne sa", {Script::kDevanagari}},
      {"bn as", {Script::kBengali}},
      {"el", {Script::kGreek}},
      {"hy", {Script::kArmenian}},
      {"he yi", {Script::kHebrew}},
      {"pa", {Script::kGurmukhi}},
      {"gu", {Script::kGujarati}},
      {"ta", {Script::kTamil}},
      {"te", {Script::kTelugu}},
      {"kn", {Script::kKannada}},
      {"ml", {Script::kMalayalam}},
      {"si", {Script::kSinhala}},
      {"th", {Script::kThai}},
      {"lo", {Script::kLao}},
      {"my", {Script::kMyanmar}},
      {"ka", {Script::kGeorgian}},
      {"am ti", {Script::kEthiopic}},
      {"km", {Script::kKhmer}},
      {"ja", {Script::kKana, Script::kHan}},
      {"ko", {Script::kHangul}},
      {"zh", {Script::kHan}},
  };
  return *table;
}

// Where the part from `open` to the next `close` after it ends; `open` where there is no end.
size_t PastClose(absl::string_view text, size_t open, size_t open_bytes, absl::string_view close) {
  const size_t end = text.find(close, open + open_bytes);
  return end == absl::string_view::npos ? open : end + close.size();
}

// An inline formula: on one line, no blank inside next to the dollar signs, no digit after, so that prices
// are none.
size_t PastInlineFormula(absl::string_view text, size_t open) {
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\n'; };
  if (absl::ascii_isspace(static_cast<unsigned char>(at(open + 1)))) return open;
  for (size_t i = open + 1; at(i) != '\n'; ++i) {
    if (at(i) == '\\') {
      ++i;
      continue;
    }
    if (at(i) != '$') continue;
    const bool ends = !absl::ascii_isspace(static_cast<unsigned char>(at(i - 1))) &&
                      !absl::ascii_isdigit(static_cast<unsigned char>(at(i + 1)));
    return ends ? i + 1 : open;
  }
  return open;
}

size_t PastCommand(absl::string_view text, size_t i) {
  size_t end = i + 1;
  while (end < text.size() && absl::ascii_isalpha(static_cast<unsigned char>(text[end]))) ++end;
  return end;
}

size_t PastTag(absl::string_view text, size_t i) {
  size_t end = i + 1;
  if (end < text.size() && text[end] == '/') ++end;
  const size_t name = end;
  while (end < text.size() &&
         (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  return end > name && end < text.size() && text[end] == '>' ? end + 1 : i;
}

// What begins at `i` and is not prose ends here; `i` where prose goes on.
size_t PastForeign(absl::string_view text, size_t i) {
  const absl::string_view rest = text.substr(i);
  const auto begins = [&](absl::string_view with) { return rest.substr(0, with.size()) == with; };
  if (begins("```")) {
    const size_t end = PastClose(text, i, 3, "```");
    return end == i ? text.size() : end;  // a fence that is not closed goes on to the end
  }
  if (begins("`")) return PastClose(text, i, 1, "`");
  if (begins("$$")) return PastClose(text, i, 2, "$$");
  if (begins("$")) return PastInlineFormula(text, i);
  if (begins("\\(")) return PastClose(text, i, 2, "\\)");
  if (begins("\\[")) return PastClose(text, i, 2, "\\]");
  if (begins("\\")) return PastCommand(text, i);
  if (begins("<")) return PastTag(text, i);
  return i;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ItemScorer>> LanguageItemScorer::Create(const LanguageScorerSpec& spec) {
  std::string known;
  for (const ScriptLanguages& row : Table()) {
    for (absl::string_view language : absl::StrSplit(row.languages, ' ')) {
      if (language == spec.language) return std::unique_ptr<ItemScorer>(new LanguageItemScorer(row.scripts));
    }
    absl::StrAppend(&known, known.empty() ? "" : " ", row.languages);
  }
  return absl::InvalidArgumentError(absl::StrCat("language.language: the script of \"", spec.language,
                                                 "\" is not known here; known are ", known));
}

ItemJudgement LanguageItemScorer::Judge(const ScoreItem& item) const {
  const absl::string_view text = item.completion;
  int64_t letters = 0, right = 0;
  for (size_t i = 0; i < text.size();) {
    if (const size_t past = PastForeign(text, i); past > i) {
      i = past;
      continue;
    }
    const Character c = ReadCharacter(text, i);
    i += c.bytes;
    const Script script = ScriptOf(c.code_point);
    if (script == Script::kNone) continue;
    ++letters;
    right += std::find(scripts_.begin(), scripts_.end(), script) != scripts_.end();
  }
  if (letters == 0) return Wrong("no letters", "no_letters");
  std::string detail = absl::StrCat(right, " of ", letters, " letters");
  if (right == letters) return Correct(std::move(detail), "in_language");
  if (right == 0) return Wrong(std::move(detail), "other_language");
  return {VerdictKind::kGraded, static_cast<double>(right) / static_cast<double>(letters), std::move(detail),
          "mixed"};
}

}  // namespace sluice
