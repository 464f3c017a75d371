#include "reward/math/equal/modular.h"

#include <flint/ulong_extras.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reward/math/number/constant.h"
#include "reward/math/number/rational_value.h"

namespace sluice::math {
namespace {

constexpr double kMaxDegree = 1 << 24;
constexpr double kMaxCoefficientBits = 17179869184.0;  // 2^34
constexpr int kPrimeBits = 61;

// FNV-1a with a final mix; not std::hash, for verdicts must be the same on every machine.
uint64_t Mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x100000001b3ULL;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ULL;
  return h ^ (h >> 32);
}

uint64_t Mix(uint64_t h, const std::string& text) {
  for (char c : text) h = Mix(h, static_cast<unsigned char>(c));
  return Mix(h, text.size());
}

uint64_t Mix(uint64_t h, const mpz_class& n) {
  for (size_t i = 0; i < mpz_size(n.get_mpz_t()); ++i)
    h = Mix(h, mpz_getlimbn(n.get_mpz_t(), static_cast<long>(i)));
  return Mix(h, static_cast<uint64_t>(n < 0));
}

uint64_t HashOf(uint64_t h, const Expression& e) {
  h = Mix(h, static_cast<uint64_t>(e.kind));
  if (e.number) h = Mix(Mix(h, e.number->get_num()), e.number->get_den());
  h = Mix(h, e.name);
  for (const Expression& arg : e.args) h = HashOf(h, arg);
  return Mix(h, e.args.size());
}

// Of a quotient of integer polynomials: degrees, and base 2 logarithms of the sums of absolute coefficients.
struct Size {
  double degree_above = 0, degree_below = 0, bits_above = 0, bits_below = 0;
};

double Bits(const mpz_class& n) { return static_cast<double>(mpz_sizeinbase(n.get_mpz_t(), 2)); }

std::optional<int64_t> IntegerExponent(const Expression& e, Work& work) {
  std::optional<mpq_class> value = RationalValue(e, work);
  if (!value || value->get_den() != 1 || !value->get_num().fits_sint_p()) return std::nullopt;
  return value->get_num().get_si();
}

std::optional<Size> SizeOf(const Expression& e, Work& work) {
  if (!work.Spend(5)) return std::nullopt;
  switch (e.kind) {
    case Kind::kNumber:
      return Size{0, 0, Bits(e.number->get_num()), Bits(e.number->get_den())};
    case Kind::kSymbol:
      if (e.name == "pi" || e.name == "e" || e.name == "i" || !StandsForANumber(e.name)) return std::nullopt;
      return Size{1, 0, 0, 0};
    case Kind::kPower: {
      std::optional<int64_t> exponent = IntegerExponent(e.args[1], work);
      std::optional<Size> base = exponent ? SizeOf(e.args[0], work) : std::nullopt;
      if (!base) return std::nullopt;
      auto n = static_cast<double>(std::llabs(*exponent));
      Size out{base->degree_above * n, base->degree_below * n, base->bits_above * n, base->bits_below * n};
      if (*exponent < 0) return Size{out.degree_below, out.degree_above, out.bits_below, out.bits_above};
      return out;
    }
    case Kind::kSum:
    case Kind::kProduct:
      break;
    default:
      return std::nullopt;
  }
  std::optional<Size> out;
  for (const Expression& arg : e.args) {
    std::optional<Size> part = SizeOf(arg, work);
    if (!part) return std::nullopt;
    if (!out) {
      out = part;
    } else if (e.kind == Kind::kProduct) {
      *out = {out->degree_above + part->degree_above, out->degree_below + part->degree_below,
              out->bits_above + part->bits_above, out->bits_below + part->bits_below};
    } else {
      *out = {std::max(out->degree_above + part->degree_below, part->degree_above + out->degree_below),
              out->degree_below + part->degree_below,
              std::max(out->bits_above + part->bits_below, part->bits_above + out->bits_below) + 1,
              out->bits_below + part->bits_below};
    }
  }
  return out;
}

// Nothing: a denominator is zero modulo the prime.
class Evaluator {
 public:
  Evaluator(ulong prime, uint64_t seed, Work& work)
      : prime_(prime), inverse_(n_preinvert_limb(prime)), seed_(seed), work_(work) {}

