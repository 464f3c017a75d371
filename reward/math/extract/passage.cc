#include "reward/math/extract/passage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "reward/math/extract/prose.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr string_view kApostrophe = "\xE2\x80\x99";

struct Delimiters {
  string_view open, close;
};
constexpr Delimiters kDelimiters[] = {{"$$", "$$"}, {"\\[", "\\]"}, {"\\(", "\\)"}, {"$", "$"}};

bool IsNumberInWords(string_view word) {
  bool any = false;
  for (string_view part : absl::StrSplit(word, '-')) {
    bool number = NumberWordValue(part) || ScaleWordValue(part) || DenominatorWordValue(part);
    if (!number) return false;
    any = any || NumberWordValue(part);
  }
  return any;
}

class Cutter {
 public:
  Cutter(string_view text, Asked asked) : text_(text), asked_(asked) {}

  std::vector<TextPiece> Run() {
    while (at_ < text_.size()) Next();
    JoinLines();
    JoinFunctions();
    JoinOperators();
    JoinNumberWords();
    JoinMeasures();
    return std::move(out_);
  }

 private:
  void Add(PieceKind kind, size_t begin, size_t end) {
    TextPiece piece;
    piece.kind = kind;
    piece.begin = begin;
    piece.end = end;
    piece.text = text_.substr(begin, end - begin);
    piece.bold = begin > 1 && (text_[begin - 1] == '*' || text_[begin - 1] == '_') &&
                 text_[begin - 2] == text_[begin - 1];
    out_.push_back(std::move(piece));
  }

  void Mark(PieceKind kind, size_t bytes) {
    Add(kind, at_, at_ + bytes);
    at_ += bytes;
  }

  void Next() {
    char c = text_[at_];
    if (c == '\n') return Mark(PieceKind::kStop, 1);
    if (IsBlank(c)) {
      ++at_;
      return;
    }
    if ((c == '$' || c == '\\') && Formula()) return;
    if (IsLetter(c) && Word()) return;
    if (c == '(' && NamedTuple()) return;
    bool times =
        c == '*' && at_ > 0 && IsBlank(text_[at_ - 1]) && text_[at_ - 1] != '\n' && At(text_, at_ + 1) == ' ';
    if (times) return Mark(PieceKind::kOperator, 1);
    if (c == ',') return Mark(PieceKind::kComma, 1);
    if (c == ';' || c == ':' || c == '|') return Mark(PieceKind::kBreak, 1);
    if (c == '.' || c == '!' || c == '?') return Stop();
    if (static_cast<unsigned char>(c) >= 0x80 && Wide()) return;
    Run(RunEnd());
  }

  void Stop() {
    size_t end = at_;
    while (At(text_, end) == '.' || At(text_, end) == '!' || At(text_, end) == '?') ++end;
    bool question = text_.substr(at_, end - at_).find('?') != string_view::npos;
    if (end - at_ == 1 && IsDigit(At(text_, end)) && text_[at_] == '.') return Run(RunEnd());  // ".5"
    Mark(PieceKind::kStop, end - at_);
    out_.back().question = question;
  }

  // Punctuation of other scripts.
  bool Wide() {
    string_view rest = text_.substr(at_);
    if (absl::StartsWith(rest, "\xE2\x89\x88")) {
      Mark(PieceKind::kWord, 3);
      out_.back().word = "approximately";
      return true;
    }
    static constexpr std::pair<string_view, string_view> kJoints[] = {{"\xE6\x88\x96", "or"},
                                                                      {"\xE5\x92\x8C", "and"},
                                                                      {"\xD0\xB8\xD0\xBB\xD0\xB8", "or"},
                                                                      {"\xD0\xB8 ", "and"}};
    for (const auto& [sign, word] : kJoints) {
      if (!absl::StartsWith(rest, sign)) continue;
      Mark(PieceKind::kWord, sign.size());
      out_.back().word = std::string(word);
      return true;
    }
    static constexpr std::pair<string_view, PieceKind> kSigns[] = {
        {"\xE3\x80\x82", PieceKind::kStop},     {"\xEF\xBC\x8C", PieceKind::kComma},
        {"\xEF\xBC\x9A", PieceKind::kBreak},    {"\xEF\xBC\x9B", PieceKind::kBreak},
        {"\xE2\x80\x94", PieceKind::kBreak},    {"\xE3\x80\x81", PieceKind::kComma},
        {"\xEF\xBC\x9F", PieceKind::kStop},     {"\xE2\x86\x92", PieceKind::kBreak},
        {"\xE2\x87\x92", PieceKind::kBreak},    {"\xE2\x89\xA4", PieceKind::kOperator},
        {"\xE2\x89\xA5", PieceKind::kOperator}, {"\xE2\x89\xA0", PieceKind::kOperator}};
    for (const auto& [sign, kind] : kSigns) {
      if (!absl::StartsWith(rest, sign)) continue;
      Mark(kind, sign.size());
      return true;
    }
    return false;
  }

