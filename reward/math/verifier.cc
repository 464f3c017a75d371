#include "reward/math/verifier.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/printable.h"
#include "reward/math/echo.h"
#include "reward/math/parse/legible.h"
#include "reward/math/parse/parser.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxQuoted = 200;
constexpr size_t kMaxKept = 4096;     // of what was extracted
constexpr size_t kMaxSentence = 400;  // bytes of an answer that is looked at as prose
constexpr const char* kUnreadableGold = "unreadable gold";

// `from` names who wrote it, for the reason.
std::vector<Reading> ReadOr(absl::string_view text, const char* from, std::string* reason) {
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(text);
  if (readings.ok()) return *std::move(readings);
  *reason = absl::StrCat(from, ": ", readings.status().message());
  return {};
}

// The readings of the reference; sets the decision where nobody can read it.
std::vector<Reading> ReadGold(absl::string_view gold, Explanation* out) {
  std::vector<Reading> readings = ReadOr(gold, "the reference answer", &out->reason);
  if (!out->reason.empty() || !IsBroken(gold, readings)) return readings;
  out->reason = "the reference answer is no whole formula";
  out->decision.rule = kUnreadableGold;
  return {};
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Printable(CutToCharacters(text, kMaxQuoted)),
                      text.size() > kMaxQuoted ? "...\"" : "\"");
}

const char* AnswerName(Answer answer) {
  switch (answer) {
    case Answer::kEqual:
      return "equal";
    case Answer::kDifferent:
      return "different";
    case Answer::kUndecided:
      return "undecided";
  }
  return "";
}

// "130" of "130 (120 + 10)": the working behind an answer that is worth the same; else the text as it is.
absl::string_view WithoutWorking(absl::string_view text) {
  size_t open = text.rfind(" (");
  if (open == absl::string_view::npos || open == 0 || text.back() != ')') return text;
  absl::string_view front = text.substr(0, open), inside = text.substr(open + 2, text.size() - open - 3);
  bool digits = front.find_first_of("0123456789") != absl::string_view::npos &&
                front.find_first_of("()") == absl::string_view::npos;
  if (!digits || inside.find_first_of("()") != absl::string_view::npos) return text;
  std::string reason;
  std::vector<Reading> value = ReadOr(front, "", &reason), working = ReadOr(inside, "", &reason);
  bool same = reason.empty() && Compare(value, working).answer == Answer::kEqual;
  return same ? front : text;
}

// Choices as a list: "B, C, D" of "BCD" and of "B, C and D"; empty for what is no set of choices in their
// order.
std::string Spread(absl::string_view text) {
  std::string out;
  char last = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ',' || c == ' ' || c == '(' || c == ')') continue;
    if (absl::StartsWith(text.substr(i), "and ")) {
      i += 3;
      continue;
    }
    if (c < 'A' || c > 'J' || c <= last) return "";
    absl::StrAppend(&out, out.empty() ? "" : ", ", std::string(1, c));
    last = c;
  }
  return out.size() > 4 ? out : "";
}

Explanation CompareAsWritten(absl::string_view gold, absl::string_view prediction,
                             const EquivalenceOptions& options) {
  Explanation out;
  out.gold = std::string(gold.substr(0, kMaxKept));
  out.prediction = std::string(prediction.substr(0, kMaxKept));
  absl::string_view bare = StripWrapping(gold);
  const bool same = !bare.empty() && bare == StripWrapping(prediction);
  std::vector<Reading> g;
  if (!same || MayBeBroken(gold)) g = ReadGold(gold, &out);
  if (same && out.decision.rule != kUnreadableGold) {
    out.reason.clear();
    out.decision = {Answer::kEqual, "same text", "", ""};
  }
  if (same || !out.reason.empty()) return out;
  std::vector<Reading> p = ReadOr(WithoutWorking(prediction), "the answer", &out.reason);
  if (!out.reason.empty()) return out;
  out.decision = Compare(g, p, options);
  bool echo = out.decision.answer == Answer::kEqual && !options.question.empty() &&
              RepeatsQuestion(options.question, gold, prediction);
  if (echo) {
    out.decision.answer = Answer::kDifferent;
    out.decision.rule = "repeats the question";
  }
  return out;
}

