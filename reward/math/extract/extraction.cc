#include "reward/math/extract/extraction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "reward/math/extract/aftermath.h"
#include "reward/math/extract/box.h"
#include "reward/math/extract/conclusion.h"
#include "reward/math/extract/prose.h"
#include "reward/math/extract/restatement.h"
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

// What chat models end their turn with. Behind it the next turn stands, or what is no answer any more.
constexpr string_view kEndsOfTurn[] = {"<|im_end|>",
                                       "<|eot_id|>",
                                       "<|endoftext|>",
                                       "<|end_of_text|>",
                                       "<|eom_id|>",
                                       "<|end|>",
                                       "<|eot|>",
                                       "<|return|>",
                                       "</s>",
                                       "<eos>",
                                       "<end_of_turn>",
                                       "<|im_start|>",
                                       "<|start_header_id|>",
                                       "<start_of_turn>",
                                       "<\xEF\xBD\x9C"
                                       "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"};

// The bytes of an end of a turn at `i`, else 0: "<|end|><|start|>" goes on.
size_t EndOfTurnAt(string_view text, size_t i) {
  for (string_view mark : kEndsOfTurn) {
    if (!absl::StartsWith(text.substr(i), mark)) continue;
    bool goes_on = mark == "<|end|>" && absl::StartsWith(text.substr(i + mark.size()), "<|start|>");
    return goes_on ? 0 : mark.size();
  }
  return 0;
}

// The first turn; marks before it are passed over. "<s>8</s>" is struck out.
string_view FirstTurn(string_view text) {
  size_t begin = 0;
  bool struck = false;
  for (size_t i = text.find('<'); i != string_view::npos; i = text.find('<', i + 1)) {
    struck = struck || (i > 0 && absl::StartsWith(text.substr(i), "<s>"));
    size_t bytes = EndOfTurnAt(text, i);
    if (bytes == 0 || (struck && text[i + 1] == '/')) continue;
    if (!absl::StripAsciiWhitespace(text.substr(begin, i - begin)).empty())
      return text.substr(begin, i - begin);
    begin = i + bytes;
    i = begin - 1;
  }
  return text.substr(begin);
}

// What is said behind the reasoning, and whether the reasoning is closed. A closing tag alone ends reasoning
// that the prompt opened.
struct Said {
  string_view text;
  bool closed = true;
};

Said BehindReasoning(string_view completion) {
  static constexpr string_view kTags[] = {"think>", "thinking>", "thought>", "reasoning>", "scratchpad>"};
  Said said{completion};
  size_t opened = string_view::npos;
  for (size_t i = completion.find('<'); i != string_view::npos; i = completion.find('<', i + 1)) {
    bool closes = At(completion, i + 1) == '/';
    size_t name = i + (closes ? 2 : 1);
    for (string_view tag : kTags) {
      if (!absl::StartsWith(completion.substr(name), tag)) continue;
      if (closes) said.text = completion.substr(name + tag.size());
      opened = closes ? string_view::npos : std::min(opened, i);
      break;
    }
  }
  if (opened == string_view::npos) return said;
  size_t begin = static_cast<size_t>(said.text.data() - completion.data());
  said.text = said.text.substr(0, opened - begin);
  said.closed = !absl::StripAsciiWhitespace(said.text).empty();
  return said;
}

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
    if (!relation) out.found.alternatives = {out.found.text, second};
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

// Whether the sentence that `before` ends in is for one case, and another before it is too: "If order matters
// the answer is 24. Otherwise the ".
bool IsSecondCase(string_view before) {
  const size_t stop = before.find_last_of(".!?\n");
  string_view sentence = stop == string_view::npos ? before : before.substr(stop + 1);
  if (absl::StrContains(sentence, "therwise ") || absl::StrContains(sentence, " else ")) return true;
  sentence = absl::StripLeadingAsciiWhitespace(sentence);
  if (stop == string_view::npos ||
      !(absl::StartsWith(sentence, "If ") || absl::StartsWith(sentence, "When ")))
    return false;
  before = before.substr(0, stop);
  const size_t earlier = before.find_last_of(".!?\n");
  before =
      absl::StripLeadingAsciiWhitespace(earlier == string_view::npos ? before : before.substr(earlier + 1));
  return absl::StartsWith(before, "If ") || absl::StartsWith(before, "When ");
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
    if (IsDenied(text.substr(0, at - 1)) || Denies(stated) || IsSecondCase(text.substr(0, at - 1)))
      return std::nullopt;
    return Stated(final_only ? ExtractionRule::kFinalAnswer : ExtractionRule::kAnswerIs, stated,
                  static_cast<size_t>(stated.data() - text.data()), asked);
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
  return Found(ExtractionRule::kHashes, line, static_cast<size_t>(line.data() - text.data()));
}

Candidate Boxed(Box box) {
  Candidate out = Found(ExtractionRule::kBoxed, box.text, box.offset);
  out.found.alternatives = std::move(box.alternatives);
  out.end = box.end;
  return out;
}

