// Jobs and workers as clients see them: plain values, one for each field of sluice.v1.Job and WorkerStatus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/records/canary_record.h"
#include "coordinator/records/shared_list.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

enum class JobState { kPending, kWarmingUp, kRunning, kPaused, kSucceeded, kFailed, kCancelled };
// "pending", "warming_up", "running", "paused", "succeeded", "failed", "cancelled".
const char* JobStateName(JobState state);
bool IsTerminal(JobState state);

struct EvaluationView {
  int64_t step = 0;  // steps trained before it
  PolicyVersion version = kNoPolicyVersion;
  double reward = 0;    // mean over samples with a reward
  double accuracy = 0;  // share of them that are correct
  int64_t samples = 0;  // with a reward
  double mean_tokens = 0;
  std::map<std::string, double> accuracy_by_kind;  // by the prompts' field "kind"
  // Mean training reward of the steps since the evaluation before it.
  std::optional<double> train_reward = {};
  std::string name = {};                    // as in more_evaluations; empty: the job's `evaluation`
  std::map<int32_t, double> pass_at = {};   // by k; of prompts with that many rewards
  std::vector<EvaluationView> others = {};  // of the same version: those of more_evaluations that were due
};

// A version that was made of an older one.
struct RollbackView {
  PolicyVersion version = kNoPolicyVersion, parent = kNoPolicyVersion;
  std::string reason;
  absl::Time time;  // of the decision
};

// A version that one worker tries.
struct TrialView {
  PolicyVersion version = kNoPolicyVersion;
  std::string worker;  // empty: none yet
  int64_t done = 0;    // prompts
};

struct CanaryView {
  CanaryRecord record;
  absl::Time time;  // of the verdict
};

struct JobEventView {
  absl::Time time;
  std::string text;  // one line
};

struct StepRecordView {
  int64_t step = 0;  // from 1; 0: no step yet
  PolicyVersion version = kNoPolicyVersion;
  std::map<std::string, double> metrics;
  absl::Time time;
};

// A job's place among all, which are in the order of their submission. Default: behind the newest.
struct JobPlace {
  absl::Time created = absl::InfiniteFuture();
  JobId job;
};

struct JobView {
  JobId job;
  JobSpec spec;
  JobState state = JobState::kPending;
  int64_t step = 0;
  PolicyVersion version = kNoPolicyVersion;
  int64_t warm_start_step = 0;
  StepRecordView last_step;
  Ledger ledger;
  std::string waiting_for, error;
  std::string stalled;                     // what is waited for longer than it should be; empty: nothing
  SharedList<EvaluationView> evaluations;  // oldest first
  SharedList<JobEventView> events;         // the last 100, oldest first
  absl::Time create_time;
  absl::Time end_time = absl::InfiniteFuture();  // InfiniteFuture: has not ended
  int64_t max_staleness = 0;                     // versions
  int64_t exact_compared = 0;                    // tokens
  double exact_max_difference = 0;
  std::string learner;                        // that trains it, and has its checkpoints; empty: none yet
  int32_t rollout_workers = 0;                // that work for it now
  PolicyVersion promoted = kNoPolicyVersion;  // last
  SharedList<RollbackView> rollbacks;         // oldest first
  std::optional<TrialView> trial;             // while one is under way
  std::optional<CanaryView> canary;           // of the last version that was on trial
  uint64_t revision = 0;                      // rises with each change of this view; from 1
};
// As it was at one moment.
using JobSnapshot = std::shared_ptr<const JobView>;

// Something that is not as it was recorded.
struct ReplayDifference {
  std::string where, recorded, replayed;
};

// A step of a replay beside the recorded one.
struct ReplayStepView {
  PolicyVersion version = 0;  // that it made; 0: the first, before any step
  // The recorded manifest's hash, and the one that the replay's has under the recorded job's name.
  std::string recorded_manifest, manifest;
  int64_t compared = 0,
          different = 0;        // samples that were sampled anew; those of them, or of `taken`, that differ
  int64_t taken = 0, lost = 0;  // samples taken over, and those that were not trained on
  std::optional<ReplayDifference> sample, metric;  // the first of each
  std::string recorded_kernel_path, kernel_path;   // empty: not known
  bool equal() const { return recorded_manifest == manifest && !sample && !metric; }
};

// One try to produce samples of a group on one worker.
struct AttemptView {
  Draw draw = 0;
  uint32_t number = 0;  // of the attempts at this draw
  std::string worker;
  uint64_t epoch = 0;  // of the worker; 0: not known
  int64_t samples = 0;
  absl::Time started;
  absl::Time ended = absl::InfiniteFuture();  // InfiniteFuture: under way
  std::string outcome;                        // as AttemptOutcomeName, or "unknown"; empty: under way
  int64_t tokens = 0;                         // of completions that came of it
};

// A sample that was given up on.
struct QuarantineView {
  SampleKey sample;
  int64_t prompt_row = -1;  // from 0, of the rows of prompts.file; -1: not known
  std::string prompt_uid;
  std::string reason;
  int64_t attempts = 0;                    // at it that failed; at least those at its draw
  absl::Time time = absl::InfinitePast();  // InfinitePast: not known
  bool released = false;                   // its prompt is handed out again
};

struct WorkerView {
  std::string name, address;
  std::string role;  // "rollout", "reward" or "learner"
  bool alive = false;
  PolicyVersion version = kNoPolicyVersion;  // that a rollout worker serves
  int32_t in_flight = 0;                     // requests under way
  std::string job;                           // that it works for; empty: none, or (reward workers) all
  int64_t tokens_generated = 0;              // that reached the coordinator since the worker registered
};

struct SampleView {
  ScoredSample sample;
  std::string prompt, prompt_uid;
  std::string ledger_column;  // of an evaluation's sample: empty
  int64_t step = 0;           // that trained on it, or before which it was evaluated; 0: none
};

}  // namespace sluice
