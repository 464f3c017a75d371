#include "reward/math/extract/claim.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/extract/claimless.h"
#include "reward/math/extract/lexicon.h"
#include "reward/math/extract/restatement.h"
#include "reward/math/extract/stance.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;
using lexicon::Among;

constexpr size_t kMaxMembers = 64;  // of a list

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
      if (piece.text == ";") led_ = false;
      return;
    }
    if (piece.kind == PieceKind::kOperator) {
      if (absl::StrContains(piece.text, "=")) adjunct_ = false;
      return;
    }
    if (piece.word == "and" && !IsValue(pieces_, i + 1)) denied_ = false;
    if (replaced_ && TurnOfWord(i) == Turn::kVerb) denied_ = false;  // "Instead of 4 we get 3"
    switch (TurnOfWord(i)) {
      case Turn::kDenies:
        denied_ = denied_ || !IsIdiom(i);
        replaced_ = piece.word == "instead" || piece.word == "rather";
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
    if (next == "out" && (word == "rules" || word == "rule" || word == "ruling" || word == "ruled"))
      return Turn::kDenies;
    if (word == "at" && (before == "is" || before == "are" || before == "occurs" || before == "lies"))
      return Turn::kVerb;
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
    if (asked_ != Asked::kValue) return false;
    const TextPiece& piece = pieces_[claim.first];
    if (claim.in_words && piece.word == "one" && Among(WordAt(claim.last + 1), lexicon::kModalVerbs))
      return true;
    if (claim.first == 0) return false;
    const TextPiece& before = pieces_[claim.first - 1];
    if (Among(before.word, lexicon::kHaving)) return true;
    const bool related = claim.first > 1 && Among(pieces_[claim.first - 2].word, lexicon::kRelatives) &&
                         (before.word == "of" || before.word == "by");
    return related || (!piece.formula && before.kind == PieceKind::kWord && IsLabel(before.word));
  }

  string_view WordAt(size_t i) const {
    return i < pieces_.size() ? string_view(pieces_[i].word) : string_view();
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
    claim.given = IsGiven(claim.first, claim.last);
    claim.main = !adjunct_ && !clause_ && !some_of && !claim.given;
    claim.counted = i > 0 && (pieces_[i - 1].text == ":" || pieces_[i - 1].word == "namely");
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
      const bool doubts = comma && !joint && Among(piece.word, lexicon::kMaybe);  // "8, maybe 9"
      const bool either = doubts || Among(piece.word, lexicon::kOr);
      if (either || Among(piece.word, lexicon::kAnd) || piece.word == "to") {
        if (joint && !either) return 0;
        if (piece.word == "to" && (comma || adjunct_ || asked_ != Asked::kValue)) return 0;
        *or_word = either;
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
  bool replaced_ = false;  // denied by "instead of"
};

}  // namespace

std::vector<Claim> ClaimsOf(string_view text, TextPieces sentence, Asked asked) {
  return Sentence(text, sentence, asked).Claims();
}

bool EndsDenying(string_view text, TextPieces sentence) {
  Sentence reader(text, sentence, Asked::kValue);
  reader.Claims();
  return reader.denied();
}

}  // namespace sluice::math
