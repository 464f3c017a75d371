// The filters of chat templates, "x | ...".
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/spec/template/arguments.h"
#include "core/spec/template/builtins.h"
#include "core/spec/template/item_filters.h"
#include "core/spec/template/strings.h"
#include "core/spec/text/unicode.h"

namespace sluice::chat {
namespace {

absl::StatusOr<Value> Length(const Value& value) {
  if (value.undefined()) return Value::Int(0);
  if (value.string() != nullptr) return Value::Int(CountCharacters(*value.string()));
  if (value.list() != nullptr) return Value::Int(static_cast<int64_t>(value.list()->size()));
  if (value.object() != nullptr) return Value::Int(static_cast<int64_t>(value.object()->members().size()));
  return Bad(absl::StrCat("a value of type ", value.TypeName(), " has no length"));
}

absl::StatusOr<Value> Default(const Value& value, const Arguments& arguments) {
  const bool falsy_too = Argument(arguments, 1, "boolean").Truthy();
  if (!value.undefined() && !(falsy_too && !value.Truthy())) return value;
  const Value absent = Argument(arguments, 0, "default_value");
  return absent.undefined() ? Value::Of("") : absent;
}

absl::StatusOr<Value> ToInteger(const Value& value, const Arguments& arguments) {
  int64_t parsed = 0;
  double real = 0;
  if (value.number() && !value.As<double>()) return Value::Int(static_cast<int64_t>(value.AsDouble()));
  if (value.string() != nullptr && absl::SimpleAtoi(*value.string(), &parsed)) return Value::Int(parsed);
  const bool finite = (value.As<double>() != nullptr ||
                       (value.string() != nullptr && absl::SimpleAtod(*value.string(), &real))) &&
                      std::abs(value.As<double>() ? value.AsDouble() : real) < 1e15;
  if (finite) return Value::Int(static_cast<int64_t>(value.As<double>() ? value.AsDouble() : real));
  const Value absent = Argument(arguments, 0, "default");
  return absent.undefined() ? Value::Int(0) : absent;
}

absl::StatusOr<Value> ToReal(const Value& value, const Arguments& arguments) {
  double parsed = 0;
  if (value.number()) return Value(Value::Variant(value.AsDouble()));
  if (value.string() != nullptr && absl::SimpleAtod(*value.string(), &parsed))
    return Value(Value::Variant(parsed));
  const Value absent = Argument(arguments, 0, "default");
  return absent.undefined() ? Value(Value::Variant(0.0)) : absent;
}

// Of one number; others are refused rather than read differently from Python's decimal rounding.
absl::StatusOr<Value> Round(const Value& value, const Arguments& arguments) {
  if (!value.number()) return Bad(absl::StrCat("cannot round a value of type ", value.TypeName()));
  SLUICE_ASSIGN_OR_RETURN(const int64_t precision, IntArgument(arguments, 0, "precision", 0));
  SLUICE_ASSIGN_OR_RETURN(const std::string method, TextArgument(arguments, 1, "method", "common"));
  if (precision != 0) return Bad("round to decimal places is not supported");
  const double x = value.AsDouble();
  if (method != "common" && method != "ceil" && method != "floor")
    return Bad(absl::StrCat("round by \"", method, "\" is not supported"));
  return Value(Value::Variant(method == "ceil"    ? std::ceil(x)
                              : method == "floor" ? std::floor(x)
                                                  : std::nearbyint(x)));
}

absl::StatusOr<Value> Absolute(const Value& value) {
  if (const int64_t* i = value.As<int64_t>()) return Value::Int(*i < 0 && *i != INT64_MIN ? -*i : *i);
  if (value.number()) return Value(Value::Variant(std::abs(value.AsDouble())));
  return Bad(absl::StrCat("abs of a value of type ", value.TypeName()));
}

absl::StatusOr<Value> JsonOf(const Value& value, const Arguments& arguments, Budget& budget) {
  // tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False), as transformers defines
  // it. Jinja's own has indent first, and templates write it by name.
  Json json;
  for (const auto& [name, ignored] : arguments.named) {
    if (name != "indent" && name != "ensure_ascii" && name != "sort_keys" && name != "separators")
      return Bad(absl::StrCat("tojson: the argument ", name, " is not supported"));
  }
  const Value indent = Argument(arguments, 1, "indent"), separators = Argument(arguments, 2, "separators");
  if (indent.string() != nullptr) return Bad("tojson: an indent of text is not supported");
  SLUICE_ASSIGN_OR_RETURN(const int64_t spaces, IntArgument(arguments, 1, "indent", -1));
  json.indent = static_cast<int>(
      std::min<int64_t>(indent.undefined() || indent.none() ? -1 : std::max<int64_t>(spaces, 0), 16));
  json.ascii = Argument(arguments, 0, "ensure_ascii").Truthy();
  json.sorted = Argument(arguments, 3, "sort_keys").Truthy();
  if (json.indent >= 0) json.comma.resize(1);  // lines end at the comma
  if (const List* pair = separators.list()) {
    if (pair->size() != 2 || !(*pair)[0].string() || !(*pair)[1].string())
      return Bad("tojson: separators are not two strings");
    json.comma = *(*pair)[0].string();
    json.colon = *(*pair)[1].string();
  }
  SLUICE_ASSIGN_OR_RETURN(std::string text, ToJson(value, json, Budget::kMaxTextBytes));
  return budget.Text(std::move(text));
}

// Jinja's title differs from Python's: a word begins behind white space, -, (, {, [ or <.
std::string TitleOf(absl::string_view text) {
  std::string out;
  bool start = true;
  for (const std::string& c : Characters(text)) {
    size_t at = 0;
    const int32_t code = NextCodePoint(c, at);
    out += start ? ToUpper(c) : ToLower(c);
    start = IsWhitespace(code) || absl::StrContains("-({[<", c);
  }
  return out;
}

absl::StatusOr<Value> Indent(const std::string& text, const Arguments& arguments, Budget& budget) {
  const Value width = Argument(arguments, 0, "width");
  SLUICE_ASSIGN_OR_RETURN(const int64_t spaces,
                          width.string() != nullptr ? 0 : IntArgument(arguments, 0, "width", 4));
  if (spaces < 0 || spaces > 1000) return Bad("indent: a width out of range");
  const std::string margin =
      width.string() != nullptr ? *width.string() : std::string(static_cast<size_t>(spaces), ' ');
  const bool first = Argument(arguments, 1, "first").Truthy(),
             blank = Argument(arguments, 2, "blank").Truthy();
  std::string out;
  bool at_first = true;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool indented = at_first ? first : (blank || !line.empty());
    absl::StrAppend(&out, at_first ? "" : "\n", indented ? margin : "", line);
    if (out.size() > Budget::kMaxTextBytes) return absl::ResourceExhaustedError("a string too long");
    at_first = false;
  }
  return budget.Text(std::move(out));
}

absl::StatusOr<Value> ApplyTextFilter(const std::string& name, const std::string& text,
                                      const Arguments& arguments, Budget& budget) {
  if (name == "string" || name == "safe") return budget.Text(text);
  if (name == "title") return budget.Text(TitleOf(text));
  if (name == "indent") return Indent(text, arguments, budget);
  if (name == "escape" || name == "e") {
    return budget.Text(absl::StrReplaceAll(
        text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}}));
  }
  return CallStringMethod(text, name == "trim" ? "strip" : name, arguments, budget);
}

}  // namespace

