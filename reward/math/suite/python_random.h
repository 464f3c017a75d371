// CPython's random.Random for integer seeds: random() and randint(), number for number.
#pragma once

#include <cstdint>
#include <random>

namespace sluice::math {

class PythonRandom {
 public:
  explicit PythonRandom(uint32_t seed);
  double Random();                 // in [0, 1)
  int RandInt(int low, int high);  // both inclusive

 private:
  std::mt19937 generator_;
};

}  // namespace sluice::math
