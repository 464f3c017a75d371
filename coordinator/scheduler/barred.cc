// Draws of prompts in quarantine.
#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {

// Issues and settles those that come next. Whether the next draw may be handed out.
bool SchedulerStep::PassOverBarred() {
  while (s_.barred.draws.erase(s_.next_draw) > 0) {
    const Draw draw = s_.next_draw++;
    Do(IssueGroup{draw, s_.version + s_.plan.max_versions, s_.plan.group_size});
    Do(DropGroup{draw, LedgerColumn::kQuarantined, "its prompt is quarantined"});
    if (++s_.barred.in_a_row < DropsToPause(s_.plan)) continue;
    s_.paused = true;
    s_.error = absl::StrCat(
        "paused: the last ", s_.barred.in_a_row,
        " prompts drawn are all quarantined; `sluice quarantine JOB` says why, with --release it "
        "hands them out again; then `sluice resume` goes on");
    Do(SaveState{});
    Do(Note{s_.error});
    return false;
  }
  if (s_.next_draw >= s_.barred.known_below) return false;
  s_.barred.in_a_row = 0;
  return true;
}

}  // namespace sluice
