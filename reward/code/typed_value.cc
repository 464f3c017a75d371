#include "reward/code/typed_value.h"

namespace sluice {

const TypedValue* TypedValue::Find(absl::string_view key) const {
  if (kind != kDict) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].IsText(key)) return &items[i + 1];
  }
  return nullptr;
}

const char* TypedValueKindName(TypedValue::Kind kind) {
  static constexpr const char* kNames[] = {
      "None",  "a boolean", "an integer", "an integer", "a number",    "a complex number", "a string",
      "bytes", "a list",    "a tuple",    "a set",      "a frozenset", "an object",        "an ellipsis"};
  return kNames[kind];
}

}  // namespace sluice
