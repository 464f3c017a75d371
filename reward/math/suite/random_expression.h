// Random formulas for tests: a tree with its own evaluation in doubles, rewritten by identities, perturbed,
// and spelled in many ways. Shares nothing with the code under test.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace sluice::math {

struct Formula {
  enum class Op { kInteger, kName, kAdd, kMultiply, kDivide, kPower, kNegate, kRoot, kCall };
  Op op = Op::kInteger;
  int integer = 0;   // of kInteger, and the exponent of kPower
  std::string name;  // of kName: "x", "\\pi", "e"; of kCall: "\\sin"
  std::vector<Formula> args;
};

using Generator = std::mt19937_64;
using Point = std::map<std::string, double>;  // variables

// Of at most `depth` operations above each other. Variables x, y, a are used only if `free`.
Formula RandomFormula(Generator& generator, int depth, bool free);

// The same value by `steps` identities at random places: orders, brackets multiplied out, fractions expanded,
// terms added and taken away, powers unrolled.
Formula Rewrite(const Formula& formula, Generator& generator, int steps);

// One leaf, sign, operation or exponent changed. May by chance keep the value: compare with Evaluate.
Formula Perturb(const Formula& formula, Generator& generator);

// Not finite where it is not defined.
double Evaluate(const Formula& formula, const Point& point);

// A random LaTeX or plain spelling.
std::string Spell(const Formula& formula, Generator& generator);

}  // namespace sluice::math
