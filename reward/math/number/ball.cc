#include "reward/math/number/ball.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "reward/math/number/rational_value.h"

namespace sluice::math {
namespace {

// FLINT keeps memory for each thread; this returns it when the thread ends.
struct ThreadMemory {
  ~ThreadMemory() { flint_cleanup(); }
  void Hold() {}
};
thread_local ThreadMemory thread_memory;

constexpr slong kMaxExponentBits = 40;  // of a number that is an argument of exp

using State = BallState;

void SetRational(const mpq_class& q, slong precision, Ball& out) {
  fmpq_t value;
  fmpq_init(value);
  fmpq_set_mpq(value, q.get_mpq_t());
  acb_set_fmpq(out.get(), value, precision);
  fmpq_clear(value);
}

// Of a sign that the ball decides: -1, 1, 0 for exactly zero; 2 where it does not.
int SignOf(arb_srcptr x) {
  if (arb_is_positive(x)) return 1;
  if (arb_is_negative(x)) return -1;
  return arb_is_zero(x) ? 0 : 2;
}

class Evaluator {
 public:
  Evaluator(const BallOptions& options, Work& work)
      : options_(options), precision_(options.precision), work_(work) {}

  State Of(const Expression& e, Ball& out) {
    if (!work_.Spend(8 + precision_ / 16)) return State::kUnknown;
    switch (e.kind) {
      case Kind::kNumber:
        SetRational(*e.number, precision_, out);
        return State::kValue;
      case Kind::kSymbol:
        return Symbol(e.name, out);
      case Kind::kSum:
      case Kind::kProduct:
        return Fold(e, out);
      case Kind::kPower:
        return Power(e, out);
      case Kind::kFunction:
        return Function(e, out);
      default:
        return State::kUnknown;
    }
  }

 private:
  State Symbol(const std::string& name, Ball& out) {
    if (name == "pi") {
      arb_const_pi(out.real(), precision_);
    } else if (name == "e") {
      arb_const_e(out.real(), precision_);
    } else if (name == "i") {
      if (options_.reals) return State::kUndefined;
      acb_onei(out.get());
    } else {
      if (options_.point == nullptr) return State::kUnknown;
      for (const auto& [symbol, value] : *options_.point) {
        if (symbol != name) continue;
        SetRational(value, precision_, out);
        return State::kValue;
      }
      return State::kUnknown;
    }
    return State::kValue;
  }

  State Fold(const Expression& e, Ball& out) {
    bool sum = e.kind == Kind::kSum;
    acb_set_si(out.get(), sum ? 0 : 1);
    Ball part;
    for (const Expression& arg : e.args) {
      acb_zero(part.get());
      if (State state = Of(arg, part); state != State::kValue) return state;
      if (sum) {
        acb_add(out.get(), out.get(), part.get(), precision_);
      } else {
        acb_mul(out.get(), out.get(), part.get(), precision_);
      }
    }
    return State::kValue;
  }

  bool SpendFunction() { return work_.Spend(60 + int64_t{precision_} * precision_ / 1600); }

  State Power(const Expression& e, Ball& out) {
    Ball base;
    if (e.args[0].kind == Kind::kSymbol && e.args[0].name == "e") return PowerOfE(e.args[1], out);
    if (State state = Of(e.args[0], base); state != State::kValue) return state;
    std::optional<mpq_class> exponent = RationalValue(e.args[1], work_);
    if (exponent) return RationalPower(base, *exponent, out);
    if (!work_.ok()) return State::kUnknown;
    Ball power;
    if (State state = Of(e.args[1], power); state != State::kValue) return state;
    if (options_.reals && SignOf(base.real()) <= 0) return State::kUndefined;
    if (acb_is_zero(base.get())) return State::kUndefined;
    if (!SpendFunction()) return State::kUnknown;
    acb_log(base.get(), base.get(), precision_);
    acb_mul(power.get(), power.get(), base.get(), precision_);
    return Exponential(power, out);
  }

