#include "core/spec/template/builtins.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/arguments.h"
#include "core/spec/template/strings.h"

namespace sluice::chat {
namespace {

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

absl::StatusOr<Value> CallListMethod(const List& list, const std::string& name, const Arguments& arguments) {
  if (name != "index" && name != "count") return absl::UnimplementedError("");
  const Value item = Argument(arguments, 0, "value");
  int64_t count = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!Equal(list[i], item)) continue;
    if (name == "index") return Value::Int(static_cast<int64_t>(i));
    ++count;
  }
  if (name == "index") return absl::InvalidArgumentError("index: the value is not in the list");
  return Value::Int(count);
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

absl::StatusOr<Value> CallMethod(const Value& receiver, const std::string& name, const Arguments& arguments,
                                 Budget& budget) {
  if (receiver.string() != nullptr) return CallStringMethod(*receiver.string(), name, arguments, budget);
  if (receiver.object() != nullptr && !receiver.object()->is_namespace) {
    return CallObjectMethod(*receiver.object(), name, arguments, budget);
  }
  if (receiver.list() != nullptr) return CallListMethod(*receiver.list(), name, arguments);
  return absl::UnimplementedError("");
}

}  // namespace sluice::chat
