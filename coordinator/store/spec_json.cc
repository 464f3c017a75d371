#include "coordinator/store/spec_json.h"

#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using nlohmann::json;

// Enumerations are stored by number, so these never move; new ones come behind.
template <auto... values>
constexpr bool InStoredOrder() {
  int next = 0;
  return ((static_cast<int>(values) == next++) && ...);
}
static_assert(InStoredOrder<ModelDtype::kBF16, ModelDtype::kF32>());
static_assert(InStoredOrder<PromptTemplate::kRaw, PromptTemplate::kChat>());
static_assert(InStoredOrder<MathMode::kCompletion, MathMode::kPair>());
static_assert(InStoredOrder<LengthUnit::kCharacters, LengthUnit::kTokens>());
static_assert(InStoredOrder<CodeLanguage::kPython, CodeLanguage::kCpp>());
static_assert(
    InStoredOrder<CodeTests::kAsserts, CodeTests::kStdio, CodeTests::kFunction, CodeTests::kHumanEval>());
static_assert(InStoredOrder<CodeComparison::kExact, CodeComparison::kTokens, CodeComparison::kNumeric,
                            CodeComparison::kUnordered, CodeComparison::kChecker>());
static_assert(InStoredOrder<CodeCredit::kAll, CodeCredit::kShare>());
static_assert(InStoredOrder<RewardCombination::kWeightedSum, RewardCombination::kProduct,
                            RewardCombination::kMinimum>());
static_assert(InStoredOrder<Aggregation::kTokenMean, Aggregation::kSequenceMeanTokenMean,
                            Aggregation::kSequenceMeanTokenSum>());
static_assert(InStoredOrder<ScheduleKind::kConstant, ScheduleKind::kCosine>());
static_assert(InStoredOrder<OnDeadline::kDrop, OnDeadline::kWait>());
static_assert(InStoredOrder<SwapMode::kFinish, SwapMode::kContinue>());
static_assert(InStoredOrder<HeldOutMeasure::kAccuracy, HeldOutMeasure::kReward>());
static_assert(InStoredOrder<GuardAction::kRollBack, GuardAction::kPause>());

// Writer and Reader name each field once, in Visit.
class Writer {
 public:
  template <typename T>
  void operator()(const char* key, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      out[key] = static_cast<int>(value);
    } else {
      out[key] = value;
    }
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <typename T, typename F>
  void Object(const char* key, const T& value, F visit) {
    Writer inner;
    visit(inner, value);
    out[key] = std::move(inner.out);
  }
  json out = json::object();
};

class Reader {
 public:
  explicit Reader(const json& from) : in(from) {}
  template <typename T>
  void operator()(const char* key, T& value) {
    if (!in.contains(key)) return;
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(in.at(key).template get<int>());
    } else {
      value = in.at(key).template get<T>();
    }
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) {
    if (in.contains(key)) (*this)(key, value.emplace());
  }
  template <typename T, typename F>
  void Object(const char* key, T& value, F visit) {
    if (!in.contains(key)) return;
    Reader inner(in.at(key));
    visit(inner, value);
  }
  const json& in;
};

template <typename Io, typename T>
void VisitSampling(Io& io, T& s) {
  io("group_size", s.group_size);
  io("temperature", s.params.temperature);
  io("top_k", s.params.top_k);
  io("top_p", s.params.top_p);
  io("max_new_tokens", s.params.max_new_tokens);
  io("stop_token_ids", s.params.stop_token_ids);
  io("stop", s.params.stop);
  io("ignore_eos", s.params.ignore_eos);
  io("min_p", s.params.min_p);
  io("repetition_penalty", s.params.repetition_penalty);
  io("presence_penalty", s.params.presence_penalty);
  io("frequency_penalty", s.params.frequency_penalty);
  io("logit_bias", s.params.logit_bias);
  io("min_new_tokens", s.params.min_new_tokens);
  io("top_logprobs", s.params.top_logprobs);
  io("record_experts", s.params.record_experts);
}

