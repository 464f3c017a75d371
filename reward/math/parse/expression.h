// A mathematical answer as it was read: a bounded tree of values. It is only data: nothing here evaluates.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>
#include <vector>

#include "reward/math/text/unit_words.h"

namespace sluice::math {

enum class Kind {
  // Values.
  kNumber,    // `number`, exact; a decimal or a percent sign is a spelling (see Reading)
  kSymbol,    // `name`: "x", "x_1", "theta", "ABC"; the constants "pi", "e", "i", "infinity"; "..." for dots;
              // "set Z", "set N", "set Q", "set C" (the reals are an interval)
  kSum,       // args, 2 or more; a - b is a + (-1) * b
  kProduct,   // args, 2 or more; a / b is a * b^-1
  kPower,     // args: base, exponent; sqrt(a) is a^(1/2), a root of index n is a^(1/n)
  kFunction,  // `name` and args: ln, log (base, argument), sin, ..., abs, floor, ceil, factorial, binomial,
              // f;
              // also mod, det, norm, ratio ("3:2"), conjugate, cases (value, condition, ...), "such that"
              // (element, conditions ...), and sum, prod, int, lim (limits ..., body), which nobody evaluates
  // Statements and collections.
  kRelation,  // args a0 .. an with `relations` between neighbours: "x = 5", "1 < x <= 2", "x in [0, 1]"
  kTuple,     // args, ordered: a point, a vector
  kInterval,  // args: lower, upper; closed_left, closed_right. "(2, 3)" alone is a kTuple
  kSet,  // args, without order; a kRelation alone in it (or a kUnion or kIntersection of them): its solutions
  kUnion,         // args: sets, intervals, or inequalities with "or" between them
  kIntersection,  // args, also inequalities with "and" between them
  kDifference,    // args: two
  kMatrix,        // args row by row, `columns` of them in a row
  kList,          // args: values with commas or "and" between them, without brackets
  kPlusMinus,     // args: a, b for "a \pm b"; one argument for "\pm b"
  kText,          // `name`: words, lower case, single blanks
};

enum class Relation {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kApproximately,
  kNotIn
};
// Of the sides exchanged: ">" for "<".
Relation Reversed(Relation relation);

struct Expression {
  Kind kind = Kind::kText;
  std::optional<mpq_class> number;  // canonical; of kNumber only
  std::string name;                 // of kSymbol, kFunction and kText
  std::vector<Expression> args;
  std::vector<Relation> relations;  // of kRelation: one fewer than args
  bool closed_left = false, closed_right = false;
  int columns = 0;
};

// One way to read an answer, and what its spelling says beyond the value.
struct Reading {
  Expression value;
  bool percent = false;                // "64\%": value is 64
  std::string unit;                    // normalised, "" for none: "km", "cm^2", "dollar", "degree"
  UnitDoubt doubt = UnitDoubt::kNone;  // of the unit, or of an ordinal's ending
  int base = 0;           // of a number written with a base, which value already takes into account
  bool decimal = false;   // some number was written with a decimal point
  bool hedged = false;    // several answers where one was asked for: "8 or 9", "A or B"
  std::string choice;     // "D" for "(D)", "\text{(D)}", "D."
  std::string parameter;  // "k" of "k \pi, k \in \mathbb{Z}", which stands for every integer
  std::string name;       // left side that was dropped: "x" of "x = 5", "f(x)"
};

// For explanations: ASCII, one line, at most about 4 KiB.
std::string ToText(const Expression& expression);
std::string ToText(const Reading& reading);

}  // namespace sluice::math
