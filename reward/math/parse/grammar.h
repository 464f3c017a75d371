// The grammar of answers: from tokens to an expression, by recursive descent without going back, so that time
// is linear in the tokens. Nothing is evaluated, except that a literal over a literal is one number.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "reward/math/parse/expression.h"
#include "reward/math/parse/parser.h"
#include "reward/math/text/token.h"

namespace sluice::math {

// Notation with two meanings. A parse takes the likelier one of each, unless its bit is in GrammarOptions.
enum Ambiguity : unsigned {
  kOpenPair = 1,      // "(2, 3)": a point, else an open interval
  kClosedPair = 2,    // "[2, 3]": a closed interval, else a vector
  kSlashProduct = 4,  // "1/2x": a half of x, else one over 2x; "a/bc" the other way round
  kUnitLetter = 8,    // "5 m": a product, else metres; "5 m/s" the other way round
  kNamedPoint = 16,   // "C(5, 2)": a number of choices, else a point; "P(5, 2)" the other way round
  kPounds = 32,       // "5 pounds": weight, else sterling
};

struct GrammarOptions {
  unsigned flipped = 0;  // Ambiguity bits
  ParseLimits limits;
};

enum class ParseOutcome { kParsed, kNotMathematics, kTooDeep, kTooManyNodes, kTooManyDigits };

// How the items of a list were joined.
struct Joints {
  bool comma = false, and_word = false, or_word = false;
  bool logical = false;  // \land or \lor
};

struct Parsed {
  std::vector<Expression> items;  // one, or what stands between commas, "and" and "or"
  Joints joints;
  bool percent = false, decimal = false;
  std::string unit;
  UnitDoubt doubt = UnitDoubt::kNone;
  int base = 0;
  std::string parameter;  // "k" of "k \\pi, k \\in \\mathbb{Z}": any integer
  unsigned met = 0;       // Ambiguity bits of what was met
  int nodes = 0;
};

// Reads all of `tokens`, which end with kEnd and point into `source`.
ParseOutcome ParseTokens(absl::Span<const Token> tokens, absl::string_view source,
                         const GrammarOptions& options, Parsed* parsed);

}  // namespace sluice::math
