#include "reward/math/conclusion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "reward/math/claimless.h"
#include "reward/math/number_lexer.h"
#include "reward/math/restatement.h"
#include "reward/math/stance.h"
#include "reward/math/units.h"
#include "reward/math/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxMembers = 64;          // of a list
constexpr size_t kMaxDenied = 120;          // bytes of a sentence that are looked at for a denial
constexpr size_t kMaxAftermath = 16 << 10;  // bytes behind an answer that are looked at

// A value, or several that are joined, with what its sentence says about it.
struct Claim {
  size_t first = 0, last = 0;  // pieces
  size_t begin = 0, end = 0;   // bytes, with the words that change its meaning
  bool main = false;
  bool denied = false;
  bool bold = false;
  bool approximate = false;
  bool qualified = false;  // "half of", "about"
  bool negative = false;
  bool whole_span = false;  // the text is the span and not the piece
  bool in_words = false;
  size_t members = 1;     // that are joined
  bool counted = false;   // ":" stands in front: a list of what was counted
  bool asserted = false;  // "is the answer", "is correct"
  std::vector<std::string> alternatives;
};

// The words that may stand in front of a value and change it. Longer ones first.
struct Qualifier {
  string_view phrase;
  bool approximates;
};
constexpr Qualifier kQualifiers[] = {
    {"no more than", false}, {"no less than", false},  {"no fewer than", false}, {"close to", false},
    {"less than", false},    {"more than", false},     {"greater than", false},  {"fewer than", false},
    {"larger than", false},  {"smaller than", false},  {"higher than", false},   {"lower than", false},
    {"at most", false},      {"at least", false},      {"up to", false},         {"far from", false},
    {"half of", false},      {"root of", false},       {"logarithm of", false},  {"factorial of", false},
    {"square of", false},    {"cube of", false},       {"third of", false},      {"quarter of", false},
    {"inverse of", false},   {"reciprocal of", false}, {"anything but", false},  {"over", false},
    {"under", false},        {"nearly", false},        {"almost", false},        {"below", false},
    {"above", false},        {"between", false},       {"twice", false},         {"double", false},
    {"triple", false},       {"beyond", false},        {"exceeding", false},     {"about", true},
    {"around", true},        {"roughly", true},        {"approximately", true},  {"some", true}};

bool IsWord(TextPieces pieces, size_t i) { return i < pieces.size() && pieces[i].kind == PieceKind::kWord; }
bool IsValue(TextPieces pieces, size_t i) { return i < pieces.size() && pieces[i].kind == PieceKind::kValue; }

// Reads one sentence.
class Sentence {
 public:
  Sentence(string_view text, TextPieces pieces, Asked asked) : text_(text), pieces_(pieces), asked_(asked) {}

  std::vector<Claim> Claims() {
    std::vector<Claim> claims;
    for (size_t i = 0; i < pieces_.size();) {
      const TextPiece& piece = pieces_[i];
      if (piece.kind != PieceKind::kValue) {
        Turn(i++);
        continue;
      }
      Claim claim = ClaimAt(i);
      i = claim.last + 1;
      bool remark =
          !claims.empty() && claim.qualified && !restarted_;  // "36 is half of 72", "3/7, or about 43%"
      if (remark) claim.main = false;
      restarted_ = false;
      if (claim.main) led_ = true;
      if (!IsName(claim)) claims.push_back(std::move(claim));
    }
    return claims;
  }

  bool denied() const { return denied_; }

