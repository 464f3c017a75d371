// Arithmetic expressions over + - * / and parentheses, evaluated exactly. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

constexpr size_t kMaxExpressionCharacters = 4096;
constexpr int kMaxExpressionDepth = 64;

struct ExpressionResult {
  std::vector<mpq_class> numbers;  // as written, in order
  mpq_class value;
};

// "12" or "1.50", unsigned and exact; nothing for what is no such decimal or longer than
// kMaxExpressionCharacters.
std::optional<mpq_class> ReadDecimal(absl::string_view text);

// INVALID_ARGUMENT with what is wrong: malformed, too long, too deep, a division by zero. There is no unary
// sign.
absl::StatusOr<ExpressionResult> EvaluateExpression(absl::string_view text);

}  // namespace sluice
