// Complex numbers as balls (Arb): enclosures that hold the true value, whatever the precision.
#pragma once

#if __has_include(<flint/acb.h>)
#include <flint/acb.h>  // FLINT 3
#else
#include <acb.h>  // Arb 2
#endif
#include <gmpxx.h>

#include <string>
#include <utility>
#include <vector>

#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

class Ball {
 public:
  Ball() { acb_init(value_); }
  ~Ball() { acb_clear(value_); }
  Ball(const Ball& other) : Ball() { acb_set(value_, other.value_); }
  Ball(Ball&& other) noexcept : Ball() { acb_swap(value_, other.value_); }
  Ball& operator=(Ball other) noexcept {
    acb_swap(value_, other.value_);
    return *this;
  }
  acb_ptr get() { return value_; }
  acb_srcptr get() const { return value_; }
  arb_ptr real() { return acb_realref(value_); }
  arb_ptr imag() { return acb_imagref(value_); }
  arb_srcptr real() const { return acb_realref(value_); }
  arb_srcptr imag() const { return acb_imagref(value_); }
  bool IsReal() const { return arb_is_zero(acb_imagref(value_)); }  // exactly

 private:
  acb_t value_;
};

enum class BallState {
  kValue,      // the ball encloses the value; it may be infinite when the precision does not suffice
  kUndefined,  // a division by zero, or a root or logarithm of a negative number in the reals
  kUnknown,    // no number: a free variable, an unknown function, infinity, a statement
};

struct BallOptions {
  int precision = 64;  // bits
  bool reals = false;  // what leaves the reals is undefined
  const std::vector<std::pair<std::string, mpq_class>>* point = nullptr;  // values of the free variables
};

// Powers with a fraction of odd denominator are the real ones where the base is real. Charges `work`; where
// that ends the state is kUnknown.
BallState EvaluateBall(const Expression& expression, const BallOptions& options, Work& work, Ball& out);

}  // namespace sluice::math