  State PowerOfE(const Expression& exponent, Ball& out) {
    Ball power;
    if (State state = Of(exponent, power); state != State::kValue) return state;
    return Exponential(power, out);
  }

  State Exponential(const Ball& power, Ball& out) {
    if (!SpendFunction()) return State::kUnknown;
    for (arb_srcptr part : {power.real(), power.imag()}) {
      if (arf_cmpabs_2exp_si(arb_midref(part), kMaxExponentBits) > 0) {
        work_.Exceed("tower of powers");
        return State::kUnknown;
      }
    }
    acb_exp(out.get(), power.get(), precision_);
    return State::kValue;
  }

  State RationalPower(Ball& base, const mpq_class& exponent, Ball& out) {
    if (mpz_sizeinbase(exponent.get_num_mpz_t(), 2) > kMaxExponentBits ||
        mpz_sizeinbase(exponent.get_den_mpz_t(), 2) > kMaxExponentBits || !SpendFunction()) {
      work_.Exceed("tower of powers");
      return State::kUnknown;
    }
    if (acb_is_zero(base.get())) {
      if (exponent < 0) return State::kUndefined;
      acb_set_si(out.get(), exponent == 0 ? 1 : 0);
      return State::kValue;
    }
    ulong index = exponent.get_den().get_ui();
    if (index != 1) {
      if (State state = Root(base, index); state != State::kValue) return state;
    }
    fmpz_t n;
    fmpz_init(n);
    fmpz_set_mpz(n, exponent.get_num_mpz_t());
    acb_pow_fmpz(out.get(), base.get(), n, precision_);
    fmpz_clear(n);
    return State::kValue;
  }

  State Root(Ball& base, ulong index) {
    if (base.IsReal()) {
      int sign = SignOf(base.real());
      bool odd = index % 2 == 1;
      if (sign < 0 && odd) {
        arb_neg(base.real(), base.real());
        arb_root_ui(base.real(), base.real(), index, precision_);
        arb_neg(base.real(), base.real());
        return State::kValue;
      }
      if (sign > 0) {
        arb_root_ui(base.real(), base.real(), index, precision_);
        return State::kValue;
      }
      if (sign == 2) return RootAroundZero(base, index);
      if (options_.reals) return State::kUndefined;
    }
    acb_root_ui(base.get(), base.get(), index, precision_);
    return State::kValue;
  }

  // The base may be zero: its root lies in a ball around zero, as far as the base's largest absolute value
  // says.
  State RootAroundZero(Ball& base, ulong index) {
    arb_t bound;
    arb_init(bound);
    arb_get_abs_ubound_arf(arb_midref(bound), base.real(), precision_);
    arb_root_ui(bound, bound, index, precision_);
    arb_zero(base.real());
    arb_add_error(base.real(), bound);
    bool odd = index % 2 == 1;
    if (!odd && !options_.reals) arb_add_error(base.imag(), bound);
    arb_clear(bound);
    return State::kValue;
  }

