// What the judges of the single forms of tests have in common: the boxes they run in and what they give back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"
#include "reward/code/row_box.h"
#include "reward/code/timed_box.h"
#include "reward/item_scorer.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

// A program judged by all of its tests. The failure of the sandbox is a status instead.
struct JudgedProgram {
  std::vector<TestResult> tests;  // as many as were given
  bool tests_visible = false;     // some ran where the program could see them
  std::string undecided;          // the row's own fault, for which no program is to blame; else empty
};

// The two boxes of one item, taken when they are first asked for: the candidate's, which is new, and the one
// for what the row brings along. Past the item's limits neither is given any more, so that what is left of it
// fails. Not thread-safe.
class JudgeBoxes {
 public:
  JudgeBoxes(Sandbox& sandbox, RowBoxPool& rows, absl::Duration open_timeout, const JudgeLimits& limits)
      : sandbox_(sandbox), rows_(rows), open_timeout_(open_timeout), limits_(limits) {}
  ~JudgeBoxes();
  JudgeBoxes(const JudgeBoxes&) = delete;
  JudgeBoxes& operator=(const JudgeBoxes&) = delete;

  absl::StatusOr<SandboxBox*> candidate();
  absl::StatusOr<RowBox*> row();
  const JudgeLimits& limits() const { return limits_; }
  // DEADLINE_EXCEEDED or CANCELLED past the limits. To be asked before each test.
  absl::Status InTime() const { return TimeIsLeft(limits_); }

 private:
  absl::Time OpenBy() const;

  Sandbox& sandbox_;
  RowBoxPool& rows_;
  const absl::Duration open_timeout_;
  const JudgeLimits limits_;
  std::unique_ptr<SandboxBox> candidate_;
  std::unique_ptr<TimedBox> timed_;  // around candidate_
  std::unique_ptr<RowBox> row_;
};

// Of one test.
SandboxLimits TestLimits(const CodeScorerSpec& spec);
// Of what the row brings along, for one test.
SandboxLimits RowLimits(const CodeScorerSpec& spec);
// The longest answer that is read from a run.
size_t MaxMessageBytes(const CodeScorerSpec& spec);

// Gives the tests from the first that is not yet in `judged` the same result, which the program met before
// any test began; counted once.
void FillResults(size_t count, const TestResult& result, JudgedProgram& judged);

// Whether the tests that are left may be passed over: one failed, all must pass, and the failed ones took so
// long that the others' time is not worth it. The others then count as failed, like it.
bool GivesUp(const CodeScorerSpec& spec, size_t count, JudgedProgram& judged);

}  // namespace sluice
