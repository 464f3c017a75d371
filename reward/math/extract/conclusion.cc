#include "reward/math/extract/conclusion.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "reward/math/extract/claim.h"
#include "reward/math/extract/claimless.h"
#include "reward/math/extract/lexicon.h"
#include "reward/math/extract/stance.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxCases = 240;   // bytes before an answer that are looked at for cases
constexpr size_t kMaxDenied = 120;  // bytes of a sentence that are looked at for a denial

// From the first sentence on that takes leave behind one that has a value.
void DropFarewell(std::vector<TextPieces>& sentences) {
  bool value = false;
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (value && IsFarewell(sentences[i])) return sentences.resize(i);
    value = value || HasValue(sentences[i]);
  }
}

// The one claim that a sentence concludes with; null where there is none.
const Claim* Best(const std::vector<Claim>& claims) {
  const Claim *best = nullptr, *any = nullptr, *bold = nullptr, *given = nullptr;
  int bolds = 0;
  bool digits = std::any_of(claims.begin(), claims.end(), [](const Claim& c) { return !c.in_words; });
  auto chosen =
      std::find_if(claims.begin(), claims.end(), [](const Claim& c) { return c.asserted && !c.denied; });
  if (chosen != claims.end()) return &*chosen;
  for (const Claim& claim : claims) {
    if (claim.denied || (claim.in_words && digits && !claim.main)) continue;
    (claim.given ? given : any) = &claim;
    if (claim.main) best = &claim;
    if (claim.bold) {
      bold = &claim;
      ++bolds;
    }
  }
  if (bolds == 1) return bold;
  if (best != nullptr) return best;
  return any != nullptr ? any : given;
}

// Whether text that ends without a stop ends behind a number, "We have 8 boxes with 3": it says nothing yet.
// "8 left after eating 3" has said it.
bool IsCutOff(TextPieces sentence, const std::vector<Claim>& claims, const Claim& best) {
  if (best.first == 0 || best.denied || claims.size() < 2 || OpensConclusion(sentence)) return false;
  return &best != &claims.back() && claims.back().last + 1 == sentence.size() && !claims.back().denied &&
         sentence.back().kind == PieceKind::kValue;
}

// The number of the members of `list`: the 6 of "6 such integers: 1, 2, 3, 4, 6, 12". Null where there is
// none.
const Claim* CountOf(TextPieces sentence, const std::vector<Claim>& claims, const Claim& list) {
  if (!list.counted || list.members < 2 || &list == &claims.front()) return nullptr;
  const Claim& count = *(&list - 1);
  string_view text = sentence[count.first].text;
  size_t number = 0;
  if (const auto word = NumberWordValue(text)) {
    number = static_cast<size_t>(*word);
  } else if (!absl::SimpleAtoi(text, &number)) {
    return nullptr;
  }
  bool counts = !count.denied && !count.whole_span && number == list.members;
  return counts ? &count : nullptr;
}

// Whether one of the last sentences refuses and none behind it concludes.
bool EndsRefusing(const std::vector<TextPieces>& sentences) {
  constexpr size_t kLast = 3;
  size_t seen = 0;
  for (size_t i = sentences.size(); i-- > 0 && seen < kLast;) {
    if (OpensConclusion(sentences[i])) return false;
    if (Refuses(sentences[i])) return true;
    seen += sentences[i].size() > 1;
  }
  return false;
}

bool IsUnitInWords(string_view word) {
  return word.size() > 1 && TurnOf(word) == Turn::kNone &&
         !(FindUnit(word).empty() && FindPrefixedUnit(word).empty());
}

