// clang-format off
// form: asserts
// tests: {"setup": "#include <cassert>\nbool near(double a, double b) { return abs(a - b) < 1e-9; }", "asserts": ["assert(near(mean({1, 2, 4.5}), 2.5));", "vector<double> v(3, 2.0); assert(mean(v) == 2);", "try { mean({}); assert(false); } catch (const std::invalid_argument& e) { assert(string(e.what()) == \"nothing\"); }"]}
#include <numeric>
#include <stdexcept>
#include <vector>
double mean(const std::vector<double>& v) {
  if (v.empty()) throw std::invalid_argument("nothing");
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