 private:
  void Turn(size_t i) {
    const TextPiece& piece = pieces_[i];
    if (piece.kind == PieceKind::kComma || piece.kind == PieceKind::kBreak ||
        piece.kind == PieceKind::kStop) {
      adjunct_ = denied_ = false;
      clause_ = piece.bracket || (clause_ && piece.text == ":");
      return;
    }
    if (piece.kind == PieceKind::kOperator) {
      if (absl::StrContains(piece.text, "=")) adjunct_ = false;
      return;
    }
    if (piece.word == "and" && !IsValue(pieces_, i + 1)) denied_ = false;
    switch (TurnOfWord(i)) {
      case Turn::kDenies:
        denied_ = denied_ || !IsIdiom(i);
        break;
      case Turn::kAdjunct:
        adjunct_ = true;
        break;
      case Turn::kClause:
        clause_ = true;
        denied_ = false;
        break;
      case Turn::kVerb:
        adjunct_ = false;
        break;
      case Turn::kResult:
        adjunct_ = false;
        restarted_ = true;
        if (piece.word != "only" && piece.word != "total" && piece.word != "that") clause_ = denied_ = false;
        break;
      case Turn::kNone:
        break;
    }
  }

  math::Turn TurnOfWord(size_t i) const {
    string_view word = pieces_[i].word;
    string_view before = i > 0 ? string_view(pieces_[i - 1].word) : string_view();
    string_view next = i + 1 < pieces_.size() ? string_view(pieces_[i + 1].word) : string_view();
    if (word == "to") return IsValue(pieces_, i + 1) && !IsReceived(i) ? Turn::kVerb : Turn::kAdjunct;
    if (word == "no" && next == "longer") return Turn::kDenies;
    bool excepts = word == "but" && (before == "all" || before == "anything" || before == "everything");
    if (excepts) return Turn::kDenies;
    bool false_to = next == "to" || next == "that";
    if (false_to && (word == "wrong" || word == "incorrect" || word == "false" || word == "mistake" ||
                     word == "impossible" || word == "mistaken")) {
      return Turn::kDenies;
    }
    bool leaves = word == "with" && (before == "him" || before == "her" || before == "them" ||
                                     before == "us" || before == "up" || before == "left");
    if (leaves) return Turn::kVerb;
    if (word == "of" && i > 0 && IsValue(pieces_, i + 1)) {
      bool amount = i > 1 && (pieces_[i - 2].word == "a" || pieces_[i - 2].word == "an");
      string_view noun = pieces_[i - 1].word;
      if (amount || noun == "total" || noun == "answer" || noun == "result" || noun == "probability") {
        return Turn::kResult;
      }
    }
    if ((word == "rather" || word == "instead") && i + 1 < pieces_.size() &&
        (pieces_[i + 1].word == "than" || pieces_[i + 1].word == "of")) {
      return Turn::kDenies;
    }
    if (word == "that" && i > 0 && IsWord(pieces_, i - 1) && TurnOf(pieces_[i - 1].word) == Turn::kDenies) {
      return Turn::kNone;  // "I doubt that"
    }
    const math::Turn turn = TurnOf(word);
    static constexpr string_view kPersons[] = {"he", "she", "it", "they", "we", "you", "i"};
    bool verb = turn == Turn::kNone &&
                std::find(std::begin(kPersons), std::end(kPersons), before) != std::end(kPersons);
    return verb ? Turn::kVerb : turn;
  }

  // "dealt to 4 players", not "comes to 4", "increased to 4 players" or "to 4 dollars".
  bool IsReceived(size_t to) const {
    if (to == 0 || !IsWord(pieces_, to - 1) || !IsWord(pieces_, to + 2)) return false;
    string_view behind = pieces_[to + 2].word, before = pieces_[to - 1].word;
    if (!FindUnit(behind).empty() || TurnOf(behind) != Turn::kNone) return false;
    static constexpr string_view kGiving[] = {"dealt", "given",  "distributed", "equally",
                                              "gave",  "handed", "offered",     "passed",
                                              "sent",  "shared", "shown",       "sold"};
    return std::find(std::begin(kGiving), std::end(kGiving), before) != std::end(kGiving);
  }

