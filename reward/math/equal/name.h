// Names that answers are given to: "x" of "x = 5", "f(x)", "x*y", "the area". Pure and thread-safe.
#pragma once

#include <string>

#include "reward/math/parse/expression.h"

namespace sluice::math {

// What an answer gives a value to; empty if it is a bare value.
std::string NameOf(const Reading& reading);

// Whether both name something and never the same: x and y are different unknowns, xy is neither; f(2) is not
// f(x), nor f'(x), nor g(x); AB is not CD. "y" and "f(x)", or "the area", may be the same.
bool NamesConflict(const std::string& gold, const std::string& prediction);

// "x", "x_1", "xy", "f(x)": not "Area".
bool IsFormulaName(const std::string& name);

// Whether a reference that says "NAME = value" asks for more than the value, because the name is an
// expression in unknowns: "xy = 6", "|x| = 2". Not so "x", "AB", "f(x)", "dy/dx", "|z|".
bool NameBelongsToAnswer(const std::string& name);

}  // namespace sluice::math