// A sentence as plain text: what is in \text stands outside of it, comparisons are signs.
std::string PlainSentence(absl::string_view text) {
  std::string out(text);
  if (out.size() > kMaxSentence) return out;
  for (const std::string font : {"\\text{", "\\mathrm{", "\\textbf{"}) {
    for (size_t at = out.find(font); at != std::string::npos; at = out.find(font, at)) {
      const size_t close = out.find('}', at);
      if (close == std::string::npos) return out;
      out.erase(close, 1);
      out.replace(at, font.size(), "");
    }
  }
  static constexpr std::pair<const char*, const char*> kSigns[] = {
      {" is greater than or equal to ", " \\ge "},
      {" is less than or equal to ", " \\le "},
      {" is at least ", " \\ge "},
      {" is at most ", " \\le "},
      {" is no less than ", " \\ge "},
      {" is no more than ", " \\le "},
      {" is greater than ", " > "},
      {" is less than ", " < "}};
  for (const auto& [words, sign] : kSigns) {
    const size_t at = out.find(words);
    const bool name =
        at != std::string::npos && at > 0 && IsLetter(out[at - 1]) && (at == 1 || out[at - 2] == ' ');
    if (name) out.replace(at, absl::string_view(words).size(), sign);
  }
  const size_t hour = out.find(" o'clock");
  if (hour != std::string::npos) out.replace(hour, 8, ":00");
  return out;
}

// Whether what was found says the same as the gold: itself, each of several answers, its other form where
// both are the same, or what it counts.
Explanation CompareFound(absl::string_view gold, const Extraction& answer,
                         const EquivalenceOptions& options) {
  auto equal = [&](absl::string_view a, absl::string_view b) {
    return CompareAsWritten(a, b, options).decision.answer == Answer::kEqual;
  };
  const auto& several = answer.alternatives;
  const std::string& first = several.empty() ? answer.text : several[0];
  Explanation out = CompareAsWritten(gold, answer.text, options);
  auto says = [&](absl::string_view text) {
    if (out.decision.answer == Answer::kEqual) return;
    Explanation told = CompareAsWritten(gold, text, options);
    if (told.decision.answer == Answer::kEqual) out = std::move(told);
  };
  if (std::string plain = PlainSentence(answer.text); plain != answer.text) says(plain);
  const bool all =
      !several.empty() && absl::c_all_of(several, [&](const std::string& one) { return equal(gold, one); });
  if (all) says(first);
  const bool times = absl::StrContains(first, ':') || absl::StrContains(answer.restated, ':');
  if (!answer.restated.empty() && !times && equal(first, answer.restated)) {
    says(first);
    says(answer.restated);
  }
  if (!answer.listed.empty()) says(answer.listed);
  return out;
}

// "It", "half", "yes": a word of prose at `i` and no name in a formula.
bool IsProseAt(absl::string_view text, size_t i) {
  if (static_cast<unsigned char>(At(text, i)) >= 0xD0) return true;  // of another script
  size_t end = i;
  while (IsLetter(At(text, end))) ++end;
  const absl::string_view word = text.substr(i, end - i);
  const bool bounded = (i == 0 || absl::StrContains(" ({", text[i - 1])) &&
                       (end == text.size() || absl::StrContains(" .,:;!?)}'-", text[end]));
  return bounded && word.size() > 1 && absl::c_any_of(word, absl::ascii_islower) && !FindSpelled(word) &&
         !NumberWordValue(word);
}

// Whether words lead to a value, "He runs 96 miles", or are a remark behind it, "8 (since k > 0)". Words
// behind a value, "8 groups of three", may be of it.
bool IsSentence(absl::string_view text) {
  const bool article = absl::StartsWithIgnoreCase(text, "a ") || absl::StartsWith(text, "I ");
  if (IsProseAt(text, article ? 2 : 0)) return true;
  for (absl::string_view word : {" since ", " because ", " is ", " must be "}) {
    if (absl::StrContains(text, word)) return true;
  }
  const size_t remark = text.find(" (");
  if (remark == absl::string_view::npos) return false;
  const bool a =
      absl::StartsWith(text.substr(remark), " (a ") || absl::StartsWith(text.substr(remark), " (an ");
  return a || IsProseAt(text, remark + 2);
}

