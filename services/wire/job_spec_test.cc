#include "services/wire/job_spec.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::StartsWith;

constexpr char kMinimal[] = R"(
  name: "j" model { path: "m" } prompts { file: "p.jsonl" }
  reward { component { name: "answer" math {} } } algorithm { grpo {} })";

v1::JobSpec Parse(const std::string& text) {
  v1::JobSpec proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

TEST(JobSpecProto, FillsInEveryDefaultOfItsComments) {
  const absl::StatusOr<JobSpec> spec = FromProto(Parse(kMinimal));
  ASSERT_TRUE(spec.ok()) << spec.status();
  const v1::JobSpec expected = Parse(R"(
    name: "j" seed: 0 model { path: "m" dtype: BF16 } prompts { file: "p.jsonl" template: RAW max_tokens: 1024 }
    sampling { group_size: 8 max_new_tokens: 128 temperature: 1 top_k: 0 top_p: 1
               repetition_penalty: 1 }
    reward { component { name: "answer" weight: 1 math { mode: COMPLETION } } combination: WEIGHTED_SUM }
    algorithm { grpo { clip_low: 0.2 clip_high: 0.2 normalize_std: true aggregation: TOKEN_MEAN } }
    optimizer {
      adamw { learning_rate: 1e-6 beta1: 0.9 beta2: 0.999 epsilon: 1e-8 }
      schedule { kind: CONSTANT final_fraction: 0.1 } max_grad_norm: 1 }
    batch { groups_per_step: 32 micro_batch_tokens: 8192 } 
    staleness { max_versions: 1 on_deadline: DROP on_new_version: FINISH }
    checkpoint { every_steps: 20 keep: 3 progress_tokens: 64 } stop { steps: 100 }
    timeout { generate_seconds: 300 score_seconds: 60 train_seconds: 1800 load_policy_seconds: 300 max_attempts: 3 } share {})");
  std::string difference;
  google::protobuf::util::MessageDifferencer differ;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(ToProto(*spec), expected)) << difference;
}

TEST(JobSpecProto, FillsInTheDefaultsOfOptionalStages) {
  const JobSpec spec = *FromProto(Parse(std::string(kMinimal) + R"(
    evaluation { file: "held.jsonl" every_steps: 5 } warm_start { file: "w.jsonl" steps: 7 })"));
  EXPECT_EQ(spec.evaluation.samples_per_prompt, 1);
  EXPECT_EQ(spec.evaluation.max_prompts, 0);
  EXPECT_EQ(spec.warm_start.batch_size, 32);
  EXPECT_EQ(spec.warm_start.learning_rate, 1e-3);
  EXPECT_EQ(spec.warm_start.warmup_steps, 10);
}

TEST(JobSpecProto, DeterministicJobsWaitForTheirGroups) {
  const v1::JobSpec proto = Parse(std::string(kMinimal) + "deterministic: true");
  const JobSpec spec = *FromProto(proto);
  EXPECT_TRUE(spec.deterministic);
  EXPECT_EQ(spec.staleness.on_deadline, OnDeadline::kWait);
  EXPECT_TRUE(ToProto(spec).deterministic());
  EXPECT_EQ(FromProto(ToProto(spec))->staleness.on_deadline, OnDeadline::kWait);
}

// The fields of the message and of those in it that are not set; of a oneof one field is enough.
std::vector<std::string> Unset(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<std::string> out;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (const auto* one = field.real_containing_oneof(); one != nullptr && reflection.HasOneof(message, one))
      continue;
    const bool set = field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                                         : reflection.HasField(message, &field);
    if (!set) out.push_back(field.name());
    if (!set || field.is_repeated() || field.message_type() == nullptr) continue;
    for (const std::string& inside : Unset(reflection.GetMessage(message, &field)))
      out.push_back(field.name() + "." + inside);
  }
  return out;
}

