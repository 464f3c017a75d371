#include "services/wire/field_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace sluice {

void FieldCheck::Require(bool ok, absl::string_view field, absl::string_view what) {
  if (!ok && status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

void FieldCheck::AtMost(size_t size, size_t limit, absl::string_view field, absl::string_view unit) {
  if (size > limit)
    Require(false, field, absl::StrCat("has ", size, " ", unit, ", at most ", limit, " are allowed"));
}

void FieldCheck::NotEmpty(absl::string_view value, absl::string_view field) {
  Require(!value.empty(), field, "must not be empty");
}

void FieldCheck::Name(absl::string_view value, absl::string_view field) {
  NotEmpty(value, field);
  AtMost(value.size(), kMaxNameBytes, field, "bytes");
}

void FieldCheck::Finite(double value, absl::string_view field) {
  Require(std::isfinite(value), field, "must be a finite number");
}

void FieldCheck::NotNegative(int64_t value, absl::string_view field) {
  if (value < 0) Require(false, field, absl::StrCat("must not be negative, is ", value));
}

absl::Status Within(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(prefix, ".", status.message()));
}

}  // namespace sluice
