#include "reward/math/extract/extraction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "reward/math/extract/aftermath.h"
#include "reward/math/extract/box.h"
#include "reward/math/extract/conclusion.h"
#include "reward/math/extract/lexicon.h"
#include "reward/math/extract/prose.h"
#include "reward/math/extract/restatement.h"
#include "reward/math/extract/turn.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxWholeAnswer = 100;  // bytes of a completion that is nothing but an answer
constexpr size_t kTail = 64 << 10;       // bytes at the end where an answer that is in no box is looked for
constexpr int kMaxMentions = 64;         // of the word "answer" that are looked at, from the end

constexpr int kMaxCorrections = 4;  // that are followed

// An answer with where the text goes on behind it.
struct Candidate {
  Extraction found;
  size_t end = 0;
};

// "negative 8" is "-8".
std::string WithSign(string_view bare) {
  string_view rest = bare;
  bool negative = absl::ConsumePrefix(&rest, "negative ") && !rest.empty() &&
                  (IsDigit(rest[0]) || rest[0] == '$' || rest[0] == '\\');
  return negative ? absl::StrCat("-", rest) : std::string(bare);
}

// What stands in parentheses behind an answer as a remark: "8 (see step 2)", but not "3 (mod 5)".
string_view WithoutRemark(string_view text) {
  size_t open = text.find(" (");
  if (open == string_view::npos || open == 0) return text;
  size_t end = open + 2;
  while (IsLetter(At(text, end)) && !(At(text, end) < 'a')) ++end;
  string_view word = text.substr(open + 2, end - open - 2);
  bool remark = word.size() > 2 && word != "mod" && word != "base" && !FindSpelled(word);
  return remark ? text.substr(0, open) : text;
}

// A number without what it is for: "8 apples for the class", "3/4 of the cake".
string_view WithoutPurpose(string_view text) {
  if (!IsDigit(At(text, 0)) && At(text, 0) != '-' && At(text, 0) != '$') return text;
  size_t end = text.size();
  for (string_view word :
       {" for ", " of the ", " of his ", " of her ", " of their ", " from ", " after ", " before ", " using ",
        " among ", " given ", " with ", " left ", " remaining ", " in all", " in total", " altogether"}) {
    end = std::min(end, text.find(word));
  }
  return text.substr(0, end);
}

Candidate Found(ExtractionRule rule, string_view text, size_t offset) {
  string_view bare = ExactPart(StripWrapping(text));
  size_t skipped = bare.empty() ? 0 : static_cast<size_t>(bare.data() - text.data());
  Candidate out;
  out.found.rule = rule;
  out.found.text = WithSign(bare);
  out.found.offset = offset + skipped;
  out.found.approximate = absl::StartsWith(bare, "\\approx") && !absl::StrContains(bare, ".");
  out.end = offset + text.size();
  return out;
}

Candidate Shifted(Candidate candidate, size_t bytes) {
  candidate.found.offset += bytes;
  candidate.end += bytes;
  return candidate;
}

// Whether "yes", "no", "true" or "false" stands in it as a word.
bool HasTruth(string_view text) {
  for (string_view word : absl::StrSplit(text, absl::ByAnyChar(" .,;:!*{}$\\\n"), absl::SkipEmpty())) {
    for (string_view truth : {"yes", "no", "true", "false"}) {
      if (absl::EqualsIgnoreCase(word, truth)) return true;
    }
  }
  return false;
}

// "No" of "No**, 91 is not prime".
string_view LeadingTruth(string_view text) {
  size_t end = 0;
  while (IsLetter(At(text, end))) ++end;
  string_view word = text.substr(0, end);
  for (string_view truth : {"yes", "no", "true", "false"}) {
    bool ends = end == text.size() || absl::StrContains(".,;:!*", text[end]);
    if (ends && absl::EqualsIgnoreCase(word, truth) && !HasTruth(text.substr(end))) return word;
  }
  return {};
}

