// What the demonstration says at its end. Pure.
#pragma once

#include <string>

#include "nlohmann/json.hpp"
#include "services/cli/panel.h"

namespace sluice::cli {

struct DemoReport {
  v1::Job job;          // at its end
  StepHistory history;  // every step seen
  double seconds = 0;   // of the whole demonstration
};

// {"steps","seconds","reward_first","reward_last","heldout_before","heldout_after","kl_last","entropy_first",
// "entropy_last","max_staleness","exact_compared","exact_max_difference","ledger":{...}}. First and last are
// means over up to 5 steps (kl_last is the last step's alone); held-out figures are shares of CORRECT
// samples, null without evaluations.
nlohmann::ordered_json DemoJson(const DemoReport& report);

// A table of shares of correct samples, before and after, by kind (the easiest first) and over all.
std::string DemoTable(const v1::Job& job);

// Where the demonstration ran: as the user would type it.
struct DemoPlace {
  std::string program, state, files;  // the command, the state folder, the folder of the job file
  bool kept = false;                  // the fleet still runs
  std::string flags;                  // of its `up`: a replay is equal on the same layout alone
};

// What to try next with what the demonstration left.
std::string DemoNextSteps(const DemoPlace& place, const std::string& job);

}  // namespace sluice::cli
