// Samples and ledgers as text and JSON. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// {"draw","index","prompt","prompt_uid","text","tokens","logprobs","spans","alternatives","verdict","advantage","worker","attempt",
// "ledger_column","step","finish_reason"}.
nlohmann::ordered_json SampleJson(const v1::ListSamplesResponse& sample);
// For people: a heading, the prompt, the completion, the verdict, an empty line.
std::string SampleText(const v1::ListSamplesResponse& sample);
// How samples ended and how long they are.
class SampleLengths {
 public:
  void Add(const v1::ListSamplesResponse& sample);
  // "8 samples: length 6, stop 2; 75 % were cut off at max_new_tokens; tokens p50 8, p95 8, most 8" with a
  // line end; empty without samples. Nearest ranks.
  std::string Text();

 private:
  std::map<std::string, int64_t> finished_;  // by reason
  std::vector<int> tokens_;
};

// "WRONG 0 (answer 0: found 7)".
std::string VerdictLine(const v1::Verdict& verdict);
// Its kind and value, and a line for each component: value, weight, class, tests, steps, stamps, detail.
std::string VerdictText(const v1::Verdict& verdict);

// The nine columns by their names, "issued" first.
nlohmann::ordered_json LedgerJson(const v1::Ledger& ledger);

// "stop", "length", "cancelled" or "".
std::string FinishReasonName(v1::FinishReason reason);

}  // namespace sluice::cli
