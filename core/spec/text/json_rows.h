// One row of JSON Lines, as people and programs write them. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

constexpr size_t kMaxRowBytes = size_t{64} << 20;

// INVALID_ARGUMENT for anything but one JSON object of at most kMaxRowBytes and kMaxJsonDepth levels; the
// message gives the column, and never the parser's name.
absl::StatusOr<nlohmann::json> ParseJsonRow(absl::string_view line);

// A member of an object as it stands in the text: numbers keep their spelling, which a parsed value loses.
struct RawMember {
  std::string name;         // unescaped
  absl::string_view value;  // without blanks around it; points into the row
};
// The members of the object `row` in their order. It reads only the structure, so it also tells what a row
// says that ParseJsonRow refuses; nothing when the structure itself is broken.
std::optional<std::vector<RawMember>> RawMembers(absl::string_view row);

}  // namespace sluice
