#include "services/wire/job_spec.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/reward.h"

namespace sluice {
namespace {

// `target` keeps its default where the message says 0, which for these fields means absent.
template <typename T>
void SetUnlessZero(T value, T& target) {
  if (value != 0) target = value;
}

template <typename Enum>
absl::Status UnknownValue(absl::string_view field, Enum value) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": unknown value ", static_cast<int>(value)));
}

absl::Status ReadModel(const v1::ModelSpec& proto, ModelSpec& out) {
  out.path = proto.path();
  switch (proto.dtype()) {
    case v1::ModelSpec::DTYPE_UNSPECIFIED:
    case v1::ModelSpec::BF16:
      out.dtype = ModelDtype::kBF16;
      return absl::OkStatus();
    case v1::ModelSpec::F32:
      out.dtype = ModelDtype::kF32;
      return absl::OkStatus();
    default:
      return UnknownValue("model.dtype", proto.dtype());
  }
}

absl::Status ReadPrompts(const v1::PromptsSpec& proto, PromptsSpec& out) {
  out.file = proto.file();
  SetUnlessZero(proto.max_tokens(), out.max_tokens);
  switch (proto.template_()) {
    case v1::PromptsSpec::TEMPLATE_UNSPECIFIED:
    case v1::PromptsSpec::RAW:
      out.prompt_template = PromptTemplate::kRaw;
      return absl::OkStatus();
    case v1::PromptsSpec::CHAT:
      out.prompt_template = PromptTemplate::kChat;
      return absl::OkStatus();
    default:
      return UnknownValue("prompts.template", proto.template_());
  }
}

void ReadSampling(const v1::SamplingSpec& proto, SamplingSpec& out) {
  SetUnlessZero(proto.group_size(), out.group_size);
  SetUnlessZero(proto.max_new_tokens(), out.params.max_new_tokens);
  if (proto.has_temperature()) out.params.temperature = proto.temperature();
  out.params.top_k = proto.top_k();
  if (proto.has_top_p()) out.params.top_p = proto.top_p();
  out.params.stop.assign(proto.stop().begin(), proto.stop().end());
  out.params.stop_token_ids.assign(proto.stop_token_ids().begin(), proto.stop_token_ids().end());
  out.params.ignore_eos = proto.ignore_eos();
  out.params.min_p = proto.min_p();
  if (proto.has_repetition_penalty()) out.params.repetition_penalty = proto.repetition_penalty();
  out.params.presence_penalty = proto.presence_penalty();
  out.params.frequency_penalty = proto.frequency_penalty();
  out.params.logit_bias.insert(proto.logit_bias().begin(), proto.logit_bias().end());
  out.params.min_new_tokens = proto.min_new_tokens();
  out.params.top_logprobs = proto.top_logprobs();
  out.params.record_experts = proto.record_experts();
}

absl::Status ReadGrpo(const v1::GrpoSpec& proto, GrpoSpec& out) {
  if (proto.has_clip_low()) out.clip_low = proto.clip_low();
  if (proto.has_clip_high()) out.clip_high = proto.clip_high();
  out.kl_coefficient = proto.kl_coefficient();
  out.entropy_coefficient = proto.entropy_coefficient();
  if (proto.has_normalize_std()) out.normalize_std = proto.normalize_std();
  out.filter_ties = proto.filter_ties();
  out.max_filtered_groups = proto.max_filtered_groups();
  switch (proto.aggregation()) {
    case v1::GrpoSpec::AGGREGATION_UNSPECIFIED:
    case v1::GrpoSpec::TOKEN_MEAN:
      out.aggregation = Aggregation::kTokenMean;
      return absl::OkStatus();
    case v1::GrpoSpec::SEQUENCE_MEAN_TOKEN_MEAN:
      out.aggregation = Aggregation::kSequenceMeanTokenMean;
      return absl::OkStatus();
    case v1::GrpoSpec::SEQUENCE_MEAN_TOKEN_SUM:
      out.aggregation = Aggregation::kSequenceMeanTokenSum;
      return absl::OkStatus();
    default:
      return UnknownValue("algorithm.grpo.aggregation", proto.aggregation());
  }
}

