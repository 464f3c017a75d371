#include "core/spec/template/item_filters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/spec/template/arguments.h"
#include "core/spec/template/strings.h"
#include "core/spec/text/unicode.h"

namespace sluice::chat {
namespace {

// The member "a.b.0" of a value; an empty name: the value itself.
Value Member(Value value, const std::string& path) {
  if (path.empty()) return value;
  for (absl::string_view name : absl::StrSplit(path, '.')) {
    int64_t index = 0;
    const List* list = value.list();
    const Value* found = value.object() == nullptr ? nullptr : value.object()->Find(name);
    if (list != nullptr && absl::SimpleAtoi(name, &index) && index >= 0 &&
        index < static_cast<int64_t>(list->size()))
      found = &(*list)[static_cast<size_t>(index)];
    value = found == nullptr ? Value() : Value(*found);
  }
  return value;
}

// How values are compared by sort, unique, min and max: letters of either case are the same unless told.
Value Key(const Value& item, const std::string& attribute, bool case_sensitive) {
  Value key = Member(item, attribute);
  return case_sensitive || key.string() == nullptr ? key : Value::Of(ToLower(*key.string()));
}

absl::StatusOr<Value> Joined(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string separator, TextArgument(arguments, 0, "d", ""));
  SLUICE_ASSIGN_OR_RETURN(const std::string attribute, TextArgument(arguments, 1, "attribute", ""));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text,
                            ToText(Member(items[i], attribute), Budget::kMaxTextBytes));
    absl::StrAppend(&out, i == 0 ? "" : separator, text);
    if (out.size() > Budget::kMaxTextBytes) return absl::ResourceExhaustedError("a string too long");
  }
  return budget.Text(std::move(out));
}

// select(test, argument), selectattr(name, test, argument) and the opposites.
absl::StatusOr<Value> Select(const Value& value, bool keep, bool by_member, const Arguments& arguments,
                             Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  const size_t at = by_member ? 1 : 0;
  std::string name;
  if (by_member) {
    SLUICE_ASSIGN_OR_RETURN(name, TextArgument(arguments, 0, "attribute"));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string test, TextArgument(arguments, at, "test", ""));
  List rest;
  for (size_t i = at + 1; i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
  List out;
  for (const Value& item : items) {
    const Value tested = Member(item, name);
    bool passes = tested.Truthy();
    if (!test.empty()) {
      SLUICE_ASSIGN_OR_RETURN(passes, ApplyTest(test, tested, rest));
    }
    if (passes == keep) out.push_back(item);
  }
  return budget.Items(std::move(out));
}

// map(attribute=name, default=value) and map(filter, arguments).
absl::StatusOr<Value> Map(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  const bool by_member = arguments.positional.empty();
  SLUICE_ASSIGN_OR_RETURN(const std::string name, TextArgument(arguments, 0, "attribute"));
  const Value absent = Argument(arguments, 1, "default");
  Arguments rest = arguments;
  if (!by_member) rest.positional.erase(rest.positional.begin());
  List out;
  for (const Value& item : items) {
    SLUICE_RETURN_IF_ERROR(budget.Charge(1));
    if (by_member) {
      const Value found = Member(item, name);
      out.push_back(found.undefined() ? absent : found);
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(Value mapped, ApplyFilter(name, item, rest, budget));
    out.push_back(std::move(mapped));
  }
  return budget.Items(std::move(out));
}

// Stable, by keys that have an order.
absl::Status SortBy(List& items, const List& keys, bool reverse) {
  for (size_t i = 1; i < keys.size(); ++i) SLUICE_RETURN_IF_ERROR(Compare(keys[0], keys[i]).status());
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&](size_t a, size_t b) {
    const absl::StatusOr<int> compared = Compare(keys[a], keys[b]);
    return compared.ok() && (reverse ? *compared > 0 : *compared < 0);
  };
  std::stable_sort(order.begin(), order.end(), before);
  List out;
  for (size_t i : order) out.push_back(items[i]);
  items = std::move(out);
  return absl::OkStatus();
}

absl::StatusOr<Value> Sorted(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string attribute, TextArgument(arguments, 2, "attribute", ""));
  if (absl::StrContains(attribute, ",")) return Bad("sort by several attributes is not supported");
  List keys;
  for (const Value& item : items)
    keys.push_back(Key(item, attribute, Argument(arguments, 1, "case_sensitive").Truthy()));
  SLUICE_RETURN_IF_ERROR(budget.Charge(static_cast<int64_t>(16 * items.size())));
  SLUICE_RETURN_IF_ERROR(SortBy(items, keys, Argument(arguments, 0, "reverse").Truthy()));
  return budget.Items(std::move(items));
}