template <typename Io, typename T>
void VisitLearning(Io& io, T& spec) {
  io.Object("grpo", spec.grpo, [](auto& v, auto& g) {
    v("clip_low", g.clip_low);
    v("clip_high", g.clip_high);
    v("kl_coefficient", g.kl_coefficient);
    v("entropy_coefficient", g.entropy_coefficient);
    v("normalize_std", g.normalize_std);
    v("aggregation", g.aggregation);
    v("filter_ties", g.filter_ties);
    v("max_filtered_groups", g.max_filtered_groups);
  });
  io.Object("optimizer", spec.optimizer, [](auto& v, auto& o) {
    v("learning_rate", o.learning_rate);
    v("beta1", o.beta1);
    v("beta2", o.beta2);
    v("epsilon", o.epsilon);
    v("weight_decay", o.weight_decay);
    v("warmup_steps", o.warmup_steps);
    v("schedule", o.schedule);
    v("final_fraction", o.final_fraction);
    v("max_grad_norm", o.max_grad_norm);
  });
  io.Object("batch", spec.batch, [](auto& v, auto& b) {
    v("groups_per_step", b.groups_per_step);
    v("micro_batch_tokens", b.micro_batch_tokens);
    v("over_sampling", b.over_sampling);
  });
}

template <typename Io, typename T>
void VisitEvaluation(Io& io, T& e) {
  io("file", e.file);
  io("every_steps", e.every_steps);
  io("samples_per_prompt", e.samples_per_prompt);
  io("max_prompts", e.max_prompts);
  io("measure", e.measure);
  io.Object("gate", e.gate, [](auto& v, auto& g) {
    v("on", g.on);
    v("min_score", g.min_score);
    v("max_drop", g.max_drop);
  });
  io.Object("canary", e.canary, [](auto& v, auto& c) {
    v("prompts", c.prompts);
    v("max_drop", c.max_drop);
    v("min_score", c.min_score);
  });
  io("name", e.name);
  io("correct_by", e.correct_by);
  io("correct_at", e.correct_at);
  io("pass_at", e.pass_at);
  io.Object("sampling", e.sampling, [](auto& v, auto& s) {
    v("temperature", s.temperature);
    v("top_k", s.top_k);
    v("top_p", s.top_p);
    v("min_p", s.min_p);
    v("max_new_tokens", s.max_new_tokens);
  });
}

template <typename Io, typename T>
void VisitStages(Io& io, T& spec) {
  io.Object("staleness", spec.staleness, [](auto& v, auto& s) {
    v("max_versions", s.max_versions);
    v("on_deadline", s.on_deadline);
    v("on_new_version", s.on_new_version);
  });
  io.Object("evaluation", spec.evaluation, [](auto& v, auto& e) { VisitEvaluation(v, e); });
  io.Object("guard", spec.guard, [](auto& v, auto& g) {
    v("max_kl", g.max_kl);
    v("min_entropy", g.min_entropy);
    v("max_entropy", g.max_entropy);
    v("max_skipped_nonfinite", g.max_skipped_nonfinite);
    v("held_out_drop", g.held_out_drop);
    v("steps", g.steps);
    v("action", g.action);
    v("max_rollbacks", g.max_rollbacks);
  });
  io.Object("checkpoint", spec.checkpoint, [](auto& v, auto& c) {
    v("every_steps", c.every_steps);
    v("keep", c.keep);
    v("progress_tokens", c.progress_tokens);
  });
  io.Object("warm_start", spec.warm_start, [](auto& v, auto& w) {
    v("file", w.file);
    v("steps", w.steps);
    v("batch_size", w.batch_size);
    v("learning_rate", w.learning_rate);
    v("warmup_steps", w.warmup_steps);
  });
  io.Object("timeout", spec.timeout, [](auto& v, auto& t) {
    v("generate_seconds", t.generate_seconds);
    v("score_seconds", t.score_seconds);
    v("train_seconds", t.train_seconds);
    v("load_policy_seconds", t.load_policy_seconds);
    v("max_attempts", t.max_attempts);
    v("hedge_seconds", t.hedge_seconds);
    v("group_seconds", t.group_seconds);
  });
  io.Object("share", spec.share, [](auto& v, auto& s) {
    v("priority", s.priority);
    v("min_workers", s.min_workers);
    v("max_workers", s.max_workers);
  });
}