// What a phrase states, with the alternatives that it names.
Candidate Stated(ExtractionRule rule, string_view text, size_t offset, Asked asked) {
  Candidate out =
      Found(rule, asked == Asked::kValue ? WithoutPurpose(WithoutRemark(text)) : WithoutRemark(text), offset);
  out.end = offset + text.size();
  bool choice = asked == Asked::kChoice;
  if (asked == Asked::kTruth) {
    if (auto word = LeadingTruth(out.found.text); !word.empty()) out.found.text = std::string(word);
    return out;
  }
  const Restatement twice = RestatementIn(text);
  if (asked == Asked::kValue && twice.first.size() < text.size()) {
    out.found.text = std::string(StripWrapping(twice.first));
    bool rounded = twice.second.empty() || IsRounding(twice.first, twice.second);
    if (rounded) return out;
    std::string second(StripWrapping(twice.second));
    bool relation = out.found.text.find_first_of("=<>") != std::string::npos;
    if (!relation) {
      out.found.alternatives = {out.found.text, second};
      out.found.restated = second;
    }
    out.found.text = relation ? second : absl::StrJoin(out.found.alternatives, " or ");
    return out;
  }
  bool either = choice || absl::StrContains(text, " or ") || absl::StrContains(text, "(or ");
  bool about = absl::StartsWith(text, "about ") || absl::StartsWith(text, "around ") ||
               absl::StartsWith(text, "roughly ") || absl::StartsWith(text, "approximately ");
  if (!either && !about) return out;
  auto told = ConclusionOf(text, asked);
  if (!told) return out;
  out.found.approximate = told->approximate;
  if (told->alternatives.empty()) {
    if (choice) out.found.text = told->text;
    return out;
  }
  out.found.alternatives = told->alternatives;
  out.found.text = absl::StrJoin(told->alternatives, " or ");
  return out;
}

bool EndsWithFinal(string_view before) {
  before =
      absl::StripTrailingAsciiWhitespace(before.substr(before.size() - std::min<size_t>(before.size(), 8)));
  return absl::EndsWithIgnoreCase(before, "final");
}

// Behind the "answer" that `rest` follows: past its verb, "is" or ":", or the end of a heading; 0 if there is
// none in the same sentence.
size_t BehindVerb(string_view rest) {
  size_t stop = std::min(rest.find_first_of(".;\n"), rest.size()), end = 0;
  for (string_view verb : {" is", " are", ":", "=", " would be", " must be"}) {
    size_t found = rest.find(verb);
    if (found >= stop || IsLetter(At(rest, found + verb.size()))) continue;
    if (end == 0 || found + verb.size() < end) end = found + verb.size();
  }
  bool heading = end == 0 && At(rest, stop) == '\n' &&
                 rest.substr(0, stop).find_first_not_of("*s_ \t#") == string_view::npos;
  if (!heading) return end;
  const size_t line = rest.find_first_not_of("-=", stop + 1);  // that underlines it
  return line != string_view::npos && rest[line] == '\n' ? line + 1 : stop + 1;
}

// "not 8", "never 8".
bool Denies(string_view stated) {
  for (string_view word : {"not ", "never ", "NOT ", "no longer ", "anything but ", "neither "}) {
    if (absl::StartsWith(stated, word)) return true;
  }
  return false;
}

// "The textbook's ", "a tempting wrong ": the answer is not given by who writes.
bool IsOthers(string_view before) {
  before = absl::StripTrailingAsciiWhitespace(before);
  string_view word = before.substr(before.find_last_of(" \n") + 1);
  for (string_view other : {"reference", "wrong", "incorrect", "naive", "tempting", "common", "textbook",
                            "another", "key", "book", "expected"}) {
    if (absl::EqualsIgnoreCase(word, other)) return true;
  }
  return absl::EndsWith(word, "'s") && !absl::EqualsIgnoreCase(word, "here's");
}

// Whether letters at `i` are a word of prose and no name of a function or a number.
bool IsProseWord(string_view text, size_t i) {
  if (i > 0 && (IsLetter(text[i - 1]) || text[i - 1] == '\\')) return false;
  size_t end = i;
  while (IsLetter(At(text, end))) ++end;
  string_view word = text.substr(i, end - i);
  return word.size() >= 2 && !FindSpelled(word) && !NumberWordValue(word);
}