TEST(JobSpecProto, RoundTripsWhenNothingIsDefault) {
  const v1::JobSpec proto = Parse(R"(
    name: "j" seed: 18446744073709551615 model { path: "m" dtype: F32 }
    prompts { file: "p.jsonl" template: CHAT max_tokens: 99 }
    sampling { group_size: 4 max_new_tokens: 64 temperature: 0.5 top_k: 10 top_p: 0.5 stop: "x" stop_token_ids: 3
               ignore_eos: true min_p: 0.1 repetition_penalty: 1.5 presence_penalty: -1 frequency_penalty: 2
               logit_bias { key: 7 value: -3 } min_new_tokens: 2 top_logprobs: 5 record_experts: true }
    reward { component { name: "form" weight: 0 gate: 1 gate_value: -1 regex { pattern: "a" } }
             component { name: "length" weight: 1 length { soft_limit: 1 hard_limit: 2 unit: TOKENS } }
             combination: MINIMUM }
    algorithm { grpo { clip_low: 0 clip_high: 0.28 kl_coefficient: 0.001 entropy_coefficient: 0.01 normalize_std: false
                       aggregation: SEQUENCE_MEAN_TOKEN_SUM filter_ties: true max_filtered_groups: 9 } }
    optimizer { adamw { learning_rate: 0 beta1: 0 beta2: 0.5 epsilon: 1e-6 weight_decay: 0.1 }
                schedule { warmup_steps: 3 kind: COSINE final_fraction: 0 } max_grad_norm: 0 }
    batch { groups_per_step: 2 micro_batch_tokens: 100 over_sampling: 0.25 }
    staleness { max_versions: 0 on_deadline: WAIT on_new_version: CONTINUE }
    evaluation { file: "h" every_steps: 2 samples_per_prompt: 3 max_prompts: 4 measure: REWARD
                 gate { min_score: 0.25 max_drop: 0.125 } canary { prompts: 3 max_drop: 0 min_score: -1 }
                 correct_by: "form" correct_at: 0.5 pass_at: [ 1, 3 ] }
    more_evaluations { name: "greedy" file: "g" every_steps: 4 samples_per_prompt: 1 measure: ACCURACY
                       sampling { temperature: 0 top_k: 3 top_p: 0.5 min_p: 0.25 max_new_tokens: 70 } }
    guard { max_kl: 0.5 min_entropy: 0.1 max_entropy: 4 max_skipped_nonfinite: 0 held_out_drop: 0.2 steps: 5 action: PAUSE
            max_rollbacks: 7 }
    checkpoint { every_steps: 5 keep: 1 progress_tokens: 0 }
    stop { steps: 50 } warm_start { file: "w" steps: 9 batch_size: 2 learning_rate: 0 warmup_steps: 0 }
    timeout { generate_seconds: 1 score_seconds: 2 train_seconds: 3 load_policy_seconds: 4 max_attempts: 5
              hedge_seconds: 0.5 group_seconds: 7 }
    share { priority: -2 min_workers: 3 max_workers: 4 }
    replay { job: "recorded" steps: 3 })");
  // Others are tested by themselves: a name and a sampling are of more_evaluations here, a replay begins with
  // nothing.
  EXPECT_THAT(Unset(proto), testing::UnorderedElementsAre("deterministic", "evaluation.name",
                                                          "evaluation.sampling", "from"))
      << "a field that is not set here is not tested";
  const absl::StatusOr<JobSpec> spec = FromProto(proto);
  ASSERT_TRUE(spec.ok()) << spec.status();
  std::string difference;
  google::protobuf::util::MessageDifferencer differ;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(ToProto(*spec), proto)) << difference;
}

TEST(JobSpecProto, AnotherEvaluationComesWithEachOfTheFirst) {
  v1::JobSpec proto = Parse(kMinimal);
  proto.MergeFrom(
      Parse("evaluation { file: \"h\" every_steps: 7 } more_evaluations { name: \"g\" file: \"g\" }"));
  const auto spec = FromProto(proto);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->more_evaluations.at(0).every_steps, 7);
}

TEST(JobSpecProto, CarriesWhatAJobBeginsWith) {
  v1::JobSpec proto = Parse(kMinimal);
  proto.MergeFrom(
      Parse("from { job: \"a\" policy_version: 0 continue_training: true reference: \"b\" first_step: 3 "
            "first_prompt: 4 }"));
  const auto spec = FromProto(proto);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->from.version, 0);
  EXPECT_EQ(ToProto(*spec).from().ShortDebugString(), proto.from().ShortDebugString());
  proto.mutable_from()->clear_policy_version();
  EXPECT_EQ(FromProto(proto)->from.version, kNoPolicyVersion);
  EXPECT_FALSE(ToProto(*FromProto(proto)).from().has_policy_version());
}

TEST(JobSpecProto, CanaryHasAGuardWithoutLimits) {
  v1::JobSpec proto = Parse(kMinimal);
  proto.MergeFrom(
      Parse("evaluation { file: \"h\" every_steps: 1 canary { prompts: 2 } } guard { action: PAUSE }"));
  const auto spec = FromProto(proto);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->evaluation.canary.max_drop, 0.1);
  EXPECT_FALSE(spec->evaluation.canary.min_score);
  const auto again = FromProto(ToProto(*spec));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->guard.action, GuardAction::kPause);
  EXPECT_EQ(again->evaluation.canary.prompts, 2);
}