// The known unit, or the half of the day, that stands behind a number: " minutes", " m/s", " p.m.".
string_view UnitBehind(string_view rest) {
  size_t i = 0;
  while (i < rest.size() && rest[i] == ' ') ++i;
  const size_t begin = i;
  while (i < rest.size() && (absl::ascii_isalpha(rest[i]) || rest[i] == '/')) ++i;
  const string_view word = rest.substr(begin, i - begin);
  if (i < rest.size() && (rest[i] == '^' || static_cast<unsigned char>(rest[i]) >= 0x80))
    return {};  // "cm^2"
  if (word.size() == 1 && (word == "a" || word == "p" || word == "A" || word == "P")) {
    const string_view half = rest.substr(begin, 4);
    return absl::EqualsIgnoreCase(half.substr(1), ".m.") ? rest.substr(0, begin + 4) : string_view();
  }
  const size_t slash = word.find('/');
  const bool unit =
      slash == string_view::npos
          ? word == "am" || word == "pm" || word == "AM" || word == "PM" || IsUnitInWords(word)
          : !FindUnit(word.substr(0, slash)).empty() && !FindUnit(word.substr(slash + 1)).empty();
  return unit ? rest.substr(0, i) : string_view();
}

Conclusion Told(string_view text, TextPieces pieces, const Claim& claim) {
  Conclusion out;
  const TextPiece& piece = pieces[claim.first];
  out.text = std::string(claim.whole_span ? text.substr(claim.begin, claim.end - claim.begin) : piece.text);
  if (claim.whole_span) out.text = absl::StrReplaceAll(out.text, {{"**", ""}});
  if (claim.negative) out.text = absl::StrCat("-", out.text);
  bool bare = !claim.whole_span;
  if (bare && !piece.formula && !out.text.empty() && absl::ascii_isdigit(out.text.back())) {
    absl::StrAppend(&out.text, UnitBehind(text.substr(claim.end)));
  }
  out.offset = bare ? static_cast<size_t>(piece.text.data() - text.data()) : claim.begin;
  out.end = claim.end;
  out.formula = bare && piece.formula;
  out.approximate = claim.approximate;
  out.aside = !claim.main && !claim.asserted && !claim.bold && !claim.counted;
  out.alternatives = claim.alternatives;
  return out;
}

// The value beside `claim` that says it once more: "90 minutes" of "1.5 hours, which is 90 minutes".
const Claim* Restating(TextPieces sentence, const std::vector<Claim>& claims, const Claim& claim) {
  auto joined = [&](const Claim& a, const Claim& b) {
    for (size_t i = a.last + 1; i < b.first; ++i) {
      if (SpellsAt(sentence, i, "which is") || SpellsAt(sentence, i, "which equals") ||
          SpellsAt(sentence, i, "that is") || sentence[i].word == "i.e." ||
          sentence[i].word == "equivalently")
        return true;
    }
    return false;
  };
  const size_t at = static_cast<size_t>(&claim - claims.data());
  if (at + 1 < claims.size() && joined(claim, claims[at + 1])) return &claims[at + 1];
  if (at > 0 && joined(claims[at - 1], claim)) return &claims[at - 1];
  return nullptr;
}

// "x = 3 or x = -2, but -2 is extraneous": the others are left.
void DropDenied(const std::vector<string_view>& denied, Conclusion* told) {
  auto given = [](string_view text) {
    const size_t equals = text.rfind('=');
    return absl::StripAsciiWhitespace(equals == string_view::npos ? text : text.substr(equals + 1));
  };
  const size_t before = told->alternatives.size();
  std::erase_if(told->alternatives, [&](const std::string& one) {
    return std::any_of(denied.begin(), denied.end(), [&](string_view d) { return given(d) == given(one); });
  });
  if (told->alternatives.size() == before) return;
  told->text = told->alternatives.empty() ? "" : told->alternatives.back();
  if (told->alternatives.size() == 1) told->alternatives.clear();
}

bool IsTruth(string_view word) {
  return word == "yes" || word == "no" || word == "true" || word == "false" || word == "correct" ||
         word == "incorrect";
}

bool AnyDenies(TextPieces pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const TextPiece& p) {
    return p.kind == PieceKind::kWord && TurnOf(p.word) == Turn::kDenies;
  });
}

