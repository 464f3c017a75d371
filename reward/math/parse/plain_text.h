// Answers that are words. Pure and thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "reward/math/parse/expression.h"
#include "reward/math/text/token.h"

namespace sluice::math {

// Lower case, single blanks between words, no commands, no article in front: kText.
Expression TextOf(absl::Span<const Token> tokens, absl::string_view source);

// What words that stand for a value mean: "no solution", "all real numbers", "third".
std::vector<Expression> MeaningOfText(absl::string_view text);

}  // namespace sluice::math
