// Figures from the times of loads. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "services/rollout/bench/engine_load.h"

namespace sluice::bench {

// What was sampled while all sequences decoded: from the first look at the counters when every sequence had
// its first token until the last one when all of them still ran.
struct DecodeWindow {
  double tokens = 0, seconds = 0;
  double share = 0;  // of the tokens that follow a first one
  // Tokens per second; 0, not measured, where the window holds less than half of the tokens: the looks came
  // too late, or there are too few tokens.
  double rate() const;
};
DecodeWindow DecodeWindowOf(const LoadTimes& times, const LoadShape& shape);

// Prompt tokens per second of a load with one new token.
double PrefillRate(const LoadTimes& times, const LoadShape& shape);

// New tokens over the whole of the load.
double EndToEndRate(const LoadTimes& times, const LoadShape& shape);

// Most cache blocks in use.
double PeakBlocks(const LoadTimes& times);

struct Latency {
  double first_median = 0, first_max = 0;  // milliseconds from the request to a completion's first token
  double p50 = 0, p95 = 0, p99 = 0;        // milliseconds between tokens of one completion
};
// Of a load with each_token.
Latency LatencyOf(const LoadTimes& times);

// The value that a share `q` of the values does not exceed (nearest rank); 0 of none.
double Quantile(std::vector<double> values, double q);

// Median and spread of one figure over the runs.
struct Spread {
  double median = 0, least = 0, most = 0;
};
Spread SpreadOf(absl::Span<const double> values);

}  // namespace sluice::bench
