#include "reward/math/extract/stance.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/extract/lexicon.h"

namespace sluice::math {
namespace {

using absl::string_view;
using namespace lexicon;  // NOLINT: its words

bool IsNegated(string_view word) { return absl::EndsWith(word, "n't") || word == "not" || word == "cannot"; }

// The next word at or behind `i`; the size where the sentence has none.
size_t NextWord(TextPieces pieces, size_t i) {
  while (i < pieces.size() && pieces[i].kind != PieceKind::kWord) ++i;
  return i;
}

bool IsAdverb(string_view word) {
  return absl::EndsWith(word, "ly") || word == "just" || word == "all" || word == "quite" || word == "also" ||
         word == "too" || word == "then" || word == "seem" || word == "look" || word == "be" ||
         word == "sound" || word == "feel" || word == "a" || word == "an" || word == "the" || word == "my";
}

// "to" or "that" behind the adjective: "wrong to include 10", "impossible for 8".
bool IsImpersonal(TextPieces pieces, size_t i) {
  if (!Among(pieces[i].word, kImpersonal) || i + 1 >= pieces.size()) return false;
  string_view next = pieces[i + 1].word;
  return next == "to" || next == "that" || next == "for";
}

// Behind what from `i` on says something bad: "is wrong", "isn't right", "can't be the correct answer", "does
// not work", "fails"; 0 if nothing does. `negated`: the sentence doubts already.
size_t BehindBadPredicate(TextPieces pieces, size_t i, bool negated = false) {
  const bool doubted = negated;
  size_t end = 0;
  for (int words = 0; words < 7 && i < pieces.size(); ++words, ++i) {
    if (pieces[i].kind != PieceKind::kWord) {
      return negated && !doubted && words > 1 && pieces[i].kind == PieceKind::kStop ? i : 0;  // "does not."
    }
    string_view word = pieces[i].word;
    if (Among(word, kBadPredicates) || word == "mistake" || word == "error") {
      return negated || IsImpersonal(pieces, i) ? 0 : i + 1;
    }
    if (negated && Among(word, kGoodPredicates)) return IsImpersonal(pieces, i) ? 0 : i + 1;
    if (IsNegated(word) || word == "no" || word == "hardly" || word == "never") {
      if (negated) return 0;
      negated = true;
      continue;
    }
    if (word == "makes" && i + 2 < pieces.size() && pieces[i + 1].word == "no" &&
        pieces[i + 2].word == "sense")
      return i + 3;
    static constexpr string_view kVerbsHere[] = {
        "is",  "was",  "are",   "were",  "be", "can", "could",  "must",  "would", "does",   "do",   "did",
        "has", "have", "seems", "looks", "to", "we",  "sounds", "feels", "value", "number", "will", "should"};
    if (!Among(word, kVerbsHere) && !IsAdverb(word)) return 0;
    end = i + 1;
  }
  return negated && !doubted && i == pieces.size() ? end : 0;
}

bool IsBadPredicate(TextPieces pieces, size_t i) { return BehindBadPredicate(pieces, i) > 0; }

}  // namespace

Turn TurnOf(string_view word) {
  if (Among(word, kDenying) || absl::EndsWith(word, "n't")) return Turn::kDenies;
  if (Among(word, kResults)) return Turn::kResult;
  if (Among(word, kVerbs)) return Turn::kVerb;
  if (Among(word, kClauses)) return Turn::kClause;
  if (Among(word, kAdjuncts)) return Turn::kAdjunct;
  return Turn::kNone;
}

bool SpellsAt(TextPieces pieces, size_t i, string_view phrase) {
  for (size_t begin = 0; begin <= phrase.size(); ++i) {
    const size_t end = std::min(phrase.find(' ', begin), phrase.size());
    if (i >= pieces.size() || pieces[i].word != phrase.substr(begin, end - begin)) return false;
    begin = end + 1;
  }
  return true;
}

bool IsLabel(string_view word) { return Among(word, kLabels); }

bool Supposes(string_view word) {
  return word == "suppose" || word == "assume" || word == "if" || word == "supposing" || word == "imagine" ||
         word == "say";
}

namespace {

// "Substituting back gives $x = 4$": a result and no check.
bool GivesNamedValue(TextPieces sentence) {
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    string_view word = sentence[i].word, text = sentence[i + 1].text;
    bool gives = word == "gives" || word == "get" || word == "yields" || word == "obtain" || word == "find";
    size_t equals = text.find('=');
    if (gives && equals != string_view::npos && equals <= 3 &&
        absl::ascii_isalpha(static_cast<unsigned char>(text[0])))
      return true;
  }
  return false;
}

}  // namespace

