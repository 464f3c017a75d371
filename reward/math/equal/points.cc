#include "reward/math/equal/points.h"

#include <algorithm>
#include <utility>

#include "reward/math/number/ball.h"

namespace sluice::math {
namespace {

constexpr int kPrecision = 2 * kAgreeingBits;
constexpr size_t kMaxScaleBits = 128;

bool HasJumps(const Expression& e) {
  static constexpr const char* kNames[] = {"floor", "ceil", "sgn", "mod", "gcd", "lcm", "Re", "Im", "arg"};
  bool jumps = e.kind == Kind::kFunction &&
               std::find(std::begin(kNames), std::end(kNames), e.name) != std::end(kNames);
  return jumps || std::any_of(e.args.begin(), e.args.end(), HasJumps);
}

bool HasModulus(const Expression& e) {
  return (e.kind == Kind::kFunction && e.name == "abs") ||
         std::any_of(e.args.begin(), e.args.end(), HasModulus);
}

// Bits of the largest number that its numbers make, about.
size_t ScaleBits(const Expression& e) {
  size_t bits = 0;
  if (e.kind == Kind::kNumber) {
    size_t above = mpz_sizeinbase(e.number->get_num_mpz_t(), 2),
           below = mpz_sizeinbase(e.number->get_den_mpz_t(), 2);
    bits = above > below ? above - below + 1 : 0;
  }
  size_t first = 0;  // of args[0]
  for (const Expression& arg : e.args) {
    size_t inner = ScaleBits(arg);
    if (&arg == &e.args[0]) first = inner;
    bits = e.kind == Kind::kProduct ? bits + inner : std::max(bits, inner);
  }
  if (e.kind == Kind::kPower && e.args[1].kind == Kind::kNumber && *e.args[1].number > 1) {
    double exponent = std::min(static_cast<double>(kMaxScaleBits), e.args[1].number->get_d());
    bits = std::max(bits, first * static_cast<size_t>(exponent));
  }
  return std::min(bits, kMaxScaleBits);
}

// To kAgreeingBits, absolute for large values and relative for small ones.
bool AreClose(const Ball& x, const Ball& y) {
  Ball rest;
  acb_sub(rest.get(), x.get(), y.get(), kPrecision);
  mag_t difference, size;
  mag_init(difference);
  mag_init(size);
  acb_get_mag(difference, rest.get());
  acb_get_mag_lower(size, x.get());
  mag_mul_2exp_si(size, size, -kAgreeingBits);
  bool zero = acb_contains_zero(x.get());
  bool close = mag_cmp_2exp_si(difference, -kAgreeingBits) < 0 && (zero || mag_cmp(difference, size) <= 0);
  mag_clear(difference);
  mag_clear(size);
  return close;
}

class PointComparison {
 public:
  PointComparison(const Expression& a, const Expression& b, const std::vector<std::string>& symbols,
                  Work& work)
      : a_(a), b_(b), symbols_(symbols), work_(work), scale_bits_(std::max(ScaleBits(a), ScaleBits(b))) {}

  Answer Run() {
    for (bool reals : {true, false}) {
      int agreed = 0;
      for (int attempt = 0; attempt < 6 * kAgreeingPoints; ++attempt) {
        Answer answer = At(attempt, reals);
        if (answer == Answer::kDifferent) return answer;
        if (answer == Answer::kEqual) ++agreed;
        if (!work_.ok() || unknown_) return Answer::kUndecided;
      }
      if (agreed > 0) return agreed >= kAgreeingPoints && !narrower_ ? Answer::kEqual : Answer::kUndecided;
    }
    return Answer::kUndecided;
  }

 private:
  Answer At(int attempt, bool reals) {
    std::vector<std::pair<std::string, mpq_class>> point;
    for (const std::string& symbol : symbols_) point.push_back({symbol, Coordinate(symbol, attempt)});
    Ball x, y;
    if (!ValueAt(a_, point, reals, x)) return Answer::kUndecided;
    if (!ValueAt(b_, point, reals, y)) {
      narrower_ = narrower_ || (reals && HasModulus(a_));
      return Answer::kUndecided;
    }
    if (!acb_overlaps(x.get(), y.get())) return Answer::kDifferent;
    return AreClose(x, y) ? Answer::kEqual : Answer::kUndecided;
  }

  // A point where a value is too large to be computed is left out.
  bool ValueAt(const Expression& e, const std::vector<std::pair<std::string, mpq_class>>& point, bool reals,
               Ball& out) {
    int64_t share = work_.left() / 4;
    Work work(share);
    BallState state = EvaluateBall(e, {.precision = kPrecision, .reals = reals, .point = &point}, work, out);
    work_.Spend(share - work.left());
    if (state == BallState::kUnknown && work.ok()) unknown_ = true;
    return state == BallState::kValue && acb_is_finite(out.get());
  }

  // By turns below 1, 8, twice the largest number and four times its square; of either sign in every second
  // turn.
  mpq_class Coordinate(const std::string& symbol, int attempt) const {
    uint64_t h = 0xcbf29ce484222325ULL ^ (static_cast<uint64_t>(attempt + 1) * 0x9e3779b97f4a7c15ULL);
    for (char c : symbol) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h ^= h >> 31;
    h *= 0x94d049bb133111ebULL;
    h ^= h >> 29;
    mpq_class value(mpz_class(static_cast<unsigned long>((h >> 24) | 1)));
    mpz_class unit(1UL << 40);
    value /= unit;
    const size_t scales[] = {0, 3, scale_bits_ + 1, 2 * scale_bits_ + 2};
    mpz_class scale = mpz_class(1) << scales[attempt / 2 % 4];
    value *= scale;
    if (attempt % 2 == 1 && (h & 1) != 0) value = -value;
    return value;
  }

  const Expression &a_, &b_;
  const std::vector<std::string>& symbols_;
  Work& work_;
  size_t scale_bits_;
  bool unknown_ = false;
  bool narrower_ = false;  // b has no real value where a has one: "\ln x" beside "\ln|x|"
};

}  // namespace

Answer CompareAtPoints(const Expression& a, const Expression& b, const std::vector<std::string>& symbols,
                       Work& work) {
  Answer answer = PointComparison(a, b, symbols, work).Run();
  bool jumps = answer == Answer::kEqual && (HasJumps(a) || HasJumps(b));
  return jumps ? Answer::kUndecided : answer;
}

}  // namespace sluice::math
