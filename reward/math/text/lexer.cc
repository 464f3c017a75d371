#include "reward/math/text/lexer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kLongestCommand = 24;

class Lexer {
 public:
  Lexer(string_view text, const LexOptions& options, Tokens* tokens)
      : s_(text), options_(options), tokens_(*tokens) {
    currency_ = std::count(s_.begin(), s_.end(), '$') - Occurrences("\\$");
    doubled_ = absl::StrContains(s_, "\\\\begin");
  }

  void Run() {
    while (i_ < s_.size()) Next();
    Emit(TokenKind::kEnd, {}, 0);
  }

 private:
  void Next() {
    char c = s_[i_];
    if (IsBlank(c) || c == '~') {
      space_ = true;
      ++i_;
    } else if (StartsNumber(s_, i_) || IsUpper(c)) {
      Alphanumeric();
    } else if (IsLetter(c)) {
      Letters();
    } else if (c == '\\') {
      Backslash();
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      Character();
    } else {
      Ascii(c);
    }
  }

  long Occurrences(string_view what) const {
    long n = 0;
    for (size_t at = s_.find(what); at != string_view::npos; at = s_.find(what, at + what.size())) ++n;
    return n;
  }

  // Appends a token of `bytes` bytes and goes past it.
  void Emit(TokenKind kind, string_view text, size_t bytes, int value = 0) {
    Token token;
    token.kind = kind;
    token.text = text;
    token.value = value;
    token.begin = static_cast<uint32_t>(i_);
    token.end = static_cast<uint32_t>(i_ + bytes);
    Append(token);
  }

  void Append(Token token) {
    token.space_before = space_;
    token.in_text = text_depth_ > 0 && !math_in_text_;
    token.bold = bold_depth_ > 0 || bold_next_;
    bold_next_ = false;
    space_ = false;
    i_ = token.end;
    tokens_.push_back(token);
  }

  TokenKind Last() const { return tokens_.empty() ? TokenKind::kEnd : tokens_.back().kind; }

  void Alphanumeric() {
    if (auto based = LexBasedNumber(s_, i_)) {
      bool closes_text =
          text_depth_ > 0 && s_[based->begin] != '0' && At(s_, based->begin + based->text.size()) == '}';
      Append(*based);
      if (closes_text) CloseBrace();
      return;
    }
    if (IsUpper(s_[i_])) return Letters();
    if (s_[i_] == '.' && !space_ && Last() == TokenKind::kLetters &&
        absl::EqualsIgnoreCase(tokens_.back().text, "Rs")) {
      return Emit(TokenKind::kPeriod, {}, 1);
    }
    Token number = LexNumber(s_, i_, options_);
    if (number.end == number.begin) return Emit(TokenKind::kPeriod, {}, 1);  // ".\\overline{3"
    Append(number);
  }

  void Letters() {
    size_t end = i_;
    while (IsLetter(At(s_, end))) ++end;
    string_view run = s_.substr(i_, end - i_);
    if (run.size() > 1 && IsLower(run[0]) && At(s_, end) == '_') {  // "ff_{16}"
      if (auto based = LexBasedNumber(s_, i_)) return Append(*based);
    }
    auto spelled = run.size() >= 3 ? FindSpelled(run) : std::nullopt;
    Emit(spelled && IsSign(spelled->kind) ? spelled->kind : TokenKind::kLetters, run, run.size());
  }

  // Of what may be spelled in letters, the signs.
  static bool IsSign(TokenKind kind) {
    return kind == TokenKind::kUnion || kind == TokenKind::kIntersection || kind == TokenKind::kTimes ||
           kind == TokenKind::kPlus || kind == TokenKind::kMinus || kind == TokenKind::kMod ||
           kind == TokenKind::kDegree;
  }

  void Character() {
    size_t bytes = 0;
    auto sign = FindCharacter(DecodeUtf8(s_.substr(i_), &bytes));
    if (!sign) return Unknown();
    switch (sign->kind) {
      case TokenKind::kSkip:
        i_ += bytes;
        return;
      case TokenKind::kSpace:
      case TokenKind::kThinSpace:
        space_ = true;
        i_ += bytes;
        return;
      case TokenKind::kPrime:
        if (sign->value == 2) Emit(TokenKind::kPrime, {}, 0);
        return Emit(TokenKind::kPrime, {}, bytes);
      case TokenKind::kSuperDigits:
      case TokenKind::kSubDigits:
        return SmallDigits(sign->kind);
      default:
        return Emit(sign->kind, sign->text, bytes, sign->value);
    }
  }

