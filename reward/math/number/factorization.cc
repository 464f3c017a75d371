#include "reward/math/number/factorization.h"

#include <flint/ulong_extras.h>

namespace sluice::math {
namespace {

constexpr unsigned long kTrialLimit = 1000;

void Machine(unsigned long n, std::vector<PrimePower>& out) {
  n_factor_t factors;
  n_factor_init(&factors);
  n_factor(&factors, n, 1);
  for (int i = 0; i < factors.num; ++i) {
    out.push_back({mpz_class(factors.p[i]), static_cast<int>(factors.exp[i])});
  }
}

// No factor is below kTrialLimit.
void Large(const mpz_class& n, std::vector<PrimePower>& out) {
  if (mpz_perfect_power_p(n.get_mpz_t())) {
    mpz_class root;
    for (unsigned long k = mpz_sizeinbase(n.get_mpz_t(), 2) / 9 + 1; k > 1; --k) {
      if (mpz_root(root.get_mpz_t(), n.get_mpz_t(), k) == 0) continue;
      size_t first = out.size();
      if (root.fits_ulong_p()) {
        Machine(root.get_ui(), out);
      } else {
        out.push_back({root, 1, false});
      }
      for (size_t i = first; i < out.size(); ++i) out[i].exponent *= static_cast<int>(k);
      return;
    }
  }
  out.push_back({n, 1, false});
}

}  // namespace

std::vector<PrimePower> Factorization(mpz_class n, Work& work) {
  std::vector<PrimePower> out;
  if (n.fits_ulong_p()) {
    work.Spend(n.get_ui() < 1'000'000 ? 20 : 4000);
    if (n > 1) Machine(n.get_ui(), out);
    return out;
  }
  auto limbs = static_cast<int64_t>(mpz_size(n.get_mpz_t()));
  if (!work.Spend(1000 * limbs + limbs * limbs * 40)) return out;
  for (unsigned long p = 2; p < kTrialLimit; p += p == 2 ? 1 : 2) {
    if (!mpz_divisible_ui_p(n.get_mpz_t(), p)) continue;
    int exponent = 0;
    for (; mpz_divisible_ui_p(n.get_mpz_t(), p); ++exponent) mpz_divexact_ui(n.get_mpz_t(), n.get_mpz_t(), p);
    out.push_back({mpz_class(p), exponent});
  }
  if (n.fits_ulong_p()) {
    if (n > 1) Machine(n.get_ui(), out);
  } else {
    Large(n, out);
  }
  return out;
}

}  // namespace sluice::math
