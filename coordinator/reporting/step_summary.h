// The figures of a batch and of an evaluation, computed from their groups. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/records/job_view.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

// What one group adds to its step's record.
struct GroupSummary {
  std::vector<double> rewards;                                   // of samples with one
  std::map<std::string, std::pair<double, int64_t>> components;  // name -> sum, count; of those samples
  std::vector<int64_t> lengths;                                  // tokens of each completion
  int64_t stopped = 0, truncated = 0;       // completions that ended by a stop, by max_new_tokens
  PolicyVersion oldest = kNoPolicyVersion;  // span version
  bool tied = false;
};
GroupSummary SummariseGroup(const Group& group);

// Versions between the oldest that the group was sampled at and the one before its step; 0 without samples.
int64_t StalenessOf(const GroupSummary& group, PolicyVersion version_before);

// Of lengths in any order, by nearest rank: the least that at least this share (0 to 1) is not above. 0 of
// none.
int64_t PercentileOf(std::vector<int64_t> lengths, double share);

// reward, reward_std, reward_<component>, completion_tokens (mean; also _p50, _p95, _max), finish_stop,
// finish_length, finish_other (completions), truncated_share (those that hit max_new_tokens), staleness_max,
// staleness_mean, group_ties; staleness is counted from `version_before`, the version before the step.
// group_ties is the share among the groups and `filtered` more, which were complete and dropped because they
// tie.
std::map<std::string, double> SummariseBatch(const std::vector<GroupSummary>& groups,
                                             PolicyVersion version_before, int64_t filtered = 0);

// "evaluation at step 5: reward 0.5, accuracy 0.25; NAME: reward ...".
std::string DescribeEvaluation(const EvaluationView& evaluation);

// The share of samples that are correct counts where the evaluation says: the whole verdict or one component,
// by its kind or from a value on.
bool IsCorrect(const Verdict& verdict, const EvaluationSpec& evaluation);

// The probability that of k samples at least one is correct, estimated without bias from n samples of which c
// are: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374, equation 1). 1 <= k <= n, 0 <= c <= n.
double PassAtK(int64_t n, int64_t c, int64_t k);

// The result does not depend on the order of the groups. Add goes by what `evaluation` says of correctness.
class EvaluationSummary {
 public:
  void Add(const Group& group, const EvaluationSpec& evaluation = {});
  EvaluationView Finish(PolicyVersion version, const EvaluationSpec& evaluation = {}) const;

 private:
  int64_t completions_ = 0, tokens_ = 0, rewarded_ = 0, correct_ = 0;
  std::map<Draw, double> rewards_;                            // sums of the groups
  std::map<Draw, std::pair<int64_t, int64_t>> prompts_;       // correct, samples with a reward
  std::map<std::string, std::pair<int64_t, int64_t>> kinds_;  // kind -> correct, samples with a reward
};

}  // namespace sluice
