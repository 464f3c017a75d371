// Expressions from their parts, in the shapes that expression.h promises.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

inline Expression NumberOf(mpq_class value) {
  Expression e;
  e.kind = Kind::kNumber;
  e.number = std::move(value);
  return e;
}

inline Expression Named(Kind kind, absl::string_view name) {
  Expression e;
  e.kind = kind;
  e.name = std::string(name);
  return e;
}

inline Expression SymbolOf(absl::string_view name) { return Named(Kind::kSymbol, name); }

// `kind` over `args`, which are moved from.
template <typename... Args>
Expression NodeOf(Kind kind, Args&&... args) {
  Expression e;
  e.kind = kind;
  e.args.reserve(sizeof...(args));
  (e.args.push_back(std::forward<Args>(args)), ...);
  return e;
}

inline Expression ListOf(Kind kind, std::vector<Expression> args) {
  Expression e;
  e.kind = kind;
  e.args = std::move(args);
  return e;
}

template <typename... Args>
Expression Applied(absl::string_view function, Args&&... args) {
  Expression e = NodeOf(Kind::kFunction, std::forward<Args>(args)...);
  e.name = std::string(function);
  return e;
}

inline bool IsNumber(const Expression& e) { return e.kind == Kind::kNumber; }
inline bool IsSymbol(const Expression& e, absl::string_view name) {
  return e.kind == Kind::kSymbol && e.name == name;
}

// One factor as it is, several as a product.
inline Expression ProductOf(std::vector<Expression> factors) {
  if (factors.size() == 1) return std::move(factors[0]);
  return ListOf(Kind::kProduct, std::move(factors));
}

inline Expression Negated(Expression e) {
  if (IsNumber(e)) {
    *e.number = -*e.number;
    return e;
  }
  if (e.kind == Kind::kProduct && IsNumber(e.args[0])) {
    *e.args[0].number = -*e.args[0].number;
    return e;
  }
  return NodeOf(Kind::kProduct, NumberOf(-1), std::move(e));
}

inline Expression Inverted(Expression e) { return NodeOf(Kind::kPower, std::move(e), NumberOf(-1)); }

// above / below, as one number where both are.
inline Expression Quotient(Expression above, Expression below) {
  if (IsNumber(above) && IsNumber(below) && *below.number != 0) {
    *above.number /= *below.number;
    return above;
  }
  std::vector<Expression> factors;
  factors.reserve(2);
  factors.push_back(std::move(above));
  factors.push_back(Inverted(std::move(below)));
  return ListOf(Kind::kProduct, std::move(factors));
}

inline Expression RootOf(Expression radicand, Expression index) {
  return NodeOf(Kind::kPower, std::move(radicand), Quotient(NumberOf(1), std::move(index)));
}

// n! / (n - k)!
inline Expression Arrangements(Expression n, Expression k) {
  Expression rest = NodeOf(Kind::kSum, n, Negated(std::move(k)));
  Expression below = Inverted(Applied("factorial", std::move(rest)));
  return NodeOf(Kind::kProduct, Applied("factorial", std::move(n)), std::move(below));
}

inline Expression IntervalOf(Expression lower, bool closed_left, Expression upper, bool closed_right) {
  Expression e = NodeOf(Kind::kInterval, std::move(lower), std::move(upper));
  e.closed_left = closed_left;
  e.closed_right = closed_right;
  return e;
}

// Whether both are written alike; not whether they are equal.
inline bool SameTree(const Expression& a, const Expression& b) {
  if (a.kind != b.kind || a.args.size() != b.args.size() || a.name != b.name || a.number != b.number ||
      a.relations != b.relations || a.columns != b.columns || a.closed_left != b.closed_left ||
      a.closed_right != b.closed_right) {
    return false;
  }
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (!SameTree(a.args[i], b.args[i])) return false;
  }
  return true;
}

// Infinite in sign or not.
inline bool IsInfinite(const Expression& e) {
  if (e.kind == Kind::kProduct && e.args.size() == 2) {
    return IsNumber(e.args[0]) && *e.args[0].number != 0 && IsSymbol(e.args[1], "infinity");
  }
  return IsSymbol(e, "infinity");
}

}  // namespace sluice::math