template <typename Io, typename T>
void VisitSpec(Io& io, T& spec) {
  io("name", spec.name);
  io("seed", spec.seed);
  io("deterministic", spec.deterministic);
  io("stop_steps", spec.stop_steps);
  io.Object("model", spec.model, [](auto& v, auto& m) {
    v("path", m.path);
    v("dtype", m.dtype);
  });
  io.Object("prompts", spec.prompts, [](auto& v, auto& p) {
    v("file", p.file);
    v("template", p.prompt_template);
    v("max_tokens", p.max_tokens);
  });
  io.Object("sampling", spec.sampling, [](auto& v, auto& s) { VisitSampling(v, s); });
  VisitLearning(io, spec);
  VisitStages(io, spec);
  io.Object("replay", spec.replay, [](auto& v, auto& r) {
    v("job", r.job);
    v("steps", r.steps);
  });
  io.Object("from", spec.from, [](auto& v, auto& f) {
    v("job", f.job);
    v("version", f.version);
    v("continue_training", f.continue_training);
    v("reference", f.reference);
    v("first_step", f.first_step);
    v("first_prompt", f.first_prompt);
  });
}

// The fields of each scorer. The first release had math, regex, expression and length, without mode and unit.
// One that is missing here does not compile.
template <typename Io>
struct VisitScorer {
  Io& io;
  template <typename T>
  void operator()(T& s) const {
    using Spec = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Spec, MathScorerSpec>) {
      io("mode", s.mode);
    } else if constexpr (std::is_same_v<Spec, RegexScorerSpec>) {
      io("pattern", s.pattern);
    } else if constexpr (std::is_same_v<Spec, LengthScorerSpec>) {
      io("soft_limit", s.soft_limit);
      io("hard_limit", s.hard_limit);
      io("unit", s.unit);
    } else if constexpr (std::is_same_v<Spec, CodeScorerSpec>) {
      Code(s);
    } else if constexpr (std::is_same_v<Spec, TagsScorerSpec>) {
      io("tags", s.tags);
      io("nothing_outside", s.nothing_outside);
      io("all_or_nothing", s.all_or_nothing);
    } else if constexpr (std::is_same_v<Spec, RepetitionScorerSpec>) {
      io("ngram", s.ngram);
      io("scale", s.scale);
    } else if constexpr (std::is_same_v<Spec, LanguageScorerSpec>) {
      io("language", s.language);
    } else if constexpr (std::is_same_v<Spec, RemoteScorerSpec>) {
      io("service", s.service);
      io("parameters", s.parameters);
      io("timeout_seconds", s.timeout_seconds);
      io("max_attempts", s.max_attempts);
      io("max_batch", s.max_batch);
      io("expect_version", s.expect_version);
    } else if constexpr (std::is_same_v<Spec, GroupLengthScorerSpec>) {
      io("correct_by", s.correct_by);
    } else {
      static_assert(std::is_same_v<Spec, ExpressionScorerSpec>, "which fields does it store?");
    }
  }
  template <typename T>
  void Code(T& s) const {
    io("language", s.language);
    io("tests", s.tests);
    io("comparison", s.comparison);
    io("absolute_tolerance", s.absolute_tolerance);
    io("relative_tolerance", s.relative_tolerance);
    io("timeout_seconds", s.timeout_seconds);
    io("memory_bytes", s.memory_bytes);
    io("credit", s.credit);
    io("max_tests", s.max_tests);
    io("output_bytes", s.output_bytes);
  }
};

