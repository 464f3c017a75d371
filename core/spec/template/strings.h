// Methods of strings in chat templates, as Python's, and what filters share with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/template/builtins.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

std::vector<std::string> Characters(absl::string_view text);
int64_t CountCharacters(absl::string_view text);
// UNIMPLEMENTED when strings have no such method here.
absl::StatusOr<Value> CallStringMethod(const std::string& text, const std::string& name,
                                       const Arguments& arguments, Budget& budget);

}  // namespace sluice::chat
