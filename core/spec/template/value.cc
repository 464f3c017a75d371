#include "core/spec/template/value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice::chat {
namespace {

constexpr int kMaxValueDepth = 64;

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return nlohmann::json(value).dump();  // shortest form that reads back, as Python's repr
}

std::string PythonQuoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<uint8_t>(c) < 32 || c == 127) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return out;
}

// Writes repr or JSON, which differ in constants and quotes only.
class Writer {
 public:
  Writer(const Json* json, size_t limit)
      : json_(json), options_(json == nullptr ? Json() : *json), limit_(limit) {}

  absl::Status Write(const Value& value, int depth) {
    if (depth > kMaxValueDepth)
      return absl::ResourceExhaustedError("a value nested too deeply to be written");
    if (out_.size() > limit_) return absl::ResourceExhaustedError("a value too long to be written");
    if (const List* list = value.list()) return WriteList(*list, depth);
    if (const Object* object = value.object()) return WriteObject(*object, depth);
    return WriteScalar(value);
  }
  std::string Take() { return std::move(out_); }

 private:
  absl::Status WriteScalar(const Value& value) {
    if (value.none()) {
      out_ += json_ ? "null" : "None";
    } else if (const bool* b = value.As<bool>()) {
      out_ += json_ ? (*b ? "true" : "false") : (*b ? "True" : "False");
    } else if (const int64_t* i = value.As<int64_t>()) {
      absl::StrAppend(&out_, *i);
    } else if (const double* d = value.As<double>()) {
      out_ += NumberText(*d);
    } else if (const std::string* s = value.string()) {
      using Text = nlohmann::json;
      out_ +=
          json_ ? Text(*s).dump(-1, ' ', options_.ascii, Text::error_handler_t::replace) : PythonQuoted(*s);
    } else if (value.undefined() && !json_) {
      out_ += "Undefined";
    } else {
      return absl::InvalidArgumentError(absl::StrCat("cannot write a value of type ", value.TypeName()));
    }
    return absl::OkStatus();
  }

  void Break(int depth) {
    if (options_.indent >= 0)
      absl::StrAppend(&out_, "\n", std::string(static_cast<size_t>(options_.indent * depth), ' '));
  }
  void Comma(bool first) {
    if (!first) out_ += options_.comma;
  }

  absl::Status WriteList(const List& list, int depth) {
    out_ += "[";
    for (size_t i = 0; i < list.size(); ++i) {
      Comma(i == 0);
      Break(depth + 1);
      SLUICE_RETURN_IF_ERROR(Write(list[i], depth + 1));
    }
    if (!list.empty()) Break(depth);
    out_ += "]";
    return absl::OkStatus();
  }

  absl::Status WriteObject(const Object& object, int depth) {
    out_ += "{";
    bool first = true;
    std::vector<std::pair<std::string, Value>> sorted;
    if (options_.sorted) {
      sorted = object.members();
      std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    for (const auto& [name, value] : options_.sorted ? sorted : object.members()) {
      Comma(first);
      first = false;
      Break(depth + 1);
      SLUICE_RETURN_IF_ERROR(WriteScalar(Value::Of(name)));
      out_ += options_.colon;
      SLUICE_RETURN_IF_ERROR(Write(value, depth + 1));
    }
    if (!first) Break(depth);
    out_ += "}";
    return absl::OkStatus();
  }

  const Json* json_;  // null: Python's repr
  Json options_;
  size_t limit_;
  std::string out_;
};

absl::StatusOr<std::string> Written(const Value& value, const Json* json, size_t limit) {
  Writer writer(json, limit);
  SLUICE_RETURN_IF_ERROR(writer.Write(value, 0));
  std::string out = writer.Take();
  if (out.size() > limit) return absl::ResourceExhaustedError("a value too long to be written");
  return out;
}

}  // namespace

const Value* Object::Find(absl::string_view name) const {
  for (const auto& [key, value] : members_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Object::Set(absl::string_view name, Value value) {
  for (auto& [key, held] : members_) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  members_.emplace_back(std::string(name), std::move(value));
}

double Value::AsDouble() const {
  if (const bool* b = As<bool>()) return *b ? 1 : 0;
  if (const int64_t* i = As<int64_t>()) return static_cast<double>(*i);
  const double* d = As<double>();
  return d == nullptr ? 0 : *d;
}

bool Value::Truthy() const {
  if (undefined() || none()) return false;
  if (number()) return AsDouble() != 0;
  if (const std::string* s = string()) return !s->empty();
  if (const List* l = list()) return !l->empty();
  if (const Object* o = object()) return o->is_namespace || !o->members().empty();
  return true;
}

const char* Value::TypeName() const {
  constexpr const char* kNames[] = {"undefined", "none", "bool", "int",     "float",
                                    "str",       "list", "dict", "function"};
  return kNames[data_.index()];
}

bool Equal(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) return false;
  if (a.number() && b.number()) return a.AsDouble() == b.AsDouble();
  if (a.string() && b.string()) return *a.string() == *b.string();
  if (a.list() && b.list()) {
    const List &x = *a.list(), &y = *b.list();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!Equal(x[i], y[i], depth + 1)) return false;
    }
    return true;
  }
  if (a.object() && b.object()) {
    if (a.object() == b.object()) return true;
    if (a.object()->members().size() != b.object()->members().size()) return false;
    for (const auto& [name, value] : a.object()->members()) {
      const Value* other = b.object()->Find(name);
      if (other == nullptr || !Equal(value, *other, depth + 1)) return false;
    }
    return true;
  }
  return (a.undefined() && b.undefined()) || (a.none() && b.none());
}

absl::StatusOr<int> Compare(const Value& a, const Value& b) {
  if (a.number() && b.number()) {
    const double x = a.AsDouble(), y = b.AsDouble();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.string() && b.string()) {
    const int order = a.string()->compare(*b.string());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  return absl::InvalidArgumentError(absl::StrCat("cannot order ", a.TypeName(), " and ", b.TypeName()));
}

absl::StatusOr<std::string> ToText(const Value& value, size_t limit) {
  if (const std::string* s = value.string()) return *s;
  if (value.undefined()) return std::string();
  return Written(value, nullptr, limit);
}

absl::StatusOr<std::string> ToJson(const Value& value, const Json& json, size_t limit) {
  return Written(value, &json, limit);
}

}  // namespace sluice::chat