// What a stored scorer is called: in a new release the same, wherever the variant has it.
struct StoredName {
  const char* operator()(const MathScorerSpec&) const { return "math"; }
  const char* operator()(const RegexScorerSpec&) const { return "regex"; }
  const char* operator()(const ExpressionScorerSpec&) const { return "expression"; }
  const char* operator()(const LengthScorerSpec&) const { return "length"; }
  const char* operator()(const CodeScorerSpec&) const { return "code"; }
  const char* operator()(const TagsScorerSpec&) const { return "tags"; }
  const char* operator()(const RepetitionScorerSpec&) const { return "repetition"; }
  const char* operator()(const LanguageScorerSpec&) const { return "language"; }
  const char* operator()(const RemoteScorerSpec&) const { return "remote"; }
  const char* operator()(const GroupLengthScorerSpec&) const { return "group_length"; }
};

// Earlier releases stored a number in place of the name. Nothing is added here and nothing moves.
constexpr const char* kNumbered[] = {"math", "regex",      "expression", "length", "code",
                                     "tags", "repetition", "language",   "remote", "group_length"};

json ComponentToJson(const RewardComponentSpec& component) {
  Writer writer;
  writer("name", component.name);
  writer("weight", component.weight);
  writer("kind", std::string(std::visit(StoredName{}, component.scorer)));
  if (component.gate) writer("gate", *component.gate);
  writer("gate_value", component.gate_value);
  std::visit(VisitScorer<Writer>{writer}, component.scorer);
  return std::move(writer.out);
}

// The alternative that is stored as `name`, its fields as by default.
template <size_t I = 0>
bool ChooseScorer(absl::string_view name, ScorerSpec& out) {
  if constexpr (I < std::variant_size_v<ScorerSpec>) {
    if (name != StoredName()(std::variant_alternative_t<I, ScorerSpec>()))
      return ChooseScorer<I + 1>(name, out);
    out.emplace<I>();
    return true;
  }
  return false;
}

// By name, or by number as earlier releases stored it; empty where the number is none.
std::string StoredKind(const json& kind) {
  if (!kind.is_number()) return kind.get<std::string>();
  const auto number = kind.get<size_t>();
  return number < std::size(kNumbered) ? kNumbered[number] : "";
}

absl::StatusOr<RewardComponentSpec> ComponentFromJson(const json& in) {
  RewardComponentSpec out;
  out.name = in.at("name").get<std::string>();
  out.weight = in.at("weight").get<double>();
  Reader reader(in);
  if (in.contains("gate")) out.gate = in.at("gate").get<double>();
  reader("gate_value", out.gate_value);
  if (!ChooseScorer(StoredKind(in.at("kind")), out.scorer))
    return absl::DataLossError("the stored job spec has a scorer that this release does not know");
  std::visit(VisitScorer<Reader>{reader}, out.scorer);
  return out;
}

}  // namespace

std::string SpecToJson(const JobSpec& spec) {
  Writer writer;
  VisitSpec(writer, spec);
  json reward = json::array();
  for (const RewardComponentSpec& component : spec.reward.components)
    reward.push_back(ComponentToJson(component));
  writer.out["reward"] = std::move(reward);
  for (const EvaluationSpec& evaluation : spec.more_evaluations) {
    Writer one;
    VisitEvaluation(one, evaluation);
    writer.out["more_evaluations"].push_back(std::move(one.out));
  }
  writer("reward_combination", spec.reward.combination);
  return writer.out.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<JobSpec> SpecFromJson(absl::string_view text) {
  // nlohmann reports wrong types by exceptions; they end here.
  try {
    const json in = json::parse(text.begin(), text.end());
    JobSpec spec;
    Reader reader(in);
    VisitSpec(reader, spec);
    for (const json& component : in.at("reward")) {
      SLUICE_ASSIGN_OR_RETURN(RewardComponentSpec read, ComponentFromJson(component));
      spec.reward.components.push_back(std::move(read));
    }
    reader("reward_combination", spec.reward.combination);
    for (const json& evaluation : in.value("more_evaluations", json::array())) {
      Reader one(evaluation);
      VisitEvaluation(one, spec.more_evaluations.emplace_back());
    }
    return spec;
  } catch (const json::exception& error) {
    return absl::DataLossError(absl::StrCat("the stored job spec cannot be read: ", error.what()));
  }
}

}  // namespace sluice
