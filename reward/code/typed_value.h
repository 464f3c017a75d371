// Values of Python as they pass between processes that do not trust each other: data of exact built-in types
// and nothing that can act. The encoding is CPython's marshal, version 2, cut down to data. Pure and
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

constexpr int kMaxValueDepth = 256;
constexpr size_t kMaxValueNodes = size_t{1} << 20;

struct TypedValue {
  enum Kind {
    kNone,
    kBool,
    kInteger,
    kBigInteger,
    kFloat,
    kComplex,
    kText,
    kBytes,
    kList,
    kTuple,
    kSet,
    kFrozenSet,
    kDict,
    kEllipsis
  };
  Kind kind = kNone;
  int64_t integer = 0;  // kBool, kInteger; of kBigInteger the sign, -1 or 1
  double real = 0;      // kFloat
  // kText: UTF-8, lone surrogates included; kBytes; of kBigInteger the magnitude in base 2^15, least digit
  // first, each digit in two bytes, little-endian.
  std::string text;
  std::vector<TypedValue> items;  // kComplex: two floats; kDict: key, value, key, value...

  static TypedValue None() { return {}; }
  static TypedValue Integer(int64_t value) { return {kInteger, value}; }
  static TypedValue Float(double value) { return {kFloat, 0, value}; }
  static TypedValue Text(absl::string_view value) { return {kText, 0, 0, std::string(value)}; }
  static TypedValue Bytes(absl::string_view value) { return {kBytes, 0, 0, std::string(value)}; }
  static TypedValue Tuple(std::vector<TypedValue> items) { return {kTuple, 0, 0, "", std::move(items)}; }
  static TypedValue List(std::vector<TypedValue> items) { return {kList, 0, 0, "", std::move(items)}; }

  bool IsText(absl::string_view value) const { return kind == kText && text == value; }
  bool IsSequence() const { return kind == kList || kind == kTuple; }
  // The value of a text key of a dict; null where there is none.
  const TypedValue* Find(absl::string_view key) const;
};

// "a list", "a string", ...; for messages.
const char* TypedValueKindName(TypedValue::Kind kind);

std::string EncodeTypedValue(const TypedValue& value);
// INVALID_ARGUMENT: malformed, anything but data, unhashable where Python needs hashable, not UTF-8,
// left-over bytes, deeper or larger than the limits above. Memory stays in proportion to the bytes.
absl::StatusOr<TypedValue> DecodeTypedValue(absl::string_view bytes);

// JSON: objects are dicts, integers of any size are exact. INVALID_ARGUMENT says where.
absl::StatusOr<TypedValue> TypedValueFromJson(absl::string_view json);
// What JSON cannot say is written as Python would: tuples and sets as lists, bytes as text, keys as text.
std::string TypedValueToJson(const TypedValue& value);

// Whether these bytes are UTF-8, lone surrogates included.
bool IsUnicode(absl::string_view bytes);

// A decimal integer with an optional sign, of any size up to 100000 digits. INVALID_ARGUMENT otherwise.
absl::StatusOr<TypedValue> IntegerFromDecimal(absl::string_view digits);

}  // namespace sluice
