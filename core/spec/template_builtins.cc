#include "core/spec/template_builtins.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "core/spec/unicode.h"

namespace sluice::chat {
namespace {

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

std::vector<std::string> Characters(absl::string_view text) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t begin = at;
    NextCodePoint(text, at);
    out.emplace_back(text.substr(begin, at - begin));
  }
  return out;
}

int64_t CountCharacters(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

Value Argument(const Arguments& arguments, size_t place, absl::string_view name) {
  if (place < arguments.positional.size()) return arguments.positional[place];
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return value;
  }
  return Value();
}

// An argument that must be text; `absent` when it is not given.
absl::StatusOr<std::string> TextArgument(const Arguments& arguments, size_t place, absl::string_view name,
                                         const char* absent = nullptr) {
  const Value value = Argument(arguments, place, name);
  if (value.string() != nullptr) return *value.string();
  if ((value.undefined() || value.none()) && absent != nullptr) return std::string(absent);
  return Bad(absl::StrCat("argument ", name, " is no string"));
}

bool IsStripped(int32_t c, const std::vector<std::string>& set, absl::string_view character) {
  if (set.empty()) return IsWhitespace(c) || (c >= 0x1C && c <= 0x1F);
  return std::find(set.begin(), set.end(), character) != set.end();
}

// Without the characters of `set` (none: white space) at the asked sides.
std::string Strip(absl::string_view text, const std::string& set, bool left, bool right) {
  const std::vector<std::string> characters = Characters(set);
  while (left && !text.empty()) {
    size_t at = 0;
    const int32_t c = NextCodePoint(text, at);
    if (!IsStripped(c, characters, text.substr(0, at))) break;
    text.remove_prefix(at);
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t at = begin;
    const int32_t c = NextCodePoint(text, at);
    if (!IsStripped(c, characters, text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return std::string(text);
}

List SplitOnSpaces(absl::string_view text) {
  List out;
  std::string word;
  for (const std::string& c : Characters(text)) {
    size_t at = 0;
    if (!IsStripped(NextCodePoint(c, at), {}, c)) {
      word += c;
    } else if (!word.empty()) {
      out.push_back(Value::Of(std::exchange(word, "")));
    }
  }
  if (!word.empty()) out.push_back(Value::Of(word));
  return out;
}

absl::StatusOr<List> SplitOn(absl::string_view text, const std::string& separator, int64_t most) {
  if (separator.empty()) return Bad("split by an empty string");
  List out;
  while (most != 0) {
    const size_t at = text.find(separator);
    if (at == absl::string_view::npos) break;
    out.push_back(Value::Of(text.substr(0, at)));
    text.remove_prefix(at + separator.size());
    if (most > 0) --most;
  }
  out.push_back(Value::Of(text));
  return out;
}

absl::StatusOr<bool> HasAffix(const std::string& text, const Value& affix, bool front) {
  if (const std::string* s = affix.string())
    return front ? absl::StartsWith(text, *s) : absl::EndsWith(text, *s);
  if (const List* list = affix.list()) {
    for (const Value& item : *list) {
      SLUICE_ASSIGN_OR_RETURN(const bool has, HasAffix(text, item, front));
      if (has) return true;
    }
    return false;
  }
  return Bad("startswith and endswith need a string");
}

std::string Capitalized(absl::string_view text, bool every_word) {
  std::string out;
  bool start = true;
  for (const std::string& c : Characters(text)) {
    size_t at = 0;
    const int32_t code = NextCodePoint(c, at);
    out += start ? ToUpper(c) : ToLower(c);
    start = every_word && !(IsWordCharacter(code) && !IsNumeric(code) && code != '_');
  }
  return out;
}

absl::StatusOr<std::string> Replaced(const std::string& text, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const std::string from, TextArgument(arguments, 0, "old"));
  SLUICE_ASSIGN_OR_RETURN(const std::string to, TextArgument(arguments, 1, "new"));
  if (from.empty()) return Bad("replace of an empty string");
  const Value limit = Argument(arguments, 2, "count");
  int64_t left = limit.As<int64_t>() != nullptr ? *limit.As<int64_t>() : -1;
  std::string out;
  size_t at = 0;
  while (left != 0) {
    const size_t hit = text.find(from, at);
    if (hit == std::string::npos) break;
    out.append(text, at, hit - at);
    out += to;
    if (out.size() > Budget::kMaxTextBytes) return absl::ResourceExhaustedError("a string too long");
    at = hit + from.size();
    if (left > 0) --left;
  }
  return out + text.substr(at);
}

absl::StatusOr<Value> CallStringMethod(const std::string& text, const std::string& name,
                                       const Arguments& arguments, Budget& budget) {
  SLUICE_RETURN_IF_ERROR(budget.Charge(static_cast<int64_t>(text.size() / 16)));
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    SLUICE_ASSIGN_OR_RETURN(const std::string set, TextArgument(arguments, 0, "chars", ""));
    return budget.Text(Strip(text, set, name != "rstrip", name != "lstrip"));
  }
  if (name == "startswith" || name == "endswith") {
    SLUICE_ASSIGN_OR_RETURN(const bool has,
                            HasAffix(text, Argument(arguments, 0, "prefix"), name == "startswith"));
    return Value::Bool(has);
  }
  if (name == "split") {
    const Value separator = Argument(arguments, 0, "sep"), most = Argument(arguments, 1, "maxsplit");
    if (separator.undefined() || separator.none()) return budget.Items(SplitOnSpaces(text));
    if (separator.string() == nullptr) return Bad("split needs a string");
    const int64_t limit = most.As<int64_t>() != nullptr ? *most.As<int64_t>() : -1;
    SLUICE_ASSIGN_OR_RETURN(List parts, SplitOn(text, *separator.string(), limit));
    return budget.Items(std::move(parts));
  }
  if (name == "upper") return budget.Text(ToUpper(text));
  if (name == "lower") return budget.Text(ToLower(text));
  if (name == "title") return budget.Text(Capitalized(text, true));
  if (name == "capitalize") return budget.Text(Capitalized(text, false));
  if (name == "replace") {
    SLUICE_ASSIGN_OR_RETURN(std::string out, Replaced(text, arguments));
    return budget.Text(std::move(out));
  }
  if (name == "find") {
    SLUICE_ASSIGN_OR_RETURN(const std::string needle, TextArgument(arguments, 0, "sub"));
    const size_t at = text.find(needle);
    return Value::Int(at == std::string::npos ? -1 : CountCharacters(absl::string_view(text).substr(0, at)));
  }
  return absl::UnimplementedError("");
}

absl::StatusOr<Value> CallObjectMethod(const Object& object, const std::string& name,
                                       const Arguments& arguments, Budget& budget) {
  if (name == "get") {
    const Value key = Argument(arguments, 0, "key");
    const Value* found = key.string() == nullptr ? nullptr : object.Find(*key.string());
    if (found != nullptr) return *found;
    const Value absent = Argument(arguments, 1, "default");
    return absent.undefined() ? Value(Value::Variant(None{})) : absent;
  }
  if (name != "items" && name != "keys" && name != "values") return absl::UnimplementedError("");
  List out;
  for (const auto& [key, value] : object.members()) {
    if (name == "items") {
      out.push_back(Value::Of(List{Value::Of(key), value}));
    } else {
      out.push_back(name == "keys" ? Value::Of(key) : value);
    }
  }
  return budget.Items(std::move(out));
}

absl::StatusOr<Value> Length(const Value& value) {
  if (value.undefined()) return Value::Int(0);
  if (value.string() != nullptr) return Value::Int(CountCharacters(*value.string()));
  if (value.list() != nullptr) return Value::Int(static_cast<int64_t>(value.list()->size()));
  if (value.object() != nullptr) return Value::Int(static_cast<int64_t>(value.object()->members().size()));
  return Bad(absl::StrCat("a value of type ", value.TypeName(), " has no length"));
}

absl::StatusOr<Value> Joined(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string separator, TextArgument(arguments, 0, "d", ""));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, ToText(items[i], Budget::kMaxTextBytes));
    absl::StrAppend(&out, i == 0 ? "" : separator, text);
    if (out.size() > Budget::kMaxTextBytes) return absl::ResourceExhaustedError("a string too long");
  }
  return budget.Text(std::move(out));
}