// The last <answer>...</answer>; the end of the text closes it too.
std::optional<Candidate> InAnswerTag(string_view text, Asked asked) {
  constexpr string_view kOpen = "<answer>", kClose = "</answer>";
  size_t open = text.rfind(kOpen);
  if (open == string_view::npos) return std::nullopt;
  size_t begin = open + kOpen.size();
  size_t end = std::min(text.find(kClose, begin), text.size());
  string_view content = text.substr(begin, end - begin);
  Candidate out;
  if (auto box = LastBox(content)) {
    out = Shifted(Boxed(*std::move(box)), begin);
  } else if (auto stated = AnswerIs(content, false, asked)) {
    out = Shifted(*std::move(stated), begin);
  } else {
    out = Found(ExtractionRule::kAnswerTag, content, begin);
  }
  out.end = std::min(end + kClose.size(), text.size());
  string_view before = absl::StripTrailingAsciiWhitespace(text.substr(0, open));
  if (absl::ConsumeSuffix(&before, "or") &&
      absl::EndsWith(absl::StripTrailingAsciiWhitespace(before), kClose)) {
    size_t earlier = before.rfind(kOpen) + kOpen.size();
    string_view other = before.substr(earlier, before.rfind(kClose) - earlier);
    out.found.alternatives = {out.found.text, std::string(StripWrapping(other))};
    out.found.text = absl::StrJoin(out.found.alternatives, " or ");
  }
  return out;
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
  for (string_view word : {" not ", " is ", " are ", " equals ", " gives ", " only "}) {
    if (absl::StrContains(text, word)) return false;
  }
  if (BeginsWithConclusion(text)) return false;
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
  if (!told->alternatives.empty()) out.found.text = absl::StrJoin(told->alternatives, " or ");
  out.found.offset = told->offset;
  out.found.alternatives = std::move(told->alternatives);
  out.found.approximate = told->approximate;
  out.end = told->end;
  return out;
}

Candidate WithoutBox(string_view text, Asked asked) {
  if (auto found = AnswerIs(text, true, asked)) return *std::move(found);
  if (auto found = AfterHashes(text, asked)) return *std::move(found);
  if (auto found = AnswerIs(text, false, asked)) return *std::move(found);
  if (auto found = OptionIs(text)) return *std::move(found);
  string_view trimmed = absl::StripAsciiWhitespace(text);
  if (absl::EndsWith(trimmed, "\n####")) return {};  // cut off in front of the answer
  bool listed = asked == Asked::kChoice && std::count(trimmed.begin(), trimmed.end(), ' ') > 2;
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

// Whether a box stands for the other case: "\boxed{24} if order matters, else \boxed{".
bool IsBehindElse(string_view before) {
  before = before.substr(before.size() - std::min<size_t>(before.size(), 32));
  before = before.substr(0, before.find_last_of('\\'));
  while (!before.empty() && (before.back() == '$' || IsBlank(before.back()))) before.remove_suffix(1);
  return absl::EndsWith(before, " else") || absl::EndsWith(before, "otherwise");
}

Candidate FirstFound(string_view text, Asked asked) {
  auto tagged = InAnswerTag(text, asked);
  auto box = LastBox(text);
  if (box && IsAsked(box->text) && !(tagged && tagged->found.offset >= box->offset)) return {};
  if (tagged && (!box || tagged->found.offset >= box->offset)) return *std::move(tagged);
  if (box && IsBehindElse(text.substr(0, box->offset))) return {};
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
    if (later.found.rule == ExtractionRule::kNone && aftermath.standing == Standing::kReplaced) break;
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
  bool letters = gold.size() > 1 && std::all_of(gold.begin(), gold.end(),
                                                [](char c) { return IsLetter(c) || c == ' ' || c == '-'; });
  if (!letters) return Asked::kValue;
  string_view first = gold.substr(0, gold.find_first_of(" -"));
  bool value = FindSpelled(first) || NumberWordValue(first) || DenominatorWordValue(first) ||
               (first.size() == gold.size() && IsProductOfLetters(first, true));
  return value ? Asked::kValue : Asked::kWords;
}

Extraction ExtractAnswer(string_view completion, Asked asked) {
  const string_view turn = FirstTurn(completion);
  Said said = BehindReasoning(turn);
  if (!said.closed) {
    Extraction out;
    out.missing = "reasoning not closed";
    return out;
  }
  Extraction found = WhatStands(said.text, FirstFound(said.text, asked), asked);
  found.offset += static_cast<size_t>(said.text.data() - completion.data());
  return found;
}

Extraction ExtractGold(string_view gold) {
  if (auto box = LastBox(gold)) return Boxed(*std::move(box)).found;
  if (auto found = AfterHashes(gold, Asked::kValue)) return std::move(found->found);
  return Found(ExtractionRule::kWhole, gold, 0).found;
}

}  // namespace sluice::math
