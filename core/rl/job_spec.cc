#include "core/rl/job_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rl/reward_check.h"
#include "core/rl/sampling_check.h"

namespace sluice {
namespace {

// Collects the first broken rule of a spec.
class Rules {
 public:
  void Require(bool ok, absl::string_view field, absl::string_view what) {
    if (!ok && status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
  }
  void InRange(double value, double low, double high, absl::string_view field) {
    Require(std::isfinite(value) && value >= low && value <= high, field,
            absl::StrCat("must be between ", low, " and ", high, ", is ", value));
  }
  void Keep(const absl::Status& status, absl::string_view prefix) {
    if (!status.ok() && status_.ok())
      status_ = absl::Status(status.code(), absl::StrCat(prefix, status.message()));
  }
  absl::Status status() const { return status_; }

 private:
  absl::Status status_;
};

void CheckReward(const RewardSpec& reward, Rules& rules) {
  rules.Keep(Validate(reward), "");
  for (size_t i = 0; i < reward.components.size(); ++i) {
    const auto* math = std::get_if<MathScorerSpec>(&reward.components[i].scorer);
    rules.Require(math == nullptr || math->mode == MathMode::kCompletion,
                  absl::StrCat("reward.component[", i, "].math.mode"),
                  "PAIR compares two fields of a row and never sees the completion; a job needs COMPLETION");
  }
}

void CheckSampling(const SamplingSpec& sampling, Rules& rules) {
  rules.InRange(sampling.group_size, 1, 4096, "sampling.group_size");
  rules.Keep(Validate(sampling.params), "sampling.");
}

void CheckOptimizer(const OptimizerSpec& optimizer, Rules& rules) {
  rules.InRange(optimizer.learning_rate, 0, 10, "optimizer.adamw.learning_rate");
  rules.InRange(optimizer.beta1, 0, 0.999999, "optimizer.adamw.beta1");
  rules.InRange(optimizer.beta2, 0, 0.9999999, "optimizer.adamw.beta2");
  rules.InRange(optimizer.epsilon, 1e-30, 1, "optimizer.adamw.epsilon");
  rules.InRange(optimizer.weight_decay, 0, 10, "optimizer.adamw.weight_decay");
  rules.InRange(static_cast<double>(optimizer.warmup_steps), 0, 1e9, "optimizer.schedule.warmup_steps");
  rules.InRange(optimizer.final_fraction, 0, 1, "optimizer.schedule.final_fraction");
  rules.InRange(optimizer.max_grad_norm, 0, 1e9, "optimizer.max_grad_norm");
}

// What any evaluation has; `field` is its name in the spec.
void CheckHeldOut(const JobSpec& spec, const EvaluationSpec& evaluation, const std::string& field,
                  Rules& rules) {
  rules.InRange(evaluation.samples_per_prompt, 1, 4096, absl::StrCat(field, ".samples_per_prompt"));
  const std::vector<RewardComponentSpec>& components = spec.reward.components;
  const bool known = std::any_of(components.begin(), components.end(),
                                 [&](const auto& c) { return c.name == evaluation.correct_by; });
  rules.Require(evaluation.correct_by.empty() || known, absl::StrCat(field, ".correct_by"),
                absl::StrCat("no component of the reward is named \"", evaluation.correct_by, "\""));
  rules.InRange(evaluation.correct_at.value_or(0), -1e9, 1e9, absl::StrCat(field, ".correct_at"));
  const std::string pass_at = absl::StrCat(field, ".pass_at");
  rules.Require(evaluation.pass_at.size() <= kMaxPassAt, pass_at,
                absl::StrCat("must have at most ", kMaxPassAt, " values"));
  int32_t before = 0;
  for (const int32_t k : evaluation.pass_at) {
    rules.Require(k > before, pass_at, "must be at least 1 and rise");
    rules.Require(k <= evaluation.samples_per_prompt, pass_at,
                  absl::StrCat("pass@", k, " needs that many samples: raise ", field,
                               ".samples_per_prompt, which is ", evaluation.samples_per_prompt));
    before = k;
  }
  const SamplingParams sampling = SamplingOf(spec.sampling.params, evaluation);
  rules.Keep(Validate(sampling), absl::StrCat(field, ".sampling."));
  rules.Require(sampling.temperature != 0 || evaluation.samples_per_prompt == 1,
                absl::StrCat(field, ".samples_per_prompt"),
                "must be 1 at temperature 0, where all samples of a prompt are the same");
}

void CheckEvaluation(const JobSpec& spec, Rules& rules) {
  const EvaluationSpec& evaluation = spec.evaluation;
  rules.InRange(static_cast<double>(evaluation.every_steps), 0, 1e9, "evaluation.every_steps");
  rules.Require(evaluation.file.empty() || evaluation.every_steps > 0, "evaluation.every_steps",
                "must be at least 1 when evaluation.file is given");
  rules.Require(!evaluation.file.empty() || evaluation.every_steps == 0, "evaluation.file",
                "is needed when evaluation.every_steps is given");
  rules.Require(evaluation.name.empty(), "evaluation.name", "is of more_evaluations; leave it out");
  CheckHeldOut(spec, evaluation, "evaluation", rules);
}

bool IsEvaluationName(absl::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), fits);
}

void CheckMoreEvaluations(const JobSpec& spec, Rules& rules) {
  const std::vector<EvaluationSpec>& more = spec.more_evaluations;
  rules.Require(more.size() <= kMaxMoreEvaluations, "more_evaluations",
                absl::StrCat("at most ", kMaxMoreEvaluations));
  rules.Require(more.empty() || !spec.evaluation.file.empty(), "more_evaluations",
                "go with the steps of the first: give evaluation { file every_steps } too");
  std::set<std::string> names;
  for (size_t i = 0; i < more.size(); ++i) {
    const std::string field = absl::StrCat("more_evaluations[", i, "]");
    rules.Require(IsEvaluationName(more[i].name), absl::StrCat(field, ".name"),
                  "must be 1 to 32 of a to z, 0 to 9 and _");
    rules.Require(names.insert(more[i].name).second, absl::StrCat(field, ".name"), "is another's too");
    rules.Require(!more[i].file.empty(), absl::StrCat(field, ".file"), "must name a JSON Lines file");
    rules.Require(
        more[i].every_steps > 0 && spec.evaluation.every_steps > 0 &&
            more[i].every_steps % spec.evaluation.every_steps == 0,
        absl::StrCat(field, ".every_steps"),
        absl::StrCat("must be a multiple of evaluation.every_steps, ", spec.evaluation.every_steps));
    rules.Require(!more[i].gate.on, absl::StrCat(field, ".gate"), "only evaluation has one");
    rules.Require(!more[i].canary.on(), absl::StrCat(field, ".canary"), "only evaluation has one");
    CheckHeldOut(spec, more[i], field, rules);
  }
}

void CheckStages(const JobSpec& spec, Rules& rules) {
  rules.InRange(static_cast<double>(spec.checkpoint.every_steps), 1, 1e9, "checkpoint.every_steps");
  rules.InRange(spec.checkpoint.keep, 1, 1000, "checkpoint.keep");
  rules.InRange(spec.checkpoint.progress_tokens, 0, 1 << 20, "checkpoint.progress_tokens");
  rules.Require(spec.warm_start.file.empty() == (spec.warm_start.steps == 0), "warm_start",
                "file and steps go together");
  rules.InRange(static_cast<double>(spec.warm_start.steps), 0, 1e7, "warm_start.steps");
  rules.InRange(spec.warm_start.batch_size, 1, 1 << 16, "warm_start.batch_size");
  rules.InRange(spec.warm_start.learning_rate, 0, 10, "warm_start.learning_rate");
  rules.InRange(static_cast<double>(spec.stop_steps), 1, 1e9, "stop.steps");
  rules.Require(spec.replay.job.size() <= 256, "replay.job", "must have at most 256 characters");
  rules.InRange(static_cast<double>(spec.replay.steps), 0, 1e9, "replay.steps");
  rules.Require(spec.replay.steps == 0 || !spec.replay.job.empty(), "replay.job",
                "is needed when replay.steps is given");
}

void CheckFrom(const JobSpec& spec, Rules& rules) {
  const FromSpec& from = spec.from;
  rules.Require(from.job.size() <= 256, "from.job", "must have at most 256 characters");
  rules.Require(from.reference.size() <= 256, "from.reference", "must have at most 256 characters");
  rules.Require(from.version >= kNoPolicyVersion, "from.policy_version", "must not be below 0");
  rules.Require(!from.job.empty() || (!from.continue_training && from.reference.empty()), "from.job",
                "is needed; leave from out to begin with the model");
  rules.Require(from.job.empty() || spec.warm_start.file.empty(), "warm_start",
                "is behind the weights that from begins with; leave it out");
}

void CheckShare(const ShareSpec& share, Rules& rules) {
  constexpr int32_t kMostWorkers = 1 << 20;
  rules.InRange(share.priority, -kMaxPriority, kMaxPriority, "share.priority");
  rules.InRange(share.min_workers, 0, kMostWorkers, "share.min_workers");
  rules.InRange(share.max_workers, 0, kMostWorkers, "share.max_workers");
  rules.Require(share.max_workers == 0 || share.max_workers >= share.min_workers, "share.max_workers",
                "must not be below share.min_workers; leave it out for no limit");
}

void CheckMinScore(const EvaluationSpec& evaluation, const std::optional<double>& score, const char* field,
                   Rules& rules) {
  rules.InRange(score.value_or(0), -1e9, 1e9, field);
  rules.Require(evaluation.measure != HeldOutMeasure::kAccuracy || score.value_or(0) <= 1, field,
                absl::StrCat("is ", score.value_or(0),
                             ", which no version can have: accuracy is at most 1. For the mean reward give "
                             "evaluation.measure: REWARD"));
}

void CheckGate(const EvaluationSpec& evaluation, Rules& rules) {
  const GateSpec& gate = evaluation.gate;
  rules.Require(!gate.on || !evaluation.file.empty(), "evaluation.gate",
                "looks at evaluations: give evaluation.file and evaluation.every_steps too");
  CheckMinScore(evaluation, gate.min_score, "evaluation.gate.min_score", rules);
  rules.InRange(gate.max_drop, 0, 1e9, "evaluation.gate.max_drop");
}

void CheckCanary(const EvaluationSpec& evaluation, Rules& rules) {
  const CanarySpec& canary = evaluation.canary;
  rules.InRange(canary.prompts, 0, 1 << 20, "evaluation.canary.prompts");
  rules.Require(!canary.on() || !evaluation.file.empty(), "evaluation.canary",
                "samples prompts of the evaluation: give evaluation.file and evaluation.every_steps too");
  rules.Require(evaluation.max_prompts == 0 || canary.prompts <= evaluation.max_prompts,
                "evaluation.canary.prompts",
                absl::StrCat("must not be above evaluation.max_prompts ", evaluation.max_prompts, ", is ",
                             canary.prompts));
  rules.InRange(canary.max_drop, 0, 1e9, "evaluation.canary.max_drop");
  CheckMinScore(evaluation, canary.min_score, "evaluation.canary.min_score", rules);
}

void CheckGuard(const JobSpec& spec, Rules& rules) {
  const GuardSpec& guard = spec.guard;
  const double most_entropy = std::numeric_limits<double>::max();
  rules.InRange(guard.max_kl.value_or(0), 0, 1e9, "guard.max_kl");
  rules.InRange(guard.min_entropy.value_or(0), 0, 1e9, "guard.min_entropy");
  rules.InRange(guard.max_entropy.value_or(0), 0, 1e9, "guard.max_entropy");
  rules.Require(guard.min_entropy.value_or(0) < guard.max_entropy.value_or(most_entropy), "guard.min_entropy",
                "must be below guard.max_entropy");
  rules.InRange(static_cast<double>(guard.max_skipped_nonfinite.value_or(0)), 0, 1e6,
                "guard.max_skipped_nonfinite");
  rules.InRange(guard.held_out_drop.value_or(0), 0, 1e9, "guard.held_out_drop");
  rules.Require(!guard.held_out_drop || !spec.evaluation.file.empty(), "guard.held_out_drop",
                "compares evaluations: give evaluation { file every_steps } too");
  rules.InRange(guard.steps, 1, 1e6, "guard.steps");
  rules.InRange(guard.max_rollbacks, 1, 1000, "guard.max_rollbacks");
}

// What would make a batch depend on who was fast.
void CheckDeterministic(const JobSpec& spec, Rules& rules) {
  if (!spec.deterministic) return;
  rules.Require(!spec.grpo.filter_ties, "algorithm.grpo.filter_ties",
                "drops groups, and deterministic: true drops none; leave one of them out");
  rules.Require(
      spec.staleness.on_deadline == OnDeadline::kWait, "staleness.on_deadline",
      "DROP drops groups for their age, and deterministic: true drops none; use WAIT or leave it out");
  rules.Require(spec.timeout.hedge_seconds == 0, "timeout.hedge_seconds",
                "takes the first of two attempts, and deterministic: true fixes who samples; leave one of "
                "them out");
  rules.Require(spec.timeout.group_seconds == 0, "timeout.group_seconds",
                "gives up samples for their time, and deterministic: true gives up none; leave one of them "
                "out");
  rules.Require(spec.batch.over_sampling == 0, "batch.over_sampling",
                "trains on those that are fast, and deterministic: true fixes the batches; leave one of them "
                "out");
  rules.Require(spec.staleness.on_new_version == SwapMode::kFinish, "staleness.on_new_version",
                "CONTINUE mixes versions in a completion, and deterministic: true fixes them; use FINISH or "
                "leave it out");
}

}  // namespace