Value Member(const Value& value, const std::string& name) {
  const Value* found = value.object() == nullptr ? nullptr : value.object()->Find(name);
  return found == nullptr ? Value() : *found;
}

// selectattr(name), selectattr(name, test, argument) and rejectattr.
absl::StatusOr<Value> SelectByMember(const Value& value, bool keep, const Arguments& arguments,
                                     Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, TextArgument(arguments, 0, "attribute"));
  SLUICE_ASSIGN_OR_RETURN(const std::string test, TextArgument(arguments, 1, "test", ""));
  List rest;
  for (size_t i = 2; i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
  List out;
  for (const Value& item : items) {
    bool passes = Member(item, name).Truthy();
    if (!test.empty()) {
      SLUICE_ASSIGN_OR_RETURN(passes, ApplyTest(test, Member(item, name), rest));
    }
    if (passes == keep) out.push_back(item);
  }
  return budget.Items(std::move(out));
}

absl::StatusOr<Value> MapMembers(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  const bool by_member = arguments.positional.empty();
  SLUICE_ASSIGN_OR_RETURN(const std::string name, TextArgument(arguments, 0, "attribute"));
  Arguments rest = arguments;
  if (!by_member) rest.positional.erase(rest.positional.begin());
  List out;
  for (const Value& item : items) {
    if (by_member) {
      out.push_back(Member(item, name));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(Value mapped, ApplyFilter(name, item, rest, budget));
    out.push_back(std::move(mapped));
  }
  return budget.Items(std::move(out));
}

absl::StatusOr<Value> ToInteger(const Value& value, const Arguments& arguments) {
  int64_t parsed = 0;
  if (value.number() && !value.As<double>()) return Value::Int(static_cast<int64_t>(value.AsDouble()));
  if (value.As<double>() && std::abs(value.AsDouble()) < 1e15)
    return Value::Int(static_cast<int64_t>(value.AsDouble()));
  if (value.string() != nullptr && absl::SimpleAtoi(*value.string(), &parsed)) return Value::Int(parsed);
  const Value absent = Argument(arguments, 0, "default");
  return absent.undefined() ? Value::Int(0) : absent;
}

absl::StatusOr<Value> JsonOf(const Value& value, const Arguments& arguments, Budget& budget) {
  const Value indent = Argument(arguments, 0, "indent");
  int64_t spaces = -1;
  if (indent.As<int64_t>() != nullptr)
    spaces = std::min<int64_t>(std::max<int64_t>(*indent.As<int64_t>(), 0), 16);
  SLUICE_ASSIGN_OR_RETURN(std::string text, ToJson(value, static_cast<int>(spaces), Budget::kMaxTextBytes));
  return budget.Text(std::move(text));
}

absl::StatusOr<Value> FirstOrLast(const Value& value, bool first, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  if (items.empty()) return Value(Value::Variant(Undefined{first ? "first item" : "last item"}));
  return first ? items.front() : items.back();
}

}  // namespace