absl::Status ReadOptimizer(const v1::OptimizerSpec& proto, OptimizerSpec& out) {
  const v1::AdamwSpec& adamw = proto.adamw();
  if (adamw.has_learning_rate()) out.learning_rate = adamw.learning_rate();
  if (adamw.has_beta1()) out.beta1 = adamw.beta1();
  if (adamw.has_beta2()) out.beta2 = adamw.beta2();
  if (adamw.has_epsilon()) out.epsilon = adamw.epsilon();
  out.weight_decay = adamw.weight_decay();
  if (proto.has_max_grad_norm()) out.max_grad_norm = proto.max_grad_norm();
  const v1::ScheduleSpec& schedule = proto.schedule();
  out.warmup_steps = schedule.warmup_steps();
  if (schedule.has_final_fraction()) out.final_fraction = schedule.final_fraction();
  switch (schedule.kind()) {
    case v1::ScheduleSpec::KIND_UNSPECIFIED:
    case v1::ScheduleSpec::CONSTANT:
      out.schedule = ScheduleKind::kConstant;
      return absl::OkStatus();
    case v1::ScheduleSpec::COSINE:
      out.schedule = ScheduleKind::kCosine;
      return absl::OkStatus();
    default:
      return UnknownValue("optimizer.schedule.kind", schedule.kind());
  }
}

absl::Status ReadOnNewVersion(v1::StalenessSpec::OnNewVersion proto, SwapMode& out) {
  switch (proto) {
    case v1::StalenessSpec::ON_NEW_VERSION_UNSPECIFIED:
    case v1::StalenessSpec::FINISH:
      out = SwapMode::kFinish;
      return absl::OkStatus();
    case v1::StalenessSpec::CONTINUE:
      out = SwapMode::kContinue;
      return absl::OkStatus();
    default:
      return UnknownValue("staleness.on_new_version", proto);
  }
}

absl::Status ReadStaleness(const v1::StalenessSpec& proto, bool deterministic, StalenessSpec& out) {
  if (proto.has_max_versions()) out.max_versions = proto.max_versions();
  SLUICE_RETURN_IF_ERROR(ReadOnNewVersion(proto.on_new_version(), out.on_new_version));
  switch (proto.on_deadline()) {
    case v1::StalenessSpec::ON_DEADLINE_UNSPECIFIED:
      out.on_deadline = deterministic ? OnDeadline::kWait : OnDeadline::kDrop;
      return absl::OkStatus();
    case v1::StalenessSpec::DROP:
      out.on_deadline = OnDeadline::kDrop;
      return absl::OkStatus();
    case v1::StalenessSpec::WAIT:
      out.on_deadline = OnDeadline::kWait;
      return absl::OkStatus();
    default:
      return UnknownValue("staleness.on_deadline", proto.on_deadline());
  }
}

absl::Status ReadEvaluation(const v1::EvaluationSpec& proto, const std::string& field, EvaluationSpec& out) {
  out.file = proto.file();
  out.every_steps = proto.every_steps();
  SetUnlessZero(proto.samples_per_prompt(), out.samples_per_prompt);
  out.max_prompts = proto.max_prompts();
  out.name = proto.name();
  out.correct_by = proto.correct_by();
  if (proto.has_correct_at()) out.correct_at = proto.correct_at();
  out.pass_at.assign(proto.pass_at().begin(), proto.pass_at().end());
  const v1::HeldOutSampling& sampling = proto.sampling();
  if (sampling.has_temperature()) out.sampling.temperature = sampling.temperature();
  if (sampling.has_top_k()) out.sampling.top_k = sampling.top_k();
  if (sampling.has_top_p()) out.sampling.top_p = sampling.top_p();
  if (sampling.has_min_p()) out.sampling.min_p = sampling.min_p();
  if (sampling.has_max_new_tokens()) out.sampling.max_new_tokens = sampling.max_new_tokens();
  const v1::GateSpec& gate = proto.gate();
  out.gate.on = proto.has_gate();
  if (gate.has_min_score()) out.gate.min_score = gate.min_score();
  out.gate.max_drop = gate.max_drop();
  const v1::CanarySpec& canary = proto.canary();
  out.canary.prompts = canary.prompts();
  if (canary.has_max_drop()) out.canary.max_drop = canary.max_drop();
  if (canary.has_min_score()) out.canary.min_score = canary.min_score();
  switch (proto.measure()) {
    case v1::EvaluationSpec::MEASURE_UNSPECIFIED:
    case v1::EvaluationSpec::ACCURACY:
      return absl::OkStatus();
    case v1::EvaluationSpec::REWARD:
      out.measure = HeldOutMeasure::kReward;
      return absl::OkStatus();
    default:
      return UnknownValue(absl::StrCat(field, ".measure"), proto.measure());
  }
}

