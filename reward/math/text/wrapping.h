// What stands around a bare answer without saying anything: blanks, mathematics delimiters, emphasis, quotes,
// a box, a final full stop. Pure and thread-safe; linear.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

absl::string_view StripWrapping(absl::string_view answer);

// Mends how an answer was transmitted: full-width characters to ASCII, "\f" and "\b" that a string literal
// made of \frac and \begin, backslashes that are all doubled. Returns `answer` itself or a view of `storage`.
absl::string_view MendSpelling(absl::string_view answer, std::string* storage);

}  // namespace sluice::math
