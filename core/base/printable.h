// Untrusted text in messages for people. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// UTF-8 as it is, but for quotes, backslashes, and what would not show or would act on a terminal: control
// characters, marks that turn the direction of text, characters without a width. Those, and bytes that are no
// UTF-8, are escaped: \", \\, \n, \x1b, \xff, \u202e.
std::string Printable(absl::string_view text);

// The first `bytes` of `text` at most, never a part of a character.
absl::string_view CutToCharacters(absl::string_view text, size_t bytes);

}  // namespace sluice