absl::Status ReadEvaluations(const v1::JobSpec& proto, JobSpec& out) {
  SLUICE_RETURN_IF_ERROR(ReadEvaluation(proto.evaluation(), "evaluation", out.evaluation));
  if (static_cast<size_t>(proto.more_evaluations_size()) > kMaxMoreEvaluations)
    return absl::InvalidArgumentError(absl::StrCat("more_evaluations: at most ", kMaxMoreEvaluations));
  for (int i = 0; i < proto.more_evaluations_size(); ++i) {
    EvaluationSpec& more = out.more_evaluations.emplace_back();
    SLUICE_RETURN_IF_ERROR(
        ReadEvaluation(proto.more_evaluations(i), absl::StrCat("more_evaluations[", i, "]"), more));
    if (more.every_steps == 0) more.every_steps = out.evaluation.every_steps;
  }
  return absl::OkStatus();
}

absl::Status ReadControl(const v1::JobSpec& proto, JobSpec& out) {
  const v1::GuardSpec& guard = proto.guard();
  if (guard.has_max_kl()) out.guard.max_kl = guard.max_kl();
  if (guard.has_min_entropy()) out.guard.min_entropy = guard.min_entropy();
  if (guard.has_max_entropy()) out.guard.max_entropy = guard.max_entropy();
  if (guard.has_max_skipped_nonfinite()) out.guard.max_skipped_nonfinite = guard.max_skipped_nonfinite();
  if (guard.has_held_out_drop()) out.guard.held_out_drop = guard.held_out_drop();
  SetUnlessZero(guard.steps(), out.guard.steps);
  SetUnlessZero(guard.max_rollbacks(), out.guard.max_rollbacks);
  switch (guard.action()) {
    case v1::GuardSpec::ACTION_UNSPECIFIED:
    case v1::GuardSpec::ROLL_BACK:
      return absl::OkStatus();
    case v1::GuardSpec::PAUSE:
      out.guard.action = GuardAction::kPause;
      return absl::OkStatus();
    default:
      return UnknownValue("guard.action", guard.action());
  }
}

void ReadStages(const v1::JobSpec& proto, JobSpec& out) {
  SetUnlessZero(proto.checkpoint().every_steps(), out.checkpoint.every_steps);
  SetUnlessZero(proto.checkpoint().keep(), out.checkpoint.keep);
  if (proto.checkpoint().has_progress_tokens())
    out.checkpoint.progress_tokens = proto.checkpoint().progress_tokens();
  SetUnlessZero(proto.stop().steps(), out.stop_steps);
  const v1::WarmStartSpec& warm_start = proto.warm_start();
  out.warm_start.file = warm_start.file();
  out.warm_start.steps = warm_start.steps();
  SetUnlessZero(warm_start.batch_size(), out.warm_start.batch_size);
  if (warm_start.has_learning_rate()) out.warm_start.learning_rate = warm_start.learning_rate();
  if (warm_start.has_warmup_steps()) out.warm_start.warmup_steps = warm_start.warmup_steps();
  SetUnlessZero(proto.timeout().generate_seconds(), out.timeout.generate_seconds);
  SetUnlessZero(proto.timeout().score_seconds(), out.timeout.score_seconds);
  SetUnlessZero(proto.timeout().train_seconds(), out.timeout.train_seconds);
  SetUnlessZero(proto.timeout().load_policy_seconds(), out.timeout.load_policy_seconds);
  SetUnlessZero(proto.timeout().max_attempts(), out.timeout.max_attempts);
  out.timeout.hedge_seconds = proto.timeout().hedge_seconds();
  out.timeout.group_seconds = proto.timeout().group_seconds();
  out.share = {proto.share().priority(), proto.share().min_workers(), proto.share().max_workers()};
}

