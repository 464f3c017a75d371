#include "reward/math/extraction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/box.h"
#include "reward/math/notation.h"
#include "reward/math/number_lexer.h"
#include "reward/math/prose.h"
#include "reward/math/words.h"
#include "reward/math/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxWholeAnswer = 100;  // bytes of a completion that is nothing but an answer
constexpr size_t kTail = 64 << 10;       // bytes at the end where an answer that is in no box is looked for
constexpr int kMaxMentions = 64;         // of the word "answer" that are looked at, from the end

// A tag at `i`: "<think>" opens, "</think>" closes a reasoning section.
size_t ReasoningTag(string_view text, size_t i, bool* closes) {
  *closes = At(text, i + 1) == '/';
  size_t name = i + (*closes ? 2 : 1);
  char first = At(text, name);
  if (first != 't' && first != 'r' && first != 's') return 0;
  for (string_view tag : {"think>", "thinking>", "thought>", "reasoning>", "scratchpad>"}) {
    if (absl::StartsWith(text.substr(name), tag)) return name + tag.size() - i;
  }
  return 0;
}

// Blanks out, in a copy, the reasoning sections that something follows; offsets stay. A closing tag alone
// ends a section that the prompt opened. Returns false if there is none.
bool MaskReasoning(string_view text, std::string* masked) {
  size_t end_of_text = text.find_last_not_of(" \t\r\n");
  size_t begin = 0, from = 0;
  bool inside = false, any = false;
  for (size_t i = std::min(text.find('<'), text.size()); i < text.size(); ++i) {
    if (text[i] != '<') continue;
    bool closes = false;
    size_t length = ReasoningTag(text, i, &closes);
    if (length == 0) continue;
    if (!closes) {
      if (!inside) begin = i;
      inside = true;
      continue;
    }
    size_t end = i + length;
    if (!inside) begin = from;
    inside = false;
    from = end;
    if (end > end_of_text) break;  // nothing follows
    if (!any) masked->assign(text.data(), text.size());
    any = true;
    std::fill(masked->begin() + static_cast<long>(begin), masked->begin() + static_cast<long>(end), ' ');
  }
  return any;
}

Extraction Found(ExtractionRule rule, string_view text, size_t offset) {
  string_view bare = StripWrapping(text);
  size_t skipped = bare.empty() ? 0 : static_cast<size_t>(bare.data() - text.data());
  return {rule, std::string(bare), offset + skipped};
}

bool EndsWithFinal(string_view before) {
  before =
      absl::StripTrailingAsciiWhitespace(before.substr(before.size() - std::min<size_t>(before.size(), 8)));
  return absl::EndsWithIgnoreCase(before, "final");
}

// Behind the "answer" that `rest` follows: past its verb, "is" or ":", or the end of a heading; 0 if there is
// none in the same sentence.
size_t BehindVerb(string_view rest) {
  size_t stop = std::min({rest.find('.'), rest.find('\n'), rest.size()}), end = 0;
  for (string_view verb : {" is", " are", ":", "=", " would be", " must be"}) {
    size_t found = rest.find(verb);
    if (found >= stop || IsLetter(At(rest, found + verb.size()))) continue;
    if (end == 0 || found + verb.size() < end) end = found + verb.size();
  }
  bool heading = end == 0 && At(rest, stop) == '\n' &&
                 rest.substr(0, stop).find_first_not_of("*s_ \t#") == string_view::npos;
  return heading ? stop : end;
}

// What the last "answer" that states something states: "answer is", "answer: ", "answer to ... is".
std::optional<Extraction> AnswerIs(string_view text, bool final_only) {
  size_t at = text.size();
  for (int mentions = 0; mentions < kMaxMentions && at > 0; ++mentions) {
    at = text.substr(0, at).rfind("nswer");
    if (at == string_view::npos || at == 0) return std::nullopt;
    if (absl::ascii_tolower(static_cast<unsigned char>(text[at - 1])) != 'a') continue;
    if (final_only && !EndsWithFinal(text.substr(0, at - 1))) continue;
    size_t end = BehindVerb(text.substr(at + 5, 100));
    if (end == 0) continue;
    string_view stated = StatedAnswer(text.substr(at + 5 + end));
    if (stated.empty()) continue;
    return Found(final_only ? ExtractionRule::kFinalAnswer : ExtractionRule::kAnswerIs, stated,
                 static_cast<size_t>(stated.data() - text.data()));
  }
  return std::nullopt;
}

// "#### 72": the rest of the line, or its first number where it is prose. A heading of words counts at the
// end of the text only.
std::optional<Extraction> AfterHashes(string_view text) {
  size_t at = text.rfind("####");
  if (at == string_view::npos) return std::nullopt;
  string_view rest = text.substr(at + 4);
  size_t begin = rest.find_first_not_of(" \t\r\n#*");
  if (begin == string_view::npos) return std::nullopt;
  rest = rest.substr(begin);
  size_t newline = rest.find('\n');
  string_view line = absl::StripTrailingAsciiWhitespace(rest.substr(0, newline));
  bool last = newline == string_view::npos || absl::StripAsciiWhitespace(rest.substr(newline)).empty();
  bool prose = IsLetter(At(line, 0)) && std::count(line.begin(), line.end(), ' ') >= 2;
  if (prose && !last) return std::nullopt;
  if (prose) {
    if (auto stated = AnswerIs(line, false)) {
      stated->rule = ExtractionRule::kHashes;
      stated->offset += static_cast<size_t>(line.data() - text.data());
      return stated;
    }
    if (auto number = FirstNumber(line)) line = *number;
  }
  return Found(ExtractionRule::kHashes, line, static_cast<size_t>(line.data() - text.data()));
}

