// Arithmetic expressions over + - * / and parentheses, evaluated exactly. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

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

// INVALID_ARGUMENT with what is wrong: malformed, too long, too deep, a division by zero. There is no unary
// sign.
absl::StatusOr<ExpressionResult> EvaluateExpression(absl::string_view text);

}  // namespace sluice