// Rules that need the message (what is present) or that join fields; ranges are core/rl's Validate.
absl::Status CheckWhole(const v1::JobSpec& proto, const JobSpec& spec) {
  FieldCheck check;
  check.AtMost(proto.model().path().size(), kMaxPathBytes, "model.path", "bytes");
  check.AtMost(proto.prompts().file().size(), kMaxPathBytes, "prompts.file", "bytes");
  check.AtMost(proto.evaluation().file().size(), kMaxPathBytes, "evaluation.file", "bytes");
  check.AtMost(proto.warm_start().file().size(), kMaxPathBytes, "warm_start.file", "bytes");
  check.Require(spec.sampling.params.temperature > 0, "sampling.temperature", "must be above 0 to learn");
  check.Require(!proto.has_evaluation() || !spec.evaluation.file.empty(), "evaluation.file",
                "is needed; leave evaluation out to have none");
  check.NotNegative(spec.evaluation.max_prompts, "evaluation.max_prompts");
  for (size_t i = 0; i < spec.more_evaluations.size(); ++i) {
    const std::string field = absl::StrCat("more_evaluations[", i, "]");
    check.AtMost(spec.more_evaluations[i].file.size(), kMaxPathBytes, absl::StrCat(field, ".file"), "bytes");
    check.NotNegative(spec.more_evaluations[i].max_prompts, absl::StrCat(field, ".max_prompts"));
  }
  check.Require(!proto.has_warm_start() || (!spec.warm_start.file.empty() && spec.warm_start.steps > 0),
                "warm_start", "file and steps are both needed; leave warm_start out to have none");
  check.Require(!proto.has_from() || !spec.from.job.empty(), "from.job",
                "is needed; leave from out to begin with the model");
  check.Require(!proto.from().has_policy_version() || spec.from.version >= 0, "from.policy_version",
                "must not be below 0");
  check.Require(!proto.has_replay() || !spec.replay.job.empty(), "replay.job",
                "is needed; leave replay out to have none");
  check.Require(!proto.evaluation().has_canary() || spec.evaluation.canary.prompts != 0,
                "evaluation.canary.prompts", "must be at least 1; leave canary out to have none");
  check.Require(!proto.has_guard() || HasLimits(spec.guard) || spec.evaluation.canary.on(), "guard",
                "needs at least one limit, for example max_kl, or evaluation.canary; leave guard out to have "
                "none");
  check.NotNegative(spec.warm_start.warmup_steps, "warm_start.warmup_steps");
  check.Require(
      spec.optimizer.schedule != ScheduleKind::kCosine || spec.optimizer.warmup_steps < spec.stop_steps,
      "optimizer.schedule.warmup_steps", "must be below stop.steps for a cosine");
  return check.status();
}

void WriteOptimizer(const OptimizerSpec& spec, v1::OptimizerSpec& out) {
  v1::AdamwSpec& adamw = *out.mutable_adamw();
  adamw.set_learning_rate(spec.learning_rate);
  adamw.set_beta1(spec.beta1);
  adamw.set_beta2(spec.beta2);
  adamw.set_epsilon(spec.epsilon);
  adamw.set_weight_decay(spec.weight_decay);
  out.set_max_grad_norm(spec.max_grad_norm);
  v1::ScheduleSpec& schedule = *out.mutable_schedule();
  schedule.set_warmup_steps(spec.warmup_steps);
  schedule.set_kind(spec.schedule == ScheduleKind::kCosine ? v1::ScheduleSpec::COSINE
                                                           : v1::ScheduleSpec::CONSTANT);
  schedule.set_final_fraction(spec.final_fraction);
}

