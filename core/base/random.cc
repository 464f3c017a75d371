#include "core/base/random.h"

namespace sluice {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

std::array<uint32_t, 2> KeyOf(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMultiplier0} * c[0], p1 = uint64_t{kMultiplier1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

float UniformAt(uint64_t seed, RandomDomain domain, uint64_t draw, uint32_t index, uint32_t position) {
  // The domain shares a word with the upper half of the draw: 2^28 * 2^32 draws are more than a job can make.
  const std::array<uint32_t, 4> counter = {
      static_cast<uint32_t>(draw), (static_cast<uint32_t>(domain) << 28) ^ static_cast<uint32_t>(draw >> 32),
      index, position};
  return static_cast<float>(Philox4x32(counter, KeyOf(seed))[0] >> 8) * 0x1.0p-24f;
}

uint64_t BitsAt(uint64_t seed, RandomDomain domain, uint64_t counter) {
  const auto bits = Philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                                static_cast<uint32_t>(domain), 0xB175u},
                               KeyOf(seed));
  return (uint64_t{bits[1]} << 32) | bits[0];
}

}  // namespace sluice
