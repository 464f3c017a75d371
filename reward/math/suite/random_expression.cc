#include "reward/math/suite/random_expression.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice::math {
namespace {

using Op = Formula::Op;

int Draw(Generator& generator, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(generator);
}

template <typename T>
const T& Pick(Generator& generator, const std::vector<T>& options) {
  return options[Draw(generator, 0, static_cast<int>(options.size()) - 1)];
}

Formula Integer(int value) {
  if (value < 0) return {Op::kNegate, 0, "", {Integer(-value)}};
  return {Op::kInteger, value, "", {}};
}
Formula Make(Op op, std::vector<Formula> args) { return {op, 0, "", std::move(args)}; }

Formula Leaf(Generator& generator, bool free) {
  if (free && Draw(generator, 0, 9) < 6) {
    return {Op::kName, 0, Pick<std::string>(generator, {"x", "x", "y", "a"}), {}};
  }
  const int kind = Draw(generator, 0, 19);
  if (kind == 0) return {Op::kName, 0, "\\pi", {}};
  if (kind == 1) return {Op::kName, 0, "e", {}};
  if (kind == 2) return Make(Op::kRoot, {Integer(Draw(generator, 2, 30))});
  return Integer(Draw(generator, 1, kind < 6 ? 999 : 12));
}

void Collect(Formula* formula, std::vector<Formula*>* out) {
  out->push_back(formula);
  for (Formula& arg : formula->args) Collect(&arg, out);
}

Formula* AnyNode(Formula* formula, Generator& generator) {
  std::vector<Formula*> nodes;
  Collect(formula, &nodes);
  return Pick(generator, nodes);
}

// a (b + c) to ab + ac.
bool Distribute(Formula* f) {
  if (f->op != Op::kMultiply || f->args.size() != 2) return false;
  for (const int at : {0, 1}) {
    if (f->args[at].op != Op::kAdd) continue;
    Formula sum = Make(Op::kAdd, {});
    for (const Formula& term : f->args[at].args) {
      sum.args.push_back(Make(Op::kMultiply, {f->args[1 - at], term}));
    }
    *f = sum;
    return true;
  }
  return false;
}

// (a + b) / c to a/c + b/c.
bool SplitFraction(Formula* f) {
  if (f->op != Op::kDivide || f->args[0].op != Op::kAdd) return false;
  Formula sum = Make(Op::kAdd, {});
  for (const Formula& term : f->args[0].args) sum.args.push_back(Make(Op::kDivide, {term, f->args[1]}));
  *f = sum;
  return true;
}

bool UnrollPower(Formula* f) {
  if (f->op != Op::kPower || f->integer < 2) return false;
  *f = Make(Op::kMultiply, std::vector<Formula>(f->integer, f->args[0]));
  return true;
}

bool PushSign(Formula* f) {
  if (f->op != Op::kNegate || f->args[0].op != Op::kAdd) return false;
  Formula sum = f->args[0];
  for (Formula& term : sum.args) term = Make(Op::kNegate, {term});
  *f = sum;
  return true;
}

void ApplyIdentity(Formula* f, Generator& generator) {
  const Formula old = *f;
  switch (Draw(generator, 0, 9)) {
    case 0:
    case 1:
      if (f->op == Op::kAdd || f->op == Op::kMultiply)
        std::shuffle(f->args.begin(), f->args.end(), generator);
      return;
    case 2:
    case 3:
      (void)(Distribute(f) || SplitFraction(f) || UnrollPower(f) || PushSign(f));
      return;
    case 4: {  // a/b to ka/kb
      if (f->op != Op::kDivide) return;
      const Formula k = Integer(Draw(generator, 2, 9));
      for (Formula& part : f->args) part = Make(Op::kMultiply, {k, part});
      return;
    }
    case 5: {  // a to a + n - n
      const Formula n = Integer(Draw(generator, 1, 20));
      *f = Make(Op::kAdd, {n, old, Make(Op::kNegate, {n})});
      return;
    }
    case 6:
      if (f->op == Op::kInteger && f->integer > 1) {
        const int part = Draw(generator, 1, f->integer - 1);
        *f = Make(Op::kAdd, {Integer(part), Integer(old.integer - part)});
      }
      return;
    case 7:  // a/b to a * (1/b)
      if (f->op == Op::kDivide)
        *f = Make(Op::kMultiply, {old.args[0], Make(Op::kDivide, {Integer(1), old.args[1]})});
      return;
    case 8:
      *f = Make(Op::kNegate, {Make(Op::kNegate, {old})});
      return;
    default:
      if (f->op == Op::kRoot && f->args[0].op == Op::kInteger) {  // sqrt(n) to sqrt(4n)/2
        *f = Make(Op::kDivide, {Make(Op::kRoot, {Integer(4 * old.args[0].integer)}), Integer(2)});
      }
  }
}

struct Speller {
  Generator& generator;

