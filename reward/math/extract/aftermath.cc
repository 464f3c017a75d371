#include "reward/math/extract/aftermath.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/math/extract/claim.h"
#include "reward/math/extract/claimless.h"
#include "reward/math/extract/lexicon.h"
#include "reward/math/extract/stance.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;
using lexicon::Among;

constexpr size_t kMaxDenied = 120;          // bytes behind an answer that are looked at for a denial
constexpr size_t kMaxAftermath = 16 << 10;  // bytes behind an answer that are looked at

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

// "Hence the equation has no solution": no value, and of no other case.
bool FindsNone(TextPieces sentence, string_view answer) {
  return IsOfAnswer(sentence, answer) && !NothingIn(sentence).empty() &&
         std::any_of(sentence.begin(), sentence.end(), [](const TextPiece& p) { return p.word == "no"; });
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
std::optional<Conclusion> AlternativeIn(TextPieces pieces) {
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

bool StandBeside(string_view between) {
  constexpr size_t kMaxBetween = 160, kMaxWords = 3;
  if (between.size() > kMaxBetween) return false;
  const std::vector<TextPiece> pieces = PiecesOf(between.substr(Closers(between)), Asked::kValue);
  size_t words = 0;
  bool cases = false, value = false, supersedes = false;
  for (TextPieces sentence : SentencesOf(pieces)) {
    if (CorrectionOpening(sentence) > 0 || Withdraws(sentence, "") > 0) return false;
    cases = (cases || OpensCase(sentence)) && !OpensConclusion(sentence);
    for (size_t i = 0; i < sentence.size(); ++i) {
      const TextPiece& piece = sentence[i];
      const bool numbered = i > 0 && IsWord(sentence, i - 1) && IsValue(sentence, i) && !piece.formula &&
                            (sentence[i - 1].word == "answer" || IsLabel(sentence[i - 1].word));
      cases = cases || (numbered && sentence[i - 1].word == "answer") || piece.word == "or" ||
              piece.word == "otherwise" || piece.word == "without";
      value = value || (IsValue(sentence, i) && !numbered);
      supersedes = supersedes || (Among(piece.word, lexicon::kSuperseding) && !IsValue(sentence, i + 1));
      words += piece.kind == PieceKind::kWord;
    }
  }
  return cases || (!value && !supersedes && words <= kMaxWords);
}

bool DeniesAnswer(string_view behind) {
  behind = behind.substr(0, std::min(kMaxDenied, behind.find('\n')));
  const std::vector<TextPiece> pieces = PiecesOf(behind.substr(Closers(behind)), Asked::kValue);
  return DeniesBefore(pieces) || IsProvisional(pieces);
}

Aftermath AftermathOf(string_view behind, Asked asked, string_view answer) {
  Aftermath out;
  behind = behind.substr(0, kMaxAftermath);
  const size_t skipped = Closers(behind);
  const string_view text = behind.substr(skipped);
  const std::vector<TextPiece> pieces = PiecesOf(text, asked);
  auto other = AlternativeIn(pieces);
  if (!other) other = Otherwise(text, pieces);
  if (other) {
    out.standing = Standing::kHasAlternative;
    out.other = *std::move(other);
    return out;
  }
  const bool one = answer.find(',') == string_view::npos && !absl::StrContains(answer, " or ");
  bool opened = false;  // by a sentence of its own: "Oops!"
  const std::vector<TextPieces> sentences = SentencesOf(pieces);
  for (TextPieces sentence : sentences) {
    if (size_t taken = Withdraws(sentence, answer)) return Withdrawn(sentence, taken, text.size(), skipped);
    const std::vector<Claim> claims =
        OpensConclusion(sentence) ? ClaimsOf(text, sentence, asked) : std::vector<Claim>();
    const bool denies = std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
      return claim.denied && sentence[claim.first].text == answer;  // "So it is not 16 but 25"
    });
    if (denies || FindsNone(sentence, answer)) {
      out.standing = Standing::kWithdrawn;
      out.restated_at = skipped + sentence.front().begin;
      return out;
    }
    if (one && LeavesOpen(sentence)) return Withdrawn(sentence, sentence.size(), text.size(), skipped);
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
  out.reopened =
      out.standing == Standing::kReplaced && (IsBrokenOff(sentences.back()) || Plans(sentences.back()));
  return out;
}

}  // namespace sluice::math