  // A run of characters without a meaning here, as one token.
  void Unknown() {
    size_t end = i_;
    while (end < s_.size() && static_cast<unsigned char>(s_[end]) >= 0x80) {
      size_t bytes = 0;
      if (FindCharacter(DecodeUtf8(s_.substr(end), &bytes))) break;
      end += bytes;
    }
    Emit(TokenKind::kOther, s_.substr(i_, end - i_), end - i_);
  }

  // A run such as "⁻¹²". An exponent "ⁿ" is the letter.
  void SmallDigits(TokenKind kind) {
    size_t end = i_;
    int64_t value = 0;
    bool negative = false, letter = false;
    while (end < s_.size() && !letter) {
      size_t bytes = 0;
      auto sign = FindCharacter(DecodeUtf8(s_.substr(end), &bytes));
      if (!sign || sign->kind != kind) break;
      if (sign->text == "-") negative = true;
      if (sign->text == "n") letter = true;
      if (sign->text.empty()) value = std::min<int64_t>(value * 10 + sign->value, 1 << 30);
      end += bytes;
    }
    Emit(kind, letter ? "n" : "", end - i_, static_cast<int>(negative ? -value : value));
  }

  void Ascii(char c) {
    static constexpr struct {
      string_view spelling;
      TokenKind kind;
    } kLong[] = {
        {"...", TokenKind::kEllipsis}, {"+/-", TokenKind::kPlusMinus},   {"<=>", TokenKind::kArrow},
        {"<=", TokenKind::kLessEqual}, {">=", TokenKind::kGreaterEqual}, {"==", TokenKind::kEqual},
        {"=>", TokenKind::kArrow},     {"->", TokenKind::kArrow},        {"<>", TokenKind::kNotEqual},
        {"**", TokenKind::kPower},     {"+-", TokenKind::kPlusMinus}};
    for (const auto& sign : kLong) {
      if (c == sign.spelling[0] && absl::StartsWith(s_.substr(i_), sign.spelling)) {
        return Emit(sign.kind, {}, sign.spelling.size());
      }
    }
    switch (c) {
      case '{':
        braces_.push_back('g');
        return Emit(TokenKind::kLeftBrace, {}, 1);
      case '}':
        ++i_;
        return CloseBrace();
      case '&':
        if (environments_ > 0 || !layout_) return Emit(OfCharacter(c), {}, 1);
        ++i_;
        return;
      case '$':
        return Dollar();
      case '!':
        return Bang();
      case '\'':
        if (Last() == TokenKind::kLetters || Last() == TokenKind::kSymbol || Last() == TokenKind::kPrime ||
            Last() == TokenKind::kNumber)
          return Emit(TokenKind::kPrime, {}, 1);
        ++i_;
        return;
      case '"':
        if (Last() == TokenKind::kNumber && s_.find('"') == i_) {  // inches: 6"
          Emit(TokenKind::kPrime, {}, 0);
          return Emit(TokenKind::kPrime, {}, 1);
        }
        [[fallthrough]];
      case '`':
        ++i_;
        return;
      default:
        return Emit(OfCharacter(c), OfCharacter(c) == TokenKind::kOther ? s_.substr(i_, 1) : string_view(),
                    1);
    }
  }

  TokenKind OfCharacter(char c) const {
    switch (c) {
      case '+':
        return TokenKind::kPlus;
      case '-':
        return TokenKind::kMinus;
      case '*':
        return TokenKind::kTimes;
      case '/':
        return TokenKind::kDivide;
      case '^':
        return TokenKind::kPower;
      case '_':
        return TokenKind::kSubscript;
      case '=':
        return TokenKind::kEqual;
      case '<':
        return TokenKind::kLess;
      case '>':
        return TokenKind::kGreater;
      case '(':
        return TokenKind::kLeftParen;
      case ')':
        return TokenKind::kRightParen;
      case '[':
        return TokenKind::kLeftBracket;
      case ']':
        return TokenKind::kRightBracket;
      case '|':
        return TokenKind::kBar;
      case ',':
        return TokenKind::kComma;
      case ';':
        return TokenKind::kSemicolon;
      case ':':
        return TokenKind::kColon;
      case '.':
        return TokenKind::kPeriod;
      case '%':
        return TokenKind::kPercent;
      case '&':
        return environments_ > 0 ? TokenKind::kAmpersand : TokenKind::kAnd;
      default:
        return TokenKind::kOther;
    }
  }