  bool Maybe() { return Draw(generator, 0, 1) == 1; }
  std::string Blank() { return Draw(generator, 0, 3) == 0 ? " " : ""; }
  std::string Brackets(const std::string& inner) {
    return Maybe() ? "(" + inner + ")" : "\\left(" + inner + "\\right)";
  }

  // As a factor, a base or a denominator: in brackets unless it is one token.
  std::string Factor(const Formula& f) {
    const bool token = f.op == Op::kInteger || f.op == Op::kName || f.op == Op::kRoot || f.op == Op::kCall;
    return token ? Spell(f) : Brackets(Spell(f));
  }

  std::string Sum(const Formula& f) {
    std::string out;
    for (const Formula& term : f.args) {
      const bool minus = term.op == Op::kNegate;
      const Formula& shown = minus ? term.args[0] : term;
      const bool bracket = minus && (shown.op == Op::kAdd || shown.op == Op::kNegate);
      const std::string text = bracket ? Brackets(Spell(shown)) : Spell(shown);
      const bool signed_text = text[0] == '-';
      absl::StrAppend(&out,
                      minus         ? "-"
                      : out.empty() ? ""
                                    : "+",
                      Blank(), signed_text ? Brackets(text) : text);
    }
    return out;
  }

  std::string Product(const Formula& f) {
    std::string out;
    for (const Formula& factor : f.args) {
      const std::string text = Factor(factor);
      if (out.empty()) {
        out = text;
        continue;
      }
      const bool digit = text[0] >= '0' && text[0] <= '9';
      const bool bracket = text[0] == '(' || text.rfind("\\left", 0) == 0;
      const bool bare = !digit && (!bracket || out.back() != 'e') && Maybe();
      absl::StrAppend(&out, bare ? " " : Pick<std::string>(generator, {"\\cdot ", "\\times ", "*"}), text);
    }
    return out;
  }

  std::string Quotient(const Formula& f) {
    if (Draw(generator, 0, 3) == 0) return Factor(f.args[0]) + "/" + Factor(f.args[1]);
    return absl::StrCat(Maybe() ? "\\frac{" : "\\dfrac{", Spell(f.args[0]), "}{", Spell(f.args[1]), "}");
  }

  std::string Spell(const Formula& f) {
    switch (f.op) {
      case Op::kInteger:
        return std::to_string(f.integer);
      case Op::kName:
        return f.name;
      case Op::kAdd:
        return Sum(f);
      case Op::kMultiply:
        return Product(f);
      case Op::kDivide:  // in brackets, for what may stand on either side
        return Maybe() ? Brackets(Quotient(f)) : "{" + Quotient(f) + "}";
      case Op::kPower: {
        const std::string exponent = std::to_string(f.integer);
        const std::string base = f.args[0].op == Op::kName ? f.args[0].name : Brackets(Spell(f.args[0]));
        return absl::StrCat(base, "^", Maybe() ? exponent : "{" + exponent + "}");
      }
      case Op::kNegate:
        return "-" + Factor(f.args[0]);
      case Op::kRoot:
        return absl::StrCat("\\sqrt{", Blank(), Spell(f.args[0]), "}");
      case Op::kCall:
        return f.name + Brackets(Spell(f.args[0]));
    }
    return "";
  }
};

}  // namespace

