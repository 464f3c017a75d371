// Values of chat templates: what Jinja sees as Python objects. Lists and objects are shared by reference, as
// in Python; only namespaces change after they were made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::chat {

class Value;
using List = std::vector<Value>;

// Arguments of a call: by place and by name.
struct Arguments;
using Function = std::function<absl::StatusOr<Value>(const Arguments&)>;

// Members in their order of insertion (few: searched linearly).
class Object {
 public:
  const Value* Find(absl::string_view name) const;
  void Set(absl::string_view name, Value value);
  const std::vector<std::pair<std::string, Value>>& members() const { return members_; }
  bool is_namespace = false;
  std::shared_ptr<const Function> call;  // of the loop object: what loop(items) does

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Undefined {
  std::string name;
};
struct None {};

class Value {
 public:
  using Variant =
      std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<const List>,
                   std::shared_ptr<Object>, std::shared_ptr<const Function>>;
  Value() = default;  // undefined
  Value(Variant data) : data_(std::move(data)) {}
  static Value Of(absl::string_view text) { return Value(Variant(std::string(text))); }
  static Value Of(List list) { return Value(Variant(std::make_shared<const List>(std::move(list)))); }
  static Value Of(Function function) {
    return Value(Variant(std::make_shared<const Function>(std::move(function))));
  }
  static Value Of(Object object) { return Value(Variant(std::make_shared<Object>(std::move(object)))); }
  static Value Bool(bool b) { return Value(Variant(b)); }
  static Value Int(int64_t i) { return Value(Variant(i)); }

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&data_);
  }
  const std::string* string() const { return As<std::string>(); }
  const List* list() const {
    const auto* p = As<std::shared_ptr<const List>>();
    return p == nullptr ? nullptr : p->get();
  }
  Object* object() const {
    const auto* p = As<std::shared_ptr<Object>>();
    return p == nullptr ? nullptr : p->get();
  }
  bool undefined() const { return As<Undefined>() != nullptr; }
  bool none() const { return As<None>() != nullptr; }
  bool number() const { return As<bool>() || As<int64_t>() || As<double>(); }
  double AsDouble() const;  // of a number

  bool Truthy() const;
  const char* TypeName() const;

 private:
  Variant data_;
};

bool Equal(const Value& a, const Value& b, int depth = 0);
// -1, 0 or 1; INVALID_ARGUMENT for values without an order.
absl::StatusOr<int> Compare(const Value& a, const Value& b);

// Text as Python's str(); never longer than `limit` (RESOURCE_EXHAUSTED).
absl::StatusOr<std::string> ToText(const Value& value, size_t limit);

// The options of Python's json.dumps.
struct Json {
  int indent = -1;  // spaces; -1: on one line
  std::string comma = ", ", colon = ": ";
  bool ascii = false, sorted = false;
};
absl::StatusOr<std::string> ToJson(const Value& value, const Json& json, size_t limit);

// What a template asks for that cannot be: INVALID_ARGUMENT, for people.
inline absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

}  // namespace sluice::chat