  // "no doubt", "not only", "don't forget".
  bool IsIdiom(size_t i) const {
    string_view word = pieces_[i].word;
    if (word == "doubt") return i > 0 && (pieces_[i - 1].word == "no" || pieces_[i - 1].word == "a");
    string_view next = i + 1 < pieces_.size() ? string_view(pieces_[i + 1].word) : string_view();
    return next == "only" || next == "just" || next == "forget" || next == "hesitate" || next == "worry";
  }

  // "step 2", "problem 7", the 8 of "the 8 apples".
  bool IsName(const Claim& claim) const {
    if (asked_ != Asked::kValue || claim.first == 0 || pieces_[claim.first].formula) return false;
    const TextPiece& before = pieces_[claim.first - 1];
    return before.kind == PieceKind::kWord && IsLabel(before.word);
  }

  bool IsGiven(size_t first, size_t last) const {
    if (asked_ != Asked::kValue || first == 0 || !IsWord(pieces_, last + 1)) return false;
    string_view before = pieces_[first - 1].word;
    return before == "the" || before == "these" || before == "those" || before == "original" ||
           before == "initial" || before == "other";
  }

  Claim ClaimAt(size_t i) {
    Claim claim;
    claim.first = claim.last = i;
    claim.begin = pieces_[i].begin;
    claim.end = pieces_[i].end;
    claim.bold = pieces_[i].bold;
    claim.in_words = !pieces_[i].word.empty() && asked_ == Asked::kValue;
    Join(claim);
    claim.denied = denied_ || DeniesBefore(pieces_.subspan(claim.last + 1));
    bool some_of = SpellsAt(pieces_, i + 1, "of whom") || SpellsAt(pieces_, i + 1, "of which");
    claim.main = !adjunct_ && !clause_ && !some_of && !IsGiven(claim.first, claim.last);
    claim.counted = i > 0 && pieces_[i - 1].text == ":";
    const TextPieces behind = pieces_.subspan(claim.last + 1);
    if (IsRemarkedOn(behind)) claim.denied = true;
    if (asked_ == Asked::kChoice) claim.asserted = IsChosen(behind);
    if (asked_ == Asked::kChoice && !claim.asserted && ActsItself(behind)) claim.main = false;
    if (asked_ == Asked::kValue) {
      QualifyBefore(claim);
      QualifyBehind(claim);
    }
    return claim;
  }

  // "is the best choice", "are correct".
  static bool IsChosen(TextPieces behind) {
    if (behind.empty() || TurnOf(behind[0].word) != Turn::kVerb) return false;
    for (size_t k = 1; k < std::min<size_t>(behind.size(), 5) && behind[k].kind == PieceKind::kWord; ++k) {
      string_view word = behind[k].word;
      if (TurnOf(word) == Turn::kDenies) return false;
      if (word == "correct" || word == "right" || word == "best" || word == "true" || word == "answer")
        return true;
    }
    return false;
  }

  // "(A) ignores friction".
  static bool ActsItself(TextPieces behind) {
    if (!IsWord(behind, 0)) return false;
    string_view verb = behind[0].word;
    static constexpr string_view kFitting[] = {"works",   "holds", "fits",   "satisfies",
                                               "matches", "is",    "remains"};
    if (std::find(std::begin(kFitting), std::end(kFitting), verb) != std::end(kFitting)) return false;
    return verb.size() > 2 && verb.back() == 's' && TurnOf(verb) != Turn::kAdjunct &&
           TurnOf(verb) != Turn::kResult;
  }

  // Takes in what is joined by commas, "and", "or": "2 and 3", "8 or maybe 9", "8 (or 9)", "7 to 8".
  void Join(Claim& claim) {
    bool either = false;
    std::vector<string_view> members{pieces_[claim.first].text};
    while (members.size() < kMaxMembers) {
      bool or_word = false;
      size_t next = BehindJoint(claim.last + 1, &or_word);
      if (next == 0) break;
      either = either || or_word;
      claim.last = next;
      claim.end = pieces_[next].end;
      claim.whole_span = true;
      claim.bold = claim.bold || pieces_[next].bold;
      members.push_back(pieces_[next].text);
    }
    claim.members = members.size();
    if (TakeDerived(claim, members) || !either) return;
    DropRounded(members);
    if (members.size() == 1) {
      claim.whole_span = false;
      return;
    }
    for (string_view member : members) claim.alternatives.emplace_back(member);
  }

