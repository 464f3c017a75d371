#include "reward/math/number/constant.h"

#include <algorithm>
#include <utility>

#include "reward/math/number/ball.h"
#include "reward/math/number/zero_bound.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

constexpr int kFirstPrecision = 64;

RealSign SignOf(const Ball& ball) {
  if (!acb_is_finite(ball.get()) || acb_contains_zero(ball.get())) return RealSign::kUnknown;
  if (!ball.IsReal()) return arb_contains_zero(ball.imag()) ? RealSign::kNonzero : RealSign::kNotReal;
  return arb_is_positive(ball.real()) ? RealSign::kPositive : RealSign::kNegative;
}

// Whether |ball| < 2^-bits.
bool IsBelow(const Ball& ball, double bits) {
  mag_t bound;
  mag_init(bound);
  acb_get_mag(bound, ball.get());
  bool below = mag_cmp_2exp_si(bound, -static_cast<slong>(bits) - 1) < 0;
  mag_clear(bound);
  return below;
}

}  // namespace

RealSign SignOf(const Expression& constant, int max_precision_bits, Work& work) {
  std::optional<double> bound;
  for (int precision = kFirstPrecision;;) {
    Ball ball;
    BallState state = EvaluateBall(constant, {.precision = precision}, work, ball);
    if (state == BallState::kUndefined) return RealSign::kUndefined;
    if (state == BallState::kUnknown) return RealSign::kUnknown;
    if (RealSign sign = SignOf(ball); sign != RealSign::kUnknown) return sign;
    if (acb_is_zero(ball.get())) return RealSign::kZero;
    if (precision == kFirstPrecision) bound = ZeroBoundBits(constant, work);
    if (bound && *bound < max_precision_bits && acb_is_finite(ball.get()) && IsBelow(ball, *bound)) {
      return RealSign::kZero;
    }
    if (precision >= max_precision_bits || !work.ok()) return RealSign::kUnknown;
    bool near = bound && *bound<max_precision_bits&& * bound> precision;
    precision = near ? static_cast<int>(*bound) + kFirstPrecision : precision * 4;
    precision = std::min(precision, max_precision_bits);
  }
}

bool StandsForANumber(const std::string& name) {
  return name != "infinity" && name != "..." && name.rfind("set ", 0) != 0;
}

Expression Difference(Expression a, Expression b) {
  return NodeOf(Kind::kSum, std::move(a), Negated(std::move(b)));
}

}  // namespace sluice::math