  bool Formula() {
    for (size_t i = 0; i < std::size(kDelimiters); ++i) {
      const Delimiters& pair = kDelimiters[i];
      if (unclosed_[i] || !absl::StartsWith(text_.substr(at_), pair.open)) continue;
      size_t begin = at_ + pair.open.size(), close = text_.find(pair.close, begin);
      unclosed_[i] = close == string_view::npos;
      if (unclosed_[i] || (pair.open == "$" && !IsFormula(text_, at_, close))) continue;
      Add(PieceKind::kValue, begin, close);
      out_.back().formula = true;
      out_.back().begin = at_;
      at_ = out_.back().end = close + pair.close.size();
      if (out_.back().text.empty() || IsEndOfProof(out_.back().text)) {
        out_.pop_back();
      } else if (asked_ == Asked::kChoice) {
        ChoiceInFormula(out_.back());
      }
      return true;
    }
    return false;
  }

  static bool IsEndOfProof(string_view formula) {
    formula = absl::StripAsciiWhitespace(formula);
    for (string_view sign : {"\\blacksquare", "\\square", "\\Box", "\\qed", "\\qedsymbol", "\\text{QED}"}) {
      if (formula == sign) return true;
    }
    return false;
  }

  // "\textbf{(D)}\ 36" is D; a formula without a letter in front is no value among choices.
  static void ChoiceInFormula(TextPiece& piece) {
    string_view text = piece.text;
    for (string_view font : {"\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{"})
      absl::ConsumePrefix(&text, font);
    absl::ConsumePrefix(&text, "(");
    bool letter = IsChoice(text.substr(0, 1)) && (text.size() == 1 || absl::StrContains(")}.:", text[1]));
    piece.kind = letter ? PieceKind::kValue : PieceKind::kOperator;
    piece.formula = false;
    piece.text = letter ? text.substr(0, 1) : string_view("$");
  }

  // A word of letters, with apostrophes and hyphens; false where a formula begins with them: "x^2", "f(x)".
  bool Word() {
    size_t end = at_;
    for (string_view abbreviation : {"i.e.", "e.g."}) {
      if (!absl::StartsWith(text_.substr(at_), abbreviation)) continue;
      Mark(PieceKind::kWord, abbreviation.size());
      out_.back().word = std::string(abbreviation);
      return true;
    }
    for (;;) {
      if (IsLetter(At(text_, end))) {
        ++end;
      } else if (At(text_, end) == '\'' && IsLetter(At(text_, end + 1))) {
        ++end;
      } else if (absl::StartsWith(text_.substr(end), kApostrophe)) {
        end += kApostrophe.size();
      } else if (end > at_ + 1 && At(text_, end) == '-' && IsLetter(At(text_, end + 1))) {
        ++end;
      } else {
        break;
      }
    }
    char next = At(text_, end);
    bool term = IsDigit(next) ||
                (next != '\0' && absl::StrContains("^_{([\\=<>/+", next) && !(next == '_' && end - at_ > 1));
    if (term && !(next == '/' && IsLetter(At(text_, end + 1)))) return false;
    Add(PieceKind::kWord, at_, end);
    TextPiece& piece = out_.back();
    piece.word = absl::AsciiStrToLower(absl::StrReplaceAll(piece.text, {{kApostrophe, "'"}}));
    const bool infinite = piece.word == "infinity" && out_.size() > 1 && out_[out_.size() - 2].word == "is";
    bool pi = asked_ == Asked::kValue && (piece.word == "pi" || infinite);
    if (pi || (asked_ == Asked::kChoice && IsChoice(piece.text))) piece.kind = PieceKind::kValue;
    at_ = end;
    return true;
  }

  static bool IsChoice(string_view word) {
    return word.size() == 1 && word[0] >= 'A' && word[0] <= 'J' && word[0] != 'I';
  }

