// typed_value.h to and from JSON.
#include <gmpxx.h>

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "reward/code/integer.h"
#include "reward/code/typed_value.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr size_t kMaxJsonDepth = 128;

// Builds a TypedValue from the parser's events.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add({}); }
  bool boolean(bool value) override { return Add({TypedValue::kBool, value}); }
  bool number_integer(number_integer_t value) override { return Add(TypedValue::Integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= INT64_MAX) return Add(TypedValue::Integer(static_cast<int64_t>(value)));
    return AddDecimal(std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& written) override {
    if (written.find_first_of(".eE") == std::string::npos) return AddDecimal(written);
    return Add(TypedValue::Float(value));
  }
  bool string(string_t& value) override { return Add(TypedValue::Text(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(TypedValue::kDict); }
  bool key(string_t& name) override { return Add(TypedValue::Text(name)); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(TypedValue::kList); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    error_ = absl::StrCat("no JSON at byte ", position);
    return false;
  }

  const std::string& error() const { return error_; }
  TypedValue Take() { return std::move(root_); }

 private:
  bool Fail(absl::string_view why) {
    error_ = std::string(why);
    return false;
  }
  bool AddDecimal(const std::string& digits) {
    auto value = IntegerFromDecimal(digits);
    return value.ok() ? Add(*std::move(value)) : Fail(value.status().message());
  }
  bool Add(TypedValue value) {
    if (++nodes_ > kMaxValueNodes) return Fail("more than 1048576 members");
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(value);
    return true;
  }
  bool Open(TypedValue::Kind kind) {
    if (open_.size() >= kMaxJsonDepth) return Fail("nested more than 128 deep");
    open_.push_back({kind});
    return true;
  }
  bool Close() {
    TypedValue value = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(value));
  }

  TypedValue root_;
  std::vector<TypedValue> open_;
  size_t nodes_ = 0;
  std::string error_;
};

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string KeyText(const TypedValue& key) {
  return key.kind == TypedValue::kText ? key.text : TypedValueToJson(key);
}

std::string Joined(const TypedValue& value) {
  std::string out = "[";
  for (const TypedValue& item : value.items)
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", TypedValueToJson(item));
  return out + "]";
}

std::string Object(const TypedValue& value) {
  std::string out = "{";
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    absl::StrAppend(&out, i > 0 ? ", " : "", Quoted(KeyText(value.items[i])), ": ",
                    TypedValueToJson(value.items[i + 1]));
  }
  return out + "}";
}

std::string Real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return nlohmann::json(value).dump();
}

}  // namespace

absl::StatusOr<TypedValue> TypedValueFromJson(absl::string_view json) {
  Builder builder;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &builder)) {
    return absl::InvalidArgumentError(builder.error());
  }
  return builder.Take();
}

std::string TypedValueToJson(const TypedValue& value) {
  switch (value.kind) {
    case TypedValue::kNone:
      return "null";
    case TypedValue::kBool:
      return value.integer ? "true" : "false";
    case TypedValue::kInteger:
      return absl::StrCat(value.integer);
    case TypedValue::kBigInteger:
      return ExactInteger(value).get_str();
    case TypedValue::kFloat:
      return Real(value.real);
    case TypedValue::kText:
    case TypedValue::kBytes:
      return Quoted(value.text);
    case TypedValue::kDict:
      return Object(value);
    case TypedValue::kEllipsis:
      return "\"...\"";
    default:
      return Joined(value);
  }
}

}  // namespace sluice
