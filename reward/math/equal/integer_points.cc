#include "reward/math/equal/integer_points.h"

#include <algorithm>
#include <string>

#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

constexpr int kPoints = 8;
constexpr int kFirst = 3;  // below it a sum may have no terms

bool IsSum(const Expression& e) {
  return e.kind == Kind::kFunction && (e.name == "sum" || e.name == "prod") && e.args.size() == 3;
}

// The symbols of what sums run to; false where two differ.
bool CollectLimit(const Expression& e, bool within_limit, std::string& name) {
  bool symbol = within_limit && e.kind == Kind::kSymbol && !IsClosedConstant(e);
  if (symbol && (IsInfinite(e) || (!name.empty() && name != e.name))) return false;
  if (symbol) name = e.name;
  for (size_t i = 0; i < e.args.size(); ++i) {
    if (!CollectLimit(e.args[i], within_limit || (IsSum(e) && i == 1), name)) return false;
  }
  return true;
}

// A sum's own letter stands for itself.
Expression At(const Expression& e, const std::string& name, int value) {
  if (IsSymbol(e, name)) return NumberOf(value);
  Expression out = e;
  for (Expression& arg : out.args) arg = At(arg, name, value);
  return out;
}

bool Binds(const Expression& e, const std::string& name) {
  bool binds = IsSum(e) && e.args[0].kind == Kind::kRelation && IsSymbol(e.args[0].args[0], name);
  return binds ||
         std::any_of(e.args.begin(), e.args.end(), [&](const Expression& arg) { return Binds(arg, name); });
}

}  // namespace

ValueDecision CompareAtIntegers(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work) {
  std::string name;
  bool one = CollectLimit(gold, false, name) && CollectLimit(prediction, false, name);
  if (!one || name.empty() || Binds(gold, name) || Binds(prediction, name)) return {};
  for (int i = 0; i < kPoints; ++i) {
    work.Forgive();
    const int value = kFirst + i * (i + 1) / 2;
    ValueDecision at = CompareValues(At(gold, name, value), At(prediction, name, value), options, work);
    if (at.answer != Answer::kEqual) return at;
  }
  return {Answer::kEqual, "whole points"};
}

}  // namespace sluice::math
