#include "reward/math/extract/box.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/math/extract/aftermath.h"
#include "reward/math/extract/conclusion.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr std::array<string_view, 3> kCommands = {"\\boxed", "\\fbox", "\\framebox"};
constexpr size_t kMaxJoined = 8;  // boxes that make one answer
constexpr int kMaxCommands = 64;  // boxes that are looked at, from the end

// From the backslash of the command to behind the closing brace, and the content.
struct Span {
  size_t begin = 0, end = 0;
  size_t content_begin = 0, content_end = 0;
  bool part = false;  // of a larger formula: "\frac{\boxed{9}}{2}"
};

size_t CommandLength(string_view text, size_t i) {
  if (At(text, i + 1) != 'b' && At(text, i + 1) != 'f') return 0;
  for (string_view command : kCommands) {
    if (absl::StartsWith(text.substr(i), command) && !IsLetter(At(text, i + command.size())))
      return command.size();
  }
  return 0;
}

// The content of "\boxed 5", "\boxed\frac{1}{2}": up to a blank, a dollar or a closing brace of its own.
Span WithoutBraces(string_view text, size_t begin, size_t i) {
  size_t end = i;
  for (int open = 0; end < text.size(); ++end) {
    char c = text[end];
    if (c == '{') ++open;
    if (c == '}' && --open < 0) break;
    if (open == 0 && (IsBlank(c) || c == '$' || absl::StartsWith(text.substr(end), "\\)") ||
                      absl::StartsWith(text.substr(end), "\\]"))) {
      break;
    }
  }
  return {begin, end, i, end, false};
}

// Where the last few boxes begin; the end of the text if there is none.
size_t FirstOfLastCommands(string_view text) {
  size_t first = text.size();
  int count = 0;
  for (size_t at = text.size(); count < kMaxCommands;) {
    const void* found = at == 0 ? nullptr : memrchr(text.data(), '\\', at);
    if (found == nullptr) break;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (CommandLength(text, at) == 0) continue;
    first = at;
    ++count;
  }
  return first;
}

bool IsLoneLetter(string_view text, size_t i) {
  return IsLetter(At(text, i)) && !IsLetter(At(text, i + 1)) &&
         (i == 0 || (!IsLetter(text[i - 1]) && text[i - 1] != '\\'));
}

bool IsOperand(string_view text, size_t i) {
  return IsDigit(At(text, i)) || IsLoneLetter(text, i) ||
         absl::StartsWith(text.substr(std::min(i, text.size())), "\\frac") ||
         absl::StartsWith(text.substr(std::min(i, text.size())), "\\sqrt");
}

// Whether a formula goes on behind a box: "^2", "x", " + 1", "\pi"; not "^\circ", "^{\text{th}}" or emphasis.
bool GoesOn(string_view text, size_t i) {
  string_view rest = text.substr(i);
  if (absl::StartsWith(rest, "^")) {
    for (string_view mark : {"^\\circ", "^{\\circ", "^\\text", "^{\\text", "^{th", "^{\\rm", "^{\\prime"}) {
      if (absl::StartsWith(rest, mark)) return false;
    }
    return true;
  }
  for (string_view factor : {"\\pi", "\\sqrt", "\\frac", "\\cdot", "\\times", "\\div"}) {
    if (absl::StartsWith(rest, factor)) return true;
  }
  if (absl::StartsWith(rest, "!$") || IsLoneLetter(text, i)) return true;
  if (At(text, i) == '_') return At(text, i + 1) == '{' || IsDigit(At(text, i + 1));
  if (At(text, i) == ' ') ++i;
  char sign = At(text, i);
  if (sign == '\0' || !absl::StrContains("+-/*", sign)) return false;
  size_t operand = i + (At(text, i + 1) == ' ' ? 2 : 1);
  return IsOperand(text, operand);
}

