#include "reward/math/equal/renaming.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

using absl::string_view;

// How often the symbol stands in it.
int Count(const Expression& e, string_view symbol) {
  int count = IsSymbol(e, symbol);
  for (const Expression& arg : e.args) count += Count(arg, symbol);
  return count;
}

Expression Replaced(const Expression& e, string_view from, const Expression& to) {
  if (IsSymbol(e, from)) return to;
  Expression out = e;
  for (Expression& arg : out.args) arg = Replaced(arg, from, to);
  return out;
}

Expression Renamed(const Expression& e, string_view from, string_view to) {
  return Replaced(e, from, SymbolOf(to));
}

bool IsEquation(const Expression& e) {
  return e.kind == Kind::kRelation && e.args.size() == 2 && e.relations[0] == Relation::kEqual;
}

// "t" of "f(t)", "k" of "a_k"; empty for all else.
string_view ArgumentOf(const Expression& e) {
  if (e.kind == Kind::kFunction && e.name.size() == 1 && e.args.size() == 1 &&
      e.args[0].kind == Kind::kSymbol) {
    return e.args[0].name;
  }
  bool sequence = e.kind == Kind::kSymbol && e.name.size() == 3 && e.name[1] == '_' && e.name[2] >= 'a';
  return sequence ? string_view(e.name).substr(2) : string_view();
}

// An equation for a function of another argument.
std::optional<Expression> WithArgument(const Expression& g, const Expression& p) {
  if (!IsEquation(g) || !IsEquation(p) || g.args[0].name.substr(0, 1) != p.args[0].name.substr(0, 1))
    return std::nullopt;
  string_view to = ArgumentOf(g.args[0]), from = ArgumentOf(p.args[0]);
  if (to.empty() || from.empty() || to == from || Count(p, to) > 0) return std::nullopt;
  Expression out = Renamed(p, from, to);
  out.args[0] = g.args[0];
  return out;
}

// What is stated: the right side of an equation.
const Expression& BodyOf(const Expression& e) { return IsEquation(e) ? e.args[1] : e; }

bool IsConstantLetter(const Expression& e) {
  if (e.kind != Kind::kSymbol || (e.name[0] != 'C' && e.name[0] != 'c')) return false;
  return e.name.size() == 1 || (e.name.size() == 3 && e.name[1] == '_');
}

// The constant that is added to a sum, and stands nowhere else in it; not among its fellows, "a + b + c". "K"
// is one where `known`, the gold, has one.
string_view AddedConstant(const Expression& whole, string_view known = {}) {
  const Expression& sum = BodyOf(whole);
  if (sum.kind != Kind::kSum) return {};
  string_view constant;
  for (const Expression& term : sum.args) {
    if (term.kind == Kind::kSymbol &&
        (term.name == "a" || term.name == "b" || term.name == "A" || term.name == "B"))
      return {};
    if (!IsConstantLetter(term) && !(known == "C" && IsSymbol(term, "K"))) continue;
    if (!constant.empty()) return {};
    constant = term.name;
  }
  return constant.empty() || Count(whole, constant) != 1 ? string_view() : constant;
}

bool HasUnknown(const Expression& e) {
  bool unknown = e.kind == Kind::kSymbol && e.name != "e" && e.name != "pi" && e.name != "i";
  return unknown || std::any_of(e.args.begin(), e.args.end(), HasUnknown);
}

// The constant in front of an exponential, "C e^x", that stands nowhere else.
string_view ConstantFactor(const Expression& whole) {
  const Expression& product = BodyOf(whole);
  if (product.kind != Kind::kProduct) return {};
  bool exponential = std::any_of(product.args.begin(), product.args.end(), [](const Expression& e) {
    return e.kind == Kind::kPower && !HasUnknown(e.args[0]) && HasUnknown(e.args[1]);
  });
  for (const Expression& factor : product.args) {
    bool constant = factor.kind == Kind::kSymbol && (IsConstantLetter(factor) || factor.name == "A" ||
                                                     factor.name == "K" || factor.name == "k");
    if (exponential && constant)
      return Count(whole, factor.name) == 1 ? string_view(factor.name) : string_view();
  }
  return {};
}

bool IsInteger(const Expression& e) {
  return e.kind == Kind::kSymbol && (e.name == "k" || e.name == "n" || e.name == "m");
}

// Collects the letters for integers that are multiplied by pi.
void CollectBesidePi(const Expression& e, std::vector<string_view>& out) {
  if (e.kind == Kind::kProduct && Count(e, "pi") > 0) {
    for (const Expression& arg : e.args) {
      if (IsInteger(arg) && std::find(out.begin(), out.end(), arg.name) == out.end()) out.push_back(arg.name);
    }
  }
  for (const Expression& arg : e.args) CollectBesidePi(arg, out);
}

std::optional<Expression> With(const Expression& p, string_view from, string_view to) {
  if (from.empty() || to.empty() || from == to || Count(p, to) > 0) return std::nullopt;
  return Renamed(p, from, to);
}

