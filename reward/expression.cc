#include "reward/expression.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/character.h"
#include "core/base/printable.h"
#include "core/base/status.h"

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
    if (at_ >= text_.size()) return absl::InvalidArgumentError("malformed: it ends too early");
    const absl::string_view found = text_.substr(at_, ReadCharacter(text_, at_).bytes);
    return absl::InvalidArgumentError(absl::StrCat("malformed: '", Printable(found), "' at byte ", at_ + 1));
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
    std::optional<mpq_class> number = ReadDecimal(text_.substr(begin, at_ - begin));
    if (!number) {
      at_ = begin;
      return Malformed();
    }
    numbers_.push_back(*number);
    return *std::move(number);
  }

  absl::string_view text_;
  size_t at_ = 0;
  std::vector<mpq_class> numbers_;
};

}  // namespace

std::optional<mpq_class> ReadDecimal(absl::string_view text) {
  if (text.size() > kMaxExpressionCharacters) return std::nullopt;
  size_t point = text.find('.');
  bool whole = point == absl::string_view::npos;
  if (!whole && (point == 0 || point + 1 == text.size())) return std::nullopt;
  std::string digits(text.substr(0, point));
  if (!whole) absl::StrAppend(&digits, text.substr(point + 1));
  bool all = std::all_of(digits.begin(), digits.end(),
                         [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (digits.empty() || !all) return std::nullopt;
  mpq_class value(mpz_class(digits, 10));
  mpz_ui_pow_ui(value.get_den_mpz_t(), 10, whole ? 0 : text.size() - point - 1);
  value.canonicalize();
  return value;
}

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