  // "$a=2$, $b=3$, and $ab=6$" is 6: the last is made of the names before it.
  bool TakeDerived(Claim& claim, const std::vector<string_view>& members) {
    if (members.size() < 2) return false;
    size_t equals = members.back().find('=');
    if (equals == string_view::npos) return false;
    std::string names;
    for (size_t k = 0; k + 1 < members.size(); ++k) {
      if (!IsLetter(At(members[k], 0)) || members[k].find_first_of("= ", 1) != 1) return false;
      names += members[k][0];
    }
    string_view made = absl::StripAsciiWhitespace(members.back().substr(0, equals));
    string_view value = absl::StripAsciiWhitespace(members.back().substr(equals + 1));
    bool known = made.size() > 1 && std::all_of(made.begin(), made.end(), [&](char c) {
                   return !IsLetter(c) || absl::StrContains(names, c);
                 });
    if (!known || absl::StrContains(value, "=") || value.empty() || !IsLetter(made.back())) return false;
    claim.first = claim.last;
    claim.begin = static_cast<size_t>(value.data() - text_.data());
    claim.end = claim.begin + value.size();
    claim.whole_span = true;
    claim.members = 1;
    return true;
  }

  // "$\frac23$, or 0.667" is said twice.
  static void DropRounded(std::vector<string_view>& members) {
    while (members.size() > 1 && IsRounding(members.front(), members.back())) members.pop_back();
  }

  // The value behind a joint at `i`; 0 if there is none.
  size_t BehindJoint(size_t i, bool* or_word) const {
    bool joint = false, comma = false;
    for (int pieces = 0; pieces < 6 && i < pieces_.size(); ++pieces, ++i) {
      const TextPiece& piece = pieces_[i];
      if (piece.kind == PieceKind::kValue) {
        bool reason_ends = clause_ && !led_;  // "Since $x>0$, $x=2$"
        bool listed = comma && !adjunct_ && !reason_ends && pieces_[i - 2].formula == piece.formula;
        return joint || listed ? i : 0;
      }
      if (piece.kind == PieceKind::kComma && !joint) {
        comma = true;
        continue;
      }
      if (piece.bracket && i + 1 < pieces_.size() && pieces_[i + 1].word == "or") continue;
      if (piece.kind != PieceKind::kWord) return 0;
      if (piece.word == "or" || piece.word == "and" || piece.word == "to") {
        if (joint && piece.word != "or") return 0;
        if (piece.word == "to" && (comma || adjunct_ || asked_ != Asked::kValue)) return 0;
        *or_word = piece.word == "or";
        joint = true;
        continue;
      }
      static constexpr string_view kBetween[] = {"maybe", "perhaps", "possibly", "equivalently", "simply",
                                                 "even",  "also",    "else",     "alternatively"};
      bool passes = joint && *or_word &&
                    std::find(std::begin(kBetween), std::end(kBetween), piece.word) != std::end(kBetween);
      if (!passes) return 0;
    }
    return 0;
  }