bool OpensCheck(TextPieces sentence) {
  for (size_t k = 1; k + 1 < sentence.size(); ++k) {
    if (sentence[k].word == "only" && sentence[k - 1].word == "so" && IsValue(sentence, k + 1)) return false;
  }
  size_t i = NextWord(sentence, 0);
  if (SpellsAt(sentence, i, "this satisfies") || SpellsAt(sentence, i, "it satisfies")) return true;
  if (i < sentence.size() && sentence[i].word == "substituting" && GivesNamedValue(sentence)) return false;
  static constexpr string_view kBefore[] = {"let's", "let", "us",    "me",     "to",   "we",
                                            "can",   "now", "quick", "double", "wait", "hmm",
                                            "and",   "a",   "i",     "sanity", "just", "i'll"};
  for (int words = 0; words < 6 && i < sentence.size(); ++words, ++i) {
    if (sentence[i].kind != PieceKind::kWord) continue;
    if (Among(sentence[i].word, kChecks)) return true;
    if (!Among(sentence[i].word, kBefore)) return false;
  }
  return false;
}

bool OpensConclusion(TextPieces sentence) {
  size_t i = NextWord(sentence, 0);
  return i < sentence.size() && Among(sentence[i].word, kConclusions);
}

bool DeniesBefore(TextPieces rest) {
  for (size_t i = 0; i < std::min<size_t>(rest.size(), 6); ++i) {
    if (rest[i].kind != PieceKind::kWord) return false;
    if (TurnOf(rest[i].word) == Turn::kResult || TurnOf(rest[i].word) == Turn::kClause) return false;
    if (IsBadPredicate(rest, i)) return true;
  }
  return false;
}

namespace {

// Behind the words at `i` that stand for the answer before: "that", "my answer", "the value above", its own
// value.
size_t BehindSubject(TextPieces sentence, size_t i, string_view answer) {
  if (i >= sentence.size()) return 0;
  if (sentence[i].kind == PieceKind::kValue) {
    string_view text = sentence[i].text;
    size_t equals = text.rfind('=');
    if (equals != string_view::npos) text = absl::StripAsciiWhitespace(text.substr(equals + 1));
    return !answer.empty() && text == answer ? i + 1 : 0;
  }
  static constexpr string_view kPronouns[] = {"above",     "it",   "it's",   "mine", "my",   "previous",
                                              "something", "that", "that's", "this", "which"};
  static constexpr string_view kNouns[] = {"above",    "answer", "calculation", "conclusion", "number",
                                           "previous", "result", "solution",    "value",      "reasoning",
                                           "work",     "first",  "initial"};
  if (sentence[i].kind != PieceKind::kWord) return 0;
  bool the = sentence[i].word == "the" && i + 1 < sentence.size() &&
             (sentence[i + 1].word == "answer" || sentence[i + 1].word == "above" ||
              sentence[i + 1].word == "result" || sentence[i + 1].word == "previous");
  if (!the && !Among(sentence[i].word, kPronouns) && sentence[i].word != "answer") return 0;
  ++i;
  while (i < sentence.size() && sentence[i].kind == PieceKind::kWord && Among(sentence[i].word, kNouns)) ++i;
  return i;
}

// Words that a sentence may begin with before it says of what it speaks.
bool LeadsIn(string_view word) {
  static constexpr string_view kWords[] = {"again",
                                           "and",
                                           "as",
                                           "because",
                                           "checking",
                                           "clearly",
                                           "closer",
                                           "do",
                                           "fact",
                                           "fear",
                                           "feel",
                                           "from",
                                           "i",
                                           "i'm",
                                           "in",
                                           "inspection",
                                           "look",
                                           "looking",
                                           "my",
                                           "now",
                                           "of",
                                           "on",
                                           "once",
                                           "obviously",
                                           "realize",
                                           "realized",
                                           "realise",
                                           "really",
                                           "reflection",
                                           "review",
                                           "reviewing",
                                           "rechecking",
                                           "second",
                                           "see",
                                           "so",
                                           "sure",
                                           "that",
                                           "the",
                                           "then",
                                           "think",
                                           "thinking",
                                           "thought",
                                           "thoughts",
                                           "believe",
                                           "unfortunately",
                                           "upon",
                                           "after",
                                           "is",
                                           "yet",
                                           "further",
                                           "inspecting",
                                           "double",
                                           "double-checking",
                                           "afraid",
                                           "notice",
                                           "noticed",
                                           "seems",
                                           "suspect",
                                           "also",
                                           "work",
                                           "certain"};
  return Among(word, kOpeners) || Among(word, kWords);
}

// Behind "made a mistake", "made an arithmetic slip"; 0 if nothing of the kind is said.
size_t BehindSlip(TextPieces sentence) {
  static constexpr string_view kSlips[] = {"blunder", "error", "miscalculation", "mistake", "slip", "typo"};
  for (size_t i = 0; i < std::min<size_t>(sentence.size(), 12); ++i) {
    if (sentence[i].word != "made") continue;
    if (i > 1 && (sentence[i - 2].word == "if" || sentence[i - 2].word == "unless"))
      return 0;  // "Correct me if I made a mistake"
    for (size_t k = i + 1; k < std::min(sentence.size(), i + 5) && IsWord(sentence, k); ++k) {
      if (Among(sentence[k].word, kSlips)) return k + 1;
    }
  }
  return 0;
}

// Behind "please disregard my earlier answer", "ignore the box"; 0 if nothing of the kind is said.
size_t BehindDismissal(TextPieces sentence) {
  static constexpr string_view kVerbs[] = {"disregard", "forget", "ignore",  "retract",
                                           "scratch",   "strike", "withdraw"};
  static constexpr string_view kAnswers[] = {"above",    "answer", "box",  "boxed", "everything", "it",
                                             "previous", "result", "that", "this",  "value",      "what"};
  for (size_t i = 0; i < std::min<size_t>(sentence.size(), 12); ++i) {
    if (!Among(sentence[i].word, kVerbs)) continue;
    if (i > 0 && (IsNegated(sentence[i - 1].word) || sentence[i - 1].word == "can")) return 0;
    for (size_t k = i + 1; k < std::min(sentence.size(), i + 5) && IsWord(sentence, k); ++k) {
      if (Among(sentence[k].word, kAnswers)) return k + 1;
    }
  }
  return 0;
}

}  // namespace

