#include "reward/math/extract/claimless.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr string_view kOperations[] = {
    "add",       "analyze",    "apply",  "begin",    "calculate", "check",     "compare",    "compute",
    "consider",  "convert",    "count",  "decide",   "derive",    "determine", "divide",     "estimate",
    "evaluate",  "examine",    "expand", "express",  "factor",    "figure",    "find",       "identify",
    "integrate", "know",       "look",   "minimize", "maximize",  "multiply",  "note",       "recall",
    "reduce",    "round",      "see",    "set",      "show",      "simplify",  "solve",      "start",
    "subtract",  "substitute", "sum",    "test",     "think",     "try",       "understand", "use",
    "verify",    "work",       "write"};
constexpr string_view kHeads[] = {"can",  "going", "gonna", "have", "i'll",  "let's",   "me",     "must",
                                  "need", "needs", "next",  "now",  "plan",  "remains", "should", "shall",
                                  "to",   "try",   "us",    "want", "we'll", "will"};
constexpr string_view kOutcomes[] = {"are",   "equals",   "get",    "gets",      "getting",  "give",
                                     "gives", "giving",   "hence",  "is",        "leaves",   "leaving",
                                     "makes", "making",   "obtain", "obtaining", "so",       "therefore",
                                     "thus",  "totaling", "totals", "yield",     "yielding", "yields"};
constexpr string_view kSaying[] = {
    "argue", "argued",  "argues",  "believe", "believed", "believes", "claim",   "claimed",   "claims",
    "guess", "guessed", "guesses", "insist",  "insisted", "insists",  "report",  "reported",  "reports",
    "said",  "say",     "says",    "state",   "stated",   "states",   "suggest", "suggested", "suggests",
    "think", "thinks",  "thought", "told",    "tells",    "wrote",    "writes"};
constexpr string_view kSources[] = {"chatgpt", "forum",     "google",   "internet", "key",
                                    "manual",  "reference", "textbook", "website",  "wikipedia"};
constexpr string_view kOwn[] = {"calculation", "formula", "i",    "it", "lemma", "rule",
                                "that",        "theorem", "this", "we", "which", "work"};
constexpr string_view kStating[] = {
    "always",  "amounts", "as",      "becomes", "comes",  "computes",   "does",   "equals", "evaluates",
    "follows", "gives",   "has",     "his",     "is",     "its",        "makes",  "minus",  "ours",
    "plus",    "reads",   "reduces", "remains", "rounds", "simplifies", "stands", "this",   "thus",
    "totals",  "turns",   "us",      "was",     "works",  "yields"};
constexpr string_view kOpenEnds[] = {
    "a",    "an",  "and",   "are",  "as",   "at",  "because", "but", "by",   "for",   "from",  "gives", "has",
    "have", "if",  "in",    "into", "is",   "its", "must",    "of",  "on",   "or",    "our",   "since", "so",
    "that", "the", "their", "then", "thus", "to",  "was",     "we",  "were", "where", "which", "with"};
constexpr string_view kPartings[] = {"cheers", "checked", "correct", "done",  "end",    "hope",
                                     "ok",     "okay",    "qed",     "right", "thanks", "verified"};
// They open what is said to the reader once the work is done.
constexpr string_view kFarewells[] = {"feel free",         "good luck",           "happy to",
                                      "have a good",       "have a great",        "have a nice",
                                      "hope that",         "hope this",           "hope it",
                                      "i can also",        "i could also",        "i hope",
                                      "i'd be happy",      "i'm happy",           "if you have any",
                                      "if you have more",  "if you have further", "if you need any",
                                      "if you need more",  "if you want me",      "if you'd like",
                                      "if you would like", "let me know",         "thank you",
                                      "thanks for",        "would you like"};
constexpr string_view kOfNothing[] = {"integer", "positive", "rational", "real", "such", "valid"};
constexpr string_view kProperties[] = {"also", "close",    "composite", "divisible", "even", "negative",
                                       "odd",  "positive", "prime",     "tempting",  "too"};
constexpr string_view kOfAnswers[] = {"answer", "best",     "correct", "one",     "only",    "result",
                                      "right",  "solution", "valid",   "maximum", "minimum", "total"};

template <size_t n>
bool Among(string_view word, const string_view (&words)[n]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

size_t FirstWord(TextPieces pieces) {
  size_t i = 0;
  while (i < pieces.size() && pieces[i].kind != PieceKind::kWord) ++i;
  return i;
}

bool HasAnswerWord(TextPieces pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [](const TextPiece& piece) { return Among(piece.word, kOfAnswers); });
}

