#include "reward/code/cpp_scanner.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr absl::string_view kKeywords[] = {"alignas",
                                           "alignof",
                                           "and",
                                           "asm",
                                           "auto",
                                           "bool",
                                           "break",
                                           "case",
                                           "catch",
                                           "char",
                                           "class",
                                           "const",
                                           "constexpr",
                                           "continue",
                                           "decltype",
                                           "default",
                                           "delete",
                                           "do",
                                           "double",
                                           "else",
                                           "enum",
                                           "explicit",
                                           "export",
                                           "extern",
                                           "false",
                                           "float",
                                           "for",
                                           "friend",
                                           "goto",
                                           "if",
                                           "inline",
                                           "int",
                                           "long",
                                           "mutable",
                                           "namespace",
                                           "new",
                                           "noexcept",
                                           "not",
                                           "nullptr",
                                           "operator",
                                           "or",
                                           "private",
                                           "protected",
                                           "public",
                                           "register",
                                           "return",
                                           "short",
                                           "signed",
                                           "sizeof",
                                           "static",
                                           "struct",
                                           "switch",
                                           "template",
                                           "this",
                                           "throw",
                                           "true",
                                           "try",
                                           "typedef",
                                           "typeid",
                                           "typename",
                                           "union",
                                           "unsigned",
                                           "using",
                                           "virtual",
                                           "void",
                                           "volatile",
                                           "while",
                                           "xor",
                                           "static_assert",
                                           "static_cast",
                                           "dynamic_cast",
                                           "const_cast",
                                           "reinterpret_cast",
                                           "thread_local",
                                           "main"};

// The position after the blanks at `at`.
size_t AfterBlanks(absl::string_view text, size_t at) {
  while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

// The last character before `at` that is no blank; 0: there is none.
char Before(absl::string_view text, size_t at) {
  while (at > 0 && absl::ascii_isspace(static_cast<unsigned char>(text[at - 1]))) --at;
  return at == 0 ? '\0' : text[at - 1];
}

bool IsWordAt(absl::string_view text, size_t at, absl::string_view word) {
  bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
  if (!begins || !absl::StartsWith(text.substr(at), word)) return false;
  size_t end = at + word.size();
  return end == text.size() || !IsNameCharacter(text[end]);
}

// Whether a character may be the last of a type.
bool MayFollowAType(char c) { return IsNameCharacter(c) || c == '>' || c == '*' || c == '&' || c == ']'; }

// Whether parameters and a body follow.
bool IsDefinitionAt(absl::string_view code, size_t at) {
  constexpr size_t kMaxParameters = 4096;
  at = AfterBlanks(code, at);
  if (at == code.size() || code[at] != '(') return false;
  int depth = 0;
  size_t end = std::min(code.size(), at + kMaxParameters);
  for (; at < end; ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(code.substr(std::min(at + 1, code.size())));
  return absl::StartsWith(rest, "{") || absl::StartsWith(rest, "noexcept") || absl::StartsWith(rest, "->");
}

// Whether what stands in this brace is still at the level of namespaces.
bool OpensNamespace(absl::string_view statement) {
  statement = absl::StripLeadingAsciiWhitespace(statement);
  return absl::StartsWith(statement, "namespace") || absl::StartsWith(statement, "extern") ||
         absl::StartsWith(statement, "inline namespace");
}

}  // namespace

bool IsNameCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool IsCppName(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  if (!std::all_of(text.begin(), text.end(), IsNameCharacter)) return false;
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) == std::end(kKeywords);
}

size_t CodeScanner::Next() {
  while (at_ < text_.size()) {
    if (!SkipOver()) return at_++;
  }
  return absl::string_view::npos;
}

bool CodeScanner::SkipOver() {
  absl::string_view rest = text_.substr(at_);
  if (absl::StartsWith(rest, "//")) return SkipTo("\n", 0);
  if (absl::StartsWith(rest, "/*")) return SkipTo("*/", 2);
  bool raw = absl::StartsWith(rest, "R\"") && (at_ == 0 || !IsNameCharacter(text_[at_ - 1]));
  if (raw) {
    size_t open = rest.find('(');
    if (open == absl::string_view::npos) return SkipTo("\"", 2);
    return SkipTo(absl::StrCat(")", rest.substr(2, open - 2), "\""), 2);
  }
  bool digit_mark =
      rest[0] == '\'' && at_ > 0 && absl::ascii_isxdigit(static_cast<unsigned char>(text_[at_ - 1]));
  if (rest[0] == '"' || (rest[0] == '\'' && !digit_mark)) return SkipQuoted(rest[0]);
  return false;
}

bool CodeScanner::SkipTo(absl::string_view end, size_t from) {
  size_t found = text_.find(end, at_ + from);
  at_ = found == absl::string_view::npos ? text_.size() : found + end.size();
  return true;
}

bool CodeScanner::SkipQuoted(char quote) {
  for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == '\\') ++at_;
  }
  if (at_ < text_.size()) ++at_;
  return true;
}

std::string CodeOnly(absl::string_view text) {
  std::string out(text.size(), ' ');
  CodeScanner scanner(text);
  for (size_t i = scanner.Next(); i != absl::string_view::npos; i = scanner.Next()) out[i] = text[i];
  return out;
}

bool DefinesFreeFunction(absl::string_view text, absl::string_view name) {
  std::string code = CodeOnly(text);
  std::vector<bool> inside;  // of each open brace: whether it is no namespace's
  size_t statement = 0, opaque = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    char c = code[i];
    if (c == '{') {
      inside.push_back(!OpensNamespace(absl::string_view(code).substr(statement, i - statement)));
      opaque += inside.back() ? 1 : 0;
    } else if (c == '}' && !inside.empty()) {
      opaque -= inside.back() ? 1 : 0;
      inside.pop_back();
    }
    bool at_begin = i == statement;
    bool directive = c == '\n' && code[statement] == '#';
    bool blank = at_begin && absl::ascii_isspace(static_cast<unsigned char>(c));
    if (c == '{' || c == '}' || c == ';' || directive || blank) statement = i + 1;
    if (opaque > 0 || c != name[0] || !IsWordAt(code, i, name)) continue;
    if (MayFollowAType(Before(code, i)) && IsDefinitionAt(code, i + name.size())) return true;
  }
  return false;
}

bool DefinesClass(absl::string_view text, absl::string_view name) {
  std::string code = CodeOnly(text);
  for (size_t i = 0; i < code.size(); ++i) {
    for (absl::string_view word : {"class", "struct"}) {
      if (IsWordAt(code, i, word) && IsWordAt(code, AfterBlanks(code, i + word.size()), name)) return true;
    }
  }
  return false;
}

}  // namespace sluice
