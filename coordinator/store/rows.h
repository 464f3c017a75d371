// What the store's rows say, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/records/attempt_outcome.h"
#include "coordinator/records/job_view.h"
#include "coordinator/store/segments.h"
#include "core/rl/types.h"

namespace sluice {

// A job's row: what is durable of its view, and what a restart needs.
struct JobRow {
  JobView view;  // ledger, evaluations and events are read from their own tables
  bool paused = false;
  std::string files_hash;  // of the prompt files as submitted
  PolicyRef policy;        // of view.version
  PolicyVersion checkpointed = kNoPolicyVersion;
  Draw next_draw = 0;
};

struct StoredGroup {
  Draw draw = 0;
  PolicyVersion train_by = 0;
  SegmentRef record;            // complete when it is set
  std::vector<bool> in_flight;  // by index: not settled
  uint32_t attempts = 0;        // number of the next
};

struct StoredBatch {
  PolicyVersion version = 0;
  std::vector<Draw> draws;
  bool committed = false;
  std::string manifest_hash;
  std::map<std::string, double> metrics = {};  // of its step; empty: it is not committed, or has none
};

// What of a job may be needed again. The learner redoes the batches behind its checkpoint, and should the
// newest be unusable, those behind the one before it.
struct JobHorizon {
  JobId job;
  PolicyVersion covered = 0;  // batches up to this one are not redone
  Draw next_draw = 0;
  bool ended = false;
};

struct StoredRollback {
  PolicyVersion version = 0, parent = 0;
  Draw first_draw = 0;  // that was not issued before it
  std::string reason;
  absl::Time time;
  bool committed = false;
  bool by_guard = true;  // else because the learner could not redo what it had done
};

// The oldest and the newest version that samples with a reward were sampled at; kNoPolicyVersion: there are
// none.
std::pair<PolicyVersion, PolicyVersion> VersionsIn(const Group& group);

struct AttemptStart {
  Draw draw = 0;
  uint32_t number = 0;  // of the attempts at this draw
  std::string worker;
  uint64_t epoch = 0;  // of the worker
  int64_t samples = 0;
  absl::Time started;
};

const char* AttemptOutcomeName(
    AttemptOutcome outcome);  // "done", "lost", "failed", "cancelled", "hedge_lost"

}  // namespace sluice
