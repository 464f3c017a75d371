#include "reward/math/suite/python_random.h"

#include "gtest/gtest.h"

namespace sluice::math {
namespace {

// By CPython 3.11: r = random.Random(7); r.random(), r.randint(2, 99), r.randint(1, 5), and again.
TEST(PythonRandomTest, DrawsWhatCPythonDraws) {
  PythonRandom random(7);
  EXPECT_EQ(random.Random(), 0.32383276483316237);
  EXPECT_EQ(random.RandInt(2, 99), 21);
  EXPECT_EQ(random.RandInt(1, 5), 4);
  EXPECT_EQ(random.Random(), 0.65093447303985374);
  EXPECT_EQ(random.RandInt(2, 99), 11);
  EXPECT_EQ(random.RandInt(1, 5), 5);
}

}  // namespace
}  // namespace sluice::math
