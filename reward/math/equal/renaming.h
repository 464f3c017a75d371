// Names that stand for any value, so that an answer may call them otherwise. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reward/math/parse/expression.h"

namespace sluice::math {

// The prediction with such names as the gold has them, in each way that may be meant; nothing where there are
// none, or they are alike:
// - the argument of a function or index of a sequence: "f(t) = t^2" for "f(x) = x^2", "a_k = 2k" for "a_n =
// 2n"
// - the constant of integration, added: "x^2 + c" and "x^2 + C_1" for "x^2 + C"
// - the constants of a family of solutions: "A e^x + B" for "C_1 e^x + C_2"
std::vector<Expression> RenamedLike(const Expression& gold, const Expression& prediction);

// A value for every integer: "21k + 20", "{\pi n : n \in Z}", "x \equiv 6 \pmod{10}".
struct Family {
  Expression value;
  std::string parameter;
};

// `parameter`: the letter that was said to stand for the integers; if it is empty, the one letter beside pi.
std::optional<Family> FamilyOf(const Expression& e, const std::string& parameter);

// The prediction's value with the gold's parameter, counted from either end and from a few integers on: the
// same values.
std::vector<Expression> Recounted(const Family& gold, const Family& prediction);

}  // namespace sluice::math