// Where behind `i` a sentence tells what its work comes to.
bool HasOutcome(TextPieces sentence, size_t i) {
  for (; i < sentence.size(); ++i) {
    if (sentence[i].kind == PieceKind::kWord && Among(sentence[i].word, kOutcomes)) return true;
    if (sentence[i].kind == PieceKind::kBreak && i > 0 && !sentence[i].bracket && i + 1 < sentence.size() &&
        sentence[i + 1].kind == PieceKind::kValue)
      return true;
    bool equation = sentence[i].kind != PieceKind::kWord && sentence[i].kind != PieceKind::kStop &&
                    absl::StrContains(sentence[i].text, "=") &&
                    !(i > 0 && (sentence[i - 1].word == "whether" || sentence[i - 1].word == "if"));
    if (equation) return true;
  }
  return false;
}

// An order as the headed line of a plan gives it: "Step 3: Simplify ...".
bool IsOrder(TextPieces sentence, size_t* at) {
  size_t i = FirstWord(sentence);
  if (IsWord(sentence, i) && IsLabel(sentence[i].word)) {
    while (i < sentence.size() && sentence[i].kind != PieceKind::kBreak) ++i;
    while (i < sentence.size() && sentence[i].kind != PieceKind::kWord) ++i;
  }
  static constexpr string_view kBefore[] = {"first", "second", "next", "then", "now", "finally", "please"};
  while (i < sentence.size() && (sentence[i].kind == PieceKind::kComma || Among(sentence[i].word, kBefore)))
    ++i;
  *at = i;
  return IsWord(sentence, i) && Among(sentence[i].word, kOperations);
}

}  // namespace

bool OpensPlan(TextPieces sentence) {
  size_t i = FirstWord(sentence);
  return IsWord(sentence, i) && sentence[i].word == "plan" && i + 1 < sentence.size() &&
         sentence[i + 1].kind != PieceKind::kWord;
}

bool Plans(TextPieces sentence) {
  size_t order = 0;
  if (IsOrder(sentence, &order)) return !HasOutcome(sentence, order + 1);
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (!IsWord(sentence, i)) continue;
    string_view word = sentence[i].word, next = sentence[i + 1].word;
    bool starts = (word == "start" || word == "begin") && (next == "from" || next == "with" || next == "by");
    bool we = i > 0 && sentence[i - 1].word == "we";
    bool now_we =
        word == "now" && next == "we" && i + 2 < sentence.size() && Among(sentence[i + 2].word, kOperations);
    if (now_we) return !HasOutcome(sentence, i + 3);
    bool headed = Among(word, kHeads) && Among(next, kOperations) && !(word == "me" && next == "know");
    // "He needs to find 9 more" is what he needs.
    bool solver = we || std::any_of(sentence.begin(), sentence.begin() + static_cast<ptrdiff_t>(i) + 1,
                                    [](const TextPiece& p) {
                                      return p.word == "we" || p.word == "i" || p.word == "let's" ||
                                             p.word == "let" || p.word == "step" || p.word == "goal" ||
                                             p.word == "task" || p.word == "i'll" || p.word == "we'll" ||
                                             p.word == "remains" || p.word == "plan" || p.word == "idea" ||
                                             p.word == "next";
                                    });
    bool purpose = word == "to" && i == FirstWord(sentence);
    if (starts || (headed && solver)) return !HasOutcome(sentence, i + 2);
    if (headed && purpose) {
      bool ordered = false;
      for (size_t k = i + 2; k + 1 < sentence.size(); ++k) {
        bool clause = sentence[k].kind == PieceKind::kComma || sentence[k].word == "we";
        ordered = ordered || (clause && Among(sentence[k + 1].word, kOperations));
      }
      if (ordered) return !HasOutcome(sentence, i + 2);
    }
  }
  return false;
}

bool IsAttributed(TextPieces sentence) {
  bool source = false, agrees = false, said = false;
  string_view subject;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (!IsWord(sentence, i)) continue;
    string_view word = sentence[i].word;
    if (word == "agree" && i > 0 && (sentence[i - 1].word == "i" || sentence[i - 1].word == "we"))
      agrees = true;
    if (SpellsAt(sentence, i, "according to")) said = true;
    if (Among(word, kSaying) && !subject.empty() && !Among(subject, kOwn)) said = true;
    if (source && (word == "gets" || word == "gives" || word == "got" || word == "gave" || word == "has" ||
                   word == "lists" || word == "shows" || word == "is" || word == "was")) {
      said = true;
    }
    source = source || Among(word, kSources);
    // "Some say 9, but it is 8."
    bool returns =
        word == "but" && std::any_of(sentence.begin() + static_cast<ptrdiff_t>(i), sentence.end(),
                                     [](const TextPiece& p) { return p.kind == PieceKind::kValue; });
    if (returns) said = source = false;
    if (!absl::EndsWith(word, "ly")) subject = word;
  }
  return said && !agrees;
}