absl::Status Budget::Charge(int64_t steps) {
  steps_ += 1 + steps;
  if (steps_ <= kMaxSteps) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the template takes more than ", kMaxSteps, " steps"));
}

absl::StatusOr<Value> Budget::Text(std::string text) {
  if (text.size() > kMaxTextBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a string of more than ", kMaxTextBytes, " bytes"));
  }
  SLUICE_RETURN_IF_ERROR(Charge(static_cast<int64_t>(text.size() / 16)));
  return Value(Value::Variant(std::move(text)));
}

absl::StatusOr<Value> Budget::Items(List list) {
  SLUICE_RETURN_IF_ERROR(Charge(4 * static_cast<int64_t>(list.size())));
  return Value::Of(std::move(list));
}

absl::StatusOr<Value> ApplyFilter(const std::string& name, const Value& value, const Arguments& arguments,
                                  Budget& budget) {
  if (name == "tojson") return JsonOf(value, arguments, budget);
  if (name == "default" || name == "d") {
    const bool falsy_too = Argument(arguments, 1, "boolean").Truthy();
    if (!value.undefined() && !(falsy_too && !value.Truthy())) return value;
    const Value absent = Argument(arguments, 0, "default_value");
    return absent.undefined() ? Value::Of("") : absent;
  }
  if (name == "length" || name == "count") return Length(value);
  if (name == "first" || name == "last") return FirstOrLast(value, name == "first", budget);
  if (name == "join") return Joined(value, arguments, budget);
  if (name == "int") return ToInteger(value, arguments);
  if (name == "selectattr" || name == "rejectattr") {
    return SelectByMember(value, name == "selectattr", arguments, budget);
  }
  if (name == "map") return MapMembers(value, arguments, budget);
  if (name == "list") {
    SLUICE_ASSIGN_OR_RETURN(List items, Iterate(value, budget));
    return budget.Items(std::move(items));
  }
  if (name == "items" && value.object() != nullptr)
    return CallObjectMethod(*value.object(), "items", {}, budget);
  const bool of_text = name == "trim" || name == "upper" || name == "lower" || name == "title" ||
                       name == "capitalize" || name == "replace" || name == "string" || name == "safe";
  if (!of_text) return Bad(absl::StrCat("the filter \"", name, "\" is not supported"));
  SLUICE_ASSIGN_OR_RETURN(std::string text, ToText(value, Budget::kMaxTextBytes));
  if (name == "string" || name == "safe") return budget.Text(std::move(text));
  return CallStringMethod(text, name == "trim" ? "strip" : name, arguments, budget);
}

