#include "reward/math/equal/unit_conversion.h"

#include "gtest/gtest.h"

namespace sluice::math {
namespace {

TEST(UnitConversionTest, RatiosAreExact) {
  const struct {
    const char *a, *b;
    mpq_class ratio;
  } cases[] = {
      {"cm", "m", 100},
      {"m", "cm", mpq_class(1, 100)},
      {"cm^2", "m^2", 10000},
      {"in", "ft", 12},
      {"cm", "in", mpq_class(127, 50)},
      {"km/h", "m/s", mpq_class(18, 5)},
      {"mph", "mi/h", 1},
      {"mL", "L", 1000},
      {"cm^3", "mL", 1},
      {"s", "week", 604800},
      {"cent", "dollar", 100},
      {"dollar/h", "cent/min", mpq_class(3, 5)},
      {"apple", "apple", 1},
      {"mA", "A", 1000},
      {"kohm", "ohm", mpq_class(1, 1000)},
      {"mW", "MW", 1000000000},
      {"kW", "MW", 1000},
      {"ug", "mg", 1000},
      {"N*m^2/kg^2", "N*m^2*kg^-2", 1},
      {"kN*m", "N*m", mpq_class(1, 1000)},
  };
  for (const auto& c : cases) {
    std::optional<mpq_class> ratio = UnitRatio(c.a, c.b);
    ASSERT_TRUE(ratio.has_value()) << c.a << " " << c.b;
    EXPECT_EQ(*ratio, c.ratio) << c.a << " " << c.b;
  }
}

TEST(UnitConversionTest, DifferentMeasuresDoNotConvert) {
  const char* cases[][2] = {{"cm", "cm^2"},   {"m", "s"},       {"km", "kg"},      {"apple", "pear"},
                            {"m/s", "m"},     {"degree", "km"}, {"m^99", "cm^99"}, {"dollar", "euro"},
                            {"celsius", "K"}, {"m/s^2", "m/s"}, {"mV", "mA"},      {"N/m", "N*m"},
                            {"", "m"}};
  for (const auto& c : cases) EXPECT_FALSE(UnitRatio(c[0], c[1]).has_value()) << c[0] << " " << c[1];
}

}  // namespace
}  // namespace sluice::math
