#include "reward/math/extract/claimless.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "reward/math/extract/lexicon.h"

namespace sluice::math {
namespace {

using absl::string_view;
using namespace lexicon;  // NOLINT: its words

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
  bool solver = false;  // "He needs to find 9 more" is what he needs
  for (size_t i = 0; i + 1 < sentence.size(); ++i) {
    if (!IsWord(sentence, i)) continue;
    string_view word = sentence[i].word, next = sentence[i + 1].word;
    solver = solver || Among(word, kSolvers);
    bool starts = (word == "start" || word == "begin") && (next == "from" || next == "with" || next == "by");
    bool now_we =
        word == "now" && next == "we" && i + 2 < sentence.size() && Among(sentence[i + 2].word, kOperations);
    const bool want = word == "we" && next == "want" && i == FirstWord(sentence) && !HasValue(sentence);
    if (want) return true;
    if (now_we) return !HasOutcome(sentence, i + 3);
    bool headed = Among(word, kHeads) && Among(next, kOperations) && !(word == "me" && next == "know");
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
    const bool modal = word == "might" || word == "may" || word == "would" || word == "could";
    const bool remark = word == "write" && HasValue(sentence.first(i));  // "as one might write"
    if (Among(word, kSaying) && !remark && !subject.empty() && !Among(subject, kOwn)) said = true;
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
    if (!modal && !absl::EndsWith(word, "ly")) subject = word;
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
  int conditions = 0, readings = 0, values = 0;
  for (const TextPiece& piece : sentence) {
    conditions += piece.word == "if" || piece.word == "otherwise" || piece.word == "else" ||
                  piece.word == "assuming" || piece.word == "under";
    readings += Among(piece.word, kReadings);
    values += piece.kind == PieceKind::kValue;
  }
  const bool joined = std::any_of(sentence.begin(), sentence.end(), [](const TextPiece& p) {
    return p.word == "total" || p.word == "altogether" || TurnOf(p.word) == Turn::kResult;
  });
  return values > 1 && (conditions > 1 || (readings > 1 && !joined));
}

bool OpensCase(TextPieces sentence) {
  size_t i = FirstWord(sentence);
  if (IsWord(sentence, i) && Among(sentence[i].word, kCases)) return true;
  for (size_t words = 0; words < 4 && IsWord(sentence, i); ++words, ++i) {
    if (Among(sentence[i].word, kReadings)) return true;
  }
  return false;
}

bool Refuses(TextPieces sentence) {
  bool refuses = false;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (!IsWord(sentence, i)) continue;
    refuses = refuses || std::any_of(std::begin(kRefusals), std::end(kRefusals),
                                     [&](string_view phrase) { return SpellsAt(sentence, i, phrase); });
    // "We don't know x, but 2x is 8."
    const bool returns =
        sentence[i].word == "but" || sentence[i].word == "however" || sentence[i].word == "so";
    if (refuses && returns && HasValue(sentence.subspan(i))) return false;
  }
  return refuses;
}

TextPieces NothingIn(TextPieces sentence) {
  TextPieces last;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (!IsWord(sentence, i)) continue;
    size_t end = 0;
    for (string_view phrase : kNothings) {
      if (SpellsAt(sentence, i, phrase))
        end = std::max(end, i + 1 + static_cast<size_t>(std::count(phrase.begin(), phrase.end(), ' ')));
    }
    if (end == 0 && sentence[i].word == "no") {
      size_t noun = i + 1;
      while (IsWord(sentence, noun) && Among(sentence[noun].word, kOfNothing)) ++noun;
      static constexpr string_view kNouns[] = {"root", "roots", "solution", "solutions"};
      if (IsWord(sentence, noun) && Among(sentence[noun].word, kNouns)) end = noun + 1;
    }
    if (end == 0) continue;
    bool goes_on = false;  // with another clause, or an exception
    for (size_t k = end; k < sentence.size(); ++k) {
      const TextPiece& piece = sentence[k];
      goes_on = goes_on || piece.kind == PieceKind::kComma || piece.kind == PieceKind::kBreak ||
                (piece.kind == PieceKind::kWord &&
                 (TurnOf(piece.word) == Turn::kResult || Among(piece.word, kExcepting)));
      if (goes_on && piece.kind == PieceKind::kValue) return {};
    }
    last = sentence.subspan(i, end - i);
  }
  return last;
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

// "We know there are 12 students.", "Recall that 7 is prime.", "I'm sorry, 30 a day": up to what follows from
// it.
static bool IsGivenOrOwn(TextPieces sentence) {
  const bool follows = std::any_of(sentence.begin(), sentence.end(), [](const TextPiece& p) {
    return Among(p.word, kConclusions) || (Among(p.word, kOutcomes) && p.word != "is" && p.word != "are");
  });
  const bool equation = std::any_of(sentence.begin(), sentence.end(),
                                    [](const TextPiece& p) { return absl::StrContains(p.text, "="); });
  if (follows) return false;
  const size_t i = FirstWord(sentence);
  return std::any_of(std::begin(kGivens), std::end(kGivens),
                     [&](string_view phrase) { return SpellsAt(sentence, i, phrase); }) ||
         (!equation && std::any_of(std::begin(kOfWriter), std::end(kOfWriter),
                                   [&](string_view phrase) { return SpellsAt(sentence, i, phrase); }));
}

// "Thanks for the 2 questions!"
static bool IsAside(TextPieces sentence) {
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (!IsWord(sentence, i) || OpensConclusion(sentence)) continue;
    for (string_view phrase : kAsides) {
      if (SpellsAt(sentence, i, phrase)) return true;
    }
  }
  return false;
}

bool ClaimsNothing(TextPieces sentence) {
  if (sentence.back().question || IsAside(sentence) || IsGivenOrOwn(sentence) || Plans(sentence) ||
      IsAttributed(sentence) || DescribesAnswer(sentence) || IsAssurance(sentence))
    return true;
  size_t i = 0;
  while (i < sentence.size() && sentence[i].kind != PieceKind::kWord) ++i;
  if (i == sentence.size()) return false;
  const string_view next = i + 1 < sentence.size() ? string_view(sentence[i + 1].word) : string_view();
  const bool follows = std::any_of(sentence.begin(), sentence.end(),
                                   [](const TextPiece& p) { return TurnOf(p.word) == Turn::kResult; });
  if (sentence[i].word == "let" && next != "me" && next != "us" && !follows) return true;
  if (sentence[i].word == "let's" && !follows && !HasOutcome(sentence, i)) return true;
  return sentence[i].word != "if" && Supposes(sentence[i].word);
}

}  // namespace sluice::math