v1::GrpoSpec::Aggregation ToProto(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kTokenMean:
      return v1::GrpoSpec::TOKEN_MEAN;
    case Aggregation::kSequenceMeanTokenMean:
      return v1::GrpoSpec::SEQUENCE_MEAN_TOKEN_MEAN;
    case Aggregation::kSequenceMeanTokenSum:
      return v1::GrpoSpec::SEQUENCE_MEAN_TOKEN_SUM;
  }
  return v1::GrpoSpec::AGGREGATION_UNSPECIFIED;
}

void WriteGrpo(const GrpoSpec& spec, v1::GrpoSpec& out) {
  out.set_clip_low(spec.clip_low);
  out.set_clip_high(spec.clip_high);
  out.set_kl_coefficient(spec.kl_coefficient);
  out.set_entropy_coefficient(spec.entropy_coefficient);
  out.set_normalize_std(spec.normalize_std);
  out.set_aggregation(ToProto(spec.aggregation));
  out.set_filter_ties(spec.filter_ties);
  out.set_max_filtered_groups(spec.max_filtered_groups);
}

void WriteSampling(const SamplingSpec& spec, v1::SamplingSpec& out) {
  out.set_group_size(spec.group_size);
  out.set_max_new_tokens(spec.params.max_new_tokens);
  out.set_temperature(spec.params.temperature);
  out.set_top_k(spec.params.top_k);
  out.set_top_p(spec.params.top_p);
  for (const std::string& stop : spec.params.stop) out.add_stop(stop);
  out.mutable_stop_token_ids()->Add(spec.params.stop_token_ids.begin(), spec.params.stop_token_ids.end());
  out.set_ignore_eos(spec.params.ignore_eos);
  out.set_min_p(spec.params.min_p);
  out.set_repetition_penalty(spec.params.repetition_penalty);
  out.set_presence_penalty(spec.params.presence_penalty);
  out.set_frequency_penalty(spec.params.frequency_penalty);
  out.mutable_logit_bias()->insert(spec.params.logit_bias.begin(), spec.params.logit_bias.end());
  out.set_min_new_tokens(spec.params.min_new_tokens);
  out.set_top_logprobs(spec.params.top_logprobs);
  out.set_record_experts(spec.params.record_experts);
}

void WriteGuard(const GuardSpec& spec, v1::GuardSpec& out) {
  if (spec.max_kl) out.set_max_kl(*spec.max_kl);
  if (spec.min_entropy) out.set_min_entropy(*spec.min_entropy);
  if (spec.max_entropy) out.set_max_entropy(*spec.max_entropy);
  if (spec.max_skipped_nonfinite) out.set_max_skipped_nonfinite(*spec.max_skipped_nonfinite);
  if (spec.held_out_drop) out.set_held_out_drop(*spec.held_out_drop);
  out.set_steps(spec.steps);
  out.set_action(spec.action == GuardAction::kPause ? v1::GuardSpec::PAUSE : v1::GuardSpec::ROLL_BACK);
  out.set_max_rollbacks(spec.max_rollbacks);
}

void WriteCanary(const CanarySpec& spec, v1::CanarySpec& out) {
  out.set_prompts(spec.prompts);
  out.set_max_drop(spec.max_drop);
  if (spec.min_score) out.set_min_score(*spec.min_score);
}

// Nothing where all is as in training.
void WriteHeldOutSampling(const HeldOutSampling& spec, v1::EvaluationSpec& out) {
  if (spec.temperature) out.mutable_sampling()->set_temperature(*spec.temperature);
  if (spec.top_k) out.mutable_sampling()->set_top_k(*spec.top_k);
  if (spec.top_p) out.mutable_sampling()->set_top_p(*spec.top_p);
  if (spec.min_p) out.mutable_sampling()->set_min_p(*spec.min_p);
  if (spec.max_new_tokens) out.mutable_sampling()->set_max_new_tokens(*spec.max_new_tokens);
}