  // "(x, y)" in front of "=".
  bool NamedTuple() {
    if (asked_ != Asked::kValue) return false;
    const size_t close = text_.substr(at_, 24).find(')');
    if (close == string_view::npos) return false;
    const string_view inside = text_.substr(at_ + 1, close - 1);
    if (!absl::StrContains(inside, ",")) return false;
    for (string_view name : absl::StrSplit(inside, ',')) {
      name = absl::StripAsciiWhitespace(name);
      if (name.empty() || !IsLetter(name[0]) || name.size() > 3 || (name.size() > 1 && IsLetter(name[1])))
        return false;
    }
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(text_.substr(at_ + close + 1)), "="))
      return false;
    Mark(PieceKind::kValue, close + 1);
    return true;
  }

  size_t RunEnd() const {
    size_t end = at_;
    for (size_t bytes; end < text_.size() && (bytes = TermBytes(text_, end)) > 0;) {
      end += bytes;
    }
    return end;
  }

  // Characters of a formula without blanks.
  void Run(size_t end) {
    if (end == at_) {
      ++at_;
      return;
    }
    size_t begin = at_;
    string_view run = text_.substr(begin, end - begin);
    size_t last = run.find_last_not_of(".,;:!?");
    at_ = last == string_view::npos ? end : begin + last + 1;
    if (begin == at_) return;
    run = text_.substr(begin, at_ - begin);
    if (asked_ == Asked::kChoice) return Choice(run, begin);
    bool infinite = absl::StrContains(run, "\xE2\x88\x9E");
    const bool vulgar = absl::StartsWith(run, "\xE2\x85") || absl::StartsWith(run, "\xC2\xBC") ||
                        absl::StartsWith(run, "\xC2\xBD") || absl::StartsWith(run, "\xC2\xBE");
    if (vulgar && asked_ == Asked::kValue) return Add(PieceKind::kValue, begin, at_);
    if (infinite || std::any_of(run.begin(), run.end(), [](char c) { return IsDigit(c); })) {
      string_view number = CompleteNumber(text_, text_.substr(begin, end - begin));
      if (!number.empty()) return Number(number, begin);
    }
    if (asked_ == Asked::kValue && IsSymbolic(run)) return Add(PieceKind::kValue, begin, at_);
    if (run.find_first_not_of("+-*/=<>") == string_view::npos || run == "\xC3\x97" || run == "\xE2\x88\x92" ||
        run == "\xC2\xB1") {
      return Add(PieceKind::kOperator, begin, at_);
    }
    Brackets(run, begin);
  }

  // "\pi", "f(x)", "π": more than words in brackets.
  static bool IsSymbolic(string_view run) {
    bool command = run[0] == '\\' && IsLetter(At(run, 1)) && !absl::StartsWith(run, "\\text") &&
                   !absl::StartsWith(run, "\\boxed") && !absl::StartsWith(run, "\\quad") &&
                   !absl::StartsWith(run, "\\begin") && !absl::StartsWith(run, "\\end") &&
                   !absl::StartsWith(run, "\\item");
    size_t power = run.find('^');
    bool unit =
        power != string_view::npos && power > 1 && IsLetter(run[power - 1]) && IsLetter(run[power - 2]);
    size_t bytes = 0;
    const bool function = FindSpelledPrefix(run, &bytes) && At(run, bytes) == '(';
    return command || function || absl::StrContains(run, "\xCF\x80") || (power != string_view::npos && !unit);
  }

  void Number(string_view number, size_t run_begin) {
    size_t begin = static_cast<size_t>(number.data() - text_.data()), end = begin + number.size();
    while (!out_.empty() && out_.back().begin >= begin && out_.back().kind != PieceKind::kStop) {
      out_.pop_back();
    }
    if (begin > run_begin && text_[run_begin] == '(') {
      Add(PieceKind::kBreak, run_begin, run_begin + 1);
      out_.back().bracket = true;
    }
    // What stands before the last "=" of the run: "x=5".
    string_view before = begin > run_begin ? text_.substr(run_begin, begin - run_begin) : string_view();
    bool named = absl::EndsWith(before, "=") && before.size() <= 5 && IsLetter(before[0]);
    Add(PieceKind::kValue, named ? run_begin : begin, end);
    at_ = std::max(at_, end);
  }

  void Choice(string_view run, size_t begin) {
    size_t letter = run.find_first_not_of("([");
    if (letter == string_view::npos || !IsChoice(run.substr(letter, 1)) ||
        run.find_first_not_of(")]", letter + 1) != string_view::npos) {
      return Brackets(run, begin);
    }
    Add(PieceKind::kValue, begin + letter, begin + letter + 1);
  }

  // Words with brackets: "(see", "this)".
  void Brackets(string_view run, size_t begin) {
    size_t letter = 0;
    while (letter < run.size() && !IsLetter(run[letter])) ++letter;
    bool opens = run[0] == '(';
    if (opens || letter > 0) {
      Add(PieceKind::kBreak, begin, begin + letter);
      out_.back().bracket = opens;
    }
    if (letter == run.size()) return;
    size_t end = letter;
    while (end < run.size() && (IsLetter(run[end]) || run[end] == '-')) ++end;
    Add(PieceKind::kWord, begin + letter, begin + end);
    out_.back().word = absl::AsciiStrToLower(out_.back().text);
    bool contraction = begin + end == at_ && (At(text_, at_) == '\'');
    if (contraction) {
      size_t stop = at_ + 1;
      while (IsLetter(At(text_, stop))) ++stop;
      out_.back().word += absl::AsciiStrToLower(text_.substr(at_, stop - at_));
      at_ = stop;
      return;
    }
    at_ = begin + end;
    if (end < run.size()) {
      Add(PieceKind::kBreak, begin + end, begin + run.size());
      at_ = begin + run.size();
    }
  }

  bool IsOperand(size_t i) const {
    const TextPiece& piece = out_[i];
    return piece.kind == PieceKind::kValue || (piece.kind == PieceKind::kWord && piece.text.size() == 1 &&
                                               piece.text != "a" && piece.text != "I");
  }

  // "or" in a line of its own joins the formulas around it.
  void JoinLines() {
    for (size_t i = 1; i + 1 < out_.size(); ++i) {
      if (out_[i].word != "and" && out_[i].word != "or") continue;
      size_t before = i, behind = i + 1;
      while (before > 0 && IsNewline(before - 1)) --before;
      while (behind < out_.size() && IsNewline(behind)) ++behind;
      const bool joins = before > 0 && before < i && behind < out_.size() && out_[before - 1].formula &&
                         out_[behind].formula;
      if (!joins) continue;
      out_.erase(out_.begin() + static_cast<ptrdiff_t>(i) + 1, out_.begin() + static_cast<ptrdiff_t>(behind));
      out_.erase(out_.begin() + static_cast<ptrdiff_t>(before), out_.begin() + static_cast<ptrdiff_t>(i));
      i = before;
    }
  }
  bool IsNewline(size_t i) const { return out_[i].kind == PieceKind::kStop && out_[i].text == "\n"; }

  // "ln 3" is one value.
  void JoinFunctions() {
    if (asked_ != Asked::kValue) return;
    static constexpr string_view kFunctions[] = {"arccos", "arcsin", "arctan", "cos",  "exp", "lg",
                                                 "ln",     "log",    "sin",    "sqrt", "tan"};
    for (size_t i = 0; i + 1 < out_.size(); ++i) {
      TextPiece& name = out_[i];
      const TextPiece& operand = out_[i + 1];
      const bool applied =
          name.kind == PieceKind::kWord && operand.kind == PieceKind::kValue && !operand.formula &&
          operand.begin <= name.end + 1 && !absl::StrContains(operand.text, "=") &&
          std::find(std::begin(kFunctions), std::end(kFunctions), name.word) != std::end(kFunctions);
      if (!applied) continue;
      name.kind = PieceKind::kValue;
      name.end = operand.end;
      name.text = text_.substr(name.begin, name.end - name.begin);
      name.word.clear();
      out_.erase(out_.begin() + static_cast<ptrdiff_t>(i) + 1);
    }
  }

  // "3 + 5 = 8" is one value; behind the last "=" where no single name is given it.
  void JoinOperators() {
    if (asked_ != Asked::kValue) return;
    std::vector<TextPiece> joined;
    for (size_t i = 0; i < out_.size();) {
      size_t last = i, equals = 0;
      while (IsOperand(last) && last + 2 < out_.size() && out_[last + 1].kind == PieceKind::kOperator &&
             IsOperand(last + 2)) {
        if (absl::StrContains(out_[last + 1].text, "=")) equals = last + 2;
        last += 2;
      }
      TextPiece piece = out_[i];
      if (last > i) {
        bool name = equals == i + 2 && out_[i].kind == PieceKind::kWord;
        const bool factor = name && i > 0 && out_[i - 1].kind == PieceKind::kValue && !joined.empty() &&
                            joined.back().end == out_[i - 1].end && !out_[i - 1].formula;
        if (factor) {  // "0.4 n = 100"
          TextPiece& whole = joined.back();
          whole.end = out_[last].end;
          whole.text = text_.substr(whole.begin, whole.end - whole.begin);
          whole.word.clear();
          i = last + 1;
          continue;
        }
        size_t first = equals > i && !name ? equals : i;
        piece = out_[first];
        piece.kind = PieceKind::kValue;
        if (first < last) {
          piece.end = out_[last].end;
          piece.text = text_.substr(piece.begin, piece.end - piece.begin);
          piece.formula = false;
        }
      }
      joined.push_back(std::move(piece));
      i = last + 1;
    }
    out_ = std::move(joined);
  }

  // "one hundred and five" is one value.
  void JoinNumberWords() {
    if (asked_ != Asked::kValue) return;
    std::vector<TextPiece> joined;
    for (size_t i = 0; i < out_.size();) {
      TextPiece piece = out_[i];
      if (piece.kind != PieceKind::kWord || !IsNumberInWords(piece.word)) {
        joined.push_back(std::move(piece));
        ++i;
        continue;
      }
      size_t last = i;
      for (;;) {
        size_t next = last + 1;
        bool more = next < out_.size() && out_[next].kind == PieceKind::kWord &&
                    (IsNumberInWords(out_[next].word) || ScaleWordValue(out_[next].word) ||
                     DenominatorWordValue(out_[next].word));
        if (!more) break;
        last = next;
      }
      piece.kind = PieceKind::kValue;
      piece.end = out_[last].end;
      piece.text = text_.substr(piece.begin, piece.end - piece.begin);
      joined.push_back(std::move(piece));
      i = last + 1;
    }
    out_ = std::move(joined);
  }

  // "8 hours and 30 minutes" is one value.
  void JoinMeasures() {
    if (asked_ != Asked::kValue) return;
    std::vector<TextPiece> joined;
    for (size_t i = 0; i < out_.size(); ++i) {
      TextPiece piece = out_[i];
      size_t last = i;
      for (size_t next = BehindLarger(last); next > 0; next = BehindLarger(last)) last = next;
      if (last > i) {
        piece.end = out_[last + 1].end;
        piece.text = text_.substr(piece.begin, piece.end - piece.begin);
        piece.word.clear();
        i = last + 1;
      }
      joined.push_back(std::move(piece));
    }
    out_ = std::move(joined);
  }

  // The value in a smaller unit behind the value at `i` with its unit; 0 if there is none.
  size_t BehindLarger(size_t i) const {
    string_view larger = UnitBehind(i);
    if (larger.empty()) return 0;
    size_t next = i + 2;
    if (next < out_.size() && (out_[next].word == "and" || out_[next].kind == PieceKind::kComma)) ++next;
    return SmallerUnits(larger, UnitBehind(next)) > 0 ? next : 0;
  }

  string_view UnitBehind(size_t i) const {
    bool measure = i + 1 < out_.size() && out_[i].kind == PieceKind::kValue && !out_[i].formula &&
                   out_[i + 1].kind == PieceKind::kWord;
    return measure ? FindUnit(out_[i + 1].text) : string_view();
  }

  string_view text_;
  Asked asked_;
  size_t at_ = 0;
  bool unclosed_[std::size(kDelimiters)] = {};
  std::vector<TextPiece> out_;
};

}  // namespace

std::vector<TextPiece> PiecesOf(string_view text, Asked asked) { return Cutter(text, asked).Run(); }

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

bool IsWord(TextPieces pieces, size_t i) { return i < pieces.size() && pieces[i].kind == PieceKind::kWord; }
bool IsValue(TextPieces pieces, size_t i) { return i < pieces.size() && pieces[i].kind == PieceKind::kValue; }

bool HasValue(TextPieces sentence) {
  return std::any_of(sentence.begin(), sentence.end(),
                     [](const TextPiece& p) { return p.kind == PieceKind::kValue; });
}

}  // namespace sluice::math
