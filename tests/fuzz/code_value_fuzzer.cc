// The input is a message of the value channel, or, where it is JSON, a value of a row. What is read means the
// same when it is written and read again, and equals itself unless it holds what is not a number.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "reward/code/comparison.h"
#include "reward/code/typed_value.h"

namespace {

using sluice::TypedValue;

bool HoldsNan(const TypedValue& value) {
  if (value.kind == TypedValue::kFloat && std::isnan(value.real)) return true;
  for (const TypedValue& item : value.items) {
    if (HoldsNan(item)) return true;
  }
  return false;
}

void Check(const TypedValue& value) {
  const std::string bytes = sluice::EncodeTypedValue(value);
  const auto again = sluice::DecodeTypedValue(bytes);
  if (!again.ok() || sluice::EncodeTypedValue(*again) != bytes) std::abort();
  (void)sluice::TypedValueToJson(value);
  for (auto comparison : {sluice::CodeComparison::kExact, sluice::CodeComparison::kNumeric,
                          sluice::CodeComparison::kUnordered}) {
    if (!sluice::ValueEquals({comparison}, value, *again) && !HoldsNan(value)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto value = sluice::DecodeTypedValue(input); value.ok()) Check(*value);
  if (const auto value = sluice::TypedValueFromJson(input); value.ok()) Check(*value);
  return 0;
}
