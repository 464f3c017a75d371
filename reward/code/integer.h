// Integers of typed values as GMP has them. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include "reward/code/typed_value.h"

namespace sluice {

// Of a boolean or an integer.
mpz_class ExactInteger(const TypedValue& value);
TypedValue TypedInteger(const mpz_class& value);

}  // namespace sluice