// The pairs of an object, by name (or value).
absl::StatusOr<Value> SortedPairs(const Value& value, const Arguments& arguments, Budget& budget) {
  if (value.object() == nullptr) return Bad(absl::StrCat("dictsort of a value of type ", value.TypeName()));
  SLUICE_ASSIGN_OR_RETURN(const std::string by, TextArgument(arguments, 1, "by", "key"));
  if (by != "key" && by != "value") return Bad("dictsort: by is neither \"key\" nor \"value\"");
  List pairs, keys;
  for (const auto& [name, member] : value.object()->members()) {
    pairs.push_back(Value::Of(List{Value::Of(name), member}));
    keys.push_back(
        Key(by == "key" ? Value::Of(name) : member, "", Argument(arguments, 0, "case_sensitive").Truthy()));
  }
  SLUICE_RETURN_IF_ERROR(budget.Charge(static_cast<int64_t>(16 * pairs.size())));
  SLUICE_RETURN_IF_ERROR(SortBy(pairs, keys, Argument(arguments, 2, "reverse").Truthy()));
  return budget.Items(std::move(pairs));
}

absl::StatusOr<Value> Unique(const Value& value, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string attribute, TextArgument(arguments, 1, "attribute", ""));
  List out, keys;
  for (const Value& item : items) {
    const Value key = Key(item, attribute, Argument(arguments, 0, "case_sensitive").Truthy());
    SLUICE_RETURN_IF_ERROR(budget.Charge(static_cast<int64_t>(keys.size())));
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& seen) { return Equal(seen, key); })) continue;
    keys.push_back(key);
    out.push_back(item);
  }
  return budget.Items(std::move(out));
}

absl::StatusOr<Value> Extreme(const Value& value, bool greatest, const Arguments& arguments, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  SLUICE_ASSIGN_OR_RETURN(const std::string attribute, TextArgument(arguments, 1, "attribute", ""));
  const bool case_sensitive = Argument(arguments, 0, "case_sensitive").Truthy();
  if (items.empty()) return Value(Value::Variant(Undefined{"item of an empty list"}));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const int order, Compare(Key(items[i], attribute, case_sensitive),
                                                     Key(items[best], attribute, case_sensitive)));
    if (greatest ? order > 0 : order < 0) best = i;
  }
  return items[best];
}

absl::StatusOr<Value> Reversed(const Value& value, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(List items, Iterate(value, budget));
  std::reverse(items.begin(), items.end());
  if (value.string() == nullptr) return budget.Items(std::move(items));
  std::string out;
  for (const Value& c : items) out += *c.string();
  return budget.Text(std::move(out));
}

absl::StatusOr<Value> FirstOrLast(const Value& value, bool first, Budget& budget) {
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget));
  if (items.empty()) return Value(Value::Variant(Undefined{first ? "first item" : "last item"}));
  return first ? items.front() : items.back();
}

}  // namespace

absl::StatusOr<Value> ApplyItemFilter(const std::string& name, const Value& value, const Arguments& arguments,
                                      Budget& budget) {
  if (name == "first" || name == "last") return FirstOrLast(value, name == "first", budget);
  if (name == "join") return Joined(value, arguments, budget);
  if (name == "select" || name == "reject") return Select(value, name == "select", false, arguments, budget);
  if (name == "selectattr" || name == "rejectattr")
    return Select(value, name == "selectattr", true, arguments, budget);
  if (name == "map") return Map(value, arguments, budget);
  if (name == "sort") return Sorted(value, arguments, budget);
  if (name == "dictsort") return SortedPairs(value, arguments, budget);
  if (name == "unique") return Unique(value, arguments, budget);
  if (name == "min" || name == "max") return Extreme(value, name == "max", arguments, budget);
  if (name == "reverse") return Reversed(value, budget);
  if (name == "list") {
    SLUICE_ASSIGN_OR_RETURN(List items, Iterate(value, budget));
    return budget.Items(std::move(items));
  }
  return absl::UnimplementedError("");
}

}  // namespace sluice::chat
