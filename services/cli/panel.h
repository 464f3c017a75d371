// What `sluice watch` shows: a job and its fleet as text. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// Metrics of the steps seen so far. Bounded: the newest 4096 are kept.
class StepHistory {
 public:
  void Add(const v1::StepRecord& record);
  // Values of a metric by rising step; steps without it are left out.
  std::vector<double> Series(const std::string& metric) const;
  int64_t steps() const { return static_cast<int64_t>(records_.size()); }

 private:
  std::map<int64_t, std::map<std::string, double>> records_;
};

// One character for each of the last `width` values, scaled between their least and greatest.
std::string Sparkline(const std::vector<double>& values, int width);

// "RUNNING", "CANCELLED".
std::string StateName(v1::JobState state);
bool HasEnded(v1::JobState state);

// Steps until the job is done: of a replay, those that it repeats.
int64_t StepsOf(const v1::JobSpec& spec);

// Several lines, the last with a line end; at most `width` columns wide where the content allows.
std::string RenderPanel(const v1::WatchJobResponse& state, const StepHistory& history, int width);

// The last events of a job with their times, the newest last, under a heading; empty: there are none.
std::string RenderEvents(const v1::Job& job);

// The same news in a line, for pipes and logs; what would make it longer than 100 columns is below it, each
// text indented on a line of its own. Without the last line end.
std::string RenderLine(const v1::Job& job);

// The evaluations as a table, one row each: step, reward, accuracy, then accuracy by kind.
std::string RenderEvaluations(const v1::Job& job, int limit);

// Names small components of the reward that leave hardly any sample CORRECT, which is what held-out accuracy
// counts; empty: there are none, or nothing is evaluated. Without the line end.
std::string WarnOfShaping(const v1::JobSpec& spec);

// "issued 10 = in_flight 2 + trained 8 + ...", columns that are 0 left out.
std::string LedgerLine(const v1::Ledger& ledger);

}  // namespace sluice::cli