bool IsProvisional(TextPieces rest) {
  static constexpr string_view kWords[] = {"initially",     "intermediate", "originally",
                                           "placeholder",   "preliminary",  "provisional",
                                           "provisionally", "tentative",    "tentatively"};
  for (size_t i = 0; i < std::min<size_t>(rest.size(), 5); ++i) {
    if (rest[i].kind == PieceKind::kStop || rest[i].kind == PieceKind::kValue) return false;
    if (Among(rest[i].word, kWords) || (i < 3 && SpellsAt(rest, i, "at first"))) return true;
    bool goes_on = rest[i].bracket || rest[i].word == "an" || rest[i].word == "a" || rest[i].word == "the" ||
                   rest[i].word == "is" || rest[i].word == "was" || rest[i].word == "as" ||
                   rest[i].word == "only";
    if (!goes_on) return false;
  }
  return false;
}

bool LeavesOpen(TextPieces sentence) {
  static constexpr string_view kSeveral[] = {"any", "both", "either", "whichever"};
  static constexpr string_view kModals[] = {"could", "may", "might", "seem", "seems"};
  static constexpr string_view kFitting[] = {"answer", "correct", "plausible", "possible",
                                             "right",  "true",    "valid",     "work"};
  static constexpr string_view kChoosing[] = {"choose", "decide", "pick"};
  const size_t first = NextWord(sentence, 0);
  if (first == sentence.size() || HasValue(sentence)) return false;
  bool modal = false, leaves = false, whichever = false;
  bool chooses = Among(sentence[first].word, kChoosing);
  string_view last;
  for (const TextPiece& piece : sentence) {
    if (piece.kind != PieceKind::kWord) continue;
    last = piece.word;
    modal = modal || Among(last, kModals);
    leaves = leaves || last == "leave" || last == "up";
    whichever = whichever || last == "whichever";
    chooses = chooses || (leaves && Among(last, kChoosing));
  }
  const bool liking = whichever && (last == "like" || last == "prefer" || last == "want");
  return chooses || liking || (modal && Among(sentence[first].word, kSeveral) && Among(last, kFitting));
}

namespace {

// What is given the value behind the last "=": "5" of "x = 5".
string_view Given(string_view text) {
  const size_t equals = text.rfind('=');
  return absl::StripAsciiWhitespace(equals == string_view::npos ? text : text.substr(equals + 1));
}

}  // namespace

bool IsOfAnswer(TextPieces sentence, string_view answer) {
  return std::none_of(sentence.begin(), sentence.end(), [&](const TextPiece& piece) {
    if (piece.kind == PieceKind::kValue) return piece.word.empty() && Given(piece.text) != Given(answer);
    return piece.word == "other" || piece.word == "another" || piece.word == "any" ||
           Among(piece.word, kCases);
  });
}

namespace {

// "But x = 5 makes it zero, so this root is extraneous": of `answer` or of what a pronoun stands for.
bool CallsExtraneous(TextPieces sentence, string_view answer) {
  static constexpr string_view kPronouns[] = {"it", "that", "this"};
  bool meant = false, extraneous = false;
  for (const TextPiece& piece : sentence) {
    if (IsNegated(piece.word)) return false;
    meant = meant || piece.kind == PieceKind::kValue || Among(piece.word, kPronouns);
    extraneous = extraneous || Among(piece.word, kExtraneous);
  }
  return meant && extraneous && IsOfAnswer(sentence, answer);
}

}  // namespace