  void QualifyBefore(Claim& claim) {
    size_t first = claim.first;
    if (first == 0) return;
    string_view before = pieces_[first - 1].word;
    if (before == "minus" || before == "negative") {
      bool subtracts = before == "minus" && first > 1 && IsValue(pieces_, first - 2);
      claim.negative = !subtracts && !claim.whole_span;
      claim.whole_span = claim.whole_span || subtracts;
      claim.begin = subtracts ? pieces_[first - 2].begin : claim.begin;
      return;
    }
    for (const Qualifier& qualifier : kQualifiers) {
      size_t words =
          static_cast<size_t>(std::count(qualifier.phrase.begin(), qualifier.phrase.end(), ' ')) + 1;
      if (words > first || !SpellsAt(pieces_, first - words, qualifier.phrase)) continue;
      claim.qualified = true;
      if (qualifier.approximates) {
        claim.approximate = pieces_[first].text.find('.') == string_view::npos && !pieces_[first].formula;
        return;
      }
      claim.begin = pieces_[first - words].begin;
      claim.whole_span = true;
      bool alone = words == first || !IsValue(pieces_, first - words - 1);
      if (alone && qualifier.phrase != "between" && !clause_) claim.main = true;
      return;
    }
  }

  void QualifyBehind(Claim& claim) {
    size_t i = claim.last + 1;
    if (!IsWord(pieces_, i)) return;
    string_view word = pieces_[i].word;
    string_view next = i + 1 < pieces_.size() ? string_view(pieces_[i + 1].word) : string_view();
    if (ChangesMagnitude(word)) return Widen(claim, i);
    bool bound = (word == "or" && (next == "more" || next == "less" || next == "fewer" || next == "so" ||
                                   next == "greater" || next == "higher" || next == "lower" ||
                                   next == "thereabouts" || next == "above" || next == "below")) ||
                 (word == "at" && (next == "most" || next == "least"));
    if (bound) return Widen(claim, i + 1);
    bool ratio = word == "out" && next == "of" && IsValue(pieces_, i + 2);
    bool compares =
        ratio || ((word == "less" || word == "more" || word == "divided") && IsValue(pieces_, i + 2));
    bool operates =
        (word == "plus" || word == "minus" || word == "times" || word == "over" || word == "below") &&
        IsValue(pieces_, i + 1);
    if (compares) Widen(claim, i + 2);
    if (operates) Widen(claim, i + 1);
    if (word == "below" && next == "zero") Widen(claim, i + 1);
  }

  void Widen(Claim& claim, size_t last) {
    claim.last = last;
    claim.end = pieces_[last].end;
    claim.whole_span = true;
  }

  string_view text_;
  TextPieces pieces_;
  Asked asked_;
  bool adjunct_ = false;    // behind a preposition
  bool led_ = false;        // by a claim before
  bool restarted_ = false;  // "so", "but": another statement begins
  bool clause_ = false;     // in a reason or remark
  bool denied_ = false;
};

// The one claim that a sentence concludes with; null where there is none.
const Claim* Best(const std::vector<Claim>& claims) {
  const Claim *best = nullptr, *any = nullptr, *bold = nullptr;
  int bolds = 0;
  bool digits = std::any_of(claims.begin(), claims.end(), [](const Claim& c) { return !c.in_words; });
  auto chosen =
      std::find_if(claims.begin(), claims.end(), [](const Claim& c) { return c.asserted && !c.denied; });
  if (chosen != claims.end()) return &*chosen;
  for (const Claim& claim : claims) {
    if (claim.denied || (claim.in_words && digits)) continue;
    any = &claim;
    if (claim.main) best = &claim;
    if (claim.bold) {
      bold = &claim;
      ++bolds;
    }
  }
  if (bolds == 1) return bold;
  return best != nullptr ? best : any;
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
  bool counts =
      !count.denied && !count.whole_span && absl::SimpleAtoi(text, &number) && number == list.members;
  return counts ? &count : nullptr;
}

Conclusion Told(string_view text, TextPieces pieces, const Claim& claim) {
  Conclusion out;
  const TextPiece& piece = pieces[claim.first];
  out.text = std::string(claim.whole_span ? text.substr(claim.begin, claim.end - claim.begin) : piece.text);
  if (claim.negative) out.text = absl::StrCat("-", out.text);
  bool bare = !claim.whole_span;
  out.offset = bare ? static_cast<size_t>(piece.text.data() - text.data()) : claim.begin;
  out.end = claim.end;
  out.formula = bare && piece.formula;
  out.approximate = claim.approximate;
  out.alternatives = claim.alternatives;
  return out;
}

