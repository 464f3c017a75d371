#include "reward/math/parse/parser.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/math/parse/build.h"
#include "reward/math/parse/grammar.h"
#include "reward/math/parse/plain_text.h"
#include "reward/math/parse/readings.h"
#include "reward/math/text/lexer.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;
using TokenSpan = absl::Span<const Token>;

absl::Status PastLimit(ParseOutcome outcome, const ParseLimits& limits) {
  switch (outcome) {
    case ParseOutcome::kTooDeep:
      return absl::ResourceExhaustedError(absl::StrCat("the answer is nested deeper than ", limits.depth));
    case ParseOutcome::kTooManyNodes:
      return absl::ResourceExhaustedError(absl::StrCat("the answer has more than ", limits.nodes, " parts"));
    default:
      return absl::ResourceExhaustedError(
          absl::StrCat("a number of the answer has more than ", limits.digits, " digits"));
  }
}

// Whether commas before three digits are likelier separators of thousands than of items: not within brackets,
// unless commas with blanks stand there too, and not beside commas that can be no such separators.
bool CommasJoinThousands(string_view s) {
  bool within_brackets = false, with_blanks = false, others = false;
  int open = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (c == '(' || c == '[' || (c == '{' && i > 0 && s[i - 1] == '\\')) ++open;
    if (c == ')' || c == ']' || (c == '}' && i > 0 && s[i - 1] == '\\')) --open;
    if (c != ',') continue;
    bool group = i > 0 && IsDigit(s[i - 1]) && IsDigit(At(s, i + 1)) && IsDigit(At(s, i + 2)) &&
                 IsDigit(At(s, i + 3)) && !IsDigit(At(s, i + 4));
    if (group) {
      within_brackets = within_brackets || open > 0;
    } else if (IsBlank(At(s, i + 1)) || At(s, i + 1) == '\\') {
      with_blanks = true;
    } else if (At(s, i + 1) != '}') {
      others = true;
    }
  }
  return !others && (with_blanks || !within_brackets);
}

class Reader {
 public:
  Reader(string_view text, const ParseLimits& limits) : text_(text), limits_(limits) {}

  absl::StatusOr<std::vector<Reading>> Run() {
    LexOptions lex;
    lex.join_thousands = CommasJoinThousands(text_);
    Tokenize(text_, lex, &tokens_);
    size_t rest = ReadChoice();
    absl::Status status = Read(TokenSpan(tokens_).subspan(rest));
    if (!status.ok()) return status;
    const bool several = !choice_.empty() && NamesAnotherChoice(TokenSpan(tokens_).subspan(rest));
    for (Reading& r : readings_) {
      r.choice = choice_;
      r.hedged = r.hedged || several;
    }
    bool commas = false, exponents = false;
    for (const Token& token : tokens_) {
      commas = commas || token.has_comma;
      exponents = exponents || (token.has_exponent && !token.has_point);
    }
    if (commas) ReadAgain({!lex.join_thousands, true});
    if (exponents) ReadAgain({lex.join_thousands, false});
    return std::move(readings_);
  }

 private:
  // With another meaning of commas or of "e" between digits.
  void ReadAgain(const LexOptions& lex) {
    tokens_.clear();
    Tokenize(text_, lex, &tokens_);
    Parse(tokens_, 0).IgnoreError();
  }

  // Reads `tokens` as mathematics in all their meanings, else as words.
  absl::Status Read(TokenSpan tokens) {
    size_t count = readings_.size();
    bool time = IsTime(tokens);
    if (time) AddTime(tokens);
    if (!IsWordsOnly(tokens) && !(time && tokens.size() > 4)) {
      if (absl::Status status = ReadMathematics(tokens); !status.ok()) return status;
    }
    bool run = tokens.size() == 2 && tokens[0].kind == TokenKind::kLetters && tokens[0].text.size() > 1;
    if (readings_.size() == count) AddRealsExcept(tokens);
    if (readings_.size() == count || run) AddText(tokens);
    const bool name = run && IsProductOfLetters(tokens[0].text, true) &&
                      absl::EqualsIgnoreCase(readings_.back().value.name, tokens[0].text);
    if (name) {  // "Cx" is not "cx"
      readings_.back().value.name = std::string(tokens[0].text);
    }
    return absl::OkStatus();
  }

  absl::Status ReadMathematics(TokenSpan tokens) {
    size_t count = readings_.size();
    unsigned met = 0;
    if (absl::Status status = Parse(tokens, 0, &met); !status.ok()) return status;
    for (unsigned bit = 1; bit <= met; bit <<= 1) {
      if (met & bit) Parse(tokens, bit).IgnoreError();
    }
    return readings_.size() == count ? ReadNamed(tokens) : absl::OkStatus();
  }

  void AddTime(TokenSpan tokens) {
    AddText(tokens);
    if (tokens[2].text != "00" || tokens.size() == 4) return;
    TokenSpan hour = tokens.subspan(2);  // "9:00 am" is "9 am"
    Tokens short_form{tokens[0]};
    short_form.insert(short_form.end(), hour.begin() + 1, hour.end());
    Parse(short_form, 0).IgnoreError();
  }