// A word that ends a sentence before another that begins one; the last sentence before the first.
std::optional<Conclusion> TruthOf(string_view text, const std::vector<TextPieces>& sentences) {
  for (size_t k = 0; k < 2 && !sentences.empty(); ++k) {
    TextPieces sentence = k == 0 ? sentences.back() : sentences.front();
    if (ClaimsNothing(sentence)) continue;
    for (size_t i = 1; i < sentence.size(); ++i) {
      const bool proof = (sentence[i].kind == PieceKind::kBreak && sentence[i].text == ":") ||
                         (sentence[i].kind == PieceKind::kComma && i + 1 < sentence.size() &&
                          TurnOf(sentence[i + 1].word) == Turn::kClause);
      if (proof && IsTruth(sentence[i - 1].word)) sentence = sentence.first(i);  // "is false: take 0"
      const bool leads = i + 1 < sentence.size() && sentence[i].word == "so" &&
                         (sentence[i + 1].word == "yes" || sentence[i + 1].word == "no");
      if (leads) sentence = sentence.subspan(i + 1);
    }
    size_t first = 0, last = sentence.size();
    while (first < sentence.size() && !IsWord(sentence, first)) ++first;
    while (last > 0 && !IsWord(sentence, last - 1)) --last;
    if (last == 0) continue;
    while (first + 1 < last &&
           (TurnOf(sentence[first].word) == Turn::kResult || sentence[first].kind == PieceKind::kComma)) {
      ++first;  // "So no,"
    }
    bool begins = (sentence[first].word == "yes" || sentence[first].word == "no") &&
                  (first + 1 == sentence.size() || sentence[first + 1].kind != PieceKind::kWord);
    bool ends = IsTruth(sentence[last - 1].word);
    if (begins && ends && last - 1 != first && sentence[last - 1].word != sentence[first].word) ends = false;
    if (!begins && !ends) continue;
    const bool doubted = std::any_of(sentence.begin(), sentence.end(), [](const TextPiece& p) {
      return lexicon::Among(p.word, lexicon::kModals);
    });
    if (!begins && (doubted || AnyDenies(sentence))) return std::nullopt;
    const TextPiece& piece = sentence[begins ? first : last - 1];
    bool both = std::any_of(sentence.begin(), sentence.end(), [&](const TextPiece& p) {
      return (p.word == "or" || p.word == "and") && sentence.size() <= 5 &&
             IsTruth(sentence[last - 1].word) && last - 1 != first;
    });
    return both ? Spanned(text, sentence.front().begin, sentence[last - 1].end)
                : Spanned(text, piece.begin, piece.end);
  }
  return std::nullopt;
}

// Behind the reason that a sentence begins with, "Since it is negative, ", or up to "so"; 0 if there is none.
size_t BehindReason(TextPieces sentence) {
  for (size_t i = sentence.size(); i-- > 1;) {
    const string_view word = sentence[i].word;
    if (word == "so" || word == "therefore" || word == "hence" || word == "thus" || word == "but") {
      const bool clause = i + 2 < sentence.size() && sentence[i + 1].kind == PieceKind::kWord;
      if (clause) return i + 1;
    }
  }
  if (!IsWord(sentence, 0) || TurnOf(sentence[0].word) != Turn::kClause) return 0;
  size_t behind = 0;
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (sentence[i].kind == PieceKind::kComma) behind = i + 1;
  }
  return behind;
}

// "the tallest", "the winning strategy": who is it is what was asked for.
bool NamesBest(TextPieces complement) {
  if (complement.size() < 2 || complement[0].word != "the") return false;
  const string_view word = complement[1].word;
  return word == "winner" || word == "winning" || word == "most" ||
         (word.size() > 4 && absl::EndsWith(word, "est"));
}

