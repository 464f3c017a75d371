#include "reward/math/number/ring.h"

#include <algorithm>
#include <utility>

#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

bool ByMonomial(const Term& a, const Term& b) {
  return std::lexicographical_compare(a.monomial.begin(), a.monomial.end(), b.monomial.begin(),
                                      b.monomial.end());
}

int64_t Limbs(const mpq_class& q) {
  return static_cast<int64_t>(mpz_size(q.get_num_mpz_t()) + mpz_size(q.get_den_mpz_t()));
}

}  // namespace

Ring::Ring(Work& work) : work_(work) {
  generators_.resize(3);
  generators_[kMinusOne].kind = GeneratorKind::kMinusOne;
  generators_[kPi].kind = GeneratorKind::kPi;
  generators_[kE].kind = GeneratorKind::kE;
  generators_[kPi].positive = generators_[kE].positive = true;
}

int Ring::Insert(Generator generator) {
  constexpr size_t kMaxGenerators = 400;
  if (generators_.size() >= kMaxGenerators) {
    work_.Exceed("generators");
    return kPi;
  }
  generators_.push_back(std::move(generator));
  return static_cast<int>(generators_.size() - 1);
}

int Ring::Symbol(const std::string& name) {
  work_.Spend(static_cast<int64_t>(generators_.size()));
  for (size_t i = 3; i < generators_.size(); ++i) {
    if (generators_[i].kind == GeneratorKind::kSymbol && generators_[i].name == name)
      return static_cast<int>(i);
  }
  return Insert({.kind = GeneratorKind::kSymbol, .name = name, .closed = false});
}

int Ring::Prime(const mpz_class& p, bool is_prime) {
  for (size_t i = 3; i < generators_.size(); ++i) {
    if (generators_[i].kind == GeneratorKind::kPrime && generators_[i].prime == p) return static_cast<int>(i);
  }
  return Insert({.kind = GeneratorKind::kPrime, .prime = p, .is_prime = is_prime, .positive = true});
}

int Ring::Logarithm(const mpz_class& p, bool is_prime) {
  for (size_t i = 3; i < generators_.size(); ++i) {
    if (generators_[i].kind == GeneratorKind::kLogarithm && generators_[i].prime == p)
      return static_cast<int>(i);
  }
  return Insert({.kind = GeneratorKind::kLogarithm, .prime = p, .is_prime = is_prime, .positive = true});
}

int Ring::Exponential(const Monomial& power) {
  for (size_t i = 3; i < generators_.size(); ++i) {
    if (generators_[i].kind == GeneratorKind::kExponential && generators_[i].power == power) {
      return static_cast<int>(i);
    }
  }
  bool real = std::none_of(power.begin(), power.end(), [](Factor f) { return f.generator == kMinusOne; });
  return Insert(
      {.kind = GeneratorKind::kExponential, .power = power, .closed = IsClosed(power), .positive = real});
}

int Ring::Root(const Polynomial& base, bool positive) {
  for (size_t i = 3; i < generators_.size(); ++i) {
    if (generators_[i].kind == GeneratorKind::kRoot && generators_[i].base == base)
      return static_cast<int>(i);
  }
  return Insert({.kind = GeneratorKind::kRoot, .base = base, .closed = IsClosed(base), .positive = positive});
}

int Ring::Function(const std::string& name, std::vector<Fraction> args) {
  bool closed = std::all_of(args.begin(), args.end(), [this](const Fraction& f) { return IsClosed(f); });
  for (size_t i = 3; i < generators_.size(); ++i) {
    // A copy: comparing arguments by cross-multiplication does not add generators, but the reference is not
    // ours.
    if (generators_[i].kind != GeneratorKind::kFunction || generators_[i].name != name) continue;
    const std::vector<Fraction> other = generators_[i].args;
    bool same = other.size() == args.size();
    for (size_t a = 0; same && a < args.size(); ++a) {
      same = other[a] == args[a] || DifferenceNumerator(other[a], args[a]).empty();
    }
    if (same && work_.ok()) return static_cast<int>(i);
  }
  return Insert({.kind = GeneratorKind::kFunction, .name = name, .args = std::move(args), .closed = closed});
}

Polynomial Ring::Constant(const mpq_class& value) {
  Polynomial p;
  if (value != 0) p.push_back({{}, value});
  return p;
}

Polynomial Ring::PowerOf(int generator, Exponent exponent) {
  Product product;
  product.coefficient = 1;
  Reduce(generator, exponent, product);
  Polynomial out;
  Append(std::move(product), out);
  return out;
}