// Whether a formula begins before a box: "-", "2", "x", "10 - ", "\cdot "; not a dash of the text.
bool BeginsBefore(string_view text, size_t i) {
  if (i == 0) return false;
  char c = text[i - 1];
  bool blank = c == ' ' && i > 1;
  size_t sign = blank ? i - 2 : i - 1;
  for (string_view command : {"\\cdot", "\\times", "\\pm", "\\mp", "\\sqrt", "\\ln", "\\log", "\\div"}) {
    if (absl::EndsWith(text.substr(0, sign + 1), command)) return true;
  }
  c = text[sign];
  if (c == '+' || c == '/' || c == '-' || (blank && c == '*')) {
    size_t k = sign;
    while (k > 0 && text[k - 1] == ' ') --k;
    bool operand = k > 0 && (IsDigit(text[k - 1]) || text[k - 1] == '}' || text[k - 1] == ')' ||
                             IsLoneLetter(text, k - 1));
    return operand || (!blank && (c == '-' || c == '+') && (k == 0 || !IsLetter(text[k - 1])));
  }
  return !blank && (IsDigit(c) || c == '^' || IsLoneLetter(text, i - 1));
}

bool EndsWithHead(string_view before) {
  for (string_view head : {"\\frac", "\\dfrac", "\\tfrac", "\\sqrt", "\\binom", "^"}) {
    if (absl::EndsWith(before, head)) return true;
  }
  return false;
}

// Whether what begins at `i` is an operand in a brace: of a fraction, a root, a power.
bool IsArgument(string_view text, size_t i) {
  constexpr size_t kMaxFirst = 128;  // bytes of the operand before
  if (i == 0 || text[i - 1] != '{') return false;
  size_t end = i - 1;
  if (EndsWithHead(text.substr(0, end))) return true;
  if (end == 0 || text[end - 1] != '}') return false;
  int open = 0;
  for (size_t k = end; k > 0 && end - k < kMaxFirst; --k) {
    if (text[k - 1] == '}') ++open;
    if (text[k - 1] == '{' && --open == 0) return EndsWithHead(text.substr(0, k - 1)) && text[k - 2] != '^';
  }
  return false;
}

// Finds the last boxes.
class Scan {
 public:
  explicit Scan(string_view text) : text_(text) {}

  void Run() {
    for (size_t i = FirstOfLastCommands(text_); i < text_.size(); ++i) {
      char c = text_[i];
      if (c == '\\') {
        size_t length = CommandLength(text_, i);
        if (length == 0) {
          ++i;  // an escaped character, for example \{
          continue;
        }
        i = Command(i, i + length) - 1;
      } else if (c == '{') {
        open_.push_back({i, nullptr});
      } else if (c == '}' && !open_.empty()) {
        if (open_.back().command != nullptr) Close(i);
        open_.pop_back();
      }
    }
  }

  const std::vector<Span>& complete() const { return complete_; }
  std::optional<Span> unclosed() const { return unclosed_; }

 private:
  struct Open {
    size_t at;
    const char* command;  // of a box's brace; else null
  };

  // Returns where to go on.
  size_t Command(size_t begin, size_t i) {
    while (IsBlank(At(text_, i))) ++i;
    if (At(text_, i) == '{') {
      open_.push_back({i, text_.data() + begin});
      unclosed_ = Span{begin, text_.size(), i + 1, text_.size(), false};
      return i + 1;
    }
    Span span = WithoutBraces(text_, begin, i);
    if (span.content_end > span.content_begin) Keep(span);
    return std::max(i, begin + 1);
  }

  void Close(size_t at) {
    size_t brace = open_.back().at;
    size_t begin = static_cast<size_t>(open_.back().command - text_.data());
    bool in_box = open_.size() > 1 && open_[open_.size() - 2].command != nullptr;
    bool part = IsArgument(text_, begin) || GoesOn(text_, at + 1) || (!in_box && BeginsBefore(text_, begin));
    Keep({begin, at + 1, brace + 1, at, part});
  }

  // A box around the last ones takes their place only as far as it begins later.
  void Keep(const Span& span) {
    if (!complete_.empty() && span.begin < complete_.back().begin) return;
    if (complete_.size() == kMaxJoined) complete_.erase(complete_.begin());
    complete_.push_back(span);
  }

  string_view text_;
  std::vector<Open> open_;
  std::vector<Span> complete_;  // by where they begin
  std::optional<Span> unclosed_;
};

