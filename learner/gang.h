// The ranks of a learner as one: rank 0 announces a command, all ranks execute it on their replica. No
// LibTorch.
//
// While nothing is to be done rank 0 announces an idle command every `keep_alive`, so that the followers'
// wait has a deadline and the death of a rank is noticed. After a failed collective the gang is broken for
// good.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/comm/collectives.h"
#include "learner/batch.h"
#include "learner/replica.h"

namespace sluice {

struct GangOptions {
  Collectives* collectives = nullptr;
  int threads = 1;
  absl::Duration timeout, keep_alive;
};

// What a replica begins with.
struct GangStart {
  std::string config_json, generation_config_json;
  LearningSpec spec;
  std::vector<float> frozen;
  TrainingState state;
  int64_t first_step = 0;  // of the schedule: steps that the job which this one goes on from has taken
};

class Gang {
 public:
  explicit Gang(const GangOptions& options);
  ~Gang();  // on rank 0: announces the end
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;

  int rank() const { return options_.collectives->rank(); }
  int size() const { return options_.collectives->size(); }
  // OK, or the first collective's error.
  absl::Status broken() const;

  // Rank 0. Each is executed by all ranks; an error that is not the gang's breakdown leaves every rank as it
  // was.
  absl::Status Start(GangStart start);
  absl::Status SetReference(std::vector<float> published);
  // Gives every rank the weights of an older version, for the next step's audit.
  absl::Status Hold(PolicyVersion version, const std::string& manifest_hash, std::vector<float> published);
  absl::Status BeginReinforcement();
  absl::StatusOr<StepMetrics> Supervise(int64_t step, absl::Span<const SupervisedExample> examples);
  absl::StatusOr<StepMetrics> Step(PolicyVersion version, const std::string& current_hash,
                                   absl::Span<const TrainingGroup> groups);
  absl::StatusOr<TrainingState> GatherState();
  // This rank's replica; null before Start. Not to be used while a command runs.
  const Replica* replica() const { return replica_.get(); }

  // The other ranks: executes commands until the end is announced (OK) or the gang is broken.
  absl::Status Follow();

 private:
  enum class Kind : uint32_t {
    kIdle,
    kEnd,
    kStart,
    kReference,
    kHold,
    kBeginReinforcement,
    kSupervise,
    kStep,
    kGather
  };
  class Watched;  // collectives that remember their first error

  template <typename Body>
  auto Run(Kind kind, const std::string& payload, Body body) -> decltype(body());
  absl::Status Announce(Kind kind, const std::string& payload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::string> Receive(Kind* kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Execute(Kind kind, const std::string& payload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BroadcastFloats(std::vector<float>* values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status StartHere(GangStart* start, bool has_moments) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Settle(const absl::Status& mine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NeedReplica() const;
  void KeepAlive();

  const GangOptions options_;
  std::unique_ptr<Watched> collectives_;
  std::unique_ptr<Replica> replica_;
  absl::Mutex mu_;  // one command at a time
  absl::CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time last_command_ ABSL_GUARDED_BY(mu_);
  std::thread keeper_;
};

}  // namespace sluice