Polynomial Ring::MinusOneTo(Exponent exponent) {
  if (!exponent.fits() || 12 % exponent.den != 0 || exponent.den <= 2) return PowerOf(kMinusOne, exponent);
  // Twelfths are radicals: thirds are (1 + i sqrt 3) / 2, quarters (1 + i) / sqrt 2, twelfths a third over a
  // quarter.
  Polynomial i = PowerOf(kMinusOne, {1, 2});
  Polynomial third = Scaled(Add(Constant(1), Multiply(i, PowerOf(Prime(3, true), {1, 2}))), mpq_class(1, 2));
  Polynomial quarter =
      Scaled(Multiply(Add(Constant(1), i), PowerOf(Prime(2, true), {1, 2})), mpq_class(1, 2));
  Polynomial inverse_quarter =
      Scaled(Multiply(Add(Constant(1), Scaled(i, -1)), PowerOf(Prime(2, true), {1, 2})), mpq_class(1, 2));
  int64_t twelfths = ((int64_t{exponent.num} * (12 / exponent.den)) % 24 + 24) % 24;
  Polynomial out = PowerOf(kMinusOne, Exponent::Of(twelfths / 6, 2));
  twelfths %= 6;  // 1/12 = 1/3 - 1/4, 2/12 = 1/2 - 1/3, 3/12, 4/12, 5/12 = 1/6 + 1/4
  switch (twelfths) {
    case 1:
      return Multiply(out, Multiply(third, inverse_quarter));
    case 2:  // (sqrt 3 + i) / 2
      return Multiply(out, Scaled(Add(PowerOf(Prime(3, true), {1, 2}), i), mpq_class(1, 2)));
    case 3:
      return Multiply(out, quarter);
    case 4:
      return Multiply(out, third);
    case 5:
      return Multiply(out,
                      Multiply(Scaled(Add(PowerOf(Prime(3, true), {1, 2}), i), mpq_class(1, 2)), quarter));
    default:
      return out;
  }
}

// Multiplies `out` by generator^exponent; generators come in ascending order.
void Ring::Reduce(int id, Exponent exponent, Product& out) {
  if (!exponent.fits()) return work_.Exceed("exponent");
  const Generator& g = generator(id);
  int whole = exponent.Floor();
  switch (g.kind) {
    case GeneratorKind::kPrime:
      if (whole != 0) {
        if (std::optional<mpq_class> p = math::Power(mpq_class(g.prime), whole, work_)) out.coefficient *= *p;
        exponent = exponent + Exponent{-whole, 1};
      }
      break;
    case GeneratorKind::kMinusOne:
      if (whole % 2 != 0) out.coefficient = -out.coefficient;
      exponent = exponent + Exponent{-whole, 1};
      break;
    case GeneratorKind::kRoot:
      if (whole != 0) out.carries.push_back({id, whole});
      exponent = exponent + Exponent{-whole, 1};
      break;
    default:
      break;
  }
  if (exponent.num != 0) out.monomial.push_back({id, exponent});
}

void Ring::MultiplyMonomials(const Monomial& a, const Monomial& b, Product& out) {
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->generator < j->generator)) {
      out.monomial.push_back(*i++);
    } else if (i == a.end() || j->generator < i->generator) {
      out.monomial.push_back(*j++);
    } else {
      Reduce(i->generator, i->exponent + j->exponent, out);
      ++i, ++j;
    }
  }
}

void Ring::Append(Product product, Polynomial& out) {
  if (product.carries.empty()) {
    out.push_back({std::move(product.monomial), std::move(product.coefficient)});
    return;
  }
  Polynomial expanded;
  expanded.push_back({std::move(product.monomial), std::move(product.coefficient)});
  for (auto [id, whole] : product.carries) {
    Polynomial base = generator(id).base;
    expanded = Multiply(expanded, Power(base, whole));
  }
  std::move(expanded.begin(), expanded.end(), std::back_inserter(out));
}

void Ring::Collect(Polynomial& p) {
  if (p.size() > 1) std::sort(p.begin(), p.end(), ByMonomial);
  size_t kept = 0;
  for (size_t i = 0; i < p.size();) {
    size_t j = i + 1;
    for (; j < p.size() && p[j].monomial == p[i].monomial; ++j) p[i].coefficient += p[j].coefficient;
    if (p[i].coefficient != 0) {
      if (kept != i) p[kept] = std::move(p[i]);
      ++kept;
    }
    i = j;
  }
  p.resize(kept);
}