bool DescribesAnswer(TextPieces sentence) {
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (sentence[i].word != "answer" && sentence[i].word != "solution") continue;
    if (!IsWord(sentence, i + 1)) continue;
    string_view verb = sentence[i + 1].word;
    if (verb == "may" || verb == "might" || verb == "could") return true;
    bool finite =
        verb.size() > 3 && verb.back() == 's' && verb[verb.size() - 2] != 's' && !Among(verb, kStating);
    if (finite) return true;
  }
  return false;
}

bool IsBrokenOff(TextPieces sentence) {
  if (sentence.empty() || sentence.back().kind == PieceKind::kStop) return false;
  if (!IsWord(sentence, sentence.size() - 1)) return false;
  bool inverted = sentence.size() > 1 && sentence[sentence.size() - 2].word == "it";  // "72 it is"
  if (Among(sentence.back().word, kOpenEnds)) return !inverted;
  bool value = std::any_of(sentence.begin(), sentence.end(),
                           [](const TextPiece& piece) { return piece.kind == PieceKind::kValue; });
  return !value && !Among(sentence[FirstWord(sentence)].word, kPartings);
}

bool IsFarewell(TextPieces sentence) {
  size_t i = FirstWord(sentence);
  if (SpellsAt(sentence, i, "please")) ++i;
  return std::any_of(std::begin(kFarewells), std::end(kFarewells),
                     [&](string_view phrase) { return SpellsAt(sentence, i, phrase); });
}

bool IsAssurance(TextPieces sentence) {
  bool sure = false, any = false;
  for (const TextPiece& piece : sentence) {
    sure = sure || piece.word == "sure" || piece.word == "certain" || piece.word == "confident" ||
           piece.word == "confidence" || piece.word == "certainty";
    if (piece.kind != PieceKind::kValue) continue;
    if (!absl::EndsWith(piece.text, "%")) return false;
    any = true;
  }
  return sure && any;
}

bool IsPossibility(TextPieces sentence) {
  for (size_t i = 0; i + 2 < sentence.size(); ++i) {
    string_view modal = sentence[i].word;
    if (modal != "could" && modal != "might" && modal != "may") continue;
    size_t be = i + (sentence[i + 1].word == "also" || sentence[i + 1].word == "well" ? 2 : 1);
    if (be + 1 < sentence.size() && sentence[be].word == "be" &&
        (IsValue(sentence, be + 1) || sentence[be + 1].word == "either"))
      return true;
  }
  return false;
}

bool DistinguishesCases(TextPieces sentence) {
  int conditions = 0, values = 0;
  for (const TextPiece& piece : sentence) {
    conditions += piece.word == "if" || piece.word == "otherwise" || piece.word == "else";
    values += piece.kind == PieceKind::kValue;
  }
  return conditions > 1 && values > 1;
}

bool OpensCase(TextPieces sentence) {
  const size_t i = FirstWord(sentence);
  static constexpr string_view kCases[] = {"else", "if", "otherwise", "when"};
  return IsWord(sentence, i) && Among(sentence[i].word, kCases);
}

bool FindsNothing(TextPieces sentence) {
  if (HasValue(sentence)) return false;
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (sentence[i].word != "no") continue;
    size_t noun = i + 1;
    while (noun < sentence.size() && Among(sentence[noun].word, kOfNothing)) ++noun;
    string_view word = noun < sentence.size() ? string_view(sentence[noun].word) : string_view();
    if (word == "solution" || word == "solutions" || word == "root" || word == "roots") return true;
  }
  return false;
}

bool IsRemarkedOn(TextPieces rest) {
  if (!IsWord(rest, 0)) return false;
  string_view verb = rest[0].word;
  size_t i = 1;
  if (verb == "would" || verb == "could" || verb == "might") {
    if (i >= rest.size() || rest[i].word != "be") return true;  // "20 would count every pair twice"
    ++i;
  } else if (verb != "is" && verb != "was" && verb != "seems" && verb != "looks" && verb != "are") {
    return false;
  }
  if (!IsWord(rest, i) || HasAnswerWord(rest.subspan(i, std::min<size_t>(6, rest.size() - i)))) return false;
  return Among(rest[i].word, kProperties) || rest[i].word == "a" || rest[i].word == "an";
}

bool ClaimsNothing(TextPieces sentence) {
  if (sentence.back().question || Plans(sentence) || IsAttributed(sentence) || DescribesAnswer(sentence) ||
      IsAssurance(sentence))
    return true;
  size_t i = 0;
  while (i < sentence.size() && sentence[i].kind != PieceKind::kWord) ++i;
  return i < sentence.size() && sentence[i].word != "if" && Supposes(sentence[i].word);
}

}  // namespace sluice::math
