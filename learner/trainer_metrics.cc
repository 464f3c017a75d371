#include "learner/trainer_metrics.h"

namespace sluice {
namespace {

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}
prometheus::Gauge& Gauge(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

double ValueOf(const StepMetrics& metrics, const std::string& name) {
  auto found = metrics.values.find(name);
  return found == metrics.values.end() ? 0 : found->second;
}

}  // namespace

TrainerMetrics::TrainerMetrics(prometheus::Registry& registry)
    : steps_(Counter(registry, "sluice_learner_steps_total", "Optimizer steps of reinforcement learning")),
      supervised_steps_(
          Counter(registry, "sluice_learner_supervised_steps_total", "Supervised optimizer steps")),
      tokens_(
          Counter(registry, "sluice_learner_tokens_total", "Tokens of prompts and completions trained on")),
      skipped_(
          Counter(registry, "sluice_learner_skipped_nonfinite_total", "Steps without a finite gradient")),
      exact_compared_(Counter(registry, "sluice_learner_exact_compared_total",
                              "Tokens whose engine log-probability was compared with the learner's")),
      exact_unaudited_(Counter(registry, "sluice_learner_exact_unaudited_total",
                               "Tokens to be compared whose version was not kept any more")),
      checkpoints_(Counter(registry, "sluice_learner_checkpoints_total", "Full checkpoints written")),
      checkpoints_damaged_(Counter(registry, "sluice_learner_checkpoints_damaged_total",
                                   "Damaged checkpoints skipped on resume")),
      checkpoint_bytes_(Gauge(registry, "sluice_learner_checkpoint_bytes", "Size of the last checkpoint")),
      version_(Gauge(registry, "sluice_learner_policy_version", "Last version published by a step")),
      step_seconds_(prometheus::BuildHistogram()
                        .Name("sluice_learner_step_seconds")
                        .Help("Forward, backward and update of one step")
                        .Register(registry)
                        .Add({}, prometheus::Histogram::BucketBoundaries{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
                                                                         30, 60, 120, 300, 600, 1800})) {
  for (const char* name : {"loss", "kl", "kl_behaviour", "entropy", "clip_fraction", "ratio_mean",
                           "ratio_max", "grad_norm", "learning_rate", "reward", "exact_max_difference"}) {
    gauges_[name] =
        &Gauge(registry, std::string("sluice_learner_") + name, std::string("Of the last step: ") + name);
  }
}

void TrainerMetrics::ObserveStep(PolicyVersion version, const StepMetrics& metrics) {
  for (auto& [name, gauge] : gauges_) gauge->Set(ValueOf(metrics, name));
  steps_.Increment();
  version_.Set(static_cast<double>(version));
  tokens_.Increment(ValueOf(metrics, "tokens"));
  skipped_.Increment(ValueOf(metrics, "skipped_nonfinite"));
  exact_compared_.Increment(ValueOf(metrics, "exact_compared"));
  exact_unaudited_.Increment(ValueOf(metrics, "exact_unaudited"));
  step_seconds_.Observe(ValueOf(metrics, "step_seconds"));
}

void TrainerMetrics::ObserveSupervised(const StepMetrics& metrics) {
  supervised_steps_.Increment();
  tokens_.Increment(ValueOf(metrics, "tokens"));
  for (const char* name : {"loss", "grad_norm", "learning_rate", "entropy"})
    gauges_[name]->Set(ValueOf(metrics, name));
}

void TrainerMetrics::ObserveCheckpoint(int64_t bytes) {
  checkpoints_.Increment();
  checkpoint_bytes_.Set(static_cast<double>(bytes));
}

void TrainerMetrics::ObserveDamagedCheckpoints(int count) { checkpoints_damaged_.Increment(count); }

}  // namespace sluice
