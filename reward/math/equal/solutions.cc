#include "reward/math/equal/solutions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "reward/math/equal/value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxSolutions = 12;

bool Contains(const Expression& e, const std::string& symbol) {
  return IsSymbol(e, symbol) || std::any_of(e.args.begin(), e.args.end(),
                                            [&](const Expression& arg) { return Contains(arg, symbol); });
}

bool HasValue(const Expression& e) {
  bool scalar = e.kind == Kind::kNumber || e.kind == Kind::kSymbol || e.kind == Kind::kSum ||
                e.kind == Kind::kProduct || e.kind == Kind::kPower || e.kind == Kind::kFunction;
  return scalar && !IsInfinite(e) && std::all_of(e.args.begin(), e.args.end(), HasValue);
}

// The members of a list or set, both values of "\pm".
void Collect(const Expression& e, std::vector<Expression>& out) {
  if (e.kind == Kind::kPlusMinus) {
    for (bool plus : {true, false}) {
      Expression last = plus ? e.args.back() : Negated(e.args.back());
      out.push_back(e.args.size() == 1 ? std::move(last) : NodeOf(Kind::kSum, e.args[0], std::move(last)));
    }
    return;
  }
  bool members = e.kind == Kind::kList || e.kind == Kind::kSet;
  if (!members) return out.push_back(e);
  for (const Expression& arg : e.args) Collect(arg, out);
}

Expression Equation(Expression left, Expression right) {
  Expression out = NodeOf(Kind::kRelation, std::move(left), std::move(right));
  out.relations = {Relation::kEqual};
  return out;
}

Expression Square(const Expression& e) { return NodeOf(Kind::kPower, e, NumberOf(2)); }

bool IsNotNegative(const Expression& e) { return IsNumber(e) && *e.number >= 0; }

}  // namespace

std::optional<Expression> EquationSolvedBy(const std::string& name, const Expression& values) {
  std::vector<Expression> solutions, factors;
  Collect(values, solutions);
  if (solutions.empty() || solutions.size() > kMaxSolutions) return std::nullopt;
  for (Expression& solution : solutions) {
    if (!HasValue(solution) || Contains(solution, name)) return std::nullopt;
    factors.push_back(NodeOf(Kind::kSum, SymbolOf(name), Negated(std::move(solution))));
  }
  return Equation(ProductOf(std::move(factors)), NumberOf(0));
}

std::optional<Expression> EquationIn(const std::string& name, const Expression& e) {
  bool equation = e.kind == Kind::kRelation && e.args.size() == 2 && e.relations[0] == Relation::kEqual;
  if (!equation || !Contains(e, name)) return std::nullopt;
  for (size_t side : {0, 1}) {
    const Expression &modulus = e.args[side], &other = e.args[1 - side];
    if (modulus.kind != Kind::kFunction || modulus.name != "abs" || modulus.args.size() != 1) continue;
    if (IsNotNegative(other)) return Equation(Square(modulus.args[0]), Square(other));
  }
  return e;
}

}  // namespace sluice::math