// "I eliminated A, B, and C".
bool HasProse(string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    bool begins = IsLetter(text[i]) && (i == 0 || text[i - 1] == ' ');
    if (begins && IsProseWord(text, i) &&
        RoleOf(text.substr(i, text.find_first_of(" ,", i) - i)) == WordRole::kNone)
      return true;
  }
  return false;
}

// "So B".
bool BeginsWithConclusion(string_view text) {
  string_view word = text.substr(0, text.find(' '));
  for (string_view so : {"therefore", "so", "thus", "hence"}) {
    if (word.size() < text.size() && absl::EqualsIgnoreCase(word, so)) return true;
  }
  return false;
}

// A short line that is no sentence: no two words in a row, none before a digit, no other script.
bool IsBareAnswer(string_view text) {
  if (text.empty() || text.size() > kMaxWholeAnswer || absl::StrContains(text, '\n')) return false;
  for (string_view word :
       {" not ", "(not ", " is ", " are ", " equals ", " gives ", " only ", "? ", " no, ", " has ", ", so ",
        " so ", ", therefore ", ", hence ", ", thus ", " since ", "i.e.", "(about ", " because "}) {
    if (absl::StrContains(text, word)) return false;
  }
  if (BeginsWithConclusion(text)) return false;
  const size_t bold = text.find("**", 2);
  if (bold != string_view::npos && bold + 2 < text.size()) return false;
  if (!absl::StartsWith(text, "**") && absl::EndsWith(text, "**")) return false;
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

// "8", "$x$", "B": no words.
bool IsValueAlone(string_view text) {
  return IsBareAnswer(text) && (text.size() == 1 || text.find_first_of("0123456789\\") != string_view::npos);
}

// Whether an answer that stands between them is that of one case: "If it is right-angled, | 4. Otherwise 5."
bool IsOneOfCases(string_view before, string_view behind) {
  constexpr size_t kReach = 160;  // bytes
  const size_t stop = before.find_last_of(".!?\n");
  const std::string sentence =
      absl::StrCat(" ", absl::AsciiStrToLower(before.substr(stop == string_view::npos ? 0 : stop + 1)));
  const std::string next = absl::AsciiStrToLower(behind.substr(0, kReach));
  const bool other = absl::StrContains(next, "otherwise") || absl::StrContains(next, "; if ");
  return other && (absl::StrContains(sentence, " if ") || absl::StrContains(sentence, " when "));
}

// Puts an `earlier` answer beside the one that is marked alike behind `before`.
void Beside(string_view earlier, string_view before, Candidate* candidate) {
  Extraction& found = candidate->found;
  if (earlier.empty() || !found.alternatives.empty() || !IsBareAnswer(found.text) ||
      StripWrapping(earlier) == found.text)
    return;
  const size_t end = static_cast<size_t>(earlier.data() + earlier.size() - before.data());
  if (!StandBeside(before.substr(end))) return;
  found.alternatives = {std::string(StripWrapping(earlier)), found.text};
  found.text = absl::StrJoin(found.alternatives, " or ");
}

// What an "answer is" close to the end of `before` states.
string_view EarlierAnswer(string_view before) {
  constexpr size_t kClose = 200;  // bytes
  const string_view near = before.substr(before.size() - std::min(before.size(), kClose));
  const size_t at = near.rfind("nswer");
  const size_t end = at == string_view::npos ? 0 : BehindVerb(near.substr(at + 5));
  if (end == 0) return {};
  const string_view stated = StatedAnswer(near.substr(at + 5 + end));
  return !IsValueAlone(StripWrapping(stated)) || IsDenied(near.substr(0, at)) || Denies(stated) ||
                 IsOthers(near.substr(0, at))
             ? string_view()
             : stated;
}

// What the last "answer" that states something states: "answer is", "answer: ", "answer to ... is".
std::optional<Candidate> AnswerIs(string_view text, bool final_only, Asked asked) {
  size_t at = text.size();
  for (int mentions = 0; mentions < kMaxMentions && at > 0; ++mentions) {
    at = text.substr(0, at).rfind("nswer");
    if (at == string_view::npos || at == 0) return std::nullopt;
    if (absl::ascii_tolower(static_cast<unsigned char>(text[at - 1])) != 'a') continue;
    if (final_only && !EndsWithFinal(text.substr(0, at - 1))) continue;
    size_t end = BehindVerb(text.substr(at + 5, 100));
    if (end == 0) continue;
    string_view stated = StatedAnswer(text.substr(at + 5 + end));
    if (stated.empty() || IsOthers(text.substr(0, at - 1))) continue;
    const bool headed = text[at + 4 + end] == '\n';
    if (headed && IsLetter(stated[0]) && asked == Asked::kValue && IsProseWord(stated, 0) &&
        absl::StrContains(stated, ' '))
      return std::nullopt;  // a sentence of its own
    if (stated.back() == '?') return std::nullopt;
    if (IsDenied(text.substr(0, at - 1)) || Denies(stated) || IsOneCase(text.substr(0, at - 1)))
      return std::nullopt;
    if (absl::StrContains(stated.substr(0, 8), "\\boxed")) return std::nullopt;  // that was passed over
    if (IsOneOfCases(text.substr(0, at), text.substr(at))) return std::nullopt;
    Candidate out = Stated(final_only ? ExtractionRule::kFinalAnswer : ExtractionRule::kAnswerIs, stated,
                           static_cast<size_t>(stated.data() - text.data()), asked);
    Beside(EarlierAnswer(text.substr(0, at - 1)), text.substr(0, at - 1), &out);
    return out;
  }
  return std::nullopt;
}

// "#### 72": the rest of the line, or its first number where it is prose. A heading of words counts at the
// end of the text only.
std::optional<Candidate> AfterHashes(string_view text, Asked asked) {
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
  bool heading = prose || (asked == Asked::kValue && IsLetter(At(line, 0)) && IsProseWord(line, 0));
  if (heading && !last) return std::nullopt;
  if (prose) {
    if (auto stated = AnswerIs(line, false, asked)) {
      stated->found.rule = ExtractionRule::kHashes;
      return Shifted(*std::move(stated), static_cast<size_t>(line.data() - text.data()));
    }
    if (auto number = FirstNumber(line)) line = *number;
  }
  Candidate out = Found(ExtractionRule::kHashes, line, static_cast<size_t>(line.data() - text.data()));
  if (const size_t before = text.substr(0, at).rfind("####"); before != string_view::npos) {
    const string_view earlier = text.substr(before + 4, std::min(text.find('\n', before), at) - before - 4);
    Beside(earlier, text.substr(0, at), &out);
  }
  return out;
}

Candidate Boxed(Box box) {
  Candidate out = Found(ExtractionRule::kBoxed, box.text, box.offset);
  // The text of several boxes is longer than the one whose place is told.
  out.found.offset = std::min(out.found.offset, box.end);
  out.found.alternatives = std::move(box.alternatives);
  out.end = box.end;
  return out;
}

// From the "<" of a tag to behind its ">".
struct Tag {
  size_t begin = 0, end = 0;
};

constexpr string_view kTagNames[] = {"answer>", "final_answer>", "final>", "result>"};

Tag FirstClosingTag(string_view text, size_t from) {
  for (size_t at = text.find("</", from); at != string_view::npos; at = text.find("</", at + 1)) {
    for (string_view tag : kTagNames) {
      if (absl::StartsWithIgnoreCase(text.substr(at + 2), tag)) return {at, at + 2 + tag.size()};
    }
  }
  return {};
}

// The last tag before `stop` that opens, or closes, an answer; an empty one where there is none.
Tag LastAnswerTag(string_view text, size_t stop, bool closes) {
  for (size_t at = stop; at > 0;) {
    at = text.rfind('<', at - 1);
    if (at == string_view::npos) break;
    if ((At(text, at + 1) == '/') != closes) continue;
    const size_t name = at + (closes ? 2 : 1);
    for (string_view tag : kTagNames) {
      if (absl::StartsWithIgnoreCase(text.substr(name), tag)) return {at, name + tag.size()};
    }
  }
  return {};
}

// The last <answer>...</answer>; the end of the text closes it too.
std::optional<Candidate> InAnswerTag(string_view text, Asked asked) {
  const Tag open = LastAnswerTag(text, text.size(), false);
  if (open.end == 0) return std::nullopt;
  const Tag close = FirstClosingTag(text, open.end);
  const bool closed = close.end > 0;
  string_view content = text.substr(open.end, closed ? close.begin - open.end : string_view::npos);
  Candidate out;
  if (auto box = LastBox(content)) {
    out = Shifted(Boxed(*std::move(box)), open.end);
  } else if (auto stated = AnswerIs(content, false, asked)) {
    out = Shifted(*std::move(stated), open.end);
  } else {
    out = Found(ExtractionRule::kAnswerTag, content, open.end);
  }
  out.end = closed ? close.end : text.size();
  const Tag earlier = LastAnswerTag(text, open.begin, true);
  if (earlier.end == 0 || !StandBeside(text.substr(earlier.end, open.begin - earlier.end))) return out;
  const Tag first = LastAnswerTag(text, earlier.begin, false);
  const string_view before = text.substr(0, open.begin);
  if (first.end > 0)
    Beside(before.substr(first.end, earlier.begin - first.end), text.substr(0, earlier.begin), &out);
  return out;
}

// The last "answer": ... of an object in JSON.
std::optional<Candidate> InJson(string_view text) {
  size_t at = string_view::npos, value = 0;
  for (string_view key : {"\"answer\"", "\"final_answer\"", "\"result\""}) {
    const size_t found = text.rfind(key);
    if (found == string_view::npos || (at != string_view::npos && found < at)) continue;
    at = found;
    value = text.find_first_not_of(" \t\n", found + key.size());
  }
  if (at == string_view::npos || value == string_view::npos || text[value] != ':') return std::nullopt;
  value = text.find_first_not_of(" \t\n", value + 1);
  if (value == string_view::npos || text.substr(0, at).find('{') == string_view::npos) return std::nullopt;
  std::string content;
  size_t end = value + 1;
  const char close = text[value] == '"' ? '"' : text[value] == '[' ? ']' : ',';
  if (close == ',') content += text[value];
  for (; end < text.size() && text[end] != close && content.size() < kMaxWholeAnswer; ++end) {
    if (close == ',' && absl::StrContains("}\n", text[end])) break;
    if (close == ']' && text[end] == '"') continue;
    end += text[end] == '\\' && close != ',' ? 1 : 0;
    content += At(text, end);
  }
  Candidate out = Found(ExtractionRule::kAnswerTag, content, 0);
  out.found.offset = value;
  out.end = text.size();
  return out;
}

// The text of a line of a list, empty for other lines: "- x = 2", "2) x = 2".
string_view ItemOf(string_view line) {
  line = absl::StripAsciiWhitespace(line);
  size_t digits = 0;
  while (IsDigit(At(line, digits))) ++digits;
  const bool numbered = digits > 0 && digits < 3 && (At(line, digits) == '.' || At(line, digits) == ')');
  for (string_view bullet : {"-", "*", "\xE2\x80\xA2"}) {
    if (absl::StartsWith(line, bullet) && At(line, bullet.size()) == ' ')
      return line.substr(bullet.size() + 1);
  }
  return numbered && At(line, digits + 1) == ' ' ? line.substr(digits + 2) : string_view();
}

// "The roots are:" with an answer in each of the lines behind it, to the end.
std::optional<Candidate> Itemized(string_view text) {
  constexpr size_t kMaxItems = 32;
  text = absl::StripTrailingAsciiWhitespace(text);
  std::vector<std::string> items;
  size_t end = text.size();
  while (items.size() < kMaxItems && end != string_view::npos && end > 0) {
    const size_t begin = text.rfind('\n', end - 1);
    const string_view line = absl::StripAsciiWhitespace(text.substr(begin + 1, end - begin - 1));
    const string_view item = StripWrapping(ItemOf(line));
    end = begin;
    if (line.empty()) continue;
    if (!item.empty() && IsBareAnswer(item)) {
      items.emplace_back(item);
      continue;
    }
    if (items.size() < 2 || line.back() != ':' || !ItemOf(line).empty()) return std::nullopt;
    const std::vector<TextPiece> head = PiecesOf(line, Asked::kValue);
    const bool several = std::any_of(head.begin(), head.end(), [](const TextPiece& piece) {
      return lexicon::Among(piece.word, lexicon::kSeveral);
    });
    if (!several) return std::nullopt;
    std::reverse(items.begin(), items.end());
    Candidate out = Found(ExtractionRule::kLastNumber, absl::StrJoin(items, ", "), 0);
    out.found.offset = static_cast<size_t>(line.data() + line.size() - text.data());
    out.end = text.size();
    return out;
  }
  return std::nullopt;
}

// Lines that each give a name its value, "a = 7", and nothing else.
std::optional<Candidate> Assigned(string_view text) {
  constexpr size_t kMaxLines = 8;
  std::vector<string_view> values;
  for (string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const string_view value = StripWrapping(line);
    const size_t equals = value.find('=');
    const bool named = IsLetter(At(value, 0)) && equals != string_view::npos && equals < 4 &&
                       absl::StripAsciiWhitespace(value.substr(0, equals)).size() == 1;
    if (!named || !IsBareAnswer(value) || values.size() == kMaxLines) return std::nullopt;
    if (absl::c_any_of(values, [&](string_view v) { return v[0] == value[0]; })) return std::nullopt;
    values.push_back(value);
  }
  if (values.size() < 2) return std::nullopt;
  Candidate out = Found(ExtractionRule::kWhole, absl::StrJoin(values, ", "), 0);
  out.end = text.size();
  return out;
}

// "The correct option is (E)".
std::optional<Candidate> OptionIs(string_view text) {
  size_t behind = 0;
  for (string_view phrase : {"option is ", "choice is ", "option: ", "choice: "}) {
    size_t at = text.rfind(phrase);
    if (at != string_view::npos) behind = std::max(behind, at + phrase.size());
  }
  if (behind == 0) return std::nullopt;
  string_view stated = StatedAnswer(text.substr(behind));
  if (stated.empty() || IsDenied(text.substr(0, behind)) || Denies(stated)) return std::nullopt;
  return Stated(ExtractionRule::kAnswerIs, stated, static_cast<size_t>(stated.data() - text.data()),
                Asked::kChoice);
}

// What the last sentences conclude.
Candidate Concluded(string_view text, Asked asked) {
  Candidate out;
  bool words = asked == Asked::kWords || asked == Asked::kTruth;
  auto told = words ? WordsConcluded(text, asked) : ConclusionOf(text, asked);
  if (!told) return out;
  out.found.rule = words           ? ExtractionRule::kLastWords
                   : told->formula ? ExtractionRule::kLastFormula
                                   : ExtractionRule::kLastNumber;
  out.found.text = std::string(ExactPart(StripWrapping(told->text)));
  out.found.listed = std::move(told->listed);
  out.found.restated = std::move(told->restated);
  if (!told->alternatives.empty()) out.found.text = absl::StrJoin(told->alternatives, " or ");
  out.found.offset = told->offset;
  out.found.alternatives = std::move(told->alternatives);
  out.found.approximate = told->approximate;
  out.found.aside = told->aside;
  out.end = told->end;
  return out;
}

Candidate WithoutBox(string_view text, Asked asked) {
  if (auto found = InJson(text)) return *std::move(found);
  if (asked == Asked::kValue) {
    if (auto found = Itemized(text)) return *std::move(found);
    if (auto found = Assigned(text)) return *std::move(found);
  }
  if (auto found = AnswerIs(text, true, asked)) return *std::move(found);
  if (auto found = AfterHashes(text, asked)) return *std::move(found);
  if (auto found = AnswerIs(text, false, asked)) return *std::move(found);
  if (auto found = OptionIs(text)) return *std::move(found);
  string_view trimmed = absl::StripAsciiWhitespace(text);
  if (absl::EndsWith(trimmed, "\n####")) return {};  // cut off in front of the answer
  bool listed = asked == Asked::kChoice && std::count(trimmed.begin(), trimmed.end(), ' ') > 1;
  if (IsBareAnswer(trimmed) && !(listed && HasProse(trimmed))) {
    return Found(ExtractionRule::kWhole, trimmed, static_cast<size_t>(trimmed.data() - text.data()));
  }
  return Concluded(text, asked);
}

// "9?" states nothing.
bool IsAsked(string_view content) { return absl::EndsWith(absl::StripTrailingAsciiWhitespace(content), "?"); }

// Whether the sentence that `before` ends in only supposes: "If it were negative, the answer would be ".
bool IsSupposed(string_view before) {
  const size_t stop = before.find_last_of(".!?\n");
  const string_view sentence = stop == string_view::npos ? before : before.substr(stop + 1);
  for (string_view word : {"would", "could", "might", "If ", "if "}) {
    if (absl::StrContains(sentence, word)) return true;
  }
  return false;
}

// A box, or what is given as the answer behind it in another form: "#### 7", "The answer is therefore 7".
Candidate LaterThan(string_view text, Candidate box, Asked asked) {
  if (asked == Asked::kTruth) {
    string_view said = box.found.text;
    absl::ConsumePrefix(&said, "\\text{");
    if (string_view word = LeadingTruth(said); !word.empty()) box.found.text = std::string(word);
  }
  string_view behind = text.substr(box.end, kTail);
  if (absl::StrContains(behind, "\n####")) {
    if (auto hashes = AfterHashes(behind, asked)) return Shifted(*std::move(hashes), box.end);
  }
  if (asked != Asked::kValue || !absl::StrContains(behind, "nswer")) return box;
  auto stated = AnswerIs(behind, false, asked);
  if (!stated || stated->found.approximate || IsSupposed(behind.substr(0, stated->found.offset))) return box;
  string_view value = stated->found.text;
  bool bare = !value.empty() && (IsDigit(value[0]) || absl::StrContains("-+(\\[{", value[0]));
  bool about = absl::StrContains(value, "approx") || absl::StrContains(value, "\xE2\x89\x88") ||
               IsRounding(box.found.text, value);
  return bare && !about ? Shifted(*std::move(stated), box.end) : box;
}

Candidate FirstFound(string_view text, Asked asked) {
  auto tagged = InAnswerTag(text, asked);
  auto box = LastBox(text);
  if (box && IsAsked(box->text) && !(tagged && tagged->found.offset >= box->offset)) return {};
  if (tagged && (!box || tagged->found.offset >= box->offset)) return *std::move(tagged);
  if (box && IsOneCase(text.substr(0, box->offset))) return {};
  if (box) return LaterThan(text, Boxed(*std::move(box)), asked);
  size_t skipped = text.size() - std::min(text.size(), kTail);
  return Shifted(WithoutBox(text.substr(skipped), asked), skipped);
}

// A correction in what follows an answer; without a rule where there is none.
Candidate Correction(string_view behind, const Aftermath& aftermath, Asked asked) {
  string_view text = behind.substr(aftermath.restated_at);
  text = text.substr(0, kTail);
  if (aftermath.standing == Standing::kWithdrawn || aftermath.states_value) return WithoutBox(text, asked);
  auto stated = AnswerIs(text, false, asked);
  return stated ? *std::move(stated) : Candidate();
}

// Words that a sentence ends with stand in no need of what follows: they are of the last one.
bool Continues(ExtractionRule rule) {
  return rule != ExtractionRule::kNone && rule != ExtractionRule::kLastWords;
}

// The answer that is left once what follows it is read.
Extraction WhatStands(string_view text, Candidate candidate, Asked asked) {
  for (int i = 0; i < kMaxCorrections && Continues(candidate.found.rule); ++i) {
    string_view behind = text.substr(std::min(candidate.end, text.size()));
    Aftermath aftermath = AftermathOf(behind, asked, candidate.found.text);
    if (aftermath.standing == Standing::kHolds) break;
    Extraction& found = candidate.found;
    if (aftermath.standing == Standing::kHasAlternative) {
      if (found.alternatives.empty()) found.alternatives.push_back(found.text);
      found.alternatives.push_back(std::move(aftermath.other.text));
      found.text = absl::StrJoin(found.alternatives, " or ");
      break;
    }
    Candidate later = Correction(behind, aftermath, asked);
    const bool holds = aftermath.standing == Standing::kReplaced && !aftermath.reopened;
    if (later.found.rule == ExtractionRule::kNone && holds) break;
    size_t skipped = static_cast<size_t>(behind.data() - text.data()) + aftermath.restated_at;
    // What was taken back does not come back by being mentioned.
    bool mentioned =
        aftermath.standing == Standing::kWithdrawn && later.found.text == candidate.found.text &&
        (later.found.rule == ExtractionRule::kLastNumber || later.found.rule == ExtractionRule::kLastFormula);
    if (mentioned) later = Candidate();
    candidate = Shifted(std::move(later), skipped);
    if (candidate.found.rule == ExtractionRule::kNone) candidate.found.missing = "answer taken back";
  }
  return candidate.found;
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
    case ExtractionRule::kLastWords:
      return "last words";
    case ExtractionRule::kWhole:
      return "whole text";
    case ExtractionRule::kNone:
      break;
  }
  return "none";
}

