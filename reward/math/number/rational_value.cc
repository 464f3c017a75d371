#include "reward/math/number/rational_value.h"

#include <algorithm>
#include <cstdlib>

namespace sluice::math {
namespace {

using Maybe = std::optional<mpq_class>;

int64_t Bits(const mpq_class& q) {
  return static_cast<int64_t>(
      std::max(mpz_sizeinbase(q.get_num_mpz_t(), 2), mpz_sizeinbase(q.get_den_mpz_t(), 2)));
}

bool Fits(const mpq_class& q, Work& work) {
  int64_t bits = Bits(q);
  if (bits > kMaxNumberBits) work.Exceed("digits");
  return work.Spend(2 + bits * bits / 40000 + bits / 20);
}

bool IsInteger(const mpq_class& q) { return q.get_den() == 1; }

Maybe PowerOf(const Expression& e, Work& work) {
  Maybe exponent = RationalValue(e.args[1], work);
  if (!exponent) return std::nullopt;
  Maybe base = RationalValue(e.args[0], work);
  if (!base) return std::nullopt;
  if (!IsInteger(*exponent)) {
    if (!exponent->get_den().fits_uint_p()) return std::nullopt;
    base = ExactRoot(*base, exponent->get_den().get_ui());
    if (!base) return std::nullopt;
  }
  return Power(*base, exponent->get_num(), work);
}

mpz_class Floor(const mpq_class& q) {
  mpz_class out;
  mpz_fdiv_q(out.get_mpz_t(), q.get_num_mpz_t(), q.get_den_mpz_t());
  return out;
}

Maybe OfOne(const std::string& name, const mpq_class& x, Work& work) {
  if (name == "abs") return mpq_class(abs(x));
  if (name == "floor") return mpq_class(Floor(x));
  if (name == "ceil") return mpq_class(-Floor(-x));
  if (name == "factorial") return Factorial(x, work);
  return std::nullopt;
}

Maybe OfTwo(const std::string& name, const mpq_class& x, const mpq_class& y, Work& work) {
  if (name == "binomial") return Binomial(x, y, work);
  if (name == "ratio") return y == 0 ? std::nullopt : Maybe(mpq_class(x / y));
  if (name == "max") return std::max(x, y);
  if (name == "min") return std::min(x, y);
  if (!IsInteger(x) || !IsInteger(y)) return std::nullopt;
  if (name == "gcd") return mpq_class(gcd(x.get_num(), y.get_num()));
  if (name == "lcm") return mpq_class(lcm(x.get_num(), y.get_num()));
  if (name == "mod" && y > 0) {
    mpz_class remainder;
    mpz_fdiv_r(remainder.get_mpz_t(), x.get_num_mpz_t(), y.get_num_mpz_t());
    return mpq_class(remainder);
  }
  return std::nullopt;
}

Maybe FunctionOf(const Expression& e, Work& work) {
  if (e.args.empty() || e.args.size() > 2) return std::nullopt;
  Maybe x = RationalValue(e.args[0], work);
  if (!x) return std::nullopt;
  if (e.args.size() == 1) return OfOne(e.name, *x, work);
  Maybe y = RationalValue(e.args[1], work);
  return y ? OfTwo(e.name, *x, *y, work) : std::nullopt;
}

}  // namespace

Maybe Power(const mpq_class& base, const mpz_class& exponent, Work& work) {
  if (base == 0 && exponent <= 0) return exponent == 0 ? Maybe(1) : std::nullopt;
  if (base == 0 || base == 1) return base;
  if (base == -1) return mpq_class(mpz_odd_p(exponent.get_mpz_t()) ? -1 : 1);
  if (!exponent.fits_slong_p() || std::labs(exponent.get_si()) > kMaxNumberBits ||
      Bits(base) * std::labs(exponent.get_si()) > 2 * kMaxNumberBits) {
    work.Exceed("digits");
    return std::nullopt;
  }
  unsigned long n = static_cast<unsigned long>(std::labs(exponent.get_si()));
  mpq_class out;
  mpz_pow_ui(out.get_num_mpz_t(), base.get_num_mpz_t(), n);
  mpz_pow_ui(out.get_den_mpz_t(), base.get_den_mpz_t(), n);
  if (exponent < 0) mpq_inv(out.get_mpq_t(), out.get_mpq_t());
  return Fits(out, work) ? Maybe(out) : std::nullopt;
}

Maybe ExactRoot(const mpq_class& base, unsigned long index) {
  if (index == 0 || (base < 0 && index % 2 == 0)) return std::nullopt;
  mpq_class out;
  bool exact = mpz_root(out.get_num_mpz_t(), base.get_num_mpz_t(), index) != 0 &&
               mpz_root(out.get_den_mpz_t(), base.get_den_mpz_t(), index) != 0;
  return exact ? Maybe(out) : std::nullopt;
}

Maybe Factorial(const mpq_class& n, Work& work) {
  if (!IsInteger(n) || n < 0) return std::nullopt;
  if (n > kMaxFactorial) {
    work.Exceed("factorial");
    return std::nullopt;
  }
  unsigned long argument = n.get_num().get_ui();
  mpz_class out;
  mpz_fac_ui(out.get_mpz_t(), argument);
  work.Spend(static_cast<int64_t>(argument * (1 + argument / 100)));
  return mpq_class(out);
}

Maybe Binomial(const mpq_class& n, const mpq_class& k, Work& work) {
  if (!IsInteger(n) || !IsInteger(k)) return std::nullopt;
  if (k < 0 || (n >= 0 && k > n)) return mpq_class(0);
  mpz_class below = k.get_num();
  if (n >= 0 && 2 * below > n.get_num()) below = n.get_num() - below;
  if (!below.fits_slong_p() || below > kMaxFactorial || Bits(n) * (1 + below.get_si()) > kMaxNumberBits) {
    work.Exceed("factorial");
    return std::nullopt;
  }
  mpz_class out;
  mpz_bin_ui(out.get_mpz_t(), n.get_num_mpz_t(), below.get_ui());
  work.Spend(below.get_si() * (2 + Bits(n)));
  return mpq_class(out);
}

Maybe RationalValue(const Expression& e, Work& work) {
  if (!work.Spend(2)) return std::nullopt;
  switch (e.kind) {
    case Kind::kNumber:
      return e.number;
    case Kind::kSum: {
      mpq_class sum = 0;
      for (const Expression& arg : e.args) {
        Maybe value = RationalValue(arg, work);
        if (!value) return std::nullopt;
        sum += *value;
        if (!Fits(sum, work)) return std::nullopt;
      }
      return sum;
    }
    case Kind::kProduct: {
      mpq_class product = 1;
      for (const Expression& arg : e.args) {
        Maybe value = RationalValue(arg, work);
        if (!value) return std::nullopt;
        product *= *value;
        if (!Fits(product, work)) return std::nullopt;
      }
      return product;
    }
    case Kind::kPower:
      return PowerOf(e, work);
    case Kind::kFunction:
      return FunctionOf(e, work);
    default:
      return std::nullopt;
  }
}

namespace {

std::optional<LinearInPi> ProductInPi(const Expression& e, Work& work) {
  LinearInPi product{1, 0};
  for (const Expression& arg : e.args) {
    std::optional<LinearInPi> factor = AsLinearInPi(arg, work);
    if (!factor || (product.pi != 0 && factor->pi != 0)) return std::nullopt;
    product = {product.constant * factor->constant,
               product.constant * factor->pi + product.pi * factor->constant};
    if (!Fits(product.constant, work) || !Fits(product.pi, work)) return std::nullopt;
  }
  return product;
}

}  // namespace

std::optional<LinearInPi> AsLinearInPi(const Expression& e, Work& work) {
  if (!work.Spend(2)) return std::nullopt;
  if (e.kind == Kind::kSymbol) {
    return e.name == "pi" ? std::optional<LinearInPi>({0, 1}) : std::nullopt;
  }
  if (e.kind == Kind::kProduct) return ProductInPi(e, work);
  if (e.kind != Kind::kSum) {
    Maybe value = RationalValue(e, work);
    return value ? std::optional<LinearInPi>({*value, 0}) : std::nullopt;
  }
  LinearInPi sum;
  for (const Expression& arg : e.args) {
    std::optional<LinearInPi> part = AsLinearInPi(arg, work);
    if (!part) return std::nullopt;
    sum.constant += part->constant;
    sum.pi += part->pi;
    if (!Fits(sum.constant, work) || !Fits(sum.pi, work)) return std::nullopt;
  }
  return sum;
}

}  // namespace sluice::math