// Whether a sentence says less than its value: "maybe 8", "5 more than x".
bool IsLoose(absl::string_view text) {
  const std::string words = absl::StrCat(" ", absl::AsciiStrToLower(text), " ");
  for (absl::string_view word : {" than ", " if ", " maybe ", " perhaps ", " possibly ", " probably ",
                                 " might ", " may ", " could ", " would ", " more ", " except ", " almost ",
                                 " sometimes ", " out of ", " 1 in ", " not ", " (mod ", "\xE7\xAC\xAC"}) {
    if (absl::StrContains(words, word)) return true;
  }
  return false;
}

// "\\frac12" of "P(heads) = \\frac12", "(1, 1)" of "x = y = 1": what a call of no variable or all of several
// names are said to be. Empty for all else.
std::string ValueOfEquation(absl::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos) return "";
  const absl::string_view value = absl::StripAsciiWhitespace(text.substr(equals + 1));
  absl::string_view left = absl::StripAsciiWhitespace(text.substr(0, equals));
  std::vector<absl::string_view> names = absl::StrSplit(left, '=');
  if (names.size() > 1) {
    std::string out;
    for (absl::string_view name : names) {
      name = absl::StripAsciiWhitespace(name);
      if (name.size() != 1 || !IsLetter(name[0])) return "";
      absl::StrAppend(&out, out.empty() ? "" : ", ", name, " = ", value);
    }
    return out;
  }
  const size_t open = left.find('(');
  const bool call =
      open != absl::string_view::npos && open > 0 && left.back() == ')' &&
      absl::c_all_of(left.substr(absl::StartsWith(left, "\\"), open - absl::StartsWith(left, "\\")),
                     IsLetter);
  const absl::string_view inside = call ? left.substr(open + 1, left.size() - open - 2) : absl::string_view();
  const bool event = !inside.empty() && absl::StartsWith(left, "P") && IsProseAt(inside, 0);
  const bool number = absl::StartsWith(left, "\\zeta") && absl::c_all_of(inside, IsDigit);
  return event || number ? std::string(value) : "";
}

// The last of a chain of equal values that begins with a name: "det = 2 - 16 = -14".
std::string LastOfChain(absl::string_view text) {
  if (text.size() > kMaxSentence) return "";
  std::vector<absl::string_view> members = absl::StrSplit(text, '=');
  const bool named = members.size() > 2 && (IsLetter(At(members[0], 0)) || At(members[0], 0) == '\\');
  if (!named || text.find_first_of("<>,") != absl::string_view::npos) return "";
  const absl::string_view last = members.back(), before = members[members.size() - 2];
  const bool same = CompareAsWritten(before, last, {}).decision.answer == Answer::kEqual;
  return same ? std::string(last) : "";
}

// The words of the gold that are in no formula stand in the prediction too.
bool SaysWordsOf(absl::string_view gold, absl::string_view prediction) {
  const std::string said = absl::AsciiStrToLower(prediction);
  for (absl::string_view word :
       absl::StrSplit(gold, absl::ByAnyChar(" ,.;{}()$\\0123456789%/^_"), absl::SkipEmpty())) {
    const bool prose = word.size() > 1 && word != "text" && word != "mathrm" && !FindSpelled(word) &&
                       absl::c_all_of(word, IsLetter);
    if (prose && !absl::StrContains(said, absl::AsciiStrToLower(word).substr(0, 4))) return false;
  }
  return true;
}

