// Prime factors of integers. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <vector>

#include "reward/math/number/work.h"

namespace sluice::math {

struct PrimePower {
  mpz_class prime;
  int exponent = 1;
  bool is_prime = true;  // false: a factor past 64 bits that was not taken apart
};

// Of n > 0.
std::vector<PrimePower> Factorization(mpz_class n, Work& work);

}  // namespace sluice::math
