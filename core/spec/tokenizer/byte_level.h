// The alphabet of byte-level BPE (GPT-2): each byte is written as one printable character.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

std::string ToByteLevel(absl::string_view bytes);
// The bytes of a token. A token with a character outside the alphabet stands for its own UTF-8, as in
// `tokenizers`.
std::string FromByteLevel(absl::string_view token);

}  // namespace sluice
