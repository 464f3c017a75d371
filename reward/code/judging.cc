#include "reward/code/judging.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/outcome.h"

namespace sluice {
namespace {

constexpr double kTimeoutsBeforeGivingUp = 2;
constexpr absl::Duration kShortestWall = absl::Seconds(5);

}  // namespace

JudgeBoxes::~JudgeBoxes() {
  if (row_ != nullptr) rows_.Give(std::move(row_));
}

absl::Time JudgeBoxes::OpenBy() const { return std::min(limits_.deadline, absl::Now() + open_timeout_); }

absl::StatusOr<SandboxBox*> JudgeBoxes::candidate() {
  SLUICE_RETURN_IF_ERROR(InTime());
  if (candidate_ == nullptr) {
    SLUICE_ASSIGN_OR_RETURN(candidate_, sandbox_.Open(OpenBy()));
    timed_ = std::make_unique<TimedBox>(*candidate_, limits_);
  }
  return timed_.get();
}

absl::StatusOr<RowBox*> JudgeBoxes::row() {
  SLUICE_RETURN_IF_ERROR(InTime());
  if (row_ == nullptr) {
    SLUICE_ASSIGN_OR_RETURN(row_, rows_.Take(OpenBy()));
  }
  return row_.get();
}

SandboxLimits TestLimits(const CodeScorerSpec& spec) {
  SandboxLimits limits;
  limits.cpu = absl::Seconds(spec.timeout_seconds);
  limits.wall = std::max(2 * limits.cpu, kShortestWall);  // a busy machine is not the program's fault
  limits.memory_bytes = spec.memory_bytes;
  limits.output_bytes = spec.output_bytes;
  return limits;
}

SandboxLimits RowLimits(const CodeScorerSpec& spec) {
  SandboxLimits limits = TestLimits(spec);
  limits.wall = limits.cpu = limits.wall + absl::Seconds(5);
  limits.memory_bytes = std::max(limits.memory_bytes, int64_t{512} << 20);
  return limits;
}

size_t MaxMessageBytes(const CodeScorerSpec& spec) {
  return static_cast<size_t>(std::clamp(spec.output_bytes, int64_t{1} << 16, int64_t{64} << 20));
}

void FillResults(size_t count, const TestResult& result, JudgedProgram& judged) {
  while (judged.tests.size() < count) judged.tests.push_back(result);
}

bool GivesUp(const CodeScorerSpec& spec, size_t count, JudgedProgram& judged) {
  if (spec.credit != CodeCredit::kAll) return false;
  double failed_seconds = 0;
  const TestResult* failed = nullptr;
  for (const TestResult& test : judged.tests) {
    if (test.outcome == outcome::kPassed) continue;
    failed_seconds += test.seconds;
    failed = &test;
  }
  if (failed == nullptr || failed_seconds < kTimeoutsBeforeGivingUp * spec.timeout_seconds * 0.99)
    return false;
  FillResults(count, {failed->outcome, 0, 0, "not run: tests before it failed and took all the time"},
              judged);
  return true;
}

}  // namespace sluice