bool HasLimits(const GuardSpec& guard) {
  return guard.max_kl || guard.min_entropy || guard.max_entropy || guard.max_skipped_nonfinite ||
         guard.held_out_drop;
}

PolicyVersion RegularCheckpointBefore(const CheckpointSpec& checkpoint, PolicyVersion bad) {
  return std::max<PolicyVersion>(0, bad - 1) / checkpoint.every_steps * checkpoint.every_steps;
}

PolicyVersion RollBackFloor(const JobSpec& spec, PolicyVersion version) {
  const GuardSpec& guard = spec.guard;
  const bool judged = HasLimits(guard) || spec.evaluation.canary.on();
  if (!judged || guard.action != GuardAction::kRollBack) return kNoPolicyVersion;
  // Versions from the first bad one to the last, when it is known. A canary's is the last.
  int64_t longest = HasLimits(guard) ? guard.steps : 1;
  if (guard.max_skipped_nonfinite) longest = std::max(longest, *guard.max_skipped_nonfinite + 1);
  if (guard.held_out_drop) longest = std::max(longest, spec.evaluation.every_steps);
  return RegularCheckpointBefore(spec.checkpoint, version - longest + 1);
}

SamplingParams SamplingOf(const SamplingParams& training, const EvaluationSpec& evaluation) {
  SamplingParams out = training;
  const HeldOutSampling& own = evaluation.sampling;
  if (own.temperature) out.temperature = *own.temperature;
  if (own.top_k) out.top_k = *own.top_k;
  if (own.top_p) out.top_p = *own.top_p;
  if (own.min_p) out.min_p = *own.min_p;
  if (own.max_new_tokens) out.max_new_tokens = *own.max_new_tokens;
  out.record_experts = false;
  return out;
}