// Bytes of "x = " at `i`; 0 if nothing is given there.
size_t NameGiven(string_view text, size_t i) {
  if (!IsLoneLetter(text, i)) return 0;
  size_t equals = i + 1;
  while (At(text, equals) == ' ') ++equals;
  return At(text, equals) == '=' ? equals + 1 - i : 0;
}

// Whether `between` two boxes makes them one answer; `word` is then "or" or empty.
bool Joins(string_view between, string_view* word) {
  bool joint = false;
  *word = {};
  for (size_t i = 0; i < between.size(); ++i) {
    char c = between[i];
    if (c == ',' || c == ';') {
      joint = true;
    } else if (absl::StartsWith(between.substr(i), "maybe")) {
      i += 4;
    } else if (absl::StartsWith(between.substr(i), "alternatively")) {
      *word = "or";
      joint = true;
      i += 12;
    } else if (absl::StartsWith(between.substr(i), "and") || absl::StartsWith(between.substr(i), "or")) {
      bool either = c == 'o';
      if (either) *word = "or";
      joint = true;
      i += either ? 1 : 2;
      if (IsLetter(At(between, i + 1))) return false;
    } else if (absl::StartsWith(between.substr(i), "\\text{")) {
      i += 5;
    } else if (absl::StartsWith(between.substr(i), "\\quad") ||
               absl::StartsWith(between.substr(i), "\\qquad")) {
      i += between[i + 1] == 'q' && between[i + 2] == 'q' ? 5 : 4;
    } else if (c == '\\' &&
               (At(between, i + 1) == ')' || At(between, i + 1) == '(' || At(between, i + 1) == ' ' ||
                At(between, i + 1) == ',' || At(between, i + 1) == ';')) {
      ++i;
    } else if (const size_t name = NameGiven(between, i); name > 0) {
      i += name - 1;
    } else if (!IsBlank(c) && c != '$' && c != '*' && c != '}' && c != '(') {
      return false;
    }
  }
  return joint;
}

Box Joined(string_view text, const std::vector<Span>& spans) {
  size_t first = spans.size() - 1;
  bool either = false;
  for (; first > 0; --first) {
    const Span &left = spans[first - 1], &right = spans[first];
    string_view word;
    if (right.begin < left.end || right.begin - left.end > 48) break;
    if (!Joins(text.substr(left.end, right.begin - left.end), &word)) break;
    either = either || !word.empty();
  }
  Box box;
  box.offset = spans[first].content_begin;
  auto content = [&](size_t i) {
    return text.substr(spans[i].content_begin, spans[i].content_end - spans[i].content_begin);
  };
  box.end = spans.back().end;
  for (; first > 0 && spans[first].begin >= spans[first - 1].end; --first) {
    const size_t end = spans[first - 1].end;
    if (!StandBeside(text.substr(end, spans[first].begin - end))) break;
    either = true;
  }
  for (size_t i = first; i < spans.size(); ++i) {
    if (i > first && content(i) == content(i - 1)) continue;
    if (either) box.alternatives.emplace_back(content(i));
    absl::StrAppend(&box.text, i > first ? (either ? " or " : ", ") : "", content(i));
  }
  return box;
}

// What an open box may hold: up to the end of the formula, the line or a sentence.
Box LeftOpen(string_view text, const Span& span) {
  string_view content = text.substr(span.content_begin, 4096);
  size_t end = std::min({content.find('$'), content.find('\n'), content.find("\\]"), content.find("\\)")});
  content = content.substr(0, end);
  return {std::string(content), span.content_begin, span.content_begin + content.size(), {}};
}

}  // namespace

std::optional<Box> LastBox(string_view text) {
  Scan scan(text);
  scan.Run();
  std::vector<Span> spans = scan.complete();
  while (!spans.empty() &&
         (IsDenied(text.substr(0, spans.back().begin)) || DeniesAnswer(text.substr(spans.back().end)))) {
    spans.pop_back();
  }
  if (!spans.empty() && spans.back().part) return std::nullopt;
  if (!spans.empty()) return Joined(text, spans);
  if (!scan.complete().empty()) return std::nullopt;
  if (scan.unclosed()) return LeftOpen(text, *scan.unclosed());
  return std::nullopt;
}

}  // namespace sluice::math