// A prediction that is a sentence says what a completion of its words would; `out`: what it is as it is
// written.
Explanation OrAsSentence(Explanation out, absl::string_view gold, absl::string_view prediction,
                         const EquivalenceOptions& options) {
  const std::string& rule = out.decision.rule;
  const bool settled = out.decision.answer == Answer::kEqual || rule == kUnreadableGold || rule == "hedged" ||
                       (rule == "contradiction" && LastOfChain(prediction).empty()) ||
                       rule == "repeats the question" || options.strict;
  if (settled || prediction.size() > kMaxSentence) return out;
  const std::string plain = PlainSentence(prediction);
  Extraction claim;
  if (plain != prediction) claim.text = plain;
  if (std::string value = ValueOfEquation(plain); !value.empty()) {
    claim.text = std::move(value);
  } else if (std::string value = LastOfChain(plain); !value.empty()) {
    claim.text = std::move(value);
  } else if (!IsLoose(plain) && IsSentence(StripWrapping(plain))) {
    claim = ExtractAnswer(plain, AskedBy(gold));
  }
  const bool one = !absl::StrContains(plain, " or ") || !claim.alternatives.empty();
  const bool aside = claim.aside && claim.text.find_first_of("<>=") == std::string::npos;
  if (claim.text.empty() || claim.text == prediction || claim.approximate || aside || !one) return out;
  if (!SaysWordsOf(gold, prediction) && !absl::c_any_of(claim.text, IsLetter)) return out;
  Explanation told = CompareFound(gold, claim, options);
  if (told.decision.answer != Answer::kEqual) return out;
  told.prediction = out.prediction;
  return told;
}

}  // namespace

Explanation ComparePair(absl::string_view gold, absl::string_view prediction,
                        const EquivalenceOptions& options) {
  return OrAsSentence(CompareAsWritten(gold, prediction, options), gold, prediction, options);
}

Explanation JudgeCompletion(absl::string_view gold, absl::string_view completion,
                            const EquivalenceOptions& options) {
  const std::string reference = ExtractGold(gold).text;
  Extraction answer = ExtractAnswer(completion, AskedBy(reference));
  if (answer.rule == ExtractionRule::kNone) {
    Explanation out;
    if (MayBeBroken(reference)) ReadGold(reference, &out);
    out.gold = reference.substr(0, kMaxKept);
    if (out.reason.empty()) out.decision = {Answer::kDifferent, answer.missing, "", ""};
    out.answered = false;
    return out;
  }
  Explanation out = CompareFound(reference, answer, options);
  if (out.decision.answer != Answer::kEqual) {
    if (const std::string last = LastOfChain(answer.text); !last.empty()) {
      Explanation told = CompareAsWritten(reference, last, options);
      if (told.decision.answer == Answer::kEqual) out = std::move(told);
    }
  }
  const bool marked = answer.rule == ExtractionRule::kBoxed || answer.rule == ExtractionRule::kAnswerTag;
  if (marked && out.decision.answer != Answer::kEqual && answer.alternatives.empty()) {
    out = OrAsSentence(std::move(out), reference, answer.text, options);
  }
  std::string spread_gold = Spread(reference), spread = Spread(answer.text);
  if (out.decision.answer != Answer::kEqual && !spread_gold.empty() && !spread.empty()) {
    out = ComparePair(spread_gold, spread, options);
  }
  if (out.decision.answer == Answer::kEqual && answer.approximate) {
    out.decision = {Answer::kUndecided, "approximate", out.decision.gold, out.decision.prediction};
  }
  out.extracted_by = answer.rule;
  return out;
}

std::string ToText(const Explanation& e) {
  std::string out;
  if (e.extracted_by != ExtractionRule::kNone) {
    absl::StrAppend(&out, "extracted by: ", ExtractionRuleName(e.extracted_by), "\n");
  }
  absl::StrAppend(&out, "gold:         ", Quoted(e.gold), "\n");
  absl::StrAppend(&out, "prediction:   ", Quoted(e.prediction), "\n");
  if (!e.decision.gold.empty()) {
    absl::StrAppend(&out, "gold is       ", e.decision.gold, "\n", "prediction is ", e.decision.prediction,
                    "\n");
  }
  if (!e.reason.empty()) {
    absl::StrAppend(&out, "undecided:    ", e.reason, "\n");
  } else {
    absl::StrAppend(&out, AnswerName(e.decision.answer), " by: ", e.decision.rule, "\n");
  }
  return out;
}

}  // namespace sluice::math