size_t Withdraws(TextPieces sentence, string_view answer) {
  if (CallsExtraneous(sentence, answer)) return sentence.size();
  for (string_view phrase :
       {"never mind", "just kidding", "take back my", "i was wrong", "i miscounted", "i miscalculated",
        "i misread", "take that back", "take it back", "take this back", "i retract", "i was mistaken",
        "i am wrong", "i'm wrong", "i erred", "i messed up"}) {
    for (size_t i = 0; i < std::min<size_t>(sentence.size(), 12); ++i) {
      const bool supposed = i > 0 && (sentence[i - 1].word == "if" || sentence[i - 1].word == "unless");
      if (!supposed && SpellsAt(sentence, i, phrase))
        return i + static_cast<size_t>(std::count(phrase.begin(), phrase.end(), ' ')) + 1;
    }
  }
  for (size_t i = 0; i + 2 < sentence.size() && HasValue(sentence); ++i) {
    static constexpr string_view kTelling[] = {"added", "explained", "mention", "mentioned",
                                               "note",  "noted",     "said"};
    if (i + 3 < sentence.size() && Among(sentence[i + 3].word, kTelling)) break;
    if (SpellsAt(sentence, i, "i should have") || SpellsAt(sentence, i, "i forgot")) return sentence.size();
  }
  if (size_t end = BehindSlip(sentence)) return end;
  if (size_t end = BehindDismissal(sentence)) return end;
  bool passed = false;                  // a value: "it" may be that one
  bool leading = true, doubts = false;  // from the beginning of a clause on
  for (size_t i = 0; i < std::min<size_t>(sentence.size(), 24); ++i) {
    const TextPiece& piece = sentence[i];
    if (leading && (!passed || piece.kind == PieceKind::kValue)) {
      if (size_t behind = BehindSubject(sentence, i, answer)) {
        size_t end = BehindBadPredicate(sentence, behind, doubts);
        if (end > 0) return end;
      }
    }
    if (piece.kind == PieceKind::kValue) {
      passed = true;
      leading = false;
      continue;
    }
    if (piece.kind == PieceKind::kComma || piece.kind == PieceKind::kBreak) {
      leading = true;
      continue;
    }
    const bool supposes = Supposes(piece.word) && (leading || piece.word == "if");
    if (piece.kind != PieceKind::kWord || supposes || piece.word == "when" || piece.word == "otherwise" ||
        piece.word == "for" || piece.word == "although" || piece.word == "while")
      return 0;
    doubts = doubts || IsNegated(piece.word) || piece.word == "doubt" || absl::EndsWith(piece.word, "n't");
    bool restarts = piece.word == "but" || piece.word == "however" || piece.word == "so";
    leading =
        restarts || (leading && (LeadsIn(piece.word) || IsNegated(piece.word) || piece.word == "doubt"));
  }
  return 0;
}

bool Affirms(TextPieces sentence) {
  bool negated = false;
  for (const TextPiece& piece : sentence) {
    if (piece.kind != PieceKind::kWord) continue;
    if (IsNegated(piece.word)) negated = true;
    if (!negated && Among(piece.word, kAffirmations)) return true;
  }
  return false;
}

size_t CorrectionOpening(TextPieces sentence) {
  size_t i = 0, words = 0;
  bool strong = false;
  for (; i < sentence.size(); ++i) {
    if (sentence[i].kind == PieceKind::kComma || sentence[i].kind == PieceKind::kBreak) continue;
    string_view word = sentence[i].word;
    bool second = SpellsAt(sentence, i, "on second thought") || SpellsAt(sentence, i, "i mean") ||
                  SpellsAt(sentence, i, "let me recompute") || SpellsAt(sentence, i, "let me reconsider") ||
                  SpellsAt(sentence, i, "let me redo") || SpellsAt(sentence, i, "let me recalculate") ||
                  SpellsAt(sentence, i, "hold on");
    if (second) {
      strong = true;
      ++words;
      i += word == "hold" ? 1 : word == "i" ? 1 : 2;
      continue;
    }
    if (!Among(word, kOpeners)) break;
    // "No other value works" goes on as a sentence.
    bool alone = i + 1 < sentence.size() &&
                 (sentence[i + 1].kind != PieceKind::kWord || Among(sentence[i + 1].word, kOpeners));
    if (word == "no" && !alone) break;
    strong = strong || (word != "but" && word != "however" && word != "well" && word != "rather" &&
                        word != "hmm" && word != "oh");
    ++words;
  }
  return strong ? std::max<size_t>(words, 1) : 0;
}

}  // namespace sluice::math
