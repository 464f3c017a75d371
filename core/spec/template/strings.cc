#include "core/spec/template/strings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/arguments.h"
#include "core/spec/text/unicode.h"

namespace sluice::chat {
namespace {

bool IsPythonSpace(int32_t c) { return IsWhitespace(c) || (c >= 0x1C && c <= 0x1F); }

bool IsStripped(int32_t c, const std::vector<std::string>& set, absl::string_view character) {
  if (set.empty()) return IsPythonSpace(c);
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

absl::StatusOr<List> SplitFromEnd(absl::string_view text, const std::string& separator, int64_t most) {
  if (separator.empty()) return Bad("rsplit by an empty string");
  List out;
  while (most != 0) {
    const size_t at = text.rfind(separator);
    if (at == absl::string_view::npos) break;
    out.push_back(Value::Of(text.substr(at + separator.size())));
    text = text.substr(0, at);
    if (most > 0) --most;
  }
  out.push_back(Value::Of(text));
  return List(out.rbegin(), out.rend());
}

bool IsLineEnd(int32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

List SplitLines(absl::string_view text) {
  List out;
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const size_t end = at;
    const int32_t c = NextCodePoint(text, at);
    if (!IsLineEnd(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    out.push_back(Value::Of(text.substr(begin, end - begin)));
    begin = at;
  }
  if (begin < text.size()) out.push_back(Value::Of(text.substr(begin)));
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

absl::StatusOr<Value> Joined(const std::string& separator, const Value& value, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].string() == nullptr)
      return Bad(absl::StrCat("join: item ", i, " is of type ", items[i].TypeName(), ", not str"));
    absl::StrAppend(&out, i == 0 ? "" : separator, *items[i].string());
    if (out.size() > Budget::kMaxTextBytes) return absl::ResourceExhaustedError("a string too long");
  }
  return budget.Text(std::move(out));
}

absl::StatusOr<Value> Partition(const std::string& text, const std::string& name, const Arguments& arguments,
                                Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const std::string separator, TextArgument(arguments, 0, "sep"));
  if (separator.empty()) return Bad(name + " by an empty string");
  const bool front = name == "partition";
  const size_t at = front ? text.find(separator) : text.rfind(separator);
  if (at != std::string::npos) {
    return budget.Items(
        {Value::Of(text.substr(0, at)), Value::Of(separator), Value::Of(text.substr(at + separator.size()))});
  }
  return budget.Items({Value::Of(front ? text : ""), Value::Of(""), Value::Of(front ? "" : text)});
}

absl::StatusOr<Value> WithoutAffix(const std::string& text, const std::string& name,
                                   const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const std::string affix, TextArgument(arguments, 0, "affix"));
  if (name == "removeprefix" && absl::StartsWith(text, affix)) return budget.Text(text.substr(affix.size()));
  if (name == "removesuffix" && absl::EndsWith(text, affix))
    return budget.Text(text.substr(0, text.size() - affix.size()));
  return budget.Text(text);
}

absl::StatusOr<Value> Search(const std::string& text, const std::string& name, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return Bad(name + " within bounds is not supported");
  SLUICE_ASSIGN_OR_RETURN(const std::string needle, TextArgument(arguments, 0, "sub"));
  if (name == "count") {
    if (needle.empty()) return Value::Int(CountCharacters(text) + 1);
    int64_t count = 0;
    for (size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + needle.size()))
      ++count;
    return Value::Int(count);
  }
  const size_t at = name == "rfind" ? text.rfind(needle) : text.find(needle);
  if (at != std::string::npos) return Value::Int(CountCharacters(absl::string_view(text).substr(0, at)));
  if (name == "index") return Bad("index: the text is not there");
  return Value::Int(-1);
}

// isdigit and its kin: every character is of the kind, and there is one.
absl::StatusOr<Value> IsOfKind(const std::string& text, const std::string& name) {
  bool (*of_kind)(int32_t) = name == "isdigit" || name == "isdecimal" || name == "isnumeric" ? IsDecimal
                             : name == "isalpha"                                             ? IsLetter
                             : name == "isspace"                                             ? IsPythonSpace
                                                                                             : nullptr;
  if (name == "isalnum") of_kind = [](int32_t c) { return IsLetter(c) || IsNumeric(c); };
  if (name == "isupper") return Value::Bool(ToUpper(text) == text && ToLower(text) != text);
  if (name == "islower") return Value::Bool(ToLower(text) == text && ToUpper(text) != text);
  if (of_kind == nullptr) return absl::UnimplementedError("");
  size_t at = 0;
  while (at < text.size()) {
    if (!of_kind(NextCodePoint(text, at))) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

}  // namespace

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
  if (name == "split" || name == "rsplit") {
    const Value separator = Argument(arguments, 0, "sep"), most = Argument(arguments, 1, "maxsplit");
    const int64_t limit = most.As<int64_t>() != nullptr ? *most.As<int64_t>() : -1;
    if (separator.undefined() || separator.none()) {
      if (limit >= 0) return Bad(absl::StrCat(name, " at white space with a limit is not supported"));
      return budget.Items(SplitOnSpaces(text));
    }
    if (separator.string() == nullptr) return Bad(absl::StrCat(name, " needs a string"));
    SLUICE_ASSIGN_OR_RETURN(List parts, name == "split" ? SplitOn(text, *separator.string(), limit)
                                                        : SplitFromEnd(text, *separator.string(), limit));
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
  if (name == "splitlines") return budget.Items(SplitLines(text));
  if (name == "join") return Joined(text, Argument(arguments, 0, "iterable"), budget);
  if (name == "partition" || name == "rpartition") return Partition(text, name, arguments, budget);
  if (name == "removeprefix" || name == "removesuffix") return WithoutAffix(text, name, arguments, budget);
  if (name == "find" || name == "rfind" || name == "index" || name == "count")
    return Search(text, name, arguments);
  return IsOfKind(text, name);
}

}  // namespace sluice::chat
