#include "reward/expression.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "reward/number.h"

namespace sluice {
namespace {

// expression = term { ("+" | "-") term }; term = factor { ("*" | "/") factor }; factor = number | "("
// expression ")".
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<ExpressionResult> Parse() {
    SLUICE_ASSIGN_OR_RETURN(mpq_class value, Expression(0));
    if (Peek() != '\0') return Malformed();
    return ExpressionResult{std::move(numbers_), std::move(value)};
  }

 private:
  // The next character that is no space; NUL at the end.
  char Peek() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  absl::Status Malformed() const {
    std::string found =
        at_ < text_.size() ? absl::StrCat("'", absl::CHexEscape(text_.substr(at_, 1)), "'") : "the end";
    return absl::InvalidArgumentError(absl::StrCat("malformed: ", found, " at character ", at_ + 1));
  }

  absl::StatusOr<mpq_class> Expression(int depth) {
    SLUICE_ASSIGN_OR_RETURN(mpq_class value, Term(depth));
    for (char op = Peek(); op == '+' || op == '-'; op = Peek()) {
      ++at_;
      SLUICE_ASSIGN_OR_RETURN(mpq_class right, Term(depth));
      if (op == '+') value += right;
      if (op == '-') value -= right;
    }
    return value;
  }

  absl::StatusOr<mpq_class> Term(int depth) {
    SLUICE_ASSIGN_OR_RETURN(mpq_class value, Factor(depth));
    for (char op = Peek(); op == '*' || op == '/'; op = Peek()) {
      ++at_;
      SLUICE_ASSIGN_OR_RETURN(mpq_class right, Factor(depth));
      if (op == '*') value *= right;
      if (op == '/' && right == 0) return absl::InvalidArgumentError("division by zero");
      if (op == '/') value /= right;
    }
    return value;
  }

  absl::StatusOr<mpq_class> Factor(int depth) {
    if (Peek() == '(') {
      if (depth >= kMaxExpressionDepth) {
        return absl::InvalidArgumentError(absl::StrCat("nested deeper than ", kMaxExpressionDepth));
      }
      ++at_;
      SLUICE_ASSIGN_OR_RETURN(mpq_class value, Expression(depth + 1));
      if (Peek() != ')') return Malformed();
      ++at_;
      return value;
    }
    size_t begin = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.')) {
      ++at_;
    }
    NumberReading number = ReadPlainDecimal(text_.substr(begin, at_ - begin));
    if (number.state != NumberReading::kNumber) {
      at_ = begin;
      return Malformed();
    }
    numbers_.push_back(number.value);
    return number.value;
  }

  absl::string_view text_;
  size_t at_ = 0;
  std::vector<mpq_class> numbers_;
};

}  // namespace

absl::StatusOr<ExpressionResult> EvaluateExpression(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return absl::InvalidArgumentError("malformed: empty");
  if (text.size() > kMaxExpressionCharacters) {
    return absl::InvalidArgumentError(
        absl::StrCat("malformed: longer than ", kMaxExpressionCharacters, " characters"));
  }
  return Parser(text).Parse();
}

}  // namespace sluice