Formula RandomFormula(Generator& generator, int depth, bool free) {
  if (depth <= 0 || Draw(generator, 0, 9) == 0) return Leaf(generator, free);
  const auto arg = [&] { return RandomFormula(generator, depth - 1, free); };
  const int kind = Draw(generator, 0, 15);
  if (kind < 5) return Make(Op::kAdd, {arg(), arg()});
  if (kind < 8) return Make(Op::kMultiply, {arg(), arg()});
  if (kind < 11) return Make(Op::kDivide, {arg(), arg()});
  if (kind < 13) return {Op::kPower, Draw(generator, 2, 4), "", {arg()}};
  if (kind < 14) return Make(Op::kNegate, {arg()});
  if (kind < 15) return Make(Op::kAdd, {arg(), Make(Op::kNegate, {arg()})});
  const int integer = Draw(generator, 2, 9);
  if (!free)
    return {Op::kCall, 0, Pick<std::string>(generator, {"\\sin", "\\cos", "\\ln"}), {Integer(integer)}};
  return {Op::kCall, 0, Pick<std::string>(generator, {"\\sin", "\\cos"}), {Leaf(generator, free)}};
}

Formula Rewrite(const Formula& formula, Generator& generator, int steps) {
  Formula out = formula;
  for (int i = 0; i < steps; ++i) ApplyIdentity(AnyNode(&out, generator), generator);
  return out;
}

Formula Perturb(const Formula& formula, Generator& generator) {
  Formula out = formula;
  Formula* node = AnyNode(&out, generator);
  const Formula old = *node;
  switch (node->op) {
    case Op::kInteger:
      node->integer += Draw(generator, 0, 1) ? 1 : 10;
      break;
    case Op::kName:
      *node = Draw(generator, 0, 1) ? Make(Op::kNegate, {old}) : Integer(3);
      break;
    case Op::kPower:
      ++node->integer;
      break;
    case Op::kAdd:
      node->args.back() = Make(Op::kNegate, {old.args.back()});
      break;
    case Op::kMultiply:
      node->op = Op::kDivide;
      node->args.resize(2);
      break;
    case Op::kDivide:
      std::swap(node->args[0], node->args[1]);
      break;
    default:
      *node = Make(Op::kAdd, {old, Integer(1)});
  }
  return out;
}

double Evaluate(const Formula& f, const Point& point) {
  const auto arg = [&](size_t i) { return Evaluate(f.args[i], point); };
  double value = f.op == Op::kMultiply ? 1 : 0;
  switch (f.op) {
    case Op::kInteger:
      return f.integer;
    case Op::kName:
      return f.name == "e" ? std::numbers::e : f.name == "\\pi" ? std::numbers::pi : point.at(f.name);
    case Op::kAdd:
      for (size_t i = 0; i < f.args.size(); ++i) value += arg(i);
      return value;
    case Op::kMultiply:
      for (size_t i = 0; i < f.args.size(); ++i) value *= arg(i);
      return value;
    case Op::kDivide:
      return arg(0) / arg(1);
    case Op::kPower:
      return std::pow(arg(0), f.integer);
    case Op::kNegate:
      return -arg(0);
    case Op::kRoot:
      return std::sqrt(arg(0));
    case Op::kCall:
      return f.name == "\\sin" ? std::sin(arg(0)) : f.name == "\\cos" ? std::cos(arg(0)) : std::log(arg(0));
  }
  return value;
}

std::string Spell(const Formula& formula, Generator& generator) { return Speller{generator}.Spell(formula); }

}  // namespace sluice::math