// "A,C", "A and C": several choices.
static bool IsLetterList(string_view gold) {
  size_t letters = 0;
  bool expects = true;
  for (size_t i = 0; i < gold.size(); ++i) {
    if (gold[i] == ' ') continue;
    if (absl::StartsWith(gold.substr(i), "and ")) {
      i += 3;
      expects = true;
    } else if (gold[i] == ',') {
      expects = true;
    } else if (expects && gold[i] >= 'A' && gold[i] <= 'J') {
      ++letters;
      expects = false;
    } else {
      return false;
    }
  }
  return letters > 1 && !expects;
}

Asked AskedBy(string_view gold) {
  gold = StripWrapping(gold);
  if (absl::ConsumePrefix(&gold, "\\text{") || absl::ConsumePrefix(&gold, "\\textbf{")) {
    absl::ConsumeSuffix(&gold, "}");
  }
  gold = absl::StripAsciiWhitespace(gold);
  string_view letter = gold;
  absl::ConsumePrefix(&letter, "(");
  absl::ConsumeSuffix(&letter, ")");
  if (IsLetterList(gold)) return Asked::kChoice;
  if (letter.size() == 1 && letter[0] >= 'A' && letter[0] <= 'J') return Asked::kChoice;
  for (string_view truth : {"yes", "no", "true", "false"}) {
    if (absl::EqualsIgnoreCase(gold, truth)) return Asked::kTruth;
  }
  if (absl::EqualsIgnoreCase(gold, "dne")) return Asked::kWords;
  bool letters = gold.size() > 1 && std::all_of(gold.begin(), gold.end(),
                                                [](char c) { return IsLetter(c) || c == ' ' || c == '-'; });
  if (!letters) return Asked::kValue;
  string_view first = gold.substr(0, gold.find_first_of(" -"));
  bool value = FindSpelled(first) || NumberWordValue(first) || DenominatorWordValue(first) ||
               (first.size() == gold.size() && IsProductOfLetters(first, true));
  return value ? Asked::kValue : Asked::kWords;
}