Polynomial Ring::Add(const Polynomial& a, const Polynomial& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Polynomial out;
  if (a.size() + b.size() > kMaxTerms) work_.Exceed("terms");
  if (!work_.Spend(static_cast<int64_t>(8 * (a.size() + b.size())))) return out;
  out.reserve(a.size() + b.size());
  auto i = a.begin(), j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (i->monomial == j->monomial) {
      mpq_class sum = i->coefficient + j->coefficient;
      work_.Spend(Limbs(sum));
      if (sum != 0) out.push_back({i->monomial, std::move(sum)});
      ++i, ++j;
    } else {
      out.push_back(ByMonomial(*i, *j) ? *i++ : *j++);
    }
  }
  out.insert(out.end(), i, a.end());
  out.insert(out.end(), j, b.end());
  return out;
}

Polynomial Ring::Scaled(Polynomial p, const mpq_class& factor) {
  if (factor == 0) return {};
  if (factor == 1) return p;
  for (Term& term : p) term.coefficient *= factor;
  return p;
}

Polynomial Ring::Multiply(const Polynomial& a, const Polynomial& b) {
  if (IsOne(a)) return b;
  if (IsOne(b)) return a;
  Polynomial out;
  if (a.size() * b.size() > 20 * kMaxTerms) work_.Exceed("terms");
  if (!work_.Spend(static_cast<int64_t>(45 * a.size() * b.size()))) return out;
  out.reserve(a.size() * b.size());
  for (const Term& s : a) {
    for (const Term& t : b) {
      int64_t limbs = Limbs(s.coefficient) * Limbs(t.coefficient);
      if (limbs > 4 && !work_.Spend(limbs)) return {};
      Product product;
      product.coefficient = s.coefficient * t.coefficient;
      MultiplyMonomials(s.monomial, t.monomial, product);
      Append(std::move(product), out);
      if (!work_.ok()) return {};
    }
  }
  Collect(out);
  if (out.size() > kMaxTerms) work_.Exceed("terms");
  return out;
}

Polynomial Ring::Power(const Polynomial& base, int64_t exponent) {
  if (base.size() == 1 && exponent > 1) {
    Product product;
    if (exponent > (1 << 30)) work_.Exceed("exponent");
    std::optional<mpq_class> c = math::Power(base[0].coefficient, exponent, work_);
    if (!c || !work_.ok()) return {};
    product.coefficient = *c;
    for (const Factor& f : base[0].monomial) {
      Reduce(f.generator, f.exponent * Exponent{static_cast<int32_t>(exponent), 1}, product);
    }
    Polynomial out;
    Append(std::move(product), out);
    Collect(out);
    return out;
  }
  // As many terms as if none fell together: the binomial of exponent + size - 1 over size - 1.
  double terms = 1;
  for (size_t k = 1; k < base.size() && terms < 1e9; ++k) {
    terms *= (static_cast<double>(exponent) + static_cast<double>(k)) / static_cast<double>(k);
  }
  double cost = 45 * terms * static_cast<double>(base.size()) * static_cast<double>(exponent) / 2;
  if (base.size() > 1 && (terms > kMaxTerms || cost > static_cast<double>(work_.left()) / 8))
    work_.Exceed("terms");
  Polynomial out = Constant(1);
  for (int64_t i = 0; i < exponent && work_.ok(); ++i) out = Multiply(out, base);
  return out;
}

Fraction Ring::Divide(Polynomial numerator, Polynomial denominator) {
  while (denominator.size() == 1 && work_.ok() && !IsOne(denominator)) {
    Product inverse;
    inverse.coefficient = 1 / denominator[0].coefficient;
    Polynomial rest = Constant(1);
    for (const Factor& f : denominator[0].monomial) {
      if (generator(f.generator).kind == GeneratorKind::kRoot) {
        Polynomial base = generator(f.generator).base;
        Reduce(f.generator, Exponent{1, 1} + -f.exponent, inverse);
        rest = Multiply(rest, base);
      } else {
        Reduce(f.generator, -f.exponent, inverse);
      }
    }
    Polynomial factor;
    Append(std::move(inverse), factor);
    numerator = Multiply(numerator, factor);
    denominator = std::move(rest);
  }
  if (!denominator.empty() && denominator[0].coefficient != 1) {
    mpq_class leading = 1 / denominator[0].coefficient;
    numerator = Scaled(std::move(numerator), leading);
    denominator = Scaled(std::move(denominator), leading);
  }
  if (denominator.size() > 1 && numerator == denominator) return Whole(Constant(1));
  return {std::move(numerator), std::move(denominator)};
}

Fraction Ring::Add(const Fraction& a, const Fraction& b) {
  if (a.denominator == b.denominator) {
    if (IsOne(a.denominator)) return Whole(Add(a.numerator, b.numerator));
    return Divide(Add(a.numerator, b.numerator), a.denominator);
  }
  return Divide(Add(Multiply(a.numerator, b.denominator), Multiply(b.numerator, a.denominator)),
                Multiply(a.denominator, b.denominator));
}

