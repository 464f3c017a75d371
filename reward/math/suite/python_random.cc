#include "reward/math/suite/python_random.h"

#include <array>
#include <bit>
#include <sstream>

namespace sluice::math {

// Matsumoto and Nishimura's init_by_array with a key of one word, as CPython seeds with a small integer.
PythonRandom::PythonRandom(uint32_t seed) {
  constexpr uint32_t kWords = 624;
  std::array<uint32_t, kWords> state;
  state[0] = 19650218;
  for (uint32_t i = 1; i < kWords; ++i) state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  uint32_t i = 1;
  const auto step = [&] {
    if (++i < kWords) return;
    state[0] = state[kWords - 1];
    i = 1;
  };
  for (uint32_t k = 0; k < kWords; ++k, step()) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + seed;
  }
  for (uint32_t k = 1; k < kWords; ++k, step()) {
    state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) - i;
  }
  state[0] = 0x80000000u;
  std::stringstream text;
  for (const uint32_t word : state) text << word << ' ';
  text << kWords;  // all words used: the next draw makes new ones
  text >> generator_;
}

double PythonRandom::Random() {
  const uint32_t a = static_cast<uint32_t>(generator_()) >> 5, b = static_cast<uint32_t>(generator_()) >> 6;
  return (a * 67108864.0 + b) / 9007199254740992.0;
}

int PythonRandom::RandInt(int low, int high) {
  const uint32_t values = static_cast<uint32_t>(high - low) + 1;
  const int bits = std::bit_width(values);
  for (;;) {
    const uint32_t drawn = static_cast<uint32_t>(generator_()) >> (32 - bits);
    if (drawn < values) return low + static_cast<int>(drawn);
  }
}

}  // namespace sluice::math
