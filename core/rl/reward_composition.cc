#include "core/rl/reward_composition.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr char kPending[] = "pending_group";

bool Pending(const VerdictComponent& component) { return component.outcome == kPending; }

bool Judged(VerdictKind kind) {
  return kind == VerdictKind::kCorrect || kind == VerdictKind::kWrong || kind == VerdictKind::kGraded;
}

// A value that is no number is the checker's failure.
void RefuseNonFinite(VerdictComponent& component) {
  if (component.kind == VerdictKind::kUnspecified) component.kind = VerdictKind::kInfrastructure;
  if (std::isfinite(component.value)) return;
  component.detail = absl::StrCat("the scorer's value is ", component.value);
  component.kind = VerdictKind::kInfrastructure;
  component.value = 0;
}

// Of those that count.
VerdictKind CombineKinds(const std::vector<VerdictKind>& kinds) {
  const auto any = [&](VerdictKind kind) { return std::count(kinds.begin(), kinds.end(), kind) > 0; };
  if (any(VerdictKind::kInfrastructure)) return VerdictKind::kInfrastructure;
  if (any(VerdictKind::kUndecided)) return VerdictKind::kUndecided;
  const bool same = !kinds.empty() && std::count(kinds.begin(), kinds.end(), kinds.front()) ==
                                          static_cast<int64_t>(kinds.size());
  return same ? kinds.front() : VerdictKind::kGraded;
}

double CombineValues(const RewardSpec& spec, const std::vector<VerdictComponent>& components) {
  double sum = 0, product = 1;
  std::optional<double> minimum;
  for (size_t i = 0; i < components.size(); ++i) {
    const double weight = spec.components[i].weight, value = components[i].value;
    if (weight == 0 || Pending(components[i])) continue;
    sum += weight * value;
    product *= value;
    minimum = std::min(minimum.value_or(value), value);
  }
  switch (spec.combination) {
    case RewardCombination::kProduct:
      return minimum ? product : 0;
    case RewardCombination::kMinimum:
      return minimum.value_or(0);
    case RewardCombination::kWeightedSum:
      break;
  }
  return sum;
}

std::vector<VerdictKind> CountingKinds(const RewardSpec& spec,
                                       const std::vector<VerdictComponent>& components) {
  std::vector<VerdictKind> kinds;
  for (size_t i = 0; i < components.size(); ++i) {
    const bool counts = spec.components[i].weight != 0 || spec.components[i].gate.has_value();
    if (counts && !Pending(components[i])) kinds.push_back(components[i].kind);
  }
  return kinds;
}

// What the gates say, where they decide.
std::optional<std::pair<VerdictKind, double>> Gated(const RewardSpec& spec,
                                                    const std::vector<VerdictComponent>& components,
                                                    const std::vector<VerdictKind>& kinds) {
  for (size_t i = 0; i < components.size(); ++i) {
    const RewardComponentSpec& rule = spec.components[i];
    if (!rule.gate || Pending(components[i])) continue;
    if (!Judged(components[i].kind)) return std::make_pair(components[i].kind, 0.0);
    if (components[i].value >= *rule.gate) continue;
    const bool wrong = CombineKinds(kinds) == VerdictKind::kWrong;
    return std::make_pair(wrong ? VerdictKind::kWrong : VerdictKind::kGraded, rule.gate_value);
  }
  return std::nullopt;
}

std::string Describe(const std::vector<VerdictComponent>& components) {
  std::string out;
  for (const VerdictComponent& c : components)
    absl::StrAppend(&out, out.empty() ? "" : "; ", c.name, ": ", c.detail);
  return out;
}

Verdict Incomplete(std::vector<VerdictComponent> components, absl::string_view what) {
  Verdict out;
  out.kind = VerdictKind::kInfrastructure;
  out.components = std::move(components);
  out.detail = std::string(what);
  return out;
}