// The sentences of a passage.
std::vector<TextPieces> SentencesOf(const std::vector<TextPiece>& pieces) {
  std::vector<TextPieces> out;
  size_t begin = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].kind != PieceKind::kStop) continue;
    if (i > begin) out.push_back(TextPieces(pieces).subspan(begin, i + 1 - begin));
    begin = i + 1;
  }
  if (begin < pieces.size()) out.push_back(TextPieces(pieces).subspan(begin));
  return out;
}

bool ClaimsNothing(TextPieces sentence) {
  if (sentence.back().question || Plans(sentence) || IsAttributed(sentence) || DescribesAnswer(sentence))
    return true;
  size_t i = 0;
  while (i < sentence.size() && sentence[i].kind != PieceKind::kWord) ++i;
  return i < sentence.size() && sentence[i].word != "if" && Supposes(sentence[i].word);
}

Conclusion Spanned(string_view text, size_t begin, size_t end) {
  Conclusion out;
  out.text = std::string(text.substr(begin, end - begin));
  out.offset = begin;
  out.end = end;
  return out;
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
    size_t first = 0, last = sentence.size();
    while (first < sentence.size() && !IsWord(sentence, first)) ++first;
    while (last > 0 && !IsWord(sentence, last - 1)) --last;
    if (last == 0) continue;
    bool begins = (sentence[first].word == "yes" || sentence[first].word == "no") &&
                  (first + 1 == sentence.size() || sentence[first + 1].kind != PieceKind::kWord);
    bool ends = IsTruth(sentence[last - 1].word);
    if (begins && ends && last - 1 != first && sentence[last - 1].word != sentence[first].word) ends = false;
    if (!begins && !ends) continue;
    if (!begins && AnyDenies(sentence)) return std::nullopt;
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

// What stands behind the verb, up to a remark; without a verb the last word.
std::optional<Conclusion> Complement(string_view text, TextPieces sentence) {
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
  while (end > begin && sentence[end - 1].kind != PieceKind::kWord) --end;
  if (begin == 0) {
    if (end == 0) return std::nullopt;
    begin = end - 1;
  }
  while (begin + 1 < end && sentence[begin].kind == PieceKind::kWord &&
         (absl::EndsWith(sentence[begin].word, "ly") || sentence[begin].word == "on")) {
    ++begin;
  }
  if (begin >= end) return std::nullopt;
  return Spanned(text, sentence[begin].begin, sentence[end - 1].end);
}

}  // namespace

std::optional<Conclusion> ConclusionOf(string_view passage, Asked asked) {
  const std::vector<TextPiece> pieces = PiecesOf(passage, asked);
  const std::vector<TextPieces> sentences = SentencesOf(pieces);
  if (!pieces.empty() && pieces.back().kind == PieceKind::kOperator && asked == Asked::kValue) {
    return std::nullopt;  // cut off
  }
  bool unfinished = !sentences.empty() && asked == Asked::kValue &&
                    (IsBrokenOff(sentences.back()) || Plans(sentences.back()));
  if (unfinished) return std::nullopt;
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
      const std::vector<Claim> claims = Sentence(passage, sentences[i], asked).Claims();
      if (const Claim* best = Best(claims)) {
        const bool last = i + 1 == sentences.size();
        if (last && asked == Asked::kValue && IsCutOff(sentences[i], claims, *best)) best = &claims.back();
        if (const Claim* count = CountOf(sentences[i], claims, *best)) {
          Conclusion told = Told(passage, sentences[i], *count);
          told.listed = std::string(passage.substr(best->begin, best->end - best->begin));
          return told;
        }
        Conclusion told = Told(passage, sentences[i], *best);
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
    if (std::optional<Conclusion> told = Complement(passage, sentences[i])) return told;
    if (std::any_of(sentences[i].begin(), sentences[i].end(),
                    [](const TextPiece& p) { return p.kind == PieceKind::kWord; }))
      return std::nullopt;
  }
  return std::nullopt;
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
  Sentence sentence(before, last, Asked::kValue);
  sentence.Claims();
  return sentence.denied();
}