void WriteEvaluation(const EvaluationSpec& spec, v1::EvaluationSpec& out) {
  out.set_file(spec.file);
  out.set_every_steps(spec.every_steps);
  out.set_samples_per_prompt(spec.samples_per_prompt);
  out.set_max_prompts(spec.max_prompts);
  out.set_measure(spec.measure == HeldOutMeasure::kReward ? v1::EvaluationSpec::REWARD
                                                          : v1::EvaluationSpec::ACCURACY);
  out.set_name(spec.name);
  out.set_correct_by(spec.correct_by);
  if (spec.correct_at) out.set_correct_at(*spec.correct_at);
  out.mutable_pass_at()->Add(spec.pass_at.begin(), spec.pass_at.end());
  WriteHeldOutSampling(spec.sampling, out);
  if (spec.canary.on()) WriteCanary(spec.canary, *out.mutable_canary());
  if (!spec.gate.on) return;
  if (spec.gate.min_score) out.mutable_gate()->set_min_score(*spec.gate.min_score);
  out.mutable_gate()->set_max_drop(spec.gate.max_drop);
}

void WriteStages(const JobSpec& spec, v1::JobSpec& out) {
  if (!spec.evaluation.file.empty()) WriteEvaluation(spec.evaluation, *out.mutable_evaluation());
  for (const EvaluationSpec& more : spec.more_evaluations) WriteEvaluation(more, *out.add_more_evaluations());
  if (HasLimits(spec.guard) || spec.evaluation.canary.on()) WriteGuard(spec.guard, *out.mutable_guard());
  out.mutable_checkpoint()->set_every_steps(spec.checkpoint.every_steps);
  out.mutable_checkpoint()->set_keep(spec.checkpoint.keep);
  out.mutable_checkpoint()->set_progress_tokens(spec.checkpoint.progress_tokens);
  out.mutable_stop()->set_steps(spec.stop_steps);
  if (!spec.warm_start.file.empty()) {
    v1::WarmStartSpec& warm_start = *out.mutable_warm_start();
    warm_start.set_file(spec.warm_start.file);
    warm_start.set_steps(spec.warm_start.steps);
    warm_start.set_batch_size(spec.warm_start.batch_size);
    warm_start.set_learning_rate(spec.warm_start.learning_rate);
    warm_start.set_warmup_steps(spec.warm_start.warmup_steps);
  }
  v1::TimeoutSpec& timeout = *out.mutable_timeout();
  timeout.set_generate_seconds(spec.timeout.generate_seconds);
  timeout.set_score_seconds(spec.timeout.score_seconds);
  timeout.set_train_seconds(spec.timeout.train_seconds);
  timeout.set_load_policy_seconds(spec.timeout.load_policy_seconds);
  timeout.set_max_attempts(spec.timeout.max_attempts);
  timeout.set_hedge_seconds(spec.timeout.hedge_seconds);
  timeout.set_group_seconds(spec.timeout.group_seconds);
  v1::ShareSpec& share = *out.mutable_share();
  share.set_priority(spec.share.priority);
  share.set_min_workers(spec.share.min_workers);
  share.set_max_workers(spec.share.max_workers);
}

}  // namespace

