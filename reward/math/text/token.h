// What the lexer makes of an answer. Tokens point into the answer or into static tables.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice::math {

enum class TokenKind : uint8_t {
  kEnd,
  kNumber,       // digits; see the fields of Token
  kBasedNumber,  // "1011_2": text is the digits, value the base
  kVulgar,       // a fraction of one character: value is 100 * numerator + denominator
  kLetters,      // a run of ASCII letters
  kSymbol,       // text is the name: "theta", "pi", "infinity"
  kFunction,     // text is the name: "sin"
  kOperator,     // \sum, \int, \lim: text is the name
  kNumberSet,    // text is "R", "Z", ...
  kAccent,       // \overline, \vec, \hat: text is the name
  kCurrency,     // text is the unit: "dollar"
  kFraction,
  kRoot,
  kCubeRoot,
  kBinomial,
  kChoose,  // a \choose b
  kOver,    // a \over b
  kMod,     // \pmod, \bmod
  kPlus,
  kMinus,
  kPlusMinus,
  kMinusPlus,
  kTimes,  // text is "cross" for the sign that vectors have too
  kDivide,
  kPower,        // ^ or **
  kSubscript,    // _
  kSuperDigits,  // a run of superscript characters: value
  kSubDigits,    // a run of subscript characters: value
  kFactorial,
  kPercent,
  kDegree,
  kPrime,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kApproximately,  // text is "not" for the sign that negates statements too
  kCongruent,
  kComma,
  kSemicolon,
  kColon,
  kBar,        // |
  kDoubleBar,  // \|
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,  // a LaTeX group
  kRightBrace,
  kLeftSet,  // \{
  kRightSet,
  kLeftAngle,
  kRightAngle,
  kLeftFloor,
  kRightFloor,
  kLeftCeil,
  kRightCeil,
  kUnion,
  kIntersection,
  kSetMinus,
  kEmptySet,
  kEllipsis,
  kAmpersand,
  kRowEnd,            // \\ in an environment
  kEnvironmentBegin,  // text is the name
  kEnvironmentEnd,
  kArrow,  // \to, \Rightarrow: text is "->" for those to the right
  kAnd,    // \land
  kOr,     // \lor
  kPeriod,
  kOther,  // anything else
  // Below: what the lexer itself deals with.
  kSkip,           // \left, \displaystyle, \big
  kSpace,          // \quad, \;
  kThinSpace,      // \, and \!: may stand inside a number
  kText,           // \text, \mathrm: its braces hold words
  kOpenDelimiter,  // \left: takes a "." with it
  kTag,            // \label, \tag, \hspace: its braces are left out
  kBegin,
  kEndCommand,
  kBold,        // \mathbf
  kBlackboard,  // \mathbb
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool space_before = false;  // a blank or the edge of a \text stands before it
  bool in_text = false;       // within \text{...} or the like
  bool bold = false;          // within \mathbf{...} or the like
  bool spelled = false;       // a word or symbol spelled by a command: text is not source[begin, end)
  absl::string_view text;     // the letters or digits, or the canonical name
  uint32_t begin = 0, end = 0;
  int32_t value = 0;
  // Of kNumber: digits after the point, how many of the last of them repeat for ever, and the power of ten.
  uint32_t fraction_digits = 0, repeating_digits = 0;
  int32_t exponent = 0;
  bool has_point = false;
  bool has_exponent = false;
  bool has_comma = false;  // a comma between digits was read as a separator of thousands
};

}  // namespace sluice::math
