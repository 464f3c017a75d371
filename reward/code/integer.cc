#include "reward/code/integer.h"

#include "absl/strings/ascii.h"

namespace sluice {
namespace {

constexpr size_t kMaxDecimalDigits = 100000;

}  // namespace

mpz_class ExactInteger(const TypedValue& value) {
  mpz_class out;
  if (value.kind == TypedValue::kBigInteger) {
    mpz_import(out.get_mpz_t(), value.text.size() / 2, -1, 2, -1, 1, value.text.data());
    return value.integer < 0 ? mpz_class(-out) : out;
  }
  mpz_set_si(out.get_mpz_t(), value.integer);
  return out;
}

TypedValue TypedInteger(const mpz_class& value) {
  if (value.fits_slong_p()) return TypedValue::Integer(value.get_si());
  size_t digits = (mpz_sizeinbase(value.get_mpz_t(), 2) + 14) / 15;
  TypedValue out{TypedValue::kBigInteger, sgn(value) < 0 ? -1 : 1, 0, std::string(2 * digits, '\0')};
  size_t written = 0;
  mpz_export(out.text.data(), &written, -1, 2, -1, 1, value.get_mpz_t());
  out.text.resize(2 * written);
  return out;
}

absl::StatusOr<TypedValue> IntegerFromDecimal(absl::string_view digits) {
  absl::string_view unsigned_digits = digits;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) unsigned_digits.remove_prefix(1);
  bool plain = !unsigned_digits.empty() && unsigned_digits.size() <= kMaxDecimalDigits;
  for (char c : unsigned_digits) plain = plain && absl::ascii_isdigit(static_cast<unsigned char>(c));
  if (!plain) return absl::InvalidArgumentError("an integer is malformed or has more than 100000 digits");
  mpz_class value(std::string(unsigned_digits), 10);
  return TypedInteger(digits[0] == '-' ? mpz_class(-value) : value);
}

}  // namespace sluice
