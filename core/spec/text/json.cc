#include "core/spec/text/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Deepest nesting of brackets outside strings; the parser itself checks that they match.
int BracketDepth(absl::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// Sees every name of every open object.
class DuplicateWatch {
 public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(value.get_ref<const std::string&>()).second) {
      if (first_.empty()) first_ = absl::StrCat("\"", value.get_ref<const std::string&>(), "\"");
    }
    return true;
  }
  const std::string& first() const { return first_; }

 private:
  std::vector<absl::flat_hash_set<std::string>> open_;
  std::string first_;
};

}  // namespace

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view source) {
  if (BracketDepth(text) > kMaxJsonDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": JSON nested deeper than ", kMaxJsonDepth, " levels"));
  }
  DuplicateWatch watch;
  try {
    nlohmann::json value = nlohmann::json::parse(text.begin(), text.end(), std::ref(watch));
    if (!watch.first().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": the name ", watch.first(), " stands twice in one object"));
    }
    return value;
  } catch (const nlohmann::json::parse_error& e) {
    const absl::string_view from = text.substr(std::min(text.size(), e.byte > 0 ? e.byte - 1 : 0));
    if (absl::StartsWith(from, "NaN") || absl::StartsWith(from, "Infinity")) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": not JSON: byte ", e.byte, ": JSON has no NaN and no Infinity"));
    }
    return absl::InvalidArgumentError(absl::StrCat(source, ": not JSON: ", e.what()));
  } catch (const nlohmann::json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": not JSON: ", e.what()));
  }
}

JsonFields::JsonFields(const nlohmann::json& object, std::string source)
    : object_(object), source_(std::move(source)) {
  if (!object.is_object()) {
    status_ = absl::InvalidArgumentError(absl::StrCat(source_, ": not a JSON object"));
  }
}

const nlohmann::json* JsonFields::Find(const char* name) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool JsonFields::Has(const char* name) const { return Find(name) != nullptr; }

void JsonFields::Fail(const char* name, absl::string_view why) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(source_, ": field \"", name, "\" ", why));
}

const nlohmann::json* JsonFields::Require(const char* name) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) Fail(name, "is missing");
  return value;
}

int64_t JsonFields::Int(const char* name, int64_t min, int64_t max) {
  return Require(name) == nullptr ? min : IntOr(name, min, min, max);
}

int64_t JsonFields::IntOr(const char* name, int64_t absent, int64_t min, int64_t max) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return absent;
  if (!value->is_number_integer()) {
    Fail(name, "is not a whole number");
    return absent;
  }
  const bool huge = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
  const int64_t number = huge ? std::numeric_limits<int64_t>::max() : value->get<int64_t>();
  if (huge || number < min || number > max) {
    Fail(name, absl::StrCat("is ", value->dump(), "; it must be from ", min, " to ", max));
    return absent;
  }
  return number;
}

double JsonFields::Number(const char* name, double min, double max) {
  return Require(name) == nullptr ? min : NumberOr(name, min, min, max);
}

double JsonFields::NumberOr(const char* name, double absent, double min, double max) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return absent;
  if (!value->is_number()) {
    Fail(name, "is not a number");
    return absent;
  }
  const double number = value->get<double>();
  if (!std::isfinite(number) || number < min || number > max) {
    Fail(name, absl::StrCat("is ", number, "; it must be from ", min, " to ", max));
    return absent;
  }
  return number;
}

bool JsonFields::BoolOr(const char* name, bool absent) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) {
    Fail(name, "is not true or false");
    return absent;
  }
  return value->get<bool>();
}

std::string JsonFields::String(const char* name) {
  return Require(name) == nullptr ? std::string() : StringOr(name, "");
}

std::string JsonFields::StringOr(const char* name, absl::string_view absent) {
  const nlohmann::json* value = Find(name);
  if (value == nullptr) return std::string(absent);
  if (!value->is_string()) {
    Fail(name, "is not a string");
    return std::string(absent);
  }
  return value->get<std::string>();
}

}  // namespace sluice