  // "all real numbers except 3 and 5": what is taken out of the reals.
  void AddRealsExcept(TokenSpan tokens) {
    static constexpr string_view kWords[] = {"all", "real", "numbers"};
    size_t at = 0;
    for (string_view word : kWords) {
      if (tokens[at].kind != TokenKind::kLetters || !absl::EqualsIgnoreCase(tokens[at].text, word)) return;
      ++at;
    }
    if (tokens[at].text.size() == 1) ++at;  // "x"
    if (!absl::EqualsIgnoreCase(tokens[at].text, "except")) return;
    if (absl::EqualsIgnoreCase(tokens[++at].text, "for")) ++at;
    size_t count = readings_.size();
    Parse(tokens.subspan(at), 0).IgnoreError();
    if (readings_.size() == count) return;
    readings_.resize(count + 1);
    Reading& reading = readings_.back();
    Expression out = std::move(reading.value);
    out = out.kind == Kind::kList ? ListOf(Kind::kSet, std::move(out.args))
                                  : NodeOf(Kind::kSet, std::move(out));
    Expression reals = IntervalOf(Negated(SymbolOf("infinity")), false, SymbolOf("infinity"), false);
    reading = Reading{NodeOf(Kind::kDifference, std::move(reals), std::move(out))};
  }

  void AddText(TokenSpan tokens) {
    Reading text;
    text.value = TextOf(tokens, text_);
    for (Expression& meaning : MeaningOfText(text.value.name)) {
      Reading r;
      r.doubt = IsNumber(meaning) ? UnitDoubt::kChanges : UnitDoubt::kNone;  // "third"
      r.value = std::move(meaning);
      readings_.push_back(std::move(r));
    }
    readings_.push_back(std::move(text));
  }

  // One word that is no product of letters, or a name such as "ABC".
  bool IsWordsOnly(TokenSpan tokens) {
    if (tokens.size() != 2 || tokens[0].kind != TokenKind::kLetters || tokens[0].text.size() < 2)
      return tokens.size() < 2;
    string_view word = tokens[0].text;
    if (FindSpelled(word) || NumberWordValue(word) || absl::EqualsIgnoreCase(word, "half")) return false;
    bool upper = word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == string_view::npos;
    if (upper) {
      Reading r;
      r.value = SymbolOf(word);
      readings_.push_back(std::move(r));
    }
    return upper || tokens[0].in_text || !IsProductOfLetters(word, true);
  }

  absl::Status Parse(TokenSpan tokens, unsigned flipped, unsigned* met = nullptr) {
    GrammarOptions options{flipped, limits_};
    options.limits.nodes -= nodes_;
    Parsed parsed;
    ParseOutcome outcome = ParseTokens(tokens, text_, options, &parsed);
    nodes_ += parsed.nodes;
    if (met != nullptr) *met = parsed.met;
    if (outcome == ParseOutcome::kNotMathematics) return absl::OkStatus();
    if (outcome != ParseOutcome::kParsed) return PastLimit(outcome, limits_);
    size_t count = readings_.size();
    AppendReadings(std::move(parsed), &readings_);
    DropRepeated(count);
    return absl::OkStatus();
  }

  // Of the readings from `first` on, those that are there already.
  void DropRepeated(size_t first) {
    for (size_t i = readings_.size(); i > first; --i) {
      for (size_t k = 0; k < first; ++k) {
        if (!SameTree(readings_[i - 1].value, readings_[k].value) ||
            readings_[i - 1].unit != readings_[k].unit)
          continue;
        readings_.erase(readings_.begin() + static_cast<long>(i - 1));
        break;
      }
    }
  }

  // "Area of the square = 5", "Answer: 5", "the area is 5".
  absl::Status ReadNamed(TokenSpan tokens) {
    size_t count = readings_.size(), at = 0;
    while (tokens[at].kind == TokenKind::kLetters || tokens[at].kind == TokenKind::kPeriod) ++at;
    if (at == 0 || FindSpelled(tokens[0].text)) return AfterArrow(tokens);
    string_view verb = tokens[at - 1].text;
    bool stated = at > 1 && (verb == "is" || verb == "are" || verb == "equals" || verb == "was");
    bool given = tokens[at].kind == TokenKind::kEqual || tokens[at].kind == TokenKind::kColon ||
                 tokens[at].kind == TokenKind::kApproximately;
    const bool remainder = at == 1 && absl::EqualsIgnoreCase(verb, "remainder");
    const bool pointed = remainder || (verb == "point" && tokens[at].kind == TokenKind::kLeftParen);
    if (!given && !stated && !pointed) return AfterArrow(tokens);
    if (absl::Status status = Parse(tokens.subspan(given ? at + 1 : at), 0); !status.ok()) return status;
    std::string name = TextOf(tokens.subspan(0, stated ? at - 1 : at), text_).name;
    for (; count < readings_.size(); ++count) readings_[count].name = name;
    return absl::OkStatus();
  }