// What stands behind the verb, up to a remark; without a verb the last word.
std::optional<Conclusion> Complement(string_view text, TextPieces sentence) {
  sentence = sentence.subspan(BehindReason(sentence));
  size_t begin = 0, end = sentence.size();
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i].kind != PieceKind::kWord) {
      if (begin == 0) continue;
      end = i;
      break;
    }
    string_view word = sentence[i].word;
    bool adjunct =
        word == "in" || word == "at" || word == "by" || word == "after" || word == "before" || word == "from";
    if (begin > 0 && i > begin && (adjunct || TurnOf(word) == Turn::kClause)) {
      end = i;
      break;
    }
    static constexpr string_view kBefore[] = {"is", "are",    "be",     "has",  "have",    "was",    "were",
                                              "on", "facing", "that's", "it's", "chooses", "becomes"};
    if (std::find(std::begin(kBefore), std::end(kBefore), word) != std::end(kBefore)) begin = i + 1;
  }
  if (AnyDenies(sentence)) return std::nullopt;
  if (begin > 1 && NamesBest(sentence.subspan(begin, end - begin))) {  // "Evelyn is the tallest"
    return Spanned(text, sentence.front().begin, sentence[begin - 2].end);
  }
  while (end > begin && sentence[end - 1].kind != PieceKind::kWord) --end;
  if (begin == 0) {
    if (end == 0) return std::nullopt;
    const bool wins = sentence[end - 1].word == "wins" && end > 1 && IsWord(sentence, end - 2);
    if (wins) return Spanned(text, sentence[end - 2].begin, sentence[end - 2].end);
    begin = end - 1;
    const bool verb = absl::EndsWith(sentence[begin].word, "s");  // "The series converges"
    if (end > 2 && !verb && !sentence[begin].bold && absl::ascii_isupper(sentence[begin].text[0]))
      return std::nullopt;
    if (begin > 0 && sentence[begin - 1].word == "infinitely") --begin;
  }
  while (begin + 1 < end && sentence[begin].kind == PieceKind::kWord &&
         ((absl::EndsWith(sentence[begin].word, "ly") && sentence[begin].word != "infinitely") ||
          sentence[begin].word == "on")) {
    ++begin;
  }
  if (begin >= end) return std::nullopt;
  return Spanned(text, sentence[begin].begin, sentence[end - 1].end);
}

}  // namespace

std::optional<Conclusion> ConclusionOf(string_view passage, Asked asked) {
  const std::vector<TextPiece> pieces = PiecesOf(passage, asked);
  std::vector<TextPieces> sentences = SentencesOf(pieces);
  DropFarewell(sentences);
  if (!pieces.empty() && pieces.back().kind == PieceKind::kOperator && asked == Asked::kValue) {
    return std::nullopt;  // cut off
  }
  const auto plan = std::find_if(sentences.begin(), sentences.end(), OpensPlan);
  if (plan != sentences.end() && std::none_of(plan, sentences.end(), OpensConclusion)) return std::nullopt;
  bool unfinished = !sentences.empty() && asked == Asked::kValue &&
                    (IsBrokenOff(sentences.back()) || Plans(sentences.back()));
  if (unfinished) return std::nullopt;
  if (EndsRefusing(sentences)) return std::nullopt;
  std::vector<bool> checks(sentences.size(), false);
  bool checking = false;
  for (size_t i = 0; i < sentences.size(); ++i) {
    checking = OpensCheck(sentences[i]) || (checking && !OpensConclusion(sentences[i]));
    checks[i] = checking;
  }
  std::vector<string_view> denied;
  for (bool with_checks : {false, true}) {
    for (size_t i = sentences.size(); i-- > 0;) {
      if (checks[i] != with_checks || ClaimsNothing(sentences[i])) continue;
      bool open =
          asked == Asked::kValue && (IsPossibility(sentences[i]) || DistinguishesCases(sentences[i]) ||
                                     !NothingIn(sentences[i]).empty() ||
                                     (i > 0 && OpensCase(sentences[i]) && OpensCase(sentences[i - 1])));
      if (open) return std::nullopt;
      const std::vector<Claim> claims = ClaimsOf(passage, sentences[i], asked);
      if (const Claim* best = Best(claims)) {
        const bool last = i + 1 == sentences.size();
        if (last && asked == Asked::kValue && IsCutOff(sentences[i], claims, *best)) best = &claims.back();
        if (const Claim* count = CountOf(sentences[i], claims, *best)) {
          Conclusion told = Told(passage, sentences[i], *count);
          told.listed = std::string(passage.substr(best->begin, best->end - best->begin));
          return told;
        }
        Conclusion told = Told(passage, sentences[i], *best);
        if (const Claim* again = Restating(sentences[i], claims, *best); again && !again->denied) {
          told.restated = Told(passage, sentences[i], *again).text;
        }
        for (const Claim& claim : claims) {
          if (claim.denied) denied.push_back(sentences[i][claim.first].text);
        }
        DropDenied(denied, &told);
        if (told.text.empty()) return std::nullopt;
        if (std::find(denied.begin(), denied.end(), told.text) != denied.end()) return std::nullopt;
        return told;
      }
      for (const Claim& claim : claims) denied.push_back(sentences[i][claim.first].text);
    }
  }
  return std::nullopt;
}

