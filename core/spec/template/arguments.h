// Arguments of filters, methods and functions of chat templates, by place or by name.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

Value Argument(const Arguments& arguments, size_t place, absl::string_view name);  // undefined: not given
// An argument that must be text; `absent` when it is not given.
absl::StatusOr<std::string> TextArgument(const Arguments& arguments, size_t place, absl::string_view name,
                                         const char* absent = nullptr);
// A whole number (or a bool, as in Python).
absl::StatusOr<int64_t> IntArgument(const Arguments& arguments, size_t place, absl::string_view name,
                                    int64_t absent);

}  // namespace sluice::chat
