// Counter-based random numbers: a value is a pure function of (key, counter), so it does not depend on who
// draws it, when, or in which batch. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace sluice {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Which stream of a job's numbers: training and evaluation never share one.
enum class RandomDomain : uint32_t { kTraining = 0, kEvaluation = 1, kShuffle = 2, kWarmStart = 3 };

// Uniform in [0, 1), 24 bits. For sampling: draw = the sample's draw, index = its place in the group,
// position = the place of the token in the completion.
float UniformAt(uint64_t seed, RandomDomain domain, uint64_t draw, uint32_t index, uint32_t position);

// 64 uniform bits, for shuffles and derived seeds.
uint64_t BitsAt(uint64_t seed, RandomDomain domain, uint64_t counter);

}  // namespace sluice