absl::StatusOr<Value> ApplyFilter(const std::string& name, const Value& value, const Arguments& arguments,
                                  Budget& budget) {
  if (name == "tojson") return JsonOf(value, arguments, budget);
  if (name == "default" || name == "d") return Default(value, arguments);
  if (name == "length" || name == "count") return Length(value);
  if (name == "int") return ToInteger(value, arguments);
  if (name == "float") return ToReal(value, arguments);
  if (name == "abs") return Absolute(value);
  if (name == "round") return Round(value, arguments);
  if (name == "items" && value.undefined()) return Value::Of(List{});
  if (name == "items" && value.object() != nullptr) return CallMethod(value, "items", {}, budget);
  for (const char* of_text : {"trim", "upper", "lower", "title", "capitalize", "replace", "string", "safe",
                              "indent", "escape", "e"}) {
    if (name != of_text) continue;
    SLUICE_ASSIGN_OR_RETURN(const std::string text, ToText(value, Budget::kMaxTextBytes));
    return ApplyTextFilter(name, text, arguments, budget);
  }
  absl::StatusOr<Value> items = ApplyItemFilter(name, value, arguments, budget);
  if (!absl::IsUnimplemented(items.status())) return items;
  return Bad(absl::StrCat("the filter \"", name, "\" is not supported"));
}

}  // namespace sluice::chat