// The last <answer>...</answer>; the end of the text closes it too.
std::optional<Extraction> InAnswerTag(string_view text) {
  constexpr string_view kOpen = "<answer>";
  size_t open = text.rfind(kOpen);
  if (open == string_view::npos) return std::nullopt;
  string_view content = text.substr(open + kOpen.size());
  content = content.substr(0, content.find("</answer>"));
  if (auto box = LastBox(content)) {
    return Found(ExtractionRule::kBoxed, box->text, open + kOpen.size() + box->offset);
  }
  if (auto stated = AnswerIs(content, false)) {
    stated->offset += open + kOpen.size();
    return stated;
  }
  return Found(ExtractionRule::kAnswerTag, content, open + kOpen.size());
}

// Whether letters at `i` are a word of prose and no name of a function or a number.
bool IsProseWord(string_view text, size_t i) {
  if (i > 0 && (IsLetter(text[i - 1]) || text[i - 1] == '\\')) return false;
  size_t end = i;
  while (IsLetter(At(text, end))) ++end;
  string_view word = text.substr(i, end - i);
  return word.size() >= 2 && !FindSpelled(word) && !NumberWordValue(word);
}

// A short line that is no sentence: no two words in a row, none before a digit, no other script.
bool IsBareAnswer(string_view text) {
  if (text.empty() || text.size() > kMaxWholeAnswer || absl::StrContains(text, '\n')) return false;
  size_t first_digit = std::min(text.find_first_of("0123456789"), text.size());
  bool digits = first_digit < text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsLetter(text[i]) && digits && i < first_digit && IsProseWord(text, i)) return false;
    bool two_words = i > 1 && text[i] == ' ' && IsLetter(text[i - 1]) && IsLetter(text[i - 2]) &&
                     IsLetter(At(text, i + 1)) && IsLetter(At(text, i + 2));
    if (two_words) return false;
    size_t bytes = 1;
    if (static_cast<unsigned char>(text[i]) >= 0x80 && !FindCharacter(DecodeUtf8(text.substr(i), &bytes)))
      return false;
    i += bytes - 1;
  }
  return true;
}

// "The correct option is (E)".
std::optional<Extraction> OptionIs(string_view text) {
  size_t behind = 0;
  for (string_view phrase : {"option is ", "choice is ", "option: ", "choice: "}) {
    size_t at = text.rfind(phrase);
    if (at != string_view::npos) behind = std::max(behind, at + phrase.size());
  }
  if (behind == 0) return std::nullopt;
  string_view stated = StatedAnswer(text.substr(behind));
  if (stated.empty()) return std::nullopt;
  return Found(ExtractionRule::kAnswerIs, stated, static_cast<size_t>(stated.data() - text.data()));
}

// What stands last: a formula or a number.
Extraction LastValue(string_view text) {
  auto formula = LastFormula(text);
  size_t after = formula ? static_cast<size_t>(formula->data() - text.data()) + formula->size() : 0;
  if (auto number = LastNumber(text.substr(after))) {
    return Found(ExtractionRule::kLastNumber, *number, static_cast<size_t>(number->data() - text.data()));
  }
  if (formula)
    return Found(ExtractionRule::kLastFormula, *formula, static_cast<size_t>(formula->data() - text.data()));
  return {};
}

Extraction WithoutBox(string_view text) {
  if (auto found = AnswerIs(text, true)) return *std::move(found);
  if (auto found = AfterHashes(text)) return *std::move(found);
  if (auto found = AnswerIs(text, false)) return *std::move(found);
  if (auto found = OptionIs(text)) return *std::move(found);
  string_view trimmed = absl::StripAsciiWhitespace(text);
  if (IsBareAnswer(trimmed)) {
    return Found(ExtractionRule::kWhole, trimmed, static_cast<size_t>(trimmed.data() - text.data()));
  }
  return LastValue(text);
}

}  // namespace

const char* ExtractionRuleName(ExtractionRule rule) {
  switch (rule) {
    case ExtractionRule::kBoxed:
      return "\\boxed{}";
    case ExtractionRule::kAnswerTag:
      return "<answer>";
    case ExtractionRule::kFinalAnswer:
      return "final answer";
    case ExtractionRule::kHashes:
      return "####";
    case ExtractionRule::kAnswerIs:
      return "answer is";
    case ExtractionRule::kLastFormula:
      return "last formula";
    case ExtractionRule::kLastNumber:
      return "last number";
    case ExtractionRule::kWhole:
      return "whole text";
    case ExtractionRule::kNone:
      break;
  }
  return "none";
}

Extraction ExtractAnswer(string_view completion) {
  std::string masked;
  string_view text = MaskReasoning(completion, &masked) ? string_view(masked) : completion;
  auto tagged = InAnswerTag(text);
  auto box = LastBox(text);
  if (tagged && (!box || tagged->offset >= box->offset)) return *std::move(tagged);
  if (box) return Found(ExtractionRule::kBoxed, box->text, box->offset);
  size_t skipped = text.size() - std::min(text.size(), kTail);
  Extraction found = WithoutBox(text.substr(skipped));
  found.offset += skipped;
  return found;
}

Extraction ExtractGold(string_view gold) {
  if (auto box = LastBox(gold)) return Found(ExtractionRule::kBoxed, box->text, box->offset);
  if (auto found = AfterHashes(gold)) return *std::move(found);
  return Found(ExtractionRule::kWhole, gold, 0);
}

}  // namespace sluice::math
