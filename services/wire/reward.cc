#include "services/wire/reward.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/reward_check.h"
#include "services/wire/field_check.h"
#include "services/wire/scorer_spec.h"
#include "services/wire/utf8.h"

namespace sluice {
namespace {

constexpr size_t kMaxFieldBytes = 4 << 20;  // tests are the largest

absl::StatusOr<RewardCombination> CombinationFromProto(v1::RewardSpec::Combination proto) {
  switch (proto) {
    case v1::RewardSpec::COMBINATION_UNSPECIFIED:
    case v1::RewardSpec::WEIGHTED_SUM:
      return RewardCombination::kWeightedSum;
    case v1::RewardSpec::PRODUCT:
      return RewardCombination::kProduct;
    case v1::RewardSpec::MINIMUM:
      return RewardCombination::kMinimum;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("reward.combination: unknown value ", static_cast<int>(proto)));
  }
}

v1::RewardSpec::Combination ToProto(RewardCombination combination) {
  switch (combination) {
    case RewardCombination::kWeightedSum:
      return v1::RewardSpec::WEIGHTED_SUM;
    case RewardCombination::kProduct:
      return v1::RewardSpec::PRODUCT;
    case RewardCombination::kMinimum:
      return v1::RewardSpec::MINIMUM;
  }
  return v1::RewardSpec::COMBINATION_UNSPECIFIED;
}

}  // namespace

v1::RewardSpec ToProto(const RewardSpec& spec) {
  v1::RewardSpec out;
  out.set_combination(ToProto(spec.combination));
  for (const RewardComponentSpec& component : spec.components) {
    v1::RewardComponent* proto = out.add_component();
    proto->set_name(component.name);
    proto->set_weight(component.weight);
    if (component.gate) proto->set_gate(*component.gate);
    proto->set_gate_value(component.gate_value);
    WriteScorer(component.scorer, *proto);
  }
  return out;
}

absl::StatusOr<RewardSpec> FromProto(const v1::RewardSpec& proto) {
  RewardSpec out;
  SLUICE_ASSIGN_OR_RETURN(out.combination, CombinationFromProto(proto.combination()));
  for (int i = 0; i < proto.component_size(); ++i) {
    const v1::RewardComponent& from = proto.component(i);
    RewardComponentSpec component;
    component.name = from.name();
    if (from.has_weight()) component.weight = from.weight();
    if (from.has_gate()) component.gate = from.gate();
    component.gate_value = from.gate_value();
    absl::StatusOr<ScorerSpec> scorer = ReadScorer(from);
    if (!scorer.ok()) return Within(absl::StrCat("reward.component[", i, "]"), scorer.status());
    component.scorer = *std::move(scorer);
    out.components.push_back(std::move(component));
  }
  SLUICE_RETURN_IF_ERROR(Validate(out));
  return out;
}

v1::ScoreItem ToProto(const ScoreItem& item) {
  v1::ScoreItem out;
  out.set_prompt(ToValidUtf8(item.prompt));
  out.set_completion(ToValidUtf8(item.completion));
  for (const auto& [name, value] : item.fields)
    (*out.mutable_fields())[ToValidUtf8(name)] = ToValidUtf8(value);
  out.set_completion_tokens(item.completion_tokens);
  out.set_explain(item.explain);
  return out;
}

absl::StatusOr<ScoreItem> FromProto(const v1::ScoreItem& proto) {
  FieldCheck check;
  check.AtMost(proto.prompt().size(), kMaxTextBytes, "prompt", "bytes");
  check.AtMost(proto.completion().size(), kMaxTextBytes, "completion", "bytes");
  check.AtMost(proto.fields().size(), kMaxFields, "fields", "members");
  check.NotNegative(proto.completion_tokens(), "completion_tokens");
  ScoreItem out;
  out.prompt = proto.prompt();
  out.completion = proto.completion();
  out.completion_tokens = proto.completion_tokens();
  out.explain = proto.explain();
  for (const auto& [name, value] : proto.fields()) {
    check.Name(name, "fields");
    check.AtMost(value.size(), kMaxFieldBytes, absl::StrCat("fields[\"", name.substr(0, 64), "\"]"), "bytes");
    out.fields[name] = value;
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

}  // namespace sluice