  State Function(const Expression& e, Ball& out) {
    using Method = State (Evaluator::*)(std::vector<Ball>&, Ball&);
    static const auto* const kMethods =
        new absl::flat_hash_map<absl::string_view, Method>{{"exp", &Evaluator::Exp},
                                                           {"ln", &Evaluator::Ln},
                                                           {"log", &Evaluator::Log},
                                                           {"abs", &Evaluator::Abs},
                                                           {"sgn", &Evaluator::Sgn},
                                                           {"arccot", &Evaluator::Arccot},
                                                           {"arcsec", &Evaluator::OfInverse<acb_acos>},
                                                           {"arccsc", &Evaluator::OfInverse<acb_asin>},
                                                           {"Re", &Evaluator::Re},
                                                           {"Im", &Evaluator::Im},
                                                           {"arg", &Evaluator::Arg},
                                                           {"floor", &Evaluator::Floor},
                                                           {"ceil", &Evaluator::Ceil},
                                                           {"factorial", &Evaluator::Factorial},
                                                           {"sin", &Evaluator::Entire<acb_sin>},
                                                           {"cos", &Evaluator::Entire<acb_cos>},
                                                           {"tan", &Evaluator::Entire<acb_tan>},
                                                           {"cot", &Evaluator::Entire<acb_cot>},
                                                           {"sec", &Evaluator::Entire<acb_sec>},
                                                           {"csc", &Evaluator::Entire<acb_csc>},
                                                           {"sinh", &Evaluator::Entire<acb_sinh>},
                                                           {"cosh", &Evaluator::Entire<acb_cosh>},
                                                           {"tanh", &Evaluator::Entire<acb_tanh>},
                                                           {"coth", &Evaluator::Entire<acb_coth>},
                                                           {"sech", &Evaluator::Entire<acb_sech>},
                                                           {"csch", &Evaluator::Entire<acb_csch>},
                                                           {"arcsin", &Evaluator::Branched<acb_asin>},
                                                           {"arccos", &Evaluator::Branched<acb_acos>},
                                                           {"arctan", &Evaluator::Branched<acb_atan>},
                                                           {"arcsinh", &Evaluator::Branched<acb_asinh>},
                                                           {"arccosh", &Evaluator::Branched<acb_acosh>},
                                                           {"arctanh", &Evaluator::Branched<acb_atanh>},
                                                           {"binomial", &Evaluator::Binomial},
                                                           {"max", &Evaluator::Extreme<true>},
                                                           {"min", &Evaluator::Extreme<false>}};
    auto method = kMethods->find(e.name);
    if (method == kMethods->end() || e.args.empty() || e.args.size() > 16) return State::kUnknown;
    std::vector<Ball> args(e.args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      if (State state = Of(e.args[i], args[i]); state != State::kValue) return state;
    }
    if (!SpendFunction()) return State::kUnknown;
    return (this->*method->second)(args, out);
  }

  State Exp(std::vector<Ball>& args, Ball& out) { return Exponential(args[0], out); }

  State Logarithm(const Ball& argument, Ball& out) {
    if (acb_is_zero(argument.get())) return State::kUndefined;
    if (options_.reals && SignOf(argument.real()) < 0) return State::kUndefined;
    acb_log(out.get(), argument.get(), precision_);
    return State::kValue;
  }
  State Ln(std::vector<Ball>& args, Ball& out) { return Logarithm(args[0], out); }
  State Log(std::vector<Ball>& args, Ball& out) {
    if (args.size() != 2) return State::kUnknown;
    Ball base;
    if (State state = Logarithm(args[0], base); state != State::kValue) return state;
    if (acb_is_zero(base.get())) return State::kUndefined;
    if (State state = Logarithm(args[1], out); state != State::kValue) return state;
    acb_div(out.get(), out.get(), base.get(), precision_);
    return State::kValue;
  }

  State Abs(std::vector<Ball>& args, Ball& out) {
    acb_abs(out.real(), args[0].get(), precision_);
    return State::kValue;
  }
  State Sgn(std::vector<Ball>& args, Ball& out) {
    if (!args[0].IsReal()) return State::kUnknown;
    arb_sgn(out.real(), args[0].real());
    return State::kValue;
  }
  State Re(std::vector<Ball>& args, Ball& out) {
    arb_set(out.real(), args[0].real());
    return State::kValue;
  }
  State Im(std::vector<Ball>& args, Ball& out) {
    arb_set(out.real(), args[0].imag());
    return State::kValue;
  }
  State Arg(std::vector<Ball>& args, Ball& out) {
    if (acb_is_zero(args[0].get())) return State::kUndefined;
    acb_arg(out.real(), args[0].get(), precision_);
    return State::kValue;
  }
  State Floor(std::vector<Ball>& args, Ball& out) {
    if (!args[0].IsReal()) return State::kUnknown;
    arb_floor(out.real(), args[0].real(), precision_);
    return State::kValue;
  }
  State Ceil(std::vector<Ball>& args, Ball& out) {
    if (!args[0].IsReal()) return State::kUnknown;
    arb_ceil(out.real(), args[0].real(), precision_);
    return State::kValue;
  }

