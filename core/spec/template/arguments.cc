#include "core/spec/template/arguments.h"

#include "absl/strings/str_cat.h"

namespace sluice::chat {

Value Argument(const Arguments& arguments, size_t place, absl::string_view name) {
  if (place < arguments.positional.size()) return arguments.positional[place];
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return value;
  }
  return Value();
}

absl::StatusOr<std::string> TextArgument(const Arguments& arguments, size_t place, absl::string_view name,
                                         const char* absent) {
  const Value value = Argument(arguments, place, name);
  if (value.string() != nullptr) return *value.string();
  if ((value.undefined() || value.none()) && absent != nullptr) return std::string(absent);
  return absl::InvalidArgumentError(absl::StrCat("argument ", name, " is no string"));
}

absl::StatusOr<int64_t> IntArgument(const Arguments& arguments, size_t place, absl::string_view name,
                                    int64_t absent) {
  const Value value = Argument(arguments, place, name);
  if (value.As<int64_t>() != nullptr) return *value.As<int64_t>();
  if (value.As<bool>() != nullptr) return int64_t{*value.As<bool>()};
  if (value.undefined() || value.none()) return absent;
  return absl::InvalidArgumentError(absl::StrCat("argument ", name, " is no whole number"));
}

}  // namespace sluice::chat
