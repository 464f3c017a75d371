#include "reward/math/equal/unit_vectors.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

// 0, 1 or 2 for i, j or k, with hats or without; nothing for all else.
std::optional<size_t> AxisOf(const Expression& e, bool* vectors) {
  if (e.kind != Kind::kSymbol) return std::nullopt;
  static constexpr const char* kNames[][4] = {{"i", "hat(i)", "hat(imath)", "vec(i)"},
                                              {"j", "hat(j)", "hat(jmath)", "vec(j)"},
                                              {"k", "hat(k)", "hat(k)", "vec(k)"}};
  for (size_t axis = 0; axis < 3; ++axis) {
    bool hat =
        std::find(std::begin(kNames[axis]) + 1, std::end(kNames[axis]), e.name) != std::end(kNames[axis]);
    if (!hat && e.name != kNames[axis][0]) continue;
    *vectors = *vectors || hat || axis > 0;
    return axis;
  }
  return std::nullopt;
}

// The multiple of one unit vector that a term is.
std::optional<std::pair<size_t, Expression>> Component(const Expression& term, bool* vectors) {
  if (std::optional<size_t> axis = AxisOf(term, vectors)) return std::make_pair(*axis, NumberOf(1));
  if (term.kind != Kind::kProduct) return std::nullopt;
  std::optional<size_t> found;
  std::vector<Expression> factors;
  for (const Expression& factor : term.args) {
    std::optional<size_t> axis = AxisOf(factor, vectors);
    if (axis && found) return std::nullopt;
    if (axis) {
      found = axis;
    } else {
      factors.push_back(factor);
    }
  }
  if (!found || factors.empty()) return std::nullopt;
  return std::make_pair(*found, ProductOf(std::move(factors)));
}

}  // namespace

std::optional<Expression> PointOfUnitVectors(const Expression& e, size_t size) {
  if (size != 2 && size != 3) return std::nullopt;
  Expression point = ListOf(Kind::kTuple, std::vector<Expression>(size, NumberOf(0)));
  std::vector<bool> seen(size);
  bool vectors = false;
  const std::vector<Expression> alone = {e};
  for (const Expression& term : e.kind == Kind::kSum ? e.args : alone) {
    auto component = Component(term, &vectors);
    if (!component || component->first >= size || seen[component->first]) return std::nullopt;
    seen[component->first] = true;
    point.args[component->first] = std::move(component->second);
  }
  if (!vectors) return std::nullopt;
  return point;
}

}  // namespace sluice::math
