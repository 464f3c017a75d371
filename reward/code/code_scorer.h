// Judges programs by the tests of their row, in the sandbox (proto CodeScorer says what each part of the spec
// means, docs/rewards.md how rows look). Nothing is compared where the program runs.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "reward/item_scorer.h"
#include "reward/sandbox/sandbox.h"
#include "reward/scorer_registry.h"

namespace sluice {

struct CodeScorerOptions {
  std::string cache_directory;  // of compiled programs; empty: nothing is kept
  int64_t cache_bytes = int64_t{256} << 20;
  std::string compiler = "/usr/bin/g++";  // as boxes see it
  int max_items = 2;  // judged at once; each holds two boxes of the sandbox at most, others wait
  absl::Duration open_timeout = absl::Seconds(60);  // for a box to become free; then INFRASTRUCTURE
};

// What all code scorers of a service share: the sandbox, the compile cache, the places. Thread-safe.
class CodeRunner;

// What the sandbox is to have loaded; before Sandbox::Create.
void AddCodeHarness(SandboxOptions& options);

// `sandbox` is borrowed and outlives the runner. FAILED_PRECONDITION: the cache directory cannot be used.
absl::StatusOr<std::shared_ptr<CodeRunner>> MakeCodeRunner(Sandbox& sandbox,
                                                           const CodeScorerOptions& options);

class CodeItemScorer final : public ItemScorer {
 public:
  static absl::StatusOr<std::unique_ptr<ItemScorer>> Create(const CodeScorerSpec& spec,
                                                            std::shared_ptr<CodeRunner> runner);
  // Rows whose tests cannot be read are UNDECIDED; the detail names the field and what is expected in it.
  ItemJudgement Judge(const ScoreItem& item) const override;
  // Begins no test past the limits: INFRASTRUCTURE then.
  ItemJudgement JudgeWithin(const ScoreItem& item, const JudgeLimits& limits) const override;

 private:
  CodeItemScorer(const CodeScorerSpec& spec, std::shared_ptr<CodeRunner> runner)
      : spec_(spec), runner_(std::move(runner)) {}
  CodeScorerSpec spec_;
  std::shared_ptr<CodeRunner> runner_;  // shared by the scorers of all calls
};

// For ScorerRegistry::Register("code", ...).
ScorerRegistry::Factory CodeScorerFactory(std::shared_ptr<CodeRunner> runner);

}  // namespace sluice