  State Factorial(std::vector<Ball>& args, Ball& out) {
    const Ball& n = args[0];
    if (!n.IsReal() || arf_cmpabs_2exp_si(arb_midref(n.real()), kMaxExponentBits) > 0 ||
        !work_.Spend(int64_t{precision_} * precision_ / 40)) {
      work_.Exceed("factorial");
      return State::kUnknown;
    }
    if (SignOf(n.real()) < 0) return State::kUndefined;
    arb_add_ui(out.real(), n.real(), 1, precision_);
    arb_gamma(out.real(), out.real(), precision_);
    return State::kValue;
  }

  State Binomial(std::vector<Ball>& args, Ball& out) {
    if (args.size() != 2) return State::kUnknown;
    Ball below, rest, n;
    std::vector<Ball> difference(1);
    acb_sub(difference[0].get(), args[0].get(), args[1].get(), precision_);
    for (auto [in, to] : {std::pair{&args, &n}, std::pair{&difference, &rest}}) {
      if (State state = Factorial(*in, *to); state != State::kValue) return state;
    }
    args.erase(args.begin());
    if (State state = Factorial(args, below); state != State::kValue) return state;
    acb_mul(below.get(), below.get(), rest.get(), precision_);
    acb_div(out.get(), n.get(), below.get(), precision_);
    return State::kValue;
  }

  template <bool kMax>
  State Extreme(std::vector<Ball>& args, Ball& out) {
    out = args[0];
    for (const Ball& arg : args) {
      if (!arg.IsReal()) return State::kUnknown;
      (kMax ? arb_max : arb_min)(out.real(), out.real(), arg.real(), precision_);
    }
    return State::kValue;
  }

  // Analytic but for poles; real for real arguments.
  template <void (*kFunction)(acb_t, const acb_t, slong)>
  State Entire(std::vector<Ball>& args, Ball& out) {
    if (arf_cmpabs_2exp_si(arb_midref(args[0].real()), kMaxExponentBits) > 0) {
      work_.Exceed("tower of powers");
      return State::kUnknown;
    }
    kFunction(out.get(), args[0].get(), precision_);
    return State::kValue;
  }

  template <void (*kFunction)(acb_t, const acb_t, slong)>
  State Branched(std::vector<Ball>& args, Ball& out) {
    kFunction(out.get(), args[0].get(), precision_);
    if (options_.reals && args[0].IsReal() && !out.IsReal() && acb_is_finite(out.get())) {
      return State::kUndefined;
    }
    return State::kValue;
  }

  template <void (*kFunction)(acb_t, const acb_t, slong)>
  State OfInverse(std::vector<Ball>& args, Ball& out) {
    if (acb_is_zero(args[0].get())) return State::kUndefined;
    acb_inv(args[0].get(), args[0].get(), precision_);
    return Branched<kFunction>(args, out);
  }

  // Between 0 and pi.
  State Arccot(std::vector<Ball>& args, Ball& out) {
    Ball right_angle;
    arb_const_pi(right_angle.real(), precision_);
    arb_mul_2exp_si(right_angle.real(), right_angle.real(), -1);
    acb_atan(out.get(), args[0].get(), precision_);
    acb_sub(out.get(), right_angle.get(), out.get(), precision_);
    return State::kValue;
  }

  const BallOptions& options_;
  int precision_;
  Work& work_;
};

}  // namespace

BallState EvaluateBall(const Expression& expression, const BallOptions& options, Work& work, Ball& out) {
  thread_memory.Hold();
  acb_zero(out.get());
  return Evaluator(options, work).Of(expression, out);
}

}  // namespace sluice::math