  // "p \to (q \lor r)", a statement as a whole.
  static bool IsImplication(TokenSpan tokens) {
    return std::all_of(tokens.begin(), tokens.end(), [](const Token& token) {
      switch (token.kind) {
        case TokenKind::kLetters:
          return token.text.size() == 1;
        case TokenKind::kFunction:
          return token.text == "not";
        case TokenKind::kArrow:
        case TokenKind::kApproximately:
        case TokenKind::kAnd:
        case TokenKind::kOr:
        case TokenKind::kLeftParen:
        case TokenKind::kRightParen:
        case TokenKind::kEnd:
          return true;
        default:
          return false;
      }
    });
  }

  // What the last arrow leads to.
  absl::Status AfterArrow(TokenSpan tokens) {
    if (IsImplication(tokens)) return absl::OkStatus();
    size_t last = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind == TokenKind::kArrow) last = i + 1;
    }
    return last == 0 ? absl::OkStatus() : Parse(tokens.subspan(last), 0);
  }

  // "10:30", "1:03 PM": a time of day before anything else.
  static bool IsTime(TokenSpan tokens) {
    return tokens.size() >= 4 && tokens[0].kind == TokenKind::kNumber && tokens[0].text.size() <= 2 &&
           tokens[1].kind == TokenKind::kColon && tokens[2].kind == TokenKind::kNumber &&
           tokens[2].text.size() == 2 && tokens[2].text[0] < '6' &&
           (tokens.size() == 4 || tokens[3].kind == TokenKind::kLetters);
  }

  // "(D)", "D.", "option D", "(D) 42": sets choice_. Returns the first token of what is to be read.
  size_t ReadChoice() {
    size_t i = 0;
    auto kind = [&](size_t at) { return at < tokens_.size() ? tokens_[at].kind : TokenKind::kEnd; };
    while (kind(i) == TokenKind::kLetters && (absl::EqualsIgnoreCase(tokens_[i].text, "option") ||
                                              absl::EqualsIgnoreCase(tokens_[i].text, "choice") ||
                                              absl::EqualsIgnoreCase(tokens_[i].text, "answer"))) {
      ++i;
      if (kind(i) == TokenKind::kColon) ++i;
    }
    bool named = i > 0;
    bool paren = kind(i) == TokenKind::kLeftParen || kind(i) == TokenKind::kLeftBracket;
    size_t letter = paren ? i + 1 : i, end = letter + 1;
    if (kind(letter) != TokenKind::kLetters || tokens_[letter].text.size() != 1) return 0;
    char c = tokens_[letter].text[0];
    bool upper = c >= 'A' && c <= 'J';
    if (!upper && !((paren || named) && c >= 'a' && c <= 'j')) return 0;
    bool closed = kind(end) == TokenKind::kRightParen || kind(end) == TokenKind::kRightBracket;
    if (paren != closed && (paren || kind(end) == TokenKind::kRightBracket)) return 0;
    bool marked = closed || kind(end) == TokenKind::kPeriod || kind(end) == TokenKind::kColon;
    if (marked) ++end;
    if (kind(end) == TokenKind::kEnd) {
      choice_ = std::string(1, absl::ascii_toupper(static_cast<unsigned char>(c)));
      return letter == 0 || named || marked ? SkipTo(letter) : 0;
    }
    bool content =
        marked && upper && tokens_[end].space_before && kind(end) != TokenKind::kPlus &&
        kind(end) != TokenKind::kEqual && kind(end) != TokenKind::kLeftParen && kind(end) != TokenKind::kIn &&
        !(kind(end) == TokenKind::kLetters &&
          (RoleOf(tokens_[end].text) == WordRole::kAnd || RoleOf(tokens_[end].text) == WordRole::kOr));
    if (!content) return 0;
    choice_ = std::string(1, c);
    return end;
  }

  // "(B)" in what stands behind "(A)": "(A) 5, or maybe (B) 6".
  bool NamesAnotherChoice(TokenSpan rest) const {
    for (size_t i = 0; i + 2 < rest.size(); ++i) {
      const Token& letter = rest[i + 1];
      if (rest[i].kind == TokenKind::kLeftParen && rest[i].space_before &&
          rest[i + 2].kind == TokenKind::kRightParen && letter.kind == TokenKind::kLetters &&
          letter.text.size() == 1 && letter.text[0] >= 'A' && letter.text[0] <= 'J' && letter.text != choice_)
        return true;
    }
    return false;
  }

  // Leaves the letter alone to be read.
  size_t SkipTo(size_t letter) {
    Token end;
    end.begin = end.end = static_cast<uint32_t>(text_.size());
    tokens_.resize(letter + 1);
    tokens_.push_back(end);
    return letter;
  }

  string_view text_;
  const ParseLimits& limits_;
  Tokens tokens_;
  std::vector<Reading> readings_;
  std::string choice_;
  int nodes_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Reading>> ReadAnswer(string_view answer, const ParseLimits& limits) {
  answer = StripWrapping(answer);
  if (answer.size() > limits.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the answer has more than ", limits.bytes, " bytes"));
  }
  std::string storage;
  return Reader(MendSpelling(answer, &storage), limits).Run();
}

}  // namespace sluice::math
