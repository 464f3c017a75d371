#include "reward/tags_scorer.h"

#include <utf8proc.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/character.h"

namespace sluice {
namespace {

// Where a framed part stands, its tags included.
struct Frame {
  size_t begin, end;
  bool blank;  // nothing shows between its tags
};

// Blanks, controls and what Unicode draws as nothing (soft hyphens, fillers, joiners).
bool Shows(int32_t code_point) {
  constexpr int32_t kBrailleBlank = 0x2800;
  if (code_point == kNoCodePoint || code_point == kBrailleBlank) return false;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
      return false;
    default:
      return !utf8proc_get_property(code_point)->ignorable;
  }
}

bool IsBlank(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character c = ReadCharacter(text, i);
    if (Shows(c.code_point)) return false;
    i += c.bytes;
  }
  return true;
}

// The only place of `word`, or nothing.
std::optional<size_t> FindOnce(absl::string_view text, absl::string_view word) {
  const size_t first = text.find(word);
  if (first == absl::string_view::npos) return std::nullopt;
  if (text.find(word, first + 1) != absl::string_view::npos) return std::nullopt;
  return first;
}

std::optional<Frame> FindFrame(absl::string_view text, absl::string_view tag) {
  const std::string open = absl::StrCat("<", tag, ">"), close = absl::StrCat("</", tag, ">");
  const auto begin = FindOnce(text, open), end = FindOnce(text, close);
  if (!begin || !end || *end < *begin + open.size()) return std::nullopt;
  const size_t content = *begin + open.size();
  return Frame{*begin, *end + close.size(), IsBlank(text.substr(content, *end - content))};
}

// Members of the longest run of frames in their order without overlap.
std::vector<Frame> LongestRun(const std::vector<std::optional<Frame>>& frames) {
  std::vector<std::vector<Frame>> runs(frames.size());
  std::vector<Frame> best;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!frames[i]) continue;
    for (size_t k = 0; k < i; ++k) {
      const bool fits = !runs[k].empty() && runs[k].back().end <= frames[i]->begin;
      if (fits && runs[k].size() > runs[i].size()) runs[i] = runs[k];
    }
    runs[i].push_back(*frames[i]);
    if (runs[i].size() > best.size()) best = runs[i];
  }
  return best;
}

bool OnlyBlanksOutside(absl::string_view text, const std::vector<Frame>& frames) {
  size_t at = 0;
  const auto blank = [&](size_t end) {
    return std::all_of(text.begin() + at, text.begin() + end,
                       [](unsigned char c) { return absl::ascii_isspace(c); });
  };
  for (const Frame& frame : frames) {
    if (!blank(frame.begin)) return false;
    at = frame.end;
  }
  return blank(text.size());
}

}  // namespace

ItemJudgement TagsItemScorer::Judge(const ScoreItem& item) const {
  std::vector<std::optional<Frame>> frames;
  bool empty = false;
  for (const std::string& tag : spec_.tags) {
    frames.push_back(FindFrame(item.completion, tag));
    if (!frames.back() || !frames.back()->blank) continue;
    empty = true;
    frames.back().reset();
  }
  const std::vector<Frame> run = LongestRun(frames);
  size_t asked = spec_.tags.size(), met = run.size();
  std::string outcome = met == asked ? "as_asked" : empty ? "empty_tag" : "missing_tag";
  std::string detail = absl::StrCat(met, " of ", asked, " tags as asked", empty ? ", some empty" : "");
  if (spec_.nothing_outside) {
    const bool clean = !run.empty() && OnlyBlanksOutside(item.completion, run);  // silence pays nothing
    if (!clean && met == asked) outcome = "text_outside";
    ++asked;
    met += clean;
    absl::StrAppend(&detail, clean ? ", nothing outside" : ", text outside");
  }
  if (met == asked) return Correct(std::move(detail), std::move(outcome));
  if (met == 0 || spec_.all_or_nothing) return Wrong(std::move(detail), std::move(outcome));
  return {VerdictKind::kGraded, static_cast<double>(met) / static_cast<double>(asked), std::move(detail),
          std::move(outcome)};
}

}  // namespace sluice
