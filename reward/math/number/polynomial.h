// Sparse polynomials with rational coefficients and rational exponents in numbered generators. Which
// relations the generators obey is the Ring's business (ring.h).
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace sluice::math {

// In lowest terms, the denominator positive. 0/0 stands for what does not fit 30 bits.
struct Exponent {
  int32_t num = 0, den = 1;

  static Exponent Of(int64_t num, int64_t den) {
    int64_t common = std::gcd(num, den);
    if (common == 0) return {0, 0};
    if (den < 0) common = -common;
    num /= common;
    den /= common;
    constexpr int64_t kMost = 1 << 30;
    if (num > kMost || num < -kMost || den > kMost) return {0, 0};
    return {static_cast<int32_t>(num), static_cast<int32_t>(den)};
  }
  bool fits() const { return den != 0; }
  bool IsInteger() const { return den == 1; }
  int32_t Floor() const { return num >= 0 ? num / den : -((-int64_t{num} + den - 1) / den); }
  friend Exponent operator+(Exponent a, Exponent b) {
    if (a.den == 1 && b.den == 1) return Of(int64_t{a.num} + b.num, 1);
    if (!a.fits() || !b.fits()) return {0, 0};
    return Of(int64_t{a.num} * b.den + int64_t{b.num} * a.den, int64_t{a.den} * b.den);
  }
  friend Exponent operator*(Exponent a, Exponent b) {
    return Of(int64_t{a.num} * b.num, int64_t{a.den} * b.den);
  }
  Exponent operator-() const { return {-num, den}; }
  friend bool operator==(const Exponent&, const Exponent&) = default;
  friend bool operator<(Exponent a, Exponent b) { return int64_t{a.num} * b.den < int64_t{b.num} * a.den; }
};

struct Factor {
  int32_t generator = 0;
  Exponent exponent;
  friend bool operator==(const Factor&, const Factor&) = default;
  friend bool operator<(const Factor& a, const Factor& b) {
    return a.generator != b.generator ? a.generator < b.generator : a.exponent < b.exponent;
  }
};

// By generator, no exponent 0.
using Monomial = absl::InlinedVector<Factor, 3>;

struct Term {
  Monomial monomial;
  mpq_class coefficient;  // never 0 in a polynomial
  friend bool operator==(const Term&, const Term&) = default;
};

// Ordered by monomial, each once; zero is empty.
using Polynomial = std::vector<Term>;

// The denominator is not empty. There is no greatest common divisor taken: equality is by
// cross-multiplication.
struct Fraction {
  Polynomial numerator, denominator;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

inline bool IsConstant(const Polynomial& p) { return p.empty() || (p.size() == 1 && p[0].monomial.empty()); }
inline bool IsOne(const Polynomial& p) {
  return p.size() == 1 && p[0].monomial.empty() && p[0].coefficient == 1;
}

}  // namespace sluice::math
