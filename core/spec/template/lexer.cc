#include "core/spec/template/lexer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/unicode.h"

namespace sluice::chat {
namespace {

constexpr size_t kMaxSource = 1 << 20;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(absl::string_view in) : in_(in) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < in_.size()) {
      SLUICE_RETURN_IF_ERROR(Text());
      if (at_ >= in_.size()) break;
      const char kind = in_[at_ + 1];
      const char sign = at_ + 2 < in_.size() ? in_[at_ + 2] : 0;
      const bool marked = sign == '-' || (sign == '+' && kind != '#');
      if (kind == '#') {
        SLUICE_RETURN_IF_ERROR(Comment());
        continue;
      }
      if (kind == '%') {
        SLUICE_ASSIGN_OR_RETURN(const bool raw, Raw());
        if (raw) continue;
      }
      at_ += marked ? 3 : 2;
      SLUICE_RETURN_IF_ERROR(kind == '{' ? Tag(TokenKind::kOutputBegin, TokenKind::kOutputEnd, "}}")
                                         : Tag(TokenKind::kBlockBegin, TokenKind::kBlockEnd, "%}"));
    }
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("chat template line ", line_, ": ", what));
  }
  void Add(TokenKind kind, absl::string_view text) { tokens_.push_back({kind, std::string(text), line_}); }
  void CountLines(size_t begin, size_t end) {
    line_ += static_cast<int>(std::count(in_.begin() + static_cast<ptrdiff_t>(begin),
                                         in_.begin() + static_cast<ptrdiff_t>(end), '\n'));
  }

  // Up to the next tag, whose sign decides on the whitespace before it.
  absl::Status Text() {
    size_t open = at_;
    while (true) {
      open = in_.find('{', open);
      if (open == absl::string_view::npos || open + 1 >= in_.size()) {
        open = in_.size();
        break;
      }
      if (absl::StrContains("{%#", in_.substr(open + 1, 1))) break;
      ++open;
    }
    TextUntil(open);
    return absl::OkStatus();
  }

  void TextUntil(size_t open) {
    const size_t begin = at_;
    absl::string_view text = in_.substr(begin, open - begin);
    at_ = open;
    if (open < in_.size()) {
      const char sign = open + 2 < in_.size() ? in_[open + 2] : 0;
      if (sign == '-') {
        while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
      } else if (in_[open + 1] != '{' && sign != '+') {
        text = WithoutIndent(text, begin);
      }
    }
    if (trim_all_) {
      while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    } else if (trim_newline_ && absl::StartsWith(text, "\n")) {
      text.remove_prefix(1);
    }
    trim_all_ = trim_newline_ = false;
    if (!text.empty()) Add(TokenKind::kText, text);
    CountLines(begin, open);
  }

  // Behind "{%" at `open`: a sign, the word alone, a sign, "%}". The end of that and its last sign, or 0.
  size_t EndOfWordTag(size_t open, absl::string_view word, char& sign) const {
    size_t at = open + 2;
    const auto skip_spaces = [&] {
      while (at < in_.size() && IsSpace(in_[at])) ++at;
    };
    if (at < in_.size() && (in_[at] == '-' || in_[at] == '+')) ++at;
    skip_spaces();
    if (!absl::StartsWith(in_.substr(std::min(at, in_.size())), word)) return 0;
    at += word.size();
    skip_spaces();
    sign = at < in_.size() && (in_[at] == '-' || in_[at] == '+') ? in_[at++] : 0;
    return absl::StartsWith(in_.substr(std::min(at, in_.size())), "%}") ? at + 2 : 0;
  }

  // {% raw %}: all is text up to {% endraw %}. True when there is one here.
  absl::StatusOr<bool> Raw() {
    char sign = 0;
    const size_t begin = EndOfWordTag(at_, "raw", sign);
    if (begin == 0) return false;
    CountLines(at_, begin);
    at_ = begin;
    trim_all_ = sign == '-';
    trim_newline_ = false;
    for (size_t open = in_.find("{%", begin); open != absl::string_view::npos;
         open = in_.find("{%", open + 1)) {
      const size_t end = EndOfWordTag(open, "endraw", sign);
      if (end == 0) continue;
      TextUntil(open);
      CountLines(open, end);
      at_ = end;
      AfterTag(sign, false);
      return true;
    }
    return Error("raw without endraw");
  }

  // lstrip_blocks: blanks between the start of a line and the tag go.
  absl::string_view WithoutIndent(absl::string_view text, size_t begin) const {
    size_t keep = text.size();
    while (keep > 0 && IsSpace(text[keep - 1]) && text[keep - 1] != '\n') --keep;
    const bool at_line_start = keep > 0 ? text[keep - 1] == '\n' : begin == 0 || in_[begin - 1] == '\n';
    return at_line_start ? text.substr(0, keep) : text;
  }

  void AfterTag(char sign, bool output) {
    trim_all_ = sign == '-';
    trim_newline_ = !output && sign != '+';
  }

  absl::Status Comment() {
    const size_t end = in_.find("#}", at_ + 2);
    if (end == absl::string_view::npos) return Error("a comment without end");
    AfterTag(end > at_ + 2 ? in_[end - 1] : 0, false);
    CountLines(at_, end);
    at_ = end + 2;
    return absl::OkStatus();
  }

  absl::Status Tag(TokenKind begin, TokenKind end, absl::string_view close) {
    Add(begin, "");
    std::string brackets;  // a closing brace inside a dict does not end the tag
    while (true) {
      while (at_ < in_.size() && IsSpace(in_[at_])) {
        if (in_[at_] == '\n') ++line_;
        ++at_;
      }
      if (at_ >= in_.size()) return Error("a tag without end");
      const absl::string_view rest = in_.substr(at_);
      const bool signed_close = (rest[0] == '-' || rest[0] == '+') && absl::StartsWith(rest.substr(1), close);
      if (brackets.empty() && (signed_close || absl::StartsWith(rest, close))) {
        AfterTag(signed_close ? rest[0] : 0, close == "}}");
        at_ += signed_close ? 3 : 2;
        Add(end, "");
        return absl::OkStatus();
      }
      SLUICE_RETURN_IF_ERROR(Word(brackets));
    }
  }

  absl::Status Word(std::string& brackets) {
    const char c = in_[at_];
    const size_t begin = at_;
    if (IsNameStart(c)) {
      while (at_ < in_.size() && (IsNameStart(in_[at_]) || IsDigit(in_[at_]))) ++at_;
      Add(TokenKind::kName, in_.substr(begin, at_ - begin));
      return absl::OkStatus();
    }
    if (IsDigit(c)) return Number();
    if (c == '"' || c == '\'') return String();
    for (absl::string_view op : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (!absl::StartsWith(in_.substr(at_), op)) continue;
      at_ += 2;
      Add(TokenKind::kOperator, op);
      return absl::OkStatus();
    }
    if (!absl::StrContains("+-*/%~<>=.,:|()[]{}", in_.substr(at_, 1))) {
      return Error(absl::StrCat("unexpected character '", std::string(1, c), "'"));
    }
    if (c == '(' || c == '[' || c == '{') brackets.push_back(c);
    if ((c == ')' || c == ']' || c == '}') && !brackets.empty()) brackets.pop_back();
    ++at_;
    Add(TokenKind::kOperator, in_.substr(begin, 1));
    return absl::OkStatus();
  }

  absl::Status Number() {
    const size_t begin = at_;
    while (at_ < in_.size() && IsDigit(in_[at_])) ++at_;
    bool fraction = false;
    if (at_ + 1 < in_.size() && in_[at_] == '.' && IsDigit(in_[at_ + 1])) {
      fraction = true;
      ++at_;
      while (at_ < in_.size() && IsDigit(in_[at_])) ++at_;
    }
    size_t exponent = at_ + 1;
    if (exponent < in_.size() && (in_[exponent] == '+' || in_[exponent] == '-')) ++exponent;
    if (exponent < in_.size() && (in_[at_] == 'e' || in_[at_] == 'E') && IsDigit(in_[exponent])) {
      fraction = true;
      at_ = exponent;
      while (at_ < in_.size() && IsDigit(in_[at_])) ++at_;
    }
    int64_t ignored;
    const absl::string_view text = in_.substr(begin, at_ - begin);
    if (!fraction && !absl::SimpleAtoi(text, &ignored)) return Error("a number too large");
    Add(fraction ? TokenKind::kFloat : TokenKind::kInt, text);
    return absl::OkStatus();
  }

  absl::Status String() {
    const char quote = in_[at_++];
    std::string out;
    while (at_ < in_.size() && in_[at_] != quote) {
      if (in_[at_] == '\n') ++line_;
      if (in_[at_] != '\\') {
        out.push_back(in_[at_++]);
        continue;
      }
      SLUICE_RETURN_IF_ERROR(EscapeInString(out));
    }
    if (at_ >= in_.size()) return Error("a string without end");
    ++at_;
    Add(TokenKind::kString, out);
    return absl::OkStatus();
  }

  absl::Status EscapeInString(std::string& out) {
    if (at_ + 1 >= in_.size()) return Error("a string without end");
    const char c = in_[at_ + 1];
    at_ += 2;
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
      uint32_t code = 0;
      const absl::string_view hex = in_.substr(std::min(at_, in_.size()), digits);
      if (hex.size() != digits || !absl::SimpleHexAtoi(hex, &code) || code > 0x10FFFF ||
          (code >= 0xD800 && code < 0xE000)) {
        return Error("a broken escape in a string");
      }
      AppendUtf8(static_cast<int32_t>(code), out);
      at_ += digits;
      return absl::OkStatus();
    }
    constexpr absl::string_view kFrom = "nrtbfv0\\'\"";
    constexpr absl::string_view kTo("\n\r\t\b\f\v\0\\'\"", 10);
    const size_t i = kFrom.find(c);
    if (i == absl::string_view::npos) out.push_back('\\');
    if (c == '\n') {
      out.pop_back();  // a continued line
      ++line_;
    } else {
      out.push_back(i == absl::string_view::npos ? c : kTo[i]);
    }
    return absl::OkStatus();
  }

  absl::string_view in_;
  size_t at_ = 0;
  int line_ = 1;
  bool trim_all_ = false, trim_newline_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> LexTemplate(absl::string_view source) {
  if (source.size() > kMaxSource) {
    return absl::ResourceExhaustedError(absl::StrCat("chat template: longer than ", kMaxSource, " bytes"));
  }
  if (absl::EndsWith(source, "\n")) source.remove_suffix(1);  // keep_trailing_newline is off
  return Lexer(source).Run();
}

}  // namespace sluice::chat
