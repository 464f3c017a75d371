#include "reward/reward_metrics.h"

#include "reward/scorer_registry.h"

namespace sluice {
namespace {

constexpr const char* kOutcomes[] = {"passed",       "wrong_answer",   "runtime_error", "time_limit",
                                     "memory_limit", "output_limit",   "process_limit", "compile_error",
                                     "skipped",      "infrastructure", "other"};

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry, const char* name,
                                              const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

}  // namespace

const char* VerdictLabel(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kCorrect:
      return "correct";
    case VerdictKind::kWrong:
      return "wrong";
    case VerdictKind::kGraded:
      return "graded";
    case VerdictKind::kUndecided:
      return "undecided";
    case VerdictKind::kInfrastructure:
    case VerdictKind::kUnspecified:
      break;
  }
  return "infrastructure";
}

RewardMetrics::RewardMetrics(prometheus::Registry& registry) {
  auto& verdicts = Counters(registry, "sluice_reward_requests_total", "Completions judged, by verdict.");
  auto& components = Counters(registry, "sluice_reward_component_verdicts_total",
                              "Components judged, by scorer and verdict.");
  auto& values = prometheus::BuildSummary()
                     .Name("sluice_reward_component_value")
                     .Help("Values of components before their weight, by scorer.")
                     .Register(registry);
  auto& runs = Counters(registry, "sluice_sandbox_runs_total", "Tests of programs, by outcome.");
  // An unspecified verdict counts as a failure.
  for (int kind = 1; kind < kKinds; ++kind)
    verdicts_[kind] = &verdicts.Add({{"verdict", VerdictLabel(static_cast<VerdictKind>(kind))}});
  verdicts_[0] = verdicts_[static_cast<int>(VerdictKind::kInfrastructure)];
  for (const std::string& scorer : ScorerNames()) {
    Component& component = components_[scorer];
    for (int kind = 1; kind < kKinds; ++kind) {
      component.verdicts[kind] =
          &components.Add({{"scorer", scorer}, {"verdict", VerdictLabel(static_cast<VerdictKind>(kind))}});
    }
    component.verdicts[0] = component.verdicts[static_cast<int>(VerdictKind::kInfrastructure)];
    component.value = &values.Add({{"scorer", scorer}}, prometheus::Summary::Quantiles{});
  }
  for (const char* outcome : kOutcomes) runs_[outcome] = &runs.Add({{"outcome", outcome}});
  seconds_ = &prometheus::BuildHistogram()
                  .Name("sluice_reward_duration_seconds")
                  .Help("Time to judge one completion.")
                  .Register(registry)
                  .Add({}, prometheus::Histogram::BucketBoundaries{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100});
  refused_ =
      &Counters(registry, "sluice_reward_refused_calls_total", "Calls refused because the queue was full.")
           .Add({});
  admitted_ = &Gauges(registry, "sluice_reward_admitted_items", "Items of calls under way.").Add({});
  waiting_ =
      &Gauges(registry, "sluice_reward_queue_items", "Pieces of work that wait to be judged, by lane.");
}

void RewardMetrics::SetWaiting(const std::string& lane, size_t pieces) {
  waiting_->Add({{"lane", lane}}).Set(static_cast<double>(pieces));
}

void RewardMetrics::CountComponent(const RewardComponentSpec& rule, const VerdictComponent& component) {
  Component& counted = components_.at(ScorerName(rule.scorer));
  counted.verdicts[static_cast<size_t>(component.kind)]->Increment();
  const bool valued = component.kind == VerdictKind::kCorrect || component.kind == VerdictKind::kWrong ||
                      component.kind == VerdictKind::kGraded;
  if (valued) counted.value->Observe(component.value);
  for (const TestResult& test : component.tests) {
    const auto run = runs_.find(test.outcome);
    (run == runs_.end() ? runs_.at("other") : run->second)->Increment();
  }
}

void RewardMetrics::Count(const RewardSpec& spec, const Verdict& verdict) {
  verdicts_[static_cast<size_t>(verdict.kind)]->Increment();
  seconds_->Observe(verdict.seconds);
  for (size_t i = 0; i < verdict.components.size() && i < spec.components.size(); ++i) {
    if (!std::holds_alternative<GroupLengthScorerSpec>(spec.components[i].scorer))
      CountComponent(spec.components[i], verdict.components[i]);
  }
}

}  // namespace sluice
