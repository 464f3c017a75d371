// What chat templates do with lists, objects and strings alike (core/spec/template/builtins.h).
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/builtins.h"
#include "core/spec/template/strings.h"

namespace sluice::chat {
namespace {}  // namespace

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

absl::StatusOr<bool> Holds(const std::string& op, const Value& a, const Value& b) {
  if (op == "==" || op == "!=") return Equal(a, b) == (op == "==");
  if (op == "in" || op == "not in") {
    SLUICE_ASSIGN_OR_RETURN(const bool contained, Contains(b, a));
    return contained == (op == "in");
  }
  for (const Value* value : {&a, &b}) {
    if (value->undefined()) return Bad(absl::StrCat("'", value->As<Undefined>()->name, "' is undefined"));
  }
  SLUICE_ASSIGN_OR_RETURN(const int order, Compare(a, b));
  return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
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