TEST(JobSpecProto, IsRefusedWithTheFieldNamedAsItIsWritten) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"sampling { temperature: 0 }", "sampling.temperature"},
      {"sampling { temperature: nan }", "sampling.temperature"},
      {"sampling { group_size: 1 }", "sampling.group_size"},
      {"sampling { group_size: -1 }", "sampling.group_size"},
      {"sampling { stop: \"\" }", "sampling.stop"},
      {"sampling { stop_token_ids: -1 }", "sampling.stop_token_ids"},
      {"sampling { min_p: 2 }", "sampling.min_p"},
      {"sampling { repetition_penalty: 0 }", "sampling.repetition_penalty"},
      {"sampling { presence_penalty: nan }", "sampling.presence_penalty"},
      {"sampling { frequency_penalty: -101 }", "sampling.frequency_penalty"},
      {"sampling { logit_bias { key: -1 value: 0 } }", "sampling.logit_bias"},
      {"sampling { logit_bias { key: 1 value: inf } }", "sampling.logit_bias"},
      {"sampling { min_new_tokens: 129 }", "sampling.min_new_tokens"},
      {"sampling { top_logprobs: 21 }", "sampling.top_logprobs"},
      {"prompts { max_tokens: -1 }", "prompts.max_tokens"},
      {"optimizer { adamw { learning_rate: inf } }", "optimizer.adamw.learning_rate"},
      {"optimizer { schedule { kind: COSINE warmup_steps: 100 } }", "optimizer.schedule.warmup_steps"},
      {"staleness { max_versions: -1 }", "staleness.max_versions"},
      {"evaluation { every_steps: 5 }", "evaluation.file"},
      {"evaluation { }", "evaluation.file"},
      {"evaluation { file: \"h\" }", "evaluation.every_steps"},
      {"evaluation { file: \"h\" every_steps: 1 max_prompts: -1 }", "evaluation.max_prompts"},
      {"evaluation { file: \"h\" every_steps: 1 correct_by: \"form\" }", "evaluation.correct_by"},
      {"evaluation { file: \"h\" every_steps: 1 correct_at: nan }", "evaluation.correct_at"},
      {"evaluation { file: \"h\" every_steps: 1 pass_at: 2 }", "evaluation.pass_at"},
      {"evaluation { file: \"h\" every_steps: 1 samples_per_prompt: 4 pass_at: [ 2, 1 ] }",
       "evaluation.pass_at"},
      {"evaluation { file: \"h\" every_steps: 1 samples_per_prompt: 4 pass_at: 0 }", "evaluation.pass_at"},
      {"evaluation { file: \"h\" every_steps: 1 sampling { top_p: 2 } }", "evaluation.sampling.top_p"},
      {"evaluation { file: \"h\" every_steps: 1 samples_per_prompt: 2 sampling { temperature: 0 } }",
       "evaluation.samples_per_prompt"},
      {"evaluation { file: \"h\" every_steps: 1 name: \"a\" }", "evaluation.name"},
      {"more_evaluations { name: \"a\" file: \"h\" every_steps: 1 }", "more_evaluations"},
      {"evaluation { file: \"h\" every_steps: 2 } more_evaluations { file: \"h\" }",
       "more_evaluations[0].name"},
      {"evaluation { file: \"h\" every_steps: 2 } more_evaluations { name: \"a\" }",
       "more_evaluations[0].file"},
      {"evaluation { file: \"h\" every_steps: 2 } more_evaluations { name: \"a\" file: \"h\" every_steps: 3 "
       "}",
       "more_evaluations[0].every_steps"},
      {"evaluation { file: \"h\" every_steps: 2 } more_evaluations { name: \"a\" file: \"h\" gate {} }",
       "more_evaluations[0].gate"},
      {"from { }", "from.job"},
      {"from { job: \"a\" policy_version: -1 }", "from.policy_version"},
      {"from { job: \"a\" } warm_start { file: \"w\" steps: 1 }", "warm_start"},
      {"warm_start { file: \"w\" }", "warm_start"},
      {"warm_start { steps: 5 }", "warm_start"},
      {"warm_start { file: \"w\" steps: 5 warmup_steps: -1 }", "warm_start.warmup_steps"},
      {"reward { component { name: \"b\" math { mode: PAIR } } }", "reward.component[1].math.mode"},
      {"timeout { score_seconds: -1 }", "timeout.score_seconds"},
      {"evaluation { gate {} }", "evaluation.file"},
      {"evaluation { file: \"h\" every_steps: 1 gate { max_drop: -1 } }", "evaluation.gate.max_drop"},
      {"evaluation { file: \"h\" every_steps: 1 gate { min_score: nan } }", "evaluation.gate.min_score"},
      {"evaluation { file: \"h\" every_steps: 1 gate { min_score: 1.5 } }", "evaluation.gate.min_score"},
      {"evaluation { file: \"h\" every_steps: 1 canary { prompts: 1 min_score: 2 } }",
       "evaluation.canary.min_score"},
      {"evaluation { canary { prompts: 1 } }", "evaluation.file"},
      {"evaluation { file: \"h\" every_steps: 1 canary {} }", "evaluation.canary.prompts"},
      {"evaluation { file: \"h\" every_steps: 1 canary { prompts: -1 } }", "evaluation.canary.prompts"},
      {"evaluation { file: \"h\" every_steps: 1 max_prompts: 2 canary { prompts: 3 } }",
       "evaluation.canary.prompts"},
      {"evaluation { file: \"h\" every_steps: 1 canary { prompts: 1 max_drop: -1 } }",
       "evaluation.canary.max_drop"},
      {"evaluation { file: \"h\" every_steps: 1 canary { prompts: 1 max_drop: nan } }",
       "evaluation.canary.max_drop"},
      {"evaluation { file: \"h\" every_steps: 1 canary { prompts: 1 min_score: inf } }",
       "evaluation.canary.min_score"},
      {"guard {}", "guard"},
      {"guard { steps: 3 }", "guard"},
      {"guard { max_kl: -1 }", "guard.max_kl"},
      {"guard { max_kl: nan }", "guard.max_kl"},
      {"guard { min_entropy: 2 max_entropy: 1 }", "guard.min_entropy"},
      {"guard { max_entropy: inf }", "guard.max_entropy"},
      {"guard { max_skipped_nonfinite: -1 }", "guard.max_skipped_nonfinite"},
      {"guard { held_out_drop: 0.1 }", "guard.held_out_drop"},
      {"guard { max_kl: 1 steps: -1 }", "guard.steps"},
      {"guard { max_kl: 1 max_rollbacks: 1001 }", "guard.max_rollbacks"},
      {"timeout { hedge_seconds: -1 }", "timeout.hedge_seconds"},
      {"timeout { hedge_seconds: 300 }", "timeout.hedge_seconds"},
      {"timeout { group_seconds: -1 }", "timeout.group_seconds"},
      {"batch { over_sampling: 1.5 }", "batch.over_sampling"},
      {"batch { over_sampling: nan }", "batch.over_sampling"},
      {"deterministic: true timeout { hedge_seconds: 1 }", "timeout.hedge_seconds"},
      {"deterministic: true timeout { group_seconds: 1 }", "timeout.group_seconds"},
      {"deterministic: true batch { over_sampling: 1 }", "batch.over_sampling"},
      {"checkpoint { progress_tokens: -1 }", "checkpoint.progress_tokens"},
      {"share { priority: 1001 }", "share.priority"},
      {"share { min_workers: -1 }", "share.min_workers"},
      {"share { max_workers: -1 }", "share.max_workers"},
      {"share { min_workers: 3 max_workers: 2 }", "share.max_workers"},
      {"algorithm { grpo { max_filtered_groups: 3 } }", "algorithm.grpo.max_filtered_groups"},
      {"algorithm { grpo { filter_ties: true max_filtered_groups: -1 } }",
       "algorithm.grpo.max_filtered_groups"},
      {"deterministic: true algorithm { grpo { filter_ties: true } }", "algorithm.grpo.filter_ties"},
      {"deterministic: true staleness { on_deadline: DROP }", "staleness.on_deadline"},
      {"deterministic: true staleness { on_new_version: CONTINUE }", "staleness.on_new_version"},
      {"reward { component { name: \"answer\" math {} } }", "reward.component[1].name"},
  };
  for (const auto& [text, field] : cases) {
    v1::JobSpec proto = Parse(kMinimal);
    proto.MergeFrom(Parse(text));
    const absl::Status status = FromProto(proto).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), StartsWith(field + ":")) << text;
  }
}

TEST(JobSpecProto, IsRefusedWhenSomethingNeededIsMissing) {
  const std::vector<std::pair<void (*)(v1::JobSpec&), std::string>> cases = {
      {[](v1::JobSpec& p) { p.clear_name(); }, "name"},
      {[](v1::JobSpec& p) { p.clear_model(); }, "model.path"},
      {[](v1::JobSpec& p) { p.clear_prompts(); }, "prompts.file"},
      {[](v1::JobSpec& p) { p.clear_reward(); }, "reward.component"},
      {[](v1::JobSpec& p) { p.clear_algorithm(); }, "algorithm"},
      {[](v1::JobSpec& p) { p.mutable_model()->set_dtype(static_cast<v1::ModelSpec::Dtype>(9)); },
       "model.dtype"},
      {[](v1::JobSpec& p) {
         p.mutable_staleness()->set_on_new_version(static_cast<v1::StalenessSpec::OnNewVersion>(9));
       },
       "staleness.on_new_version"},
  };
  for (const auto& [corrupt, field] : cases) {
    v1::JobSpec proto = Parse(kMinimal);
    corrupt(proto);
    const absl::Status status = FromProto(proto).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field + ":"));
  }
}

}  // namespace
}  // namespace sluice
