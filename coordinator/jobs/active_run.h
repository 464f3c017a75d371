// A job that runs, with what the coordinator keeps beside it: its calls under way and its stalls. Used by the
// coordinator's actor thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "coordinator/jobs/job_run.h"
#include "coordinator/reporting/stall_detector.h"
#include "core/base/cancellation.h"
#include "core/rl/types.h"

namespace sluice {

struct ActiveRun {
  ActiveRun(uint64_t its_number, std::unique_ptr<JobRun> its_job, absl::Duration stall)
      : number(its_number), job(std::move(its_job)), stalls(stall) {}

  const JobId& name() const { return job->row().view.job; }

  const uint64_t number;  // tells answers to calls of an earlier run
  const std::unique_ptr<JobRun> job;
  std::string learner;                             // that the job has; empty: it waits for one
  absl::Time learner_lost = absl::InfinitePast();  // when it was, the last time
  JobId yields_to;                                 // the job that is to have the learner next; empty: none
  int32_t rollout_workers = 0;                     // that work for it
  Ledger ledger;                                   // as durable
  bool changed = true;                             // what is here and shown, since it was published
  std::map<uint64_t, CancelToken> cancels;         // of attempts under way
  StallDetector stalls;
  absl::Time stalls_looked = absl::InfinitePast();
  absl::Time next_stalls_look;  // real time; not before
};

}  // namespace sluice
