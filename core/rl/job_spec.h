// What a job is to do, resolved: every default filled in, everything checked (services/wire makes it from the
// proto sluice.v1.JobSpec, whose comments give units, ranges and defaults of each field).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/rl/types.h"

namespace sluice {

enum class ModelDtype { kBF16, kF32 };
enum class PromptTemplate { kRaw, kChat };

struct ModelSpec {
  std::string path;  // Hugging Face directory
  ModelDtype dtype = ModelDtype::kBF16;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

struct PromptsSpec {
  std::string file;  // JSON Lines
  PromptTemplate prompt_template = PromptTemplate::kRaw;
  int32_t max_tokens = 1024;  // a longer prompt is an error
  friend bool operator==(const PromptsSpec&, const PromptsSpec&) = default;
};

struct SamplingSpec {
  int32_t group_size = 8;
  SamplingParams params;
  friend bool operator==(const SamplingSpec&, const SamplingSpec&) = default;
};

// What judges one component of a reward; job.proto says what each field means.
enum class MathMode { kCompletion, kPair };
struct MathScorerSpec {
  MathMode mode = MathMode::kCompletion;
  friend bool operator==(const MathScorerSpec&, const MathScorerSpec&) = default;
};
struct RegexScorerSpec {
  std::string pattern;
  friend bool operator==(const RegexScorerSpec&, const RegexScorerSpec&) = default;
};
struct ExpressionScorerSpec {
  friend bool operator==(const ExpressionScorerSpec&, const ExpressionScorerSpec&) = default;
};
enum class LengthUnit { kCharacters, kTokens };
struct LengthScorerSpec {
  int32_t soft_limit = 0, hard_limit = 0;
  LengthUnit unit = LengthUnit::kCharacters;
  friend bool operator==(const LengthScorerSpec&, const LengthScorerSpec&) = default;
};
enum class CodeLanguage { kPython, kCpp };
enum class CodeTests { kAsserts, kStdio, kFunction, kHumanEval };
enum class CodeComparison { kExact, kTokens, kNumeric, kUnordered, kChecker };
enum class CodeCredit { kAll, kShare };
struct CodeScorerSpec {
  CodeLanguage language = CodeLanguage::kPython;
  CodeTests tests = CodeTests::kAsserts;
  CodeComparison comparison = CodeComparison::kTokens;
  double absolute_tolerance = 1e-6, relative_tolerance = 1e-6;
  double timeout_seconds = 5;
  int64_t memory_bytes = int64_t{512} << 20;
  CodeCredit credit = CodeCredit::kAll;
  int32_t max_tests = 1000;
  int64_t output_bytes = int64_t{16} << 20;
  friend bool operator==(const CodeScorerSpec&, const CodeScorerSpec&) = default;
};
struct TagsScorerSpec {
  std::vector<std::string> tags;
  bool nothing_outside = false, all_or_nothing = false;
  friend bool operator==(const TagsScorerSpec&, const TagsScorerSpec&) = default;
};
struct RepetitionScorerSpec {
  int32_t ngram = 3;
  double scale = 1;
  friend bool operator==(const RepetitionScorerSpec&, const RepetitionScorerSpec&) = default;
};
struct LanguageScorerSpec {
  std::string language;
  friend bool operator==(const LanguageScorerSpec&, const LanguageScorerSpec&) = default;
};
struct RemoteScorerSpec {
  std::string service;
  std::map<std::string, std::string> parameters;
  double timeout_seconds = 60;
  int32_t max_attempts = 3, max_batch = 64;
  std::string expect_version;
  friend bool operator==(const RemoteScorerSpec&, const RemoteScorerSpec&) = default;
};
struct GroupLengthScorerSpec {
  std::string correct_by;
  friend bool operator==(const GroupLengthScorerSpec&, const GroupLengthScorerSpec&) = default;
};
using ScorerSpec = std::variant<MathScorerSpec, RegexScorerSpec, ExpressionScorerSpec, LengthScorerSpec,
                                CodeScorerSpec, TagsScorerSpec, RepetitionScorerSpec, LanguageScorerSpec,
                                RemoteScorerSpec, GroupLengthScorerSpec>;

enum class RewardCombination { kWeightedSum, kProduct, kMinimum };

struct RewardComponentSpec {
  std::string name;
  double weight = 1;
  ScorerSpec scorer;
  std::optional<double> gate;  // a value below it makes the whole reward gate_value
  double gate_value = 0;
  friend bool operator==(const RewardComponentSpec&, const RewardComponentSpec&) = default;
};
struct RewardSpec {
  std::vector<RewardComponentSpec> components;
  RewardCombination combination = RewardCombination::kWeightedSum;
  friend bool operator==(const RewardSpec&, const RewardSpec&) = default;
};

enum class Aggregation { kTokenMean, kSequenceMeanTokenMean, kSequenceMeanTokenSum };

struct GrpoSpec {
  double clip_low = 0.2, clip_high = 0.2;
  double kl_coefficient = 0;  // k3 against the frozen reference (the job's first version)
  double entropy_coefficient = 0;
  bool normalize_std = true;
  Aggregation aggregation = Aggregation::kTokenMean;
  bool filter_ties = false;  // all-tied groups are dropped_filtered instead of trained with advantage 0
  int32_t max_filtered_groups = 0;  // for each step; 0: no limit
  friend bool operator==(const GrpoSpec&, const GrpoSpec&) = default;
};

enum class ScheduleKind { kConstant, kCosine };

struct OptimizerSpec {
  double learning_rate = 1e-6, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  int64_t warmup_steps = 0;
  ScheduleKind schedule = ScheduleKind::kConstant;
  double final_fraction = 0.1;  // of the learning rate, at the end of a cosine
  double max_grad_norm = 1;     // 0 is off
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

struct BatchSpec {
  int32_t groups_per_step = 32;
  int32_t micro_batch_tokens = 8192;
  double over_sampling = 0;  // share of groups_per_step that is handed out beyond what finds a place
  friend bool operator==(const BatchSpec&, const BatchSpec&) = default;
};

enum class OnDeadline { kDrop, kWait };

struct StalenessSpec {
  int32_t max_versions = 1;  // 0 is synchronous
  OnDeadline on_deadline = OnDeadline::kDrop;
  SwapMode on_new_version = SwapMode::kFinish;
  friend bool operator==(const StalenessSpec&, const StalenessSpec&) = default;
};

// Which figure of an evaluation is its score, that the gate and the guard look at.
enum class HeldOutMeasure { kAccuracy, kReward };

// Which versions are promoted.
struct GateSpec {
  bool on = false;
  std::optional<double> min_score;  // absent: any
  double max_drop = 0;              // below the promoted version's
  friend bool operator==(const GateSpec&, const GateSpec&) = default;
};

// How each new version is tried on one rollout worker before the others load it.
struct CanarySpec {
  int32_t prompts = 0;              // the first of the evaluation's; 0: no canary
  double max_drop = 0.1;            // below the best canary's score
  std::optional<double> min_score;  // absent: any
  bool on() const { return prompts > 0; }
  friend bool operator==(const CanarySpec&, const CanarySpec&) = default;
};

// How the samples of an evaluation are drawn; what is absent is as in the job's sampling.
struct HeldOutSampling {
  std::optional<float> temperature = {}, top_p = {}, min_p = {};
  std::optional<int32_t> top_k = {}, max_new_tokens = {};
  friend bool operator==(const HeldOutSampling&, const HeldOutSampling&) = default;
};

struct EvaluationSpec {
  std::string file;         // empty: no evaluation
  int64_t every_steps = 0;  // also before the first and after the last step
  int32_t samples_per_prompt = 1;
  int32_t max_prompts = 0;  // 0: all
  HeldOutMeasure measure = HeldOutMeasure::kAccuracy;
  GateSpec gate = {};
  CanarySpec canary = {};
  std::string name = {};                  // of one of more_evaluations
  std::string correct_by = {};            // the component that tells what is correct; empty: the whole
  std::optional<double> correct_at = {};  // what is worth at least this is correct; absent: what is CORRECT
  std::vector<int32_t> pass_at = {};      // k of each pass@k, rising
  HeldOutSampling sampling = {};
  friend bool operator==(const EvaluationSpec&, const EvaluationSpec&) = default;
};
constexpr size_t kMaxMoreEvaluations = 16, kMaxPassAt = 16;

// Of the evaluation's samples. The experts that tokens are routed to are not recorded: only training replays
// them.
SamplingParams SamplingOf(const SamplingParams& training, const EvaluationSpec& evaluation);

struct CheckpointSpec {
  int64_t every_steps = 20;
  int32_t keep = 3;
  int32_t progress_tokens = 64;  // between reports of a completion under way; 0: none
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;
};

// A supervised stage before reinforcement: rows {"prompt", "completion"} of a file, cross-entropy on the
// completion.
struct WarmStartSpec {
  std::string file;  // empty: none
  int64_t steps = 0;
  int32_t batch_size = 32;  // rows
  double learning_rate = 1e-3;
  int64_t warmup_steps = 10;
  friend bool operator==(const WarmStartSpec&, const WarmStartSpec&) = default;
};

struct TimeoutSpec {
  double generate_seconds = 300;  // one group on one worker
  double score_seconds = 60;
  double train_seconds = 1800;  // one step, one warm-start call, one checkpoint or one rollback
  double load_policy_seconds = 300;
  int32_t max_attempts = 3;  // of a sample; then it is quarantined
  double hedge_seconds = 0;  // of an attempt before a second worker tries what is missing; 0: never
  double group_seconds = 0;  // of a training group before it goes on with what there is; 0: no limit
  friend bool operator==(const TimeoutSpec&, const TimeoutSpec&) = default;
};

// Does the steps of a recorded job again and compares them. The rest of the spec is that job's.
struct ReplaySpec {
  JobId job;          // empty: no replay
  int64_t steps = 0;  // the first so many; 0, until the coordinator took the job: all that there are
  friend bool operator==(const ReplaySpec&, const ReplaySpec&) = default;
};

// Begins with the weights of a version of another job, which its learner keeps.
struct FromSpec {
  JobId job;  // empty: begins with the model
  PolicyVersion version =
      kNoPolicyVersion;  // kNoPolicyVersion, until the coordinator took the job: the promoted or last
  bool continue_training = false;  // with optimizer, schedule and place in the prompts
  JobId reference = {};            // whose version 0 is the reference of the KL term; empty: this job's own
  int64_t first_step = 0;          // of the schedule; the coordinator sets it and the next
  uint64_t first_prompt = 0;       // in the order of the prompts
  friend bool operator==(const FromSpec&, const FromSpec&) = default;
};

// What a job gets of a fleet that several jobs share.
struct ShareSpec {
  int32_t priority = 0;                      // the higher goes first
  int32_t min_workers = 0, max_workers = 0;  // rollout workers; 0: no such quota
  friend bool operator==(const ShareSpec&, const ShareSpec&) = default;
};
constexpr int32_t kMaxPriority = 1000;  // and -kMaxPriority the least

enum class GuardAction { kRollBack, kPause };

// Limits on a job's own signals; one that is absent is off.
struct GuardSpec {
  std::optional<double> max_kl, min_entropy, max_entropy;  // of a step
  std::optional<int64_t> max_skipped_nonfinite;            // steps in a row
  std::optional<double> held_out_drop;  // below the best evaluation's score, while the training reward rose
  int32_t steps = 3;                    // in a row that break a limit of a step, until it counts
  GuardAction action = GuardAction::kRollBack;
  int32_t max_rollbacks = 3;
  friend bool operator==(const GuardSpec&, const GuardSpec&) = default;
};
bool HasLimits(const GuardSpec& guard);

struct JobSpec {
  std::string name;
  uint64_t seed = 0;
  bool deterministic = false;  // batches and versions fixed by the draws; needs OnDeadline::kWait
  ModelSpec model;
  PromptsSpec prompts;
  SamplingSpec sampling;
  RewardSpec reward;
  GrpoSpec grpo;
  OptimizerSpec optimizer;
  BatchSpec batch;
  StalenessSpec staleness;
  EvaluationSpec evaluation;
  std::vector<EvaluationSpec>
      more_evaluations;  // with `evaluation`, at some of its steps; without gate and canary
  CheckpointSpec checkpoint;
  WarmStartSpec warm_start;
  TimeoutSpec timeout;
  ShareSpec share;
  GuardSpec guard;
  int64_t stop_steps = 100;
  ReplaySpec replay;
  FromSpec from;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The regular checkpoint (a multiple of checkpoint.every_steps) that is the newest before version `bad`.
PolicyVersion RegularCheckpointBefore(const CheckpointSpec& checkpoint, PolicyVersion bad);

// The regular checkpoint that a rollback may go back to when `version` is the last one: it and newer ones are
// kept. kNoPolicyVersion: the job does not roll back.
PolicyVersion RollBackFloor(const JobSpec& spec, PolicyVersion version);

// Checks ranges and contradictions; the message names the field as in the proto ("sampling.group_size: ...").
absl::Status Validate(const JobSpec& spec);

}  // namespace sluice
