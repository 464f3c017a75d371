#include "learner/batch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

absl::Status CheckTokens(absl::Span<const int32_t> tokens, int64_t vocab) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("token ", tokens[i], " at ", i, " is not in the vocabulary of ", vocab));
  }
  return absl::OkStatus();
}

absl::Status CheckLength(int64_t tokens, const TokenLimits& limits) {
  if (tokens <= limits.max_positions) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(tokens, " tokens exceed the model's ", limits.max_positions, " positions"));
}

absl::Status CheckSpans(const Trajectory& t) {
  int32_t at = 0;
  for (const VersionSpan& span : t.spans) {
    if (span.begin != at || span.end <= span.begin)
      return absl::InvalidArgumentError("version spans leave a gap");
    at = span.end;
  }
  if (at == static_cast<int32_t>(t.tokens.size())) return absl::OkStatus();
  return absl::InvalidArgumentError("version spans do not cover the tokens");
}

// The ids of one token in one layer: k different experts.
absl::Status CheckChoice(const uint16_t* ids, const TokenLimits& limits) {
  for (int32_t i = 0; i < limits.experts_per_token; ++i) {
    if (ids[i] >= limits.experts) {
      return absl::InvalidArgumentError(
          absl::StrCat("experts.ids: expert ", ids[i], " of a model with ", limits.experts));
    }
    if (std::find(ids, ids + i, ids[i]) != ids + i) {
      return absl::InvalidArgumentError(
          absl::StrCat("experts.ids: expert ", ids[i], " twice for one token in one layer"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExperts(const RoutedExperts& experts, int64_t fed, const TokenLimits& limits) {
  if (experts.ids.empty()) return absl::OkStatus();
  if (experts.moe_layers != limits.moe_layers || experts.per_token != limits.experts_per_token) {
    return absl::InvalidArgumentError(absl::StrCat("experts of ", experts.moe_layers, " layers and ",
                                                   experts.per_token, " a token; the model has ",
                                                   limits.moe_layers, " and ", limits.experts_per_token));
  }
  const int64_t width = int64_t{experts.moe_layers} * experts.per_token;
  if (static_cast<int64_t>(experts.ids.size()) != fed * width) {
    return absl::InvalidArgumentError(
        absl::StrCat("experts.ids: ", experts.ids.size(), " for ", fed, " tokens fed; want ", fed * width));
  }
  for (size_t i = 0; i < experts.ids.size(); i += experts.per_token) {
    SLUICE_RETURN_IF_ERROR(CheckChoice(&experts.ids[i], limits));
  }
  return absl::OkStatus();
}

absl::Status CheckTrajectory(const Trajectory& t, int64_t prompt, const TokenLimits& limits) {
  SLUICE_RETURN_IF_ERROR(CheckTokens(t.tokens, limits.vocab));
  SLUICE_RETURN_IF_ERROR(CheckLength(prompt + static_cast<int64_t>(t.tokens.size()), limits));
  if (t.raw_logprobs.size() != t.tokens.size() || t.processed_logprobs.size() != t.tokens.size()) {
    return absl::InvalidArgumentError(absl::StrCat(t.tokens.size(), " tokens with ", t.raw_logprobs.size(),
                                                   " raw and ", t.processed_logprobs.size(),
                                                   " processed log-probabilities"));
  }
  for (size_t i = 0; i < t.tokens.size(); ++i) {
    if (std::isfinite(t.raw_logprobs[i]) && std::isfinite(t.processed_logprobs[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat("log-probability of token ", i, " is not finite"));
  }
  const int64_t fed = prompt + std::max<int64_t>(static_cast<int64_t>(t.tokens.size()) - 1, 0);
  SLUICE_RETURN_IF_ERROR(CheckExperts(t.experts, fed, limits));
  return CheckSpans(t);
}

}  // namespace

std::vector<PackGroup> PackGroupsOf(const TrainingGroup& group, absl::Span<const SequenceToPack> sequences) {
  std::vector<PackGroup> packed;
  std::vector<absl::Span<const uint16_t>> prompts;  // their experts, by packed group
  for (const SequenceToPack& s : sequences) {
    const RoutedExperts& experts = s.sequence->experts;
    const int64_t width = int64_t{experts.moe_layers} * experts.per_token;
    const bool recorded = !experts.ids.empty();
    const absl::Span<const uint16_t> prompt(experts.ids.data(), recorded ? group.prompt.size() * width : 0);
    const size_t place = std::find(prompts.begin(), prompts.end(), prompt) - prompts.begin();
    if (place == prompts.size()) {
      packed.push_back({group.prompt, {}});
      prompts.push_back(prompt);
    }
    packed[place].completions.push_back(
        {s.sequence->tokens, s.id, {recorded ? experts.ids.data() : nullptr, width}});
  }
  return packed;
}

TokenLimits LimitsOf(const ModelConfig& config) {
  TokenLimits limits = {config.vocab, config.max_positions};
  limits.moe_layers =
      static_cast<int32_t>(std::count(config.moe_layer.begin(), config.moe_layer.end(), true));
  limits.experts = config.moe.experts;
  limits.experts_per_token = config.moe.experts_per_token;
  return limits;
}

absl::StatusOr<TrainingGroup> MakeTrainingGroup(const Group& group, const TokenLimits& limits) {
  const std::string where = absl::StrCat("draw ", group.draw);
  if (group.prompt.tokens.empty())
    return absl::InvalidArgumentError(absl::StrCat(where, ": the prompt has no tokens"));
  SLUICE_RETURN_IF_ERROR(
      Annotate(CheckTokens(group.prompt.tokens, limits.vocab), absl::StrCat(where, ", prompt")));
  SLUICE_RETURN_IF_ERROR(
      Annotate(CheckLength(group.prompt.tokens.size(), limits), absl::StrCat(where, ", prompt")));
  TrainingGroup out{group.draw, group.prompt.tokens, {}};
  for (const ScoredSample& sample : group.samples) {
    if (!sample.verdict.HasReward()) continue;
    const Trajectory& t = sample.trajectory;
    const std::string who = absl::StrCat(where, ", sample ", t.key.index);
    SLUICE_RETURN_IF_ERROR(Annotate(CheckTrajectory(t, group.prompt.tokens.size(), limits), who));
    if (!std::isfinite(sample.advantage) || !std::isfinite(sample.verdict.value)) {
      return absl::InvalidArgumentError(absl::StrCat(who, ": advantage or reward is not finite"));
    }
    out.sequences.push_back({t.tokens, t.raw_logprobs, t.processed_logprobs, t.spans, sample.advantage,
                             sample.verdict.value, t.experts});
  }
  return out;
}

absl::Status CheckExample(const SupervisedExample& example, const TokenLimits& limits) {
  const int64_t size = static_cast<int64_t>(example.tokens.size());
  if (example.prompt_size < 1 || example.prompt_size >= size) {
    return absl::InvalidArgumentError(absl::StrCat("prompt_size ", example.prompt_size, " of ", size,
                                                   " tokens; at least 1, and less than all"));
  }
  SLUICE_RETURN_IF_ERROR(CheckTokens(example.tokens, limits.vocab));
  return CheckLength(size, limits);
}

LearningSpec LearningSpecOf(const JobSpec& spec) {
  LearningSpec out;
  out.dtype = spec.model.dtype;
  out.grpo = spec.grpo;
  out.optimizer = spec.optimizer;
  out.warm_start = spec.warm_start;
  out.warm_start.file.clear();
  out.micro_batch_tokens = spec.batch.micro_batch_tokens;
  out.temperature = PolicyTemperatureOf(spec.sampling.params);
  out.stop_steps = spec.stop_steps;
  return out;
}

void Put(const LearningSpec& s, ByteWriter* out) {
  out->Put(s.dtype);
  for (double v : {s.grpo.clip_low, s.grpo.clip_high, s.grpo.kl_coefficient, s.grpo.entropy_coefficient})
    out->Put(v);
  out->Put(s.grpo.aggregation);
  for (double v : {s.optimizer.learning_rate, s.optimizer.beta1, s.optimizer.beta2, s.optimizer.epsilon,
                   s.optimizer.weight_decay, s.optimizer.final_fraction, s.optimizer.max_grad_norm}) {
    out->Put(v);
  }
  out->Put(s.optimizer.warmup_steps);
  out->Put(s.optimizer.schedule);
  out->Put(s.warm_start.steps);
  out->Put(s.warm_start.learning_rate);
  out->Put(s.warm_start.warmup_steps);
  out->Put(s.micro_batch_tokens);
  out->Put(s.temperature.temperature);
  out->Put<uint8_t>(s.temperature.use_processed ? 1 : 0);
  out->Put(s.stop_steps);
}

LearningSpec GetLearningSpec(ByteReader* in) {
  LearningSpec s;
  s.dtype = in->Get<ModelDtype>();
  for (double* v :
       {&s.grpo.clip_low, &s.grpo.clip_high, &s.grpo.kl_coefficient, &s.grpo.entropy_coefficient}) {
    *v = in->Get<double>();
  }
  s.grpo.aggregation = in->Get<Aggregation>();
  for (double* v : {&s.optimizer.learning_rate, &s.optimizer.beta1, &s.optimizer.beta2, &s.optimizer.epsilon,
                    &s.optimizer.weight_decay, &s.optimizer.final_fraction, &s.optimizer.max_grad_norm}) {
    *v = in->Get<double>();
  }
  s.optimizer.warmup_steps = in->Get<int64_t>();
  s.optimizer.schedule = in->Get<ScheduleKind>();
  s.warm_start.steps = in->Get<int64_t>();
  s.warm_start.learning_rate = in->Get<double>();
  s.warm_start.warmup_steps = in->Get<int64_t>();
  s.micro_batch_tokens = in->Get<int32_t>();
  s.temperature.temperature = in->Get<float>();
  s.temperature.use_processed = in->Get<uint8_t>() != 0;
  s.stop_steps = in->Get<int64_t>();
  return s;
}

void Put(const TrainingGroup& group, ByteWriter* out) {
  out->Put<uint64_t>(group.draw);
  out->PutVector(group.prompt);
  out->Put<uint64_t>(group.sequences.size());
  for (const TrainingSequence& s : group.sequences) {
    out->PutVector(s.tokens);
    out->PutVector(s.raw_logprobs);
    out->PutVector(s.processed_logprobs);
    out->Put(s.advantage);
    out->Put(s.reward);
    out->Put(s.experts.moe_layers);
    out->Put(s.experts.per_token);
    out->PutVector(s.experts.ids);
    out->Put<uint64_t>(s.spans.size());
    for (const VersionSpan& span : s.spans) {
      out->Put(span.begin);
      out->Put(span.end);
      out->Put(span.version);
      out->PutString(span.manifest_hash);
      out->PutString(span.kernel_path);
    }
  }
}

TrainingGroup GetTrainingGroup(ByteReader* in) {
  TrainingGroup group;
  group.draw = in->Get<uint64_t>();
  group.prompt = in->GetVector<int32_t>();
  group.sequences.resize(in->GetCount(48));
  for (TrainingSequence& s : group.sequences) {
    s.tokens = in->GetVector<int32_t>();
    s.raw_logprobs = in->GetVector<float>();
    s.processed_logprobs = in->GetVector<float>();
    s.advantage = in->Get<double>();
    s.reward = in->Get<double>();
    s.experts.moe_layers = in->Get<int32_t>();
    s.experts.per_token = in->Get<int32_t>();
    s.experts.ids = in->GetVector<uint16_t>();
    s.spans.resize(in->GetCount(32));
    for (VersionSpan& span : s.spans) {
      span.begin = in->Get<int32_t>();
      span.end = in->Get<int32_t>();
      span.version = in->Get<PolicyVersion>();
      span.manifest_hash = in->GetString();
      span.kernel_path = in->GetString();
    }
  }
  return group;
}

void Put(const SupervisedExample& example, ByteWriter* out) {
  out->PutVector(example.tokens);
  out->Put(example.prompt_size);
}

SupervisedExample GetExample(ByteReader* in) {
  SupervisedExample example;
  example.tokens = in->GetVector<int32_t>();
  example.prompt_size = in->Get<int32_t>();
  return example;
}

}  // namespace sluice
