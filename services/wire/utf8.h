// Text for proto3 string fields, which must be UTF-8: a completion may end in the middle of a character.
// Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// `text` with each byte that is not part of a well-formed UTF-8 sequence (RFC 3629) replaced by U+FFFD.
std::string ToValidUtf8(absl::string_view text);

}  // namespace sluice