// Whether a function that solves differential equations is in it: "e^x", "\\sin x", "\\ln x".
bool HasTranscendental(const Expression& e) {
  bool exponential = e.kind == Kind::kPower && !HasUnknown(e.args[0]) && HasUnknown(e.args[1]);
  bool function = e.kind == Kind::kFunction && (e.name == "sin" || e.name == "cos" || e.name == "ln" ||
                                                e.name == "sinh" || e.name == "cosh");
  return exponential || function || std::any_of(e.args.begin(), e.args.end(), HasTranscendental);
}

bool IsFamilyConstant(const Expression& e, bool indexed) {
  if (IsConstantLetter(e) && e.name.size() == 3) return true;
  return !indexed && e.kind == Kind::kSymbol && e.name.size() == 1 && e.name[0] >= 'A' && e.name[0] <= 'D';
}

void CollectFamilyConstants(const Expression& e, bool indexed, std::vector<string_view>& out) {
  if (IsFamilyConstant(e, indexed)) out.push_back(e.name);
  for (const Expression& arg : e.args) CollectFamilyConstants(arg, indexed, out);
}

// The constants of a family of solutions, in order, `indexed` ones only or single letters too; none where one
// stands in it twice.
std::vector<string_view> FamilyConstants(const Expression& whole, bool indexed) {
  std::vector<string_view> constants;
  if (HasTranscendental(BodyOf(whole))) CollectFamilyConstants(BodyOf(whole), indexed, constants);
  for (string_view constant : constants) {
    if (Count(whole, constant) != 1) return {};
  }
  return constants;
}

// "A e^x + B" in the names of "C_1 e^x + C_2", in every order of them.
void AddFamilies(const Expression& gold, const Expression& prediction, std::vector<Expression>& out) {
  constexpr size_t kMostConstants = 3;
  std::vector<string_view> to = FamilyConstants(gold, true), from = FamilyConstants(prediction, false);
  if (to.size() < 2 || to.size() > kMostConstants || from.size() != to.size()) return;
  std::sort(to.begin(), to.end());
  auto passing = [](size_t i) { return std::to_string(i); };  // no symbol's name
  do {
    Expression renamed = prediction;
    for (size_t i = 0; i < from.size(); ++i) renamed = Renamed(renamed, from[i], passing(i));
    for (size_t i = 0; i < from.size(); ++i) renamed = Renamed(renamed, passing(i), to[i]);
    out.push_back(std::move(renamed));
  } while (std::next_permutation(to.begin(), to.end()));
}

}  // namespace

std::vector<Expression> RenamedLike(const Expression& gold, const Expression& prediction) {
  if (auto renamed = WithArgument(gold, prediction)) return {*std::move(renamed)};
  std::vector<Expression> families;
  AddFamilies(gold, prediction, families);
  if (!families.empty()) return families;
  if (auto renamed = With(prediction, AddedConstant(prediction, AddedConstant(gold)), AddedConstant(gold)))
    return {*std::move(renamed)};
  string_view factor = ConstantFactor(gold);
  if (!factor.empty() && (factor[0] == 'C' || factor[0] == 'c')) {
    if (auto renamed = With(prediction, ConstantFactor(prediction), factor)) return {*std::move(renamed)};
  }
  return {};
}

std::optional<Family> FamilyOf(const Expression& e, const std::string& parameter) {
  const bool call = e.kind == Kind::kFunction && e.args.size() == 2;
  if (call && e.name == "mod" && IsNumber(e.args[0]) && IsNumber(e.args[1])) {
    Expression multiple = NodeOf(Kind::kProduct, e.args[1], SymbolOf("k"));
    return Family{NodeOf(Kind::kSum, e.args[0], std::move(multiple)), "k"};
  }
  if (call && e.name == "such that") {
    const Expression& domain = e.args[1];
    const bool integers = domain.kind == Kind::kRelation && domain.relations[0] == Relation::kIn &&
                          domain.args[0].kind == Kind::kSymbol && IsSymbol(domain.args[1], "set Z");
    if (!integers || Count(e.args[0], domain.args[0].name) == 0) return std::nullopt;
    return Family{e.args[0], domain.args[0].name};
  }
  if (!parameter.empty()) {
    return Count(e, parameter) > 0 ? std::optional<Family>({e, parameter}) : std::nullopt;
  }
  std::vector<string_view> letters;
  CollectBesidePi(e, letters);
  if (letters.size() != 1) return std::nullopt;
  return Family{e, std::string(letters[0])};
}

std::vector<Expression> Recounted(const Family& gold, const Family& prediction) {
  constexpr int kMostSteps = 3;
  const std::string &to = gold.parameter, &from = prediction.parameter;
  if (to != from && (Count(gold.value, from) > 0 || Count(prediction.value, to) > 0)) return {};
  std::vector<Expression> out;
  for (int steps = 0; steps <= kMostSteps; ++steps) {
    for (int step : {steps, -steps}) {
      for (int sign : {1, -1}) {
        Expression counted = sign > 0 ? SymbolOf(to) : Negated(SymbolOf(to));
        if (step != 0) counted = NodeOf(Kind::kSum, std::move(counted), NumberOf(step));
        out.push_back(Replaced(prediction.value, from, counted));
      }
      if (steps == 0) break;
    }
  }
  return out;
}

}  // namespace sluice::math