absl::StatusOr<bool> ApplyTest(const std::string& name, const Value& value, const List& arguments) {
  const int64_t* number = value.As<int64_t>();
  if (name == "defined") return !value.undefined();
  if (name == "undefined") return value.undefined();
  if (name == "none") return value.none();
  if (name == "string") return value.string() != nullptr;
  if (name == "mapping") return value.object() != nullptr && !value.object()->is_namespace;
  if (name == "iterable" || name == "sequence") {
    return value.undefined() || value.list() || value.string() || value.object();
  }
  if (name == "number") return value.number();
  if (name == "integer") return number != nullptr;
  if (name == "float") return value.As<double>() != nullptr;
  if (name == "boolean") return value.As<bool>() != nullptr;
  if (name == "true") return value.As<bool>() != nullptr && *value.As<bool>();
  if (name == "false") return value.As<bool>() != nullptr && !*value.As<bool>();
  if (name == "odd" || name == "even") return number != nullptr && (*number % 2 != 0) == (name == "odd");
  const Value argument = arguments.empty() ? Value() : arguments[0];
  if (name == "equalto" || name == "eq") return Equal(value, argument);
  if (name == "ne") return !Equal(value, argument);
  if (name == "in") return Contains(argument, value);
  if (name == "divisibleby" && argument.As<int64_t>() != nullptr && *argument.As<int64_t>() > 0) {
    return number != nullptr && *number % *argument.As<int64_t>() == 0;
  }
  return Bad(absl::StrCat("the test \"", name, "\" is not supported"));
}

absl::StatusOr<Value> CallMethod(const Value& receiver, const std::string& name, const Arguments& arguments,
                                 Budget& budget) {
  if (receiver.string() != nullptr) return CallStringMethod(*receiver.string(), name, arguments, budget);
  if (receiver.object() != nullptr && !receiver.object()->is_namespace) {
    return CallObjectMethod(*receiver.object(), name, arguments, budget);
  }
  return absl::UnimplementedError("");
}

absl::StatusOr<List> Iterate(const Value& value, Budget& budget) {
  List out;
  if (value.undefined()) return out;
  if (const List* list = value.list()) {
    SLUICE_RETURN_IF_ERROR(budget.Charge(static_cast<int64_t>(list->size())));
    return *list;
  }
  if (const Object* object = value.object()) {
    for (const auto& [name, member] : object->members()) out.push_back(Value::Of(name));
    return out;
  }
  if (const std::string* text = value.string()) {
    SLUICE_RETURN_IF_ERROR(budget.Charge(4 * static_cast<int64_t>(text->size())));
    for (const std::string& c : Characters(*text)) out.push_back(Value::Of(c));
    return out;
  }
  return Bad(absl::StrCat("cannot iterate over a value of type ", value.TypeName()));
}

absl::StatusOr<bool> Contains(const Value& container, const Value& item) {
  if (container.undefined()) return false;
  if (const std::string* text = container.string()) {
    if (item.string() == nullptr) return Bad("'in' a string needs a string");
    return absl::StrContains(*text, *item.string());
  }
  if (const List* list = container.list()) {
    return std::any_of(list->begin(), list->end(), [&](const Value& v) { return Equal(v, item); });
  }
  if (const Object* object = container.object()) {
    return item.string() != nullptr && object->Find(*item.string()) != nullptr;
  }
  return Bad(absl::StrCat("'in' a value of type ", container.TypeName()));
}

absl::StatusOr<Value> Slice(const Value& value, const Value& begin, const Value& end, const Value& step,
                            Budget& budget) {
  if (value.list() == nullptr && value.string() == nullptr) {
    return Bad(absl::StrCat("cannot slice a value of type ", value.TypeName()));
  }
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  const auto number = [](const Value& v, int64_t absent) {
    return v.As<int64_t>() ? *v.As<int64_t>() : absent;
  };
  const int64_t size = static_cast<int64_t>(items.size()), by = number(step, 1);
  constexpr int64_t kFar = int64_t{1} << 40;
  if (by == 0 || by > kFar || by < -kFar) return Bad("a slice step of zero or too large");
  const auto place = [&](int64_t at) {
    if (at < 0) at += size;
    return std::min(std::max(at, by > 0 ? int64_t{0} : int64_t{-1}), by > 0 ? size : size - 1);
  };
  const int64_t from = begin.As<int64_t>() ? place(*begin.As<int64_t>()) : by > 0 ? 0 : size - 1;
  const int64_t to = end.As<int64_t>() ? place(*end.As<int64_t>()) : by > 0 ? size : -1;
  List out;
  for (int64_t i = from; by > 0 ? i < to : i > to; i += by) out.push_back(items[static_cast<size_t>(i)]);
  if (value.list() != nullptr) return budget.Items(std::move(out));
  std::string text;
  for (const Value& c : out) text += *c.string();
  return budget.Text(std::move(text));
}

}  // namespace sluice::chat
