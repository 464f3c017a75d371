// A group as bytes of a segment record, and back. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/types.h"

namespace sluice {

std::string EncodeGroup(const Group& group);
// DATA_LOSS when the bytes are not a group.
absl::StatusOr<Group> DecodeGroup(absl::string_view bytes);

}  // namespace sluice
