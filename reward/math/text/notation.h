// What LaTeX commands and typographic characters stand for. Pure and thread-safe.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "reward/math/text/token.h"

namespace sluice::math {

struct Sign {
  TokenKind kind = TokenKind::kOther;
  absl::string_view text;  // of what has a name
  int value = 0;           // of kVulgar, kSuperDigits, kSubDigits; 2 of a double prime
};

// A LaTeX command without its backslash: letters ("frac") or one other character ("{").
std::optional<Sign> FindCommand(absl::string_view name);

// A character beyond ASCII.
std::optional<Sign> FindCharacter(char32_t c);

// Decodes the UTF-8 character at the front of a non-empty `text`; `bytes` is its length. A byte that is no
// UTF-8 is U+FFFD of length 1.
char32_t DecodeUtf8(absl::string_view text, size_t* bytes);

}  // namespace sluice::math