v1::JobSpec ToProto(const JobSpec& spec) {
  v1::JobSpec out;
  out.set_name(spec.name);
  out.set_seed(spec.seed);
  out.set_deterministic(spec.deterministic);
  out.mutable_model()->set_path(spec.model.path);
  out.mutable_model()->set_dtype(spec.model.dtype == ModelDtype::kF32 ? v1::ModelSpec::F32
                                                                      : v1::ModelSpec::BF16);
  out.mutable_prompts()->set_file(spec.prompts.file);
  out.mutable_prompts()->set_template_(
      spec.prompts.prompt_template == PromptTemplate::kChat ? v1::PromptsSpec::CHAT : v1::PromptsSpec::RAW);
  out.mutable_prompts()->set_max_tokens(spec.prompts.max_tokens);
  WriteSampling(spec.sampling, *out.mutable_sampling());
  *out.mutable_reward() = ToProto(spec.reward);
  WriteGrpo(spec.grpo, *out.mutable_algorithm()->mutable_grpo());
  WriteOptimizer(spec.optimizer, *out.mutable_optimizer());
  out.mutable_batch()->set_groups_per_step(spec.batch.groups_per_step);
  out.mutable_batch()->set_micro_batch_tokens(spec.batch.micro_batch_tokens);
  out.mutable_batch()->set_over_sampling(spec.batch.over_sampling);
  out.mutable_staleness()->set_max_versions(spec.staleness.max_versions);
  out.mutable_staleness()->set_on_deadline(
      spec.staleness.on_deadline == OnDeadline::kWait ? v1::StalenessSpec::WAIT : v1::StalenessSpec::DROP);
  out.mutable_staleness()->set_on_new_version(spec.staleness.on_new_version == SwapMode::kContinue
                                                  ? v1::StalenessSpec::CONTINUE
                                                  : v1::StalenessSpec::FINISH);
  WriteStages(spec, out);
  if (!spec.replay.job.empty()) {
    out.mutable_replay()->set_job(spec.replay.job);
    out.mutable_replay()->set_steps(spec.replay.steps);
  }
  if (!spec.from.job.empty()) {
    v1::FromSpec& from = *out.mutable_from();
    from.set_job(spec.from.job);
    if (spec.from.version != kNoPolicyVersion) from.set_policy_version(spec.from.version);
    from.set_continue_training(spec.from.continue_training);
    from.set_reference(spec.from.reference);
    from.set_first_step(spec.from.first_step);
    from.set_first_prompt(spec.from.first_prompt);
  }
  return out;
}

absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& proto) {
  JobSpec out;
  out.name = proto.name();
  out.seed = proto.seed();
  out.deterministic = proto.deterministic();
  SLUICE_RETURN_IF_ERROR(ReadModel(proto.model(), out.model));
  SLUICE_RETURN_IF_ERROR(ReadPrompts(proto.prompts(), out.prompts));
  ReadSampling(proto.sampling(), out.sampling);
  SLUICE_ASSIGN_OR_RETURN(out.reward, FromProto(proto.reward()));
  if (!proto.algorithm().has_grpo()) {
    return absl::InvalidArgumentError("algorithm: exactly one is needed, for example algorithm { grpo {} }");
  }
  SLUICE_RETURN_IF_ERROR(ReadGrpo(proto.algorithm().grpo(), out.grpo));
  SLUICE_RETURN_IF_ERROR(ReadOptimizer(proto.optimizer(), out.optimizer));
  SetUnlessZero(proto.batch().groups_per_step(), out.batch.groups_per_step);
  SetUnlessZero(proto.batch().micro_batch_tokens(), out.batch.micro_batch_tokens);
  out.batch.over_sampling = proto.batch().over_sampling();
  out.replay = {proto.replay().job(), proto.replay().steps()};
  const v1::FromSpec& from = proto.from();
  out.from = {from.job(),
              from.has_policy_version() ? from.policy_version() : kNoPolicyVersion,
              from.continue_training(),
              from.reference(),
              from.first_step(),
              from.first_prompt()};
  SLUICE_RETURN_IF_ERROR(ReadStaleness(proto.staleness(), out.deterministic, out.staleness));
  ReadStages(proto, out);
  SLUICE_RETURN_IF_ERROR(ReadEvaluations(proto, out));
  SLUICE_RETURN_IF_ERROR(ReadControl(proto, out));
  SLUICE_RETURN_IF_ERROR(CheckWhole(proto, out));
  SLUICE_RETURN_IF_ERROR(Validate(out));
  return out;
}

}  // namespace sluice
