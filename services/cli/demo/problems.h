// The demonstration's problems: write the given digits in rising order. The warm start shows them in random
// order, so it teaches the form of an answer only; that they are to be sorted is known to the reward service
// alone. Pure: the same seed gives the same problems. Training and held-out problems share no set of digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/cli/demo/demo_settings.h"

namespace sluice::cli {

struct Problem {
  std::vector<int> digits;     // distinct, 1 to 9, in the order of the prompt
  std::string kind() const;    // "three digits", ...
  std::string prompt() const;  // "5 2 8:"
  std::string answer() const;  // "258"
};

struct WarmRow {
  std::string prompt, completion;
};

struct ProblemSet {
  std::vector<Problem> training, held_out;
  std::vector<WarmRow> warm;  // over training digits only
};

ProblemSet MakeProblems(const DemoTask& task, uint64_t seed);

// JSON Lines as a job reads them: {"id", "prompt", "answer", "kind"} and {"prompt", "completion"}.
std::string PromptRows(const std::vector<Problem>& problems, const std::string& id_prefix);
std::string WarmRows(const std::vector<WarmRow>& rows);

}  // namespace sluice::cli