// The components of `verdict` in the order of `spec`, group terms pending; empty where one is missing.
std::vector<VerdictComponent> Ordered(const RewardSpec& spec, const Verdict& verdict) {
  std::vector<VerdictComponent> out;
  for (const RewardComponentSpec& rule : spec.components) {
    if (IsGroupTerm(rule)) {
      out.push_back(PendingGroupTerm(rule));
      continue;
    }
    const auto found = std::find_if(verdict.components.begin(), verdict.components.end(),
                                    [&](const VerdictComponent& c) { return c.name == rule.name; });
    if (found == verdict.components.end()) return {};
    out.push_back(*found);
  }
  return out;
}

struct Lengths {
  double shortest, longest;
};

VerdictComponent GroupLength(const RewardComponentSpec& rule, const std::vector<VerdictComponent>& components,
                             double length, const Lengths& group) {
  const std::string& by = std::get<GroupLengthScorerSpec>(rule.scorer).correct_by;
  const bool right = std::any_of(components.begin(), components.end(), [&](const VerdictComponent& c) {
    return c.name == by && c.kind == VerdictKind::kCorrect;
  });
  const double range = group.longest - group.shortest;
  double value = range > 0 ? 0.5 - (length - group.shortest) / range : 0;
  if (!right) value = std::min(0.0, value);
  VerdictComponent out{rule.name, VerdictKind::kGraded, value, rule.weight};
  out.detail = absl::StrCat("length ", length, " of ", group.shortest, " to ", group.longest,
                            right ? ", right" : ", not right");
  out.outcome = range > 0 ? "compared" : "one_length";
  return out;
}

}  // namespace

bool IsGroupTerm(const RewardComponentSpec& component) {
  return std::holds_alternative<GroupLengthScorerSpec>(component.scorer);
}

bool HasGroupTerms(const RewardSpec& spec) {
  return std::any_of(spec.components.begin(), spec.components.end(), IsGroupTerm);
}

VerdictComponent PendingGroupTerm(const RewardComponentSpec& component) {
  VerdictComponent out{component.name, VerdictKind::kGraded, 0, component.weight};
  out.detail = "known when the group is complete";
  out.outcome = kPending;
  return out;
}

Verdict Compose(const RewardSpec& spec, std::vector<VerdictComponent> components) {
  if (components.size() != spec.components.size())
    return Incomplete(std::move(components), "the verdict lacks components of the reward");
  for (size_t i = 0; i < components.size(); ++i) {
    components[i].weight = spec.components[i].weight;
    RefuseNonFinite(components[i]);
  }
  Verdict out;
  const std::vector<VerdictKind> kinds = CountingKinds(spec, components);
  if (const auto gated = Gated(spec, components, kinds)) {
    std::tie(out.kind, out.value) = *gated;
  } else {
    out.kind = CombineKinds(kinds);
    out.value = CombineValues(spec, components);
  }
  if (!std::isfinite(out.value)) out.kind = VerdictKind::kInfrastructure;
  if (!out.HasReward()) out.value = 0;
  out.detail = Describe(components);
  out.components = std::move(components);
  return out;
}

void ApplyGroupTerms(const RewardSpec& spec, absl::Span<const double> lengths,
                     absl::Span<Verdict* const> verdicts) {
  std::optional<Lengths> group;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i]->HasReward()) continue;
    if (!group) group = Lengths{lengths[i], lengths[i]};
    group->shortest = std::min(group->shortest, lengths[i]);
    group->longest = std::max(group->longest, lengths[i]);
  }
  for (size_t i = 0; i < verdicts.size(); ++i) {
    Verdict& verdict = *verdicts[i];
    if (!verdict.HasReward()) continue;
    std::vector<VerdictComponent> components = Ordered(spec, verdict);
    const double seconds = verdict.seconds;
    if (components.empty()) {
      verdict = Incomplete(std::move(verdict.components), "the verdict lacks components of the reward");
    } else {
      for (size_t k = 0; k < components.size(); ++k) {
        const RewardComponentSpec& rule = spec.components[k];
        if (IsGroupTerm(rule)) components[k] = GroupLength(rule, components, lengths[i], *group);
      }
      verdict = Compose(spec, std::move(components));
    }
    verdict.seconds = seconds;
  }
}

}  // namespace sluice
