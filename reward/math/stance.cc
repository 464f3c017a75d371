#include "reward/math/stance.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace sluice::math {
namespace {

using absl::string_view;

// All sorted.
constexpr string_view kDenying[] = {"ain't",     "avoid",      "barely",    "cannot",  "discard",
                                    "discarded", "discarding", "doubt",     "exclude", "excluding",
                                    "hardly",    "neither",    "never",     "nor",     "not",
                                    "reject",    "rejected",   "rejecting", "unlike",  "unlikely"};
constexpr string_view kAdjuncts[] = {"across",  "after",  "against", "among",  "at",      "before", "besides",
                                     "between", "by",     "despite", "during", "each",    "every",  "except",
                                     "for",     "from",   "in",      "into",   "of",      "off",    "on",
                                     "out",     "per",    "than",    "their",  "through", "until",  "upon",
                                     "using",   "versus", "via",     "with",   "within",  "without"};
constexpr string_view kClauses[] = {
    "although", "as",   "assuming", "because", "given",   "if",    "provided", "providing", "since", "though",
    "unless",   "when", "whenever", "where",   "whereas", "which", "while",    "who",       "whose"};
constexpr string_view kVerbs[] = {
    "are",   "be",     "become",  "becomes", "been",     "contain", "contains", "cost",    "costs",
    "equal", "equals", "earn",    "earns",   "find",     "finds",   "get",      "gets",    "gives",
    "give",  "had",    "has",     "have",    "hold",     "holds",   "is",       "leaves",  "leaving",
    "made",  "make",   "makes",   "means",   "need",     "needs",   "obtain",   "obtains", "pay",
    "pays",  "remain", "remains", "require", "requires", "spend",   "spends",   "take",    "takes",
    "total", "totals", "was",     "were",    "yield",    "yields"};
constexpr string_view kResults[] = {"altogether", "but",     "consequently", "hence",  "it's",
                                    "only",       "so",      "that",         "that's", "then",
                                    "therefore",  "there's", "thus",         "total",  "totaling"};
constexpr string_view kLabels[] = {"appendix", "case",   "chapter", "eq",    "equation", "example",
                                   "exercise", "figure", "formula", "lemma", "method",   "no",
                                   "option",   "page",   "part",    "phase", "problem",  "question",
                                   "section",  "step",   "steps",   "stage", "table",    "theorem"};
constexpr string_view kBadPredicates[] = {"disqualified", "excluded",  "extraneous",   "fail",
                                          "failed",       "fails",     "false",        "impossible",
                                          "inadmissible", "incorrect", "invalid",      "mistaken",
                                          "nonsense",     "rejected",  "unacceptable", "wrong"};
constexpr string_view kGoodPredicates[] = {"acceptable", "admissible", "allowed", "answer",   "appropriate",
                                           "correct",    "good",       "it",      "possible", "quite",
                                           "right",      "solution",   "valid",   "work"};
constexpr string_view kAffirmations[] = {
    "checks",   "confirmed", "confirming", "confirms", "consistent", "correct", "desired",   "equivalent",
    "expected", "fine",      "good",       "great",    "holds",      "indeed",  "match",     "matches",
    "ok",       "okay",      "perfect",    "required", "right",      "same",    "satisfied", "satisfies",
    "stands",   "true",      "verified",   "verifies", "works",      "yes"};
constexpr string_view kOpeners[] = {
    "actually", "ah",   "alas", "apologies", "but",    "correction", "hmm",  "hmmm", "hold",  "however",
    "no",       "nope", "oh",   "oops",      "rather", "sorry",      "wait", "well", "whoops"};
constexpr string_view kChecks[] = {"check",        "checking",     "double-check", "explanation",
                                   "note",         "proof",        "reasoning",    "remark",
                                   "substituting", "verification", "verify",       "verifying"};
constexpr string_view kConclusions[] = {"answer", "consequently", "finally", "hence",
                                        "so",     "therefore",    "thus"};

template <size_t n>
bool Among(string_view word, const string_view (&words)[n]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

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

// From `i` on: "is wrong", "isn't right", "can't be the correct answer", "does not work", "fails".
bool IsBadPredicate(TextPieces pieces, size_t i) {
  bool negated = false;
  for (int words = 0; words < 7 && i < pieces.size(); ++words, ++i) {
    if (pieces[i].kind != PieceKind::kWord) {
      return negated && words > 1 && pieces[i].kind == PieceKind::kStop;  // "does not."
    }
    string_view word = pieces[i].word;
    if (Among(word, kBadPredicates) || word == "mistake" || word == "error") return !negated;
    if (negated && Among(word, kGoodPredicates)) return true;
    if (IsNegated(word)) {
      if (negated) return false;
      negated = true;
      continue;
    }
    static constexpr string_view kVerbsHere[] = {
        "is",  "was",  "are",   "were",  "be", "can", "could",  "must",  "would", "does",   "do",   "did",
        "has", "have", "seems", "looks", "to", "we",  "sounds", "feels", "value", "number", "will", "should"};
    if (!Among(word, kVerbsHere) && !IsAdverb(word)) return false;
  }
  return negated && i == pieces.size();
}

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
  for (string_view word : absl::StrSplit(phrase, ' ')) {
    if (i >= pieces.size() || pieces[i].word != word) return false;
    ++i;
  }
  return true;
}

bool IsLabel(string_view word) { return Among(word, kLabels); }

bool Supposes(string_view word) {
  return word == "suppose" || word == "assume" || word == "assuming" || word == "if" || word == "supposing" ||
         word == "imagine" || word == "say";
}

bool OpensCheck(TextPieces sentence) {
  size_t i = NextWord(sentence, 0);
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

bool Withdraws(TextPieces sentence) {
  for (string_view phrase :
       {"scratch that", "strike that", "ignore that", "never mind", "disregard that", "made a mistake",
        "made an error", "i was wrong", "i miscounted", "i miscalculated", "i misread",
        "made a calculation error", "made an arithmetic error"}) {
    for (size_t i = 0; i < std::min<size_t>(sentence.size(), 12); ++i) {
      if (SpellsAt(sentence, i, phrase)) return true;
    }
  }
  size_t i = NextWord(sentence, 0);
  bool subject = false;
  for (int words = 0; words < 8 && i < sentence.size(); ++words, ++i) {
    if (sentence[i].kind == PieceKind::kComma || sentence[i].kind == PieceKind::kBreak) continue;
    if (sentence[i].kind != PieceKind::kWord) return false;
    string_view word = sentence[i].word;
    if (word == "that's" || word == "it's" || word == "this") {
      subject = true;
      continue;
    }
    if (word == "that" || word == "it" || word == "which" || word == "my" || word == "above" ||
        word == "previous" || word == "answer" || word == "something") {
      subject = true;
      continue;
    }
    if (subject) return IsBadPredicate(sentence, i);
    static constexpr string_view kBefore[] = {"and", "i",       "think", "the", "is",
                                              "see", "realize", "yet",   "so"};
    if (!Among(word, kOpeners) && !Among(word, kBefore)) return false;
  }
  return false;
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