namespace {

// What closes a formula, a bracket or emphasis in front of `text`.
size_t Closers(string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    string_view rest = text.substr(i);
    if (text[i] == '$' && IsLetter(At(text, i + 1))) break;
    if (IsBlank(text[i]) || absl::StrContains("$*_`}\"')", text[i])) {
      ++i;
    } else if (absl::StartsWith(rest, "\\)") || absl::StartsWith(rest, "\\]")) {
      i += 2;
    } else if (absl::StartsWith(rest, "\\text{")) {
      i += 6;
    } else {
      break;
    }
  }
  return i;
}

bool HasValue(TextPieces sentence) {
  return std::any_of(sentence.begin(), sentence.end(),
                     [](const TextPiece& p) { return p.kind == PieceKind::kValue; });
}

// "3 was also close": it corrects nothing.
bool RemarksOn(TextPieces sentence) {
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (sentence[i].kind == PieceKind::kValue) return IsRemarkedOn(sentence.subspan(i + 1));
  }
  return false;
}

bool HasWordsBehind(TextPieces sentence, size_t words) {
  size_t count = static_cast<size_t>(std::count_if(sentence.begin(), sentence.end(), [](const TextPiece& p) {
    return p.kind == PieceKind::kWord || p.kind == PieceKind::kValue;
  }));
  return count > words;
}

// A correction begins behind the sentence that withdraws, or in it: "Sorry, that is wrong: it is 9."
Aftermath Withdrawn(TextPieces sentence, size_t behind, size_t size, size_t skipped) {
  Aftermath out;
  out.standing = Standing::kWithdrawn;
  size_t end = sentence.back().kind == PieceKind::kStop ? sentence.back().end : size;
  const TextPieces rest = sentence.subspan(std::min(behind, sentence.size()));
  bool goes_on =
      HasValue(rest) && (rest.front().kind == PieceKind::kBreak || rest.front().kind == PieceKind::kComma ||
                         TurnOf(rest.front().word) == Turn::kResult || rest.front().word == "and");
  out.restated_at = skipped + (goes_on ? rest.front().begin : end);
  return out;
}

// "if order matters; otherwise 8": the other value.
std::optional<Conclusion> Otherwise(string_view text, TextPieces pieces) {
  if (pieces.empty() || !IsWord(pieces, 0)) return std::nullopt;
  string_view first = pieces[0].word;
  if (first != "if" && first != "when" && first != "assuming" && first != "provided" && first != "for")
    return std::nullopt;
  bool otherwise = false;
  const TextPiece* value = nullptr;
  for (const TextPiece& piece : pieces) {
    if (piece.kind == PieceKind::kStop && otherwise) break;
    otherwise = otherwise || piece.word == "otherwise" || piece.word == "else";
    if (piece.kind == PieceKind::kValue) value = &piece;
    if (&piece - pieces.data() > 30) break;
  }
  if (!otherwise || value == nullptr) return std::nullopt;
  return Spanned(text, value->begin, value->end);
}

