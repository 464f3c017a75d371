// Samples and ledgers as text and JSON. Pure.
#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// {"draw","index","prompt","prompt_uid","text","tokens","logprobs","spans","alternatives","verdict","advantage","worker","attempt",
// "ledger_column","step","finish_reason"}.
nlohmann::ordered_json SampleJson(const v1::ListSamplesResponse& sample);
// For people: a heading, the prompt, the completion, the verdict, an empty line.
std::string SampleText(const v1::ListSamplesResponse& sample);
// "WRONG 0 (answer 0: found 7)".
std::string VerdictLine(const v1::Verdict& verdict);
// Its kind and value, and a line for each component: value, weight, class, tests, steps, stamps, detail.
std::string VerdictText(const v1::Verdict& verdict);

// The nine columns by their names, "issued" first.
nlohmann::ordered_json LedgerJson(const v1::Ledger& ledger);

// "stop", "length", "cancelled" or "".
std::string FinishReasonName(v1::FinishReason reason);

}  // namespace sluice::cli
