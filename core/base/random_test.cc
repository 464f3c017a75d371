#include "core/base/random.h"

#include <set>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// Known answers of Philox4x32-10 from the Random123 distribution (kat_vectors).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(UniformAt, DiffersInEveryArgumentAndStaysInRange) {
  std::set<float> seen;
  for (uint64_t seed : {1ull, 2ull}) {
    for (auto domain : {RandomDomain::kTraining, RandomDomain::kEvaluation}) {
      for (uint64_t draw : {0ull, 1ull, 1ull << 32}) {
        for (uint32_t index : {0u, 1u}) {
          for (uint32_t position : {0u, 1u}) {
            const float u = UniformAt(seed, domain, draw, index, position);
            EXPECT_GE(u, 0.0f);
            EXPECT_LT(u, 1.0f);
            seen.insert(u);
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 48u);
}

TEST(UniformAt, HasTheMeanOfAUniform) {
  double sum = 0;
  for (uint32_t i = 0; i < 10000; ++i) sum += UniformAt(7, RandomDomain::kTraining, 3, 0, i);
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

}  // namespace
}  // namespace sluice