Fraction Ring::Multiply(const Fraction& a, const Fraction& b) {
  if (a.numerator == b.denominator) return {b.numerator, a.denominator};
  if (b.numerator == a.denominator) return {a.numerator, b.denominator};
  return Divide(Multiply(a.numerator, b.numerator), Multiply(a.denominator, b.denominator));
}

Polynomial Ring::DifferenceNumerator(const Fraction& a, const Fraction& b) {
  if (a.denominator == b.denominator) return Add(a.numerator, Scaled(b.numerator, -1));
  return Add(Multiply(a.numerator, b.denominator), Scaled(Multiply(b.numerator, a.denominator), -1));
}

bool Ring::IsClosed(const Monomial& monomial) const {
  return std::all_of(monomial.begin(), monomial.end(),
                     [this](Factor f) { return generator(f.generator).closed; });
}

bool Ring::IsClosed(const Polynomial& p) const {
  return std::all_of(p.begin(), p.end(), [this](const Term& t) { return IsClosed(t.monomial); });
}

bool Ring::IsPositive(const Monomial& monomial) const {
  return std::all_of(monomial.begin(), monomial.end(),
                     [this](Factor f) { return generator(f.generator).positive; });
}

namespace {

// One argument stands for itself.
Expression Joined(Kind kind, std::vector<Expression> args) {
  if (args.size() == 1) return std::move(args[0]);
  return ListOf(kind, std::move(args));
}

Expression Raised(Expression base, Exponent exponent) {
  if (exponent == Exponent{1, 1}) return base;
  return NodeOf(Kind::kPower, std::move(base), NumberOf(mpq_class(exponent.num, exponent.den)));
}

}  // namespace

Expression Ring::ToExpression(const Factor& factor) const {
  const Generator& g = generator(factor.generator);
  switch (g.kind) {
    case GeneratorKind::kMinusOne: {
      if (factor.exponent == Exponent{1, 2}) return SymbolOf("i");
      std::vector<Expression> angle;
      angle.push_back(NumberOf(mpq_class(factor.exponent.num, factor.exponent.den)));
      angle.push_back(SymbolOf("pi"));
      Expression turn = Joined(Kind::kProduct, std::move(angle));
      Expression imaginary = Joined(Kind::kProduct, {SymbolOf("i"), Applied("sin", turn)});
      return Joined(Kind::kSum, {Applied("cos", turn), std::move(imaginary)});
    }
    case GeneratorKind::kPi:
      return Raised(SymbolOf("pi"), factor.exponent);
    case GeneratorKind::kE:
      return Raised(SymbolOf("e"), factor.exponent);
    case GeneratorKind::kSymbol:
      return Raised(SymbolOf(g.name), factor.exponent);
    case GeneratorKind::kPrime:
      return Raised(NumberOf(mpq_class(g.prime)), factor.exponent);
    case GeneratorKind::kLogarithm:
      return Raised(Applied("ln", NumberOf(mpq_class(g.prime))), factor.exponent);
    case GeneratorKind::kExponential: {
      Expression power =
          Joined(Kind::kProduct,
                 {NumberOf(mpq_class(factor.exponent.num, factor.exponent.den)), ToExpression(g.power)});
      return Applied("exp", std::move(power));
    }
    case GeneratorKind::kRoot:
      return Raised(ToExpression(g.base), factor.exponent);
    case GeneratorKind::kFunction: {
      Expression call = Named(Kind::kFunction, g.name);
      for (const Fraction& arg : g.args) call.args.push_back(ToExpression(arg));
      return Raised(std::move(call), factor.exponent);
    }
  }
  return {};
}

Expression Ring::ToExpression(const Monomial& monomial) const {
  std::vector<Expression> factors;
  for (const Factor& f : monomial) factors.push_back(ToExpression(f));
  if (factors.empty()) return NumberOf(1);
  return Joined(Kind::kProduct, std::move(factors));
}

Expression Ring::ToExpression(const Polynomial& p) const {
  std::vector<Expression> terms;
  for (const Term& t : p) {
    std::vector<Expression> factors;
    if (t.coefficient != 1 || t.monomial.empty()) factors.push_back(NumberOf(t.coefficient));
    for (const Factor& f : t.monomial) factors.push_back(ToExpression(f));
    terms.push_back(Joined(Kind::kProduct, std::move(factors)));
  }
  if (terms.empty()) return NumberOf(0);
  return Joined(Kind::kSum, std::move(terms));
}

Expression Ring::ToExpression(const Fraction& f) const {
  Expression numerator = ToExpression(f.numerator);
  if (IsOne(f.denominator)) return numerator;
  return Joined(Kind::kProduct, {std::move(numerator), Raised(ToExpression(f.denominator), {-1, 1})});
}

}  // namespace sluice::math