// The value that an alternative names: "or 9", "Another possibility is 9".
std::optional<Conclusion> AlternativeIn(string_view text, TextPieces pieces, Asked asked) {
  size_t i = 0;
  while (i < pieces.size() && pieces[i].kind != PieceKind::kWord && pieces[i].kind != PieceKind::kValue) ++i;
  if (!IsWord(pieces, i)) return std::nullopt;
  string_view word = pieces[i].word;
  bool or_word = word == "or" || word == "oder" || word == "ou";
  bool also = word == "alternatively" || word == "maybe" || word == "perhaps" || word == "possibly";
  bool another = word == "another" && i + 1 < pieces.size() &&
                 (pieces[i + 1].word == "possibility" || pieces[i + 1].word == "option" ||
                  pieces[i + 1].word == "answer" || pieces[i + 1].word == "possible");
  bool could = (word == "it" || word == "could" || word == "might") &&
               (SpellsAt(pieces, i + 1, "could also be") || SpellsAt(pieces, i + 1, "might also be") ||
                SpellsAt(pieces, i + 1, "may also be") || SpellsAt(pieces, i, "could also be") ||
                SpellsAt(pieces, i, "might also be"));
  if (!or_word && !also && !another && !could) return std::nullopt;
  size_t reach = or_word ? 10 : 6;
  for (size_t k = i + 1; k < pieces.size() && k <= i + reach; ++k) {
    bool stops = pieces[k].kind == PieceKind::kStop && k > i + 1 && pieces[k - 1].kind != PieceKind::kStop;
    if (stops && !(or_word && k <= i + 2)) break;
    bool rounds = pieces[k].word == "about" || pieces[k].word == "approximately" ||
                  pieces[k].word == "roughly" || pieces[k].word == "around";
    if (rounds) return std::nullopt;
    if (pieces[k].kind != PieceKind::kValue) continue;
    Conclusion out;
    out.text = std::string(pieces[k].text);
    out.offset = pieces[k].begin;
    out.end = pieces[k].end;
    bool ends =
        k + 1 >= pieces.size() || pieces[k + 1].kind != PieceKind::kWord || or_word || could || another;
    if (!ends) return std::nullopt;
    return out;
  }
  static constexpr string_view kBounds[] = {"so",     "more",  "less",  "fewer",       "greater",
                                            "higher", "lower", "above", "thereabouts", "below"};
  bool bound = or_word && i + 1 < pieces.size() &&
               std::find(std::begin(kBounds), std::end(kBounds), pieces[i + 1].word) != std::end(kBounds);
  if (!bound) return std::nullopt;
  Conclusion out;
  out.text = absl::StrCat("or ", pieces[i + 1].word);
  return out;
}

}  // namespace

bool DeniesAnswer(string_view behind) {
  behind = behind.substr(0, std::min(kMaxDenied, behind.find('\n')));
  const std::vector<TextPiece> pieces = PiecesOf(behind.substr(Closers(behind)), Asked::kValue);
  return DeniesBefore(pieces);
}

Aftermath AftermathOf(string_view behind, Asked asked, string_view answer) {
  Aftermath out;
  behind = behind.substr(0, kMaxAftermath);
  const size_t skipped = Closers(behind);
  const string_view text = behind.substr(skipped);
  const std::vector<TextPiece> pieces = PiecesOf(text, asked);
  auto other = AlternativeIn(text, pieces, asked);
  if (!other) other = Otherwise(text, pieces);
  if (other) {
    out.standing = Standing::kHasAlternative;
    out.other = *std::move(other);
    return out;
  }
  bool opened = false;  // by a sentence of its own: "Oops!"
  for (TextPieces sentence : SentencesOf(pieces)) {
    if (size_t taken = Withdraws(sentence, answer)) return Withdrawn(sentence, taken, text.size(), skipped);
    size_t opening = CorrectionOpening(sentence);
    bool corrects = (opening > 0 || opened) && !OpensCheck(sentence) && !Affirms(sentence) &&
                    !IsAttributed(sentence) && !RemarksOn(sentence);
    bool states = corrects && !sentence.back().question && HasValue(sentence);
    opened = opening > 0 && !HasWordsBehind(sentence, opening);
    if (!corrects || out.states_value) continue;
    if (out.standing != Standing::kReplaced) out.restated_at = skipped + sentence.front().begin;
    out.standing = Standing::kReplaced;
    out.states_value = states;
    if (states) out.restated_at = skipped + sentence.front().begin;
  }
  return out;
}

}  // namespace sluice::math
