// What `sluice bench engine` found, as a table for people and as JSON for programs. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "services/rollout/bench/figures.h"
#include "services/rollout/bench/model_cost.h"

namespace sluice::bench {

// What this machine reached in the same run; 0: not measured.
struct MachineFigures {
  double matrix_operations = 0;  // per second, products of matrices of the model's type
  double read_bytes = 0;         // per second, from memory, all threads
};

struct BenchSetting {
  std::string model, dtype, kernel_path;
  int threads = 1, runs = 3;
  int64_t prompt_tokens = 0, new_tokens = 0;
  int64_t element_bytes = 2, cache_limit_bytes = 0;
  ModelCost cost;
  MachineFigures machine;
};

// One batch, or one group on one prompt.
struct BenchRow {
  int64_t requests = 1, group = 1;
  Spread prefill, decode, end_to_end;   // tokens per second
  int decode_runs = 0;                  // that measured `decode`: their windows held enough of the tokens
  Spread decode_seconds, decode_share;  // of the windows of all runs
  Latency latency;
  int64_t prompt_tokens_computed = 0;  // by one load
  int64_t anonymous_bytes = 0;         // resident, at the end of the row's loads
  int64_t cache_bytes = 0;             // most in use
  int64_t batch() const { return requests * group; }
};

// Shares of the machine's peak; 0 where it was not measured.
double MatrixShare(const BenchSetting& setting, const BenchRow& row);
double ReadShare(const BenchSetting& setting, const BenchRow& row);
// Resident beyond the weights and the cache.
int64_t BytesBeyond(const BenchSetting& setting, const BenchRow& row);

// {"rows":[{"batch","prefill_tps","decode_tps",...}],"model",...}: one line.
nlohmann::ordered_json ReportJson(const BenchSetting& setting, const std::vector<BenchRow>& rows);
std::string ReportTable(const BenchSetting& setting, const std::vector<BenchRow>& rows);

}  // namespace sluice::bench
