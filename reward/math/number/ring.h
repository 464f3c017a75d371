// The ring in which normal forms live: generators for symbols, constants, roots, logarithms, exponentials and
// unknown functions, with the relations that make products of them canonical. Not thread-safe.
#pragma once

#include <gmpxx.h>

#include <string>
#include <vector>

#include "reward/math/number/polynomial.h"
#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

enum class GeneratorKind {
  kMinusOne,  // (-1)^a = exp(i pi a); a in [0, 1), so i is its power 1/2
  kPi,
  kE,            // e^a
  kSymbol,       // real, any sign
  kPrime,        // p^a with a in [0, 1): real radicals
  kLogarithm,    // ln p
  kExponential,  // exp(monomial)^a
  kRoot,         // base^a with a in (0, 1)
  kFunction,     // name(args), with no relation to anything else
};

struct Generator {
  GeneratorKind kind = GeneratorKind::kSymbol;
  std::string name = "";            // of kSymbol, kFunction
  mpz_class prime = 0;              // of kPrime, kLogarithm
  bool is_prime = true;             // false where a large number was not factored
  Monomial power = {};              // of kExponential
  Polynomial base = {};             // of kRoot
  std::vector<Fraction> args = {};  // of kFunction
  bool closed = true;               // no free variable in it
  bool positive = false;            // for all real values of the free variables
};

class Ring {
 public:
  static constexpr size_t kMaxTerms = 3000;
  static constexpr int kMinusOne = 0, kPi = 1, kE = 2;

  explicit Ring(Work& work);

  const Generator& generator(int id) const { return generators_[static_cast<size_t>(id)]; }
  Work& work() { return work_; }

  int Symbol(const std::string& name);
  int Prime(const mpz_class& p, bool is_prime);
  int Logarithm(const mpz_class& p, bool is_prime);
  int Exponential(const Monomial& power);
  int Root(const Polynomial& base, bool positive);
  int Function(const std::string& name, std::vector<Fraction> args);

  static Polynomial Constant(const mpq_class& value);
  // generator^exponent, the exponent not negative for kRoot.
  Polynomial PowerOf(int generator, Exponent exponent);
  // (-1)^exponent.
  Polynomial MinusOneTo(Exponent exponent);

  Polynomial Add(const Polynomial& a, const Polynomial& b);
  static Polynomial Scaled(Polynomial p, const mpq_class& factor);
  Polynomial Multiply(const Polynomial& a, const Polynomial& b);
  Polynomial Power(const Polynomial& base, int64_t exponent);  // exponent >= 0

  static Fraction Whole(Polynomial p) { return {std::move(p), Constant(1)}; }
  // The denominator, which is not empty, becomes 1 where it is a single term.
  Fraction Divide(Polynomial numerator, Polynomial denominator);
  Fraction Add(const Fraction& a, const Fraction& b);
  Fraction Multiply(const Fraction& a, const Fraction& b);
  Fraction Negate(Fraction f) { return {Scaled(std::move(f.numerator), -1), std::move(f.denominator)}; }
  // a - b over the product of both denominators.
  Polynomial DifferenceNumerator(const Fraction& a, const Fraction& b);

  bool IsClosed(const Polynomial& p) const;
  bool IsClosed(const Fraction& f) const { return IsClosed(f.numerator) && IsClosed(f.denominator); }
  // Single term of generators that are positive; says nothing of the coefficient.
  bool IsPositive(const Monomial& monomial) const;

  Expression ToExpression(const Monomial& monomial) const;
  Expression ToExpression(const Polynomial& p) const;
  Expression ToExpression(const Fraction& f) const;

 private:
  struct Product {
    Monomial monomial;
    mpq_class coefficient;
    std::vector<std::pair<int, int>> carries;  // roots and the powers of their bases to multiply by
  };
  void Reduce(int generator, Exponent exponent, Product& out);
  void MultiplyMonomials(const Monomial& a, const Monomial& b, Product& out);
  void Append(Product product, Polynomial& out);
  void Collect(Polynomial& p);
  bool IsClosed(const Monomial& monomial) const;
  int Insert(Generator generator);
  Expression ToExpression(const Factor& factor) const;

  Work& work_;
  std::vector<Generator> generators_;
};

}  // namespace sluice::math