absl::Status Validate(const JobSpec& spec) {
  Rules rules;
  rules.Require(!spec.name.empty() && spec.name.size() <= 128, "name", "must have 1 to 128 characters");
  rules.Require(!spec.model.path.empty(), "model.path", "must name a Hugging Face directory");
  rules.Require(!spec.prompts.file.empty(), "prompts.file", "must name a JSON Lines file");
  rules.InRange(spec.prompts.max_tokens, 1, 1 << 20, "prompts.max_tokens");
  CheckSampling(spec.sampling, rules);
  CheckReward(spec.reward, rules);
  rules.InRange(spec.grpo.clip_low, 0, 1, "algorithm.grpo.clip_low");
  rules.InRange(spec.grpo.clip_high, 0, 100, "algorithm.grpo.clip_high");
  rules.InRange(spec.grpo.kl_coefficient, 0, 1e3, "algorithm.grpo.kl_coefficient");
  rules.InRange(spec.grpo.entropy_coefficient, 0, 1e3, "algorithm.grpo.entropy_coefficient");
  rules.InRange(spec.grpo.max_filtered_groups, 0, 1 << 30, "algorithm.grpo.max_filtered_groups");
  rules.Require(spec.grpo.filter_ties || spec.grpo.max_filtered_groups == 0,
                "algorithm.grpo.max_filtered_groups", "limits filter_ties, which is not given");
  rules.Require(spec.sampling.group_size >= 2, "sampling.group_size",
                "GRPO compares samples: at least 2 are needed");
  CheckOptimizer(spec.optimizer, rules);
  rules.InRange(spec.batch.groups_per_step, 1, 1 << 16, "batch.groups_per_step");
  rules.InRange(spec.batch.micro_batch_tokens, 1, 1 << 26, "batch.micro_batch_tokens");
  rules.InRange(spec.batch.over_sampling, 0, 1, "batch.over_sampling");
  rules.InRange(spec.staleness.max_versions, 0, 1000, "staleness.max_versions");
  CheckEvaluation(spec, rules);
  CheckMoreEvaluations(spec, rules);
  CheckStages(spec, rules);
  CheckGate(spec.evaluation, rules);
  CheckCanary(spec.evaluation, rules);
  CheckGuard(spec, rules);
  CheckDeterministic(spec, rules);
  CheckShare(spec.share, rules);
  CheckFrom(spec, rules);
  rules.InRange(spec.timeout.generate_seconds, 0.01, 86400, "timeout.generate_seconds");
  rules.InRange(spec.timeout.score_seconds, 0.01, 86400, "timeout.score_seconds");
  rules.InRange(spec.timeout.train_seconds, 0.01, 86400, "timeout.train_seconds");
  rules.InRange(spec.timeout.load_policy_seconds, 0.01, 86400, "timeout.load_policy_seconds");
  rules.InRange(spec.timeout.max_attempts, 1, 100, "timeout.max_attempts");
  rules.InRange(spec.timeout.hedge_seconds, 0, 86400, "timeout.hedge_seconds");
  rules.Require(spec.timeout.hedge_seconds < spec.timeout.generate_seconds, "timeout.hedge_seconds",
                "must be below timeout.generate_seconds, which ends the attempt");
  rules.InRange(spec.timeout.group_seconds, 0, 86400, "timeout.group_seconds");
  return rules.status();
}

}  // namespace sluice
