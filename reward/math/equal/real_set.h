// Sets of real numbers that are unions of intervals and points, normalised: in order, overlapping and
// touching pieces merged, so that equal sets have equal pieces.
#pragma once

#include <optional>
#include <vector>

#include "reward/math/equal/equivalence.h"
#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

struct Endpoint {
  int infinite = 0;  // -1, 1: of that sign; 0: value
  Expression value;  // a closed real constant
};

struct Piece {
  Endpoint lower, upper;
  bool closed_lower = false, closed_upper = false;
};

class RealSet {
 public:
  // Of intervals, finite sets, unions, intersections, differences, inequalities that are linear in one
  // variable, and {x | inequality}. Nothing for all else: an interval whose ends are the wrong way round,
  // ends with free variables or that cannot be ordered, sets of other things.
  static std::optional<RealSet> Of(const Expression& expression, const EquivalenceOptions& options,
                                   Work& work);

  const std::vector<Piece>& pieces() const { return pieces_; }
  // Nothing where ends cannot be told from each other.
  std::optional<bool> Equals(const RealSet& other, const EquivalenceOptions& options, Work& work) const;

 private:
  std::vector<Piece> pieces_;
  friend class RealSetBuilder;
};

// The variable of an inequality or of all of them alike; empty if there are none or several.
std::string VariableOf(const Expression& relation);

}  // namespace sluice::math
