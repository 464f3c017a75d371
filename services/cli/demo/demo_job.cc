#include "services/cli/demo/demo_job.h"

#include "absl/strings/str_cat.h"

namespace sluice::cli {
namespace {

void SetLearning(const DemoHyperparameters& settings, v1::JobSpec& spec) {
  v1::GrpoSpec& grpo = *spec.mutable_algorithm()->mutable_grpo();
  grpo.set_clip_low(settings.clip_low);
  grpo.set_clip_high(settings.clip_high);
  grpo.set_kl_coefficient(settings.kl_coefficient);
  grpo.set_entropy_coefficient(settings.entropy_coefficient);
  grpo.set_normalize_std(settings.normalize_std);
  v1::OptimizerSpec& optimizer = *spec.mutable_optimizer();
  optimizer.mutable_adamw()->set_learning_rate(settings.learning_rate);
  optimizer.mutable_adamw()->set_beta2(settings.beta2);
  optimizer.mutable_schedule()->set_warmup_steps(settings.warmup_steps);
  optimizer.set_max_grad_norm(settings.max_grad_norm);
  v1::WarmStartSpec& warm = *spec.mutable_warm_start();
  warm.set_steps(settings.warm_steps);
  warm.set_batch_size(settings.warm_batch);
  warm.set_learning_rate(settings.warm_learning_rate);
}

// The right digits in the right order are worth 1; digits alone, whatever they are, 0.1.
void AddRewards(v1::JobSpec& spec) {
  v1::RewardComponent& answer = *spec.mutable_reward()->add_component();
  answer.set_name("answer");
  answer.mutable_math();
  v1::RewardComponent& form = *spec.mutable_reward()->add_component();
  form.set_name("form");
  form.set_weight(0.1);
  form.mutable_regex()->set_pattern("^[1-9]+$");
}

}  // namespace

DemoFiles::DemoFiles(const std::string& f)
    : folder(f),
      model(f + "/model"),
      train(f + "/train.jsonl"),
      held_out(f + "/held_out.jsonl"),
      warm(f + "/warm.jsonl"),
      job(f + "/job.textproto") {}

v1::JobSpec MakeDemoJob(const DemoFiles& files, const DemoHyperparameters& settings, uint64_t seed) {
  v1::JobSpec spec;
  spec.set_name("demo");
  spec.set_seed(seed);
  spec.mutable_model()->set_path(files.model);
  spec.mutable_model()->set_dtype(v1::ModelSpec::BF16);
  spec.mutable_prompts()->set_file(files.train);
  spec.mutable_prompts()->set_max_tokens(32);
  spec.mutable_sampling()->set_group_size(settings.group_size);
  spec.mutable_sampling()->set_max_new_tokens(settings.max_new_tokens);
  spec.mutable_sampling()->set_temperature(1);
  AddRewards(spec);
  SetLearning(settings, spec);
  spec.mutable_warm_start()->set_file(files.warm);
  spec.mutable_batch()->set_groups_per_step(settings.groups_per_step);
  spec.mutable_batch()->set_micro_batch_tokens(settings.micro_batch_tokens);
  spec.mutable_staleness()->set_max_versions(settings.staleness);
  spec.mutable_evaluation()->set_file(files.held_out);
  spec.mutable_evaluation()->set_every_steps(settings.evaluate_every);
  spec.mutable_evaluation()->set_samples_per_prompt(settings.evaluation_samples);
  spec.mutable_checkpoint()->set_every_steps(settings.checkpoint_every);
  spec.mutable_stop()->set_steps(settings.steps);
  return spec;
}

}  // namespace sluice::cli