  std::optional<ulong> Of(const Expression& e) {
    if (!work_.Spend(5)) return std::nullopt;
    switch (e.kind) {
      case Kind::kNumber:
        return Divide(mpz_fdiv_ui(e.number->get_num_mpz_t(), prime_),
                      mpz_fdiv_ui(e.number->get_den_mpz_t(), prime_));
      case Kind::kSymbol:
        return Mix(seed_, e.name) % prime_;
      case Kind::kPower: {
        std::optional<int64_t> n = IntegerExponent(e.args[1], work_);
        std::optional<ulong> base = Of(e.args[0]);
        if (!n || !base) return std::nullopt;
        work_.Spend(64);
        ulong power = n_powmod2_ui_preinv(*base, static_cast<ulong>(std::llabs(*n)), prime_, inverse_);
        return *n < 0 ? Divide(1, power) : power;
      }
      default:
        break;
    }
    bool sum = e.kind == Kind::kSum;
    ulong out = sum ? 0 : 1;
    for (const Expression& arg : e.args) {
      std::optional<ulong> part = Of(arg);
      if (!part) return std::nullopt;
      out = sum ? n_addmod(out, *part, prime_) : n_mulmod2_preinv(out, *part, prime_, inverse_);
    }
    return out;
  }

 private:
  std::optional<ulong> Divide(ulong a, ulong b) {
    if (b == 1) return a;
    if (b == 0) return std::nullopt;
    work_.Spend(60);
    return n_mulmod2_preinv(a, n_invmod(b, prime_), prime_, inverse_);
  }

  ulong prime_, inverse_;
  uint64_t seed_;
  Work& work_;
};

}  // namespace

Answer CompareModular(const Expression& a, const Expression& b, Work& work) {
  std::optional<Size> size_a = SizeOf(a, work), size_b = size_a ? SizeOf(b, work) : std::nullopt;
  if (!size_b) return Answer::kUndecided;
  double degree = size_a->degree_above + size_a->degree_below + size_b->degree_above + size_b->degree_below;
  double bits = size_a->bits_above + size_a->bits_below + size_b->bits_above + size_b->bits_below + 1;
  if (degree > kMaxDegree || bits > kMaxCoefficientBits) {
    work.Exceed("degree");
    return Answer::kUndecided;
  }
  // At least 2^(kPrimeBits - 6) primes have kPrimeBits bits; at most bits / (kPrimeBits - 1) of them divide
  // all coefficients of the difference.
  double error = degree / std::exp2(kPrimeBits - 1) + bits / (kPrimeBits - 1) / std::exp2(kPrimeBits - 6);
  int needed = static_cast<int>(std::ceil(101 / -std::log2(error)));
  uint64_t seed = HashOf(HashOf(0x9e3779b97f4a7c15ULL, a), b);
  for (int agreed = 0, attempt = 0; agreed < needed; ++attempt) {
    if (attempt > 4 * needed || !work.Spend(2000)) return Answer::kUndecided;
    uint64_t draw = Mix(seed, static_cast<uint64_t>(attempt));
    ulong prime = n_nextprime((draw >> (64 - kPrimeBits)) | (1UL << (kPrimeBits - 1)), 1);
    Evaluator evaluator(prime, Mix(draw, 1), work);
    std::optional<ulong> x = evaluator.Of(a), y = evaluator.Of(b);
    if (!x || !y) continue;
    if (*x != *y) return Answer::kDifferent;
    ++agreed;
  }
  return work.ok() ? Answer::kEqual : Answer::kUndecided;
}

}  // namespace sluice::math