// The text in front of the first question that follows an answer: models that complete text pose themselves
// the next one.
static string_view BeforeNextQuestion(string_view text, Asked asked) {
  constexpr int kMaxQuestions = 4;
  size_t at = 0;
  for (int i = 0; i < kMaxQuestions; ++i) {
    at = NextQuestion(text, at);
    if (at == string_view::npos) break;
    const string_view front = text.substr(0, at);
    const Extraction found = FirstFound(front, asked).found;
    const bool said = found.rule == ExtractionRule::kWhole
                          ? absl::StrContains(found.text, ' ') == false
                          : found.rule != ExtractionRule::kNone && found.rule < ExtractionRule::kLastFormula;
    if (said) return front;
  }
  return text;
}

Extraction ExtractAnswer(string_view completion, Asked asked) {
  std::string storage;
  const string_view text = WithoutMarkup(completion, &storage);
  Said said = BehindReasoning(FirstTurn(text));
  if (!said.closed) {
    Extraction out;
    out.missing = "reasoning not closed";
    return out;
  }
  said.text = BeforeNextQuestion(said.text, asked);
  Extraction found = WhatStands(said.text, FirstFound(said.text, asked), asked);
  found.offset += static_cast<size_t>(said.text.data() - text.data());
  return found;
}

Extraction ExtractGold(string_view gold) {
  if (auto box = LastBox(gold)) return Boxed(*std::move(box)).found;
  if (auto found = AfterHashes(gold, Asked::kValue)) return std::move(found->found);
  return Found(ExtractionRule::kWhole, gold, 0).found;
}

}  // namespace sluice::math