  // A brace that was opened is closed; what closes nothing is left out.
  void CloseBrace() {
    if (braces_.empty()) return;
    char opened = braces_.back();
    braces_.pop_back();
    if (opened == 'b') --bold_depth_;
    if (opened != 't') {
      --i_;
      return Emit(TokenKind::kRightBrace, {}, 1);
    }
    --text_depth_;
    math_in_text_ = false;
    space_ = true;
  }

  // "n!" or "x != 5".
  void Bang() {
    bool value_before = Last() == TokenKind::kNumber || Last() == TokenKind::kRightParen;
    bool equals = At(s_, i_ + 1) == '=';
    if (equals && (!value_before || space_)) return Emit(TokenKind::kNotEqual, {}, 2);
    Emit(TokenKind::kFactorial, {}, 1);
  }

  // A dollar that has no partner and stands before a number is currency; all others are delimiters.
  void Dollar() {
    size_t next = i_ + 1;
    while (At(s_, next) == ' ' || At(s_, next) == '-') ++next;
    if (currency_ % 2 != 0 && StartsNumber(s_, next)) {
      --currency_;
      return Emit(TokenKind::kCurrency, "dollar", 1);
    }
    if (text_depth_ > 0) math_in_text_ = !math_in_text_;
    ++i_;
  }

  void Backslash() {
    size_t run = 1;
    while (At(s_, i_ + run) == '\\') ++run;
    if (run >= 2) {
      if (environments_ == 0 && layout_ && !doubled_) return Emit(TokenKind::kSemicolon, {}, 2);
      if (environments_ > 0 && (!doubled_ || run >= 4)) return RowEnd(doubled_ ? 4 : 2);
      char next = At(s_, i_ + run);
      if (!IsLetter(next) && string_view("{}%$#&_,;:!|()[]").find(next) == string_view::npos) {
        i_ += run;  // a line break
        space_ = true;
        return;
      }
      i_ += run - 1;
    }
    size_t end = i_ + 1;
    while (IsLetter(At(s_, end))) ++end;
    if (end == i_ + 1 && end < s_.size()) ++end;
    Command(s_.substr(i_ + 1, end - i_ - 1));
  }

  void RowEnd(size_t bytes) {
    Emit(TokenKind::kRowEnd, {}, bytes);
    size_t close = s_.substr(i_, 12).find(']');
    if (At(s_, i_) != '[' || close == string_view::npos) return;
    string_view length = s_.substr(i_ + 1, close - 1);  // "\\[2pt]"
    if (absl::EndsWith(length, "pt") || absl::EndsWith(length, "em") || absl::EndsWith(length, "ex") ||
        absl::EndsWith(length, "mm")) {
      i_ += close + 1;
    }
  }

  void Command(string_view name) {
    auto sign = FindCommand(name);
    for (size_t n = std::min(name.size(), kLongestCommand); !sign && n > 2; --n) {  // "\\pir"
      sign = FindCommand(name.substr(0, n - 1));
      if (sign) name = name.substr(0, n - 1);
    }
    size_t bytes = name.size() + 1;
    if (name == "not") return Not(bytes);
    if (!sign) return Emit(TokenKind::kOther, name, bytes);
    switch (sign->kind) {
      case TokenKind::kSkip:
        i_ += bytes;
        return;
      case TokenKind::kThinSpace:
      case TokenKind::kSpace:
        if (absl::EndsWith(name, "quad") && StartsEquation(i_ + bytes))
          return Emit(TokenKind::kSemicolon, {}, bytes);
        i_ += bytes;
        space_ = space_ || name != "!";
        return;
      case TokenKind::kOpenDelimiter:
        return OpenDelimiter(bytes);
      case TokenKind::kText:
        return Text(bytes);
      case TokenKind::kBold:
        return Bold(bytes);
      case TokenKind::kTag:
        i_ += bytes;
        Group();
        return;
      case TokenKind::kBegin:
      case TokenKind::kEndCommand:
        return Environment(sign->kind, bytes);
      case TokenKind::kBlackboard:
        return Blackboard(bytes);
      default:
        Emit(sign->kind, sign->text, bytes, sign->value);
        tokens_.back().spelled = true;
    }
  }

