#include "reward/math/number/zero_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

// The value is U / L with algebraic integers U, L; these bound the absolute values of all of their
// conjugates, as base 2 logarithms.
struct Bound {
  double above = 0, below = 0;
};

double Log2(const mpz_class& n) {
  long exponent = 0;
  double mantissa = mpz_get_d_2exp(&exponent, n.get_mpz_t());
  return n == 0 ? 0 : std::max(0.0, std::log2(std::fabs(mantissa)) + static_cast<double>(exponent));
}

double LogOfSum(double a, double b) { return std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b))); }

int64_t Totient(int64_t n) {
  int64_t phi = n;
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p != 0) continue;
    while (n % p == 0) n /= p;
    phi -= phi / p;
  }
  return n > 1 ? phi - phi / n : phi;
}

class Bounder {
 public:
  explicit Bounder(Work& work) : work_(work) {}

  std::optional<Bound> Of(const Expression& e) {
    if (!work_.Spend(10)) return std::nullopt;
    switch (e.kind) {
      case Kind::kNumber:
        return Bound{Log2(e.number->get_num()), Log2(e.number->get_den())};
      case Kind::kSymbol:
        if (e.name != "i") return std::nullopt;
        return RootOfUnity(4) ? std::optional<Bound>(Bound{}) : std::nullopt;
      case Kind::kSum:
      case Kind::kProduct:
        return Fold(e);
      case Kind::kPower:
        return Power(e);
      case Kind::kFunction:
        return Function(e);
      default:
        return std::nullopt;
    }
  }

  double Degree() const { return degree_ * static_cast<double>(Totient(cyclotomic_)); }

 private:
  std::optional<Bound> Fold(const Expression& e) {
    Bound out;
    bool first = true;
    for (const Expression& arg : e.args) {
      std::optional<Bound> part = Of(arg);
      if (!part) return std::nullopt;
      if (e.kind == Kind::kProduct || first) {
        out = {out.above + part->above, out.below + part->below};
      } else {
        out = {LogOfSum(out.above + part->below, out.below + part->above), out.below + part->below};
      }
      first = false;
    }
    return out;
  }

  std::optional<Bound> Power(const Expression& e) {
    std::optional<mpq_class> exponent = RationalValue(e.args[1], work_);
    if (!exponent || !exponent->get_num().fits_sint_p() || exponent->get_den() > 1000) return std::nullopt;
    std::optional<Bound> base = Of(e.args[0]);
    if (!base) return std::nullopt;
    double n = std::fabs(exponent->get_num().get_d()), k = exponent->get_den().get_d();
    Bound out = *base;
    if (k > 1) {
      AddRoot(e.args[0], exponent->get_den().get_si());
      out = base->above >= base->below ? Bound{(base->above + (k - 1) * base->below) / k, base->below}
                                       : Bound{base->above, ((k - 1) * base->above + base->below) / k};
    }
    out = {out.above * n, out.below * n};
    return *exponent < 0 ? Bound{out.below, out.above} : out;
  }

  // The same root twice adds to the field's degree once.
  void AddRoot(const Expression& radicand, int64_t index) {
    for (const auto& [other, k] : roots_) {
      if (k % index == 0 && SameTree(*other, radicand)) return;
    }
    roots_.push_back({&radicand, index});
    degree_ *= static_cast<double>(index);
  }

  bool RootOfUnity(int64_t order) {
    cyclotomic_ = std::lcm(cyclotomic_, order);
    return cyclotomic_ <= 100'000;
  }

  // sin and cos of a rational multiple of pi are half an algebraic integer whose conjugates are at most 2.
  std::optional<Bound> Function(const Expression& e) {
    if (e.args.size() != 1 || (e.name != "sin" && e.name != "cos" && e.name != "tan")) return std::nullopt;
    std::optional<LinearInPi> angle = AsLinearInPi(e.args[0], work_);
    if (!angle || angle->constant != 0 || angle->pi.get_den() > 1000) return std::nullopt;
    if (!RootOfUnity(std::lcm(4, 2 * angle->pi.get_den().get_si()))) return std::nullopt;
    return e.name == "tan" ? Bound{2, 2} : Bound{1, 1};
  }

  Work& work_;
  double degree_ = 1;
  int64_t cyclotomic_ = 1;
  std::vector<std::pair<const Expression*, int64_t>> roots_;
};

}  // namespace

std::optional<double> ZeroBoundBits(const Expression& expression, Work& work) {
  Bounder bounder(work);
  std::optional<Bound> bound = bounder.Of(expression);
  if (!bound) return std::nullopt;
  return (bounder.Degree() - 1) * bound->above + bound->below + 1;
}

}  // namespace sluice::math
