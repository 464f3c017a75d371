// What others watch of the coordinator: Prometheus metrics, and per job STATE/jobs/JOB/metrics.jsonl and
// TensorBoard files. Reports are best effort: a full disk is logged here, and stops the job by the store. Not
// thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/records/job_view.h"
#include "coordinator/reporting/stall_detector.h"
#include "coordinator/scheduler/scheduler.h"
#include "core/rl/types.h"
#include "prometheus/registry.h"

namespace sluice {

class JobLog {
 public:
  explicit JobLog(const std::string& folder);  // STATE/jobs/JOB
  void Step(const StepRecordView& record);
  void Evaluation(const EvaluationView& evaluation, absl::Time now);
  void WarmStart(int64_t step, const std::map<std::string, double>& metrics, absl::Time now);

 private:
  void Write(const std::string& kind, int64_t step, const std::map<std::string, double>& values,
             absl::Time now);
  const std::string folder_;
  std::string event_file_;  // made with the first event
};

// Series exist at 0 from the start; those of a job (label `training_job`) from its first turn, and until many
// others had theirs.
class CoordinatorMetrics {
 public:
  explicit CoordinatorMetrics(prometheus::Registry& registry);
  void Step(const JobId& job, const StepRecordView& record);
  // Of each group of a step, versions.
  void Staleness(const std::vector<int64_t>& groups);
  void Totals(const JobId& job, JobState now, PolicyVersion version, const Ledger& ledger,
              const std::map<std::string, int64_t>& queues, int64_t held_bytes);
  void Events(int64_t waiting);  // for the coordinator's thread
  void LeaseExpired();
  void RollingBack();
  void Evaluation(const JobId& job, const EvaluationView& evaluation);
  void Canary(const JobId& job, const CanaryRecord& record);
  // Tokens of completions that another worker went on with, and of those that were begun anew or given up.
  void Resumed(int64_t resumed, int64_t lost);
  void Count(Straggling what);
  // Of all jobs that run: how long the longest stalled wait of a kind has lasted; zero: none is stalled.
  void Stall(WaitKind kind, absl::Duration lasted);

 private:
  struct Series;
  struct Job;
  Job& Of(const JobId& job);
  void ForgetOne();
  std::shared_ptr<Series> series_;  // of the registry's; shared only to keep it incomplete here
};

}  // namespace sluice