  // "y = " at `i`, and something before it: "x = 2 \quad y = 3".
  bool StartsEquation(size_t i) const {
    while (IsBlank(At(s_, i))) ++i;
    size_t sign = i + 1;
    while (IsBlank(At(s_, sign))) ++sign;
    bool value_before = Last() == TokenKind::kNumber || Last() == TokenKind::kRightParen ||
                        Last() == TokenKind::kRightBrace || Last() == TokenKind::kSymbol ||
                        (Last() == TokenKind::kLetters && tokens_.back().text.size() == 1);
    return value_before && IsLetter(At(s_, i)) && At(s_, sign) == '=';
  }

  void Not(size_t bytes) {
    i_ += bytes;
    SkipBlanks();
    if (At(s_, i_) == '=') return Emit(TokenKind::kNotEqual, {}, 1);
    if (absl::StartsWith(s_.substr(i_), "\\in") && !IsLetter(At(s_, i_ + 3)))
      return Emit(TokenKind::kNotIn, {}, 3);
  }

  void SkipBlanks() {
    while (IsBlank(At(s_, i_))) ++i_;
  }

  // \left and \right: an invisible delimiter goes, angles are brackets.
  void OpenDelimiter(size_t bytes) {
    i_ += bytes;
    SkipBlanks();
    if (At(s_, i_) == '.') ++i_;
    if (At(s_, i_) == '<') return Emit(TokenKind::kLeftAngle, {}, 1);
    if (At(s_, i_) == '>') return Emit(TokenKind::kRightAngle, {}, 1);
  }

  void Text(size_t bytes) {
    i_ += bytes;
    if (At(s_, i_) == '*') ++i_;
    SkipBlanks();
    space_ = true;
    if (At(s_, i_) != '{') return;
    ++i_;
    braces_.push_back('t');
    ++text_depth_;
  }

  void Bold(size_t bytes) {
    i_ += bytes;
    SkipBlanks();
    if (At(s_, i_) != '{') {
      bold_next_ = true;
      return;
    }
    braces_.push_back('b');
    ++bold_depth_;
    Emit(TokenKind::kLeftBrace, {}, 1);
  }

  // The content of a group that begins here, without inner groups; goes past it.
  string_view Group() {
    SkipBlanks();
    if (At(s_, i_) != '{') return {};
    size_t close = s_.find('}', i_);
    if (close == string_view::npos) close = s_.size();
    string_view content = s_.substr(i_ + 1, close - i_ - 1);
    i_ = std::min(close + 1, s_.size());
    return content;
  }

  void Environment(TokenKind kind, size_t bytes) {
    i_ += bytes;
    string_view name = Group();
    if (IsLayout(name)) {  // only its lines count
      layout_ = kind == TokenKind::kBegin;
      return;
    }
    if (kind == TokenKind::kEndCommand) {
      if (environments_ > 0) --environments_;
      return Emit(TokenKind::kEnvironmentEnd, name, 0);
    }
    ++environments_;
    if (name == "array" || name == "tabular") Group();
    Emit(TokenKind::kEnvironmentBegin, name, 0);
  }

  static bool IsLayout(string_view name) {
    return absl::StartsWith(name, "align") || absl::StartsWith(name, "gather") ||
           absl::StartsWith(name, "split") || absl::StartsWith(name, "equation") ||
           absl::StartsWith(name, "eqnarray") || name == "math" || name == "displaymath" || name == "center";
  }

  void Blackboard(size_t bytes) {
    size_t letter = i_ + bytes;
    while (At(s_, letter) == ' ' || At(s_, letter) == '{') ++letter;
    size_t end = letter + 1;
    if (At(s_, end) == '}') ++end;
    if (!IsLetter(At(s_, letter))) {
      i_ += bytes;
      return;
    }
    Emit(TokenKind::kNumberSet, s_.substr(letter, 1), end - i_);
  }

  string_view s_;
  const LexOptions& options_;
  Tokens& tokens_;
  size_t i_ = 0;
  bool space_ = false;
  bool math_in_text_ = false;  // between dollars in a \text
  bool doubled_ = false;       // the whole answer has its backslashes twice
  long currency_ = 0;          // dollars that are not \$
  bool layout_ = false;        // in an environment that only lays out lines
  bool bold_next_ = false;     // the next token is bold
  int text_depth_ = 0, bold_depth_ = 0, environments_ = 0;
  absl::InlinedVector<char, 64> braces_;  // 'g' a group, 'b' a bold one, 't' a \text
};

}  // namespace

void Tokenize(string_view text, const LexOptions& options, Tokens* tokens) {
  Lexer(text, options, tokens).Run();
}

}  // namespace sluice::math
