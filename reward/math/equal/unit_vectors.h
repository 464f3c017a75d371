// Vectors written by their unit vectors: "2\hat{i} - 3\hat{j}", "\mathbf{i} + 2\mathbf{j}". Pure and
// thread-safe.
#pragma once

#include <cstddef>
#include <optional>

#include "reward/math/parse/expression.h"

namespace sluice::math {

// The point of `size` coordinates, 2 or 3, that a sum of multiples of i, j and k stands for; nothing for what
// may be a number: without hats there must be a j or k in it.
std::optional<Expression> PointOfUnitVectors(const Expression& e, size_t size);

}  // namespace sluice::math
