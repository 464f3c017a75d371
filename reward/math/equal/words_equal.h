// Whether two answers in words say the same. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"

namespace sluice::math {

// Lower case both. Articles, full stops, plurals and the word "function" do not count; yes is true, no is
// false, undefined does not exist; dates in either order, and what "and" joins; "03:30 pm" is "3:30".
// `exact`: only the same words.
bool SayTheSame(absl::string_view gold, absl::string_view prediction, bool exact);

}  // namespace sluice::math