std::optional<Conclusion> WordsConcluded(string_view passage, Asked asked) {
  const std::vector<TextPiece> pieces = PiecesOf(passage, asked);
  const std::vector<TextPieces> sentences = SentencesOf(pieces);
  if (asked == Asked::kTruth) return TruthOf(passage, sentences);
  for (size_t i = sentences.size(); i-- > 0;) {
    if (ClaimsNothing(sentences[i])) continue;
    const TextPieces nothing = NothingIn(sentences[i].subspan(BehindReason(sentences[i])));
    if (!nothing.empty()) return Spanned(passage, nothing.front().begin, nothing.back().end);
    if (std::optional<Conclusion> told = Complement(passage, sentences[i])) {
      told->text = absl::StrReplaceAll(told->text, {{"**", ""}});
      return told;
    }
    if (std::any_of(sentences[i].begin(), sentences[i].end(),
                    [](const TextPiece& p) { return p.kind == PieceKind::kWord; }))
      return std::nullopt;
  }
  return std::nullopt;
}

Conclusion Spanned(string_view text, size_t begin, size_t end) {
  Conclusion out;
  out.text = std::string(text.substr(begin, end - begin));
  out.offset = begin;
  out.end = end;
  return out;
}

bool IsOneCase(string_view before) {
  before = before.substr(before.size() - std::min(before.size(), kMaxCases));
  const std::vector<TextPiece> pieces = PiecesOf(before, Asked::kValue);
  const std::vector<TextPieces> sentences = SentencesOf(pieces);
  if (sentences.empty()) return false;
  const TextPieces last = sentences.back();
  const auto cases = std::count_if(last.begin(), last.end(), [](const TextPiece& p) {
    return p.word == "if" || p.word == "otherwise" || p.word == "else";
  });
  const bool otherwise = std::any_of(
      last.begin(), last.end(), [](const TextPiece& p) { return p.word == "otherwise" || p.word == "else"; });
  return otherwise || cases > 1 ||
         (OpensCase(last) && sentences.size() > 1 && OpensCase(sentences[sentences.size() - 2]));
}

bool IsDenied(string_view before) {
  before = before.substr(before.size() - std::min(before.size(), kMaxDenied));
  while (!before.empty() && (before.back() == '$' || before.back() == '*' || IsBlank(before.back()))) {
    before.remove_suffix(1);
  }
  const std::vector<TextPiece> pieces = PiecesOf(before, Asked::kValue);
  if (pieces.empty() || pieces.back().kind == PieceKind::kStop) return false;
  const TextPieces last = SentencesOf(pieces).back();
  if (ClaimsNothing(last)) return true;
  return EndsDenying(before, last);
}

}  // namespace sluice::math
