#include "services/wire/reward.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/utf8.h"

namespace sluice {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr size_t kMaxFieldBytes = 1 << 20;

absl::StatusOr<RewardComponentSpec> ComponentFromProto(const v1::RewardComponent& proto) {
  FieldCheck check;
  check.Name(proto.name(), "name");
  RewardComponentSpec out;
  out.name = proto.name();
  if (proto.has_weight()) out.weight = proto.weight();
  check.Finite(out.weight, "weight");
  switch (proto.scorer_case()) {
    case v1::RewardComponent::kMath:
      out.scorer = MathScorerSpec{};
      break;
    case v1::RewardComponent::kExpression:
      out.scorer = ExpressionScorerSpec{};
      break;
    case v1::RewardComponent::kRegex:
      check.NotEmpty(proto.regex().pattern(), "regex.pattern");
      check.AtMost(proto.regex().pattern().size(), kMaxPatternBytes, "regex.pattern", "bytes");
      out.scorer = RegexScorerSpec{proto.regex().pattern()};
      break;
    case v1::RewardComponent::kLength:
      check.Require(proto.length().soft_limit() >= 1, "length.soft_limit", "must be at least 1");
      check.Require(proto.length().hard_limit() > proto.length().soft_limit(), "length.hard_limit",
                    "must be above soft_limit");
      out.scorer = LengthScorerSpec{proto.length().soft_limit(), proto.length().hard_limit()};
      break;
    case v1::RewardComponent::SCORER_NOT_SET:
      check.Require(false, "scorer", "one of math, regex, expression and length is needed");
      break;
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

}  // namespace

v1::RewardSpec ToProto(const RewardSpec& spec) {
  v1::RewardSpec out;
  for (const RewardComponentSpec& component : spec.components) {
    v1::RewardComponent* proto = out.add_component();
    proto->set_name(component.name);
    proto->set_weight(component.weight);
    if (std::holds_alternative<MathScorerSpec>(component.scorer)) proto->mutable_math();
    if (std::holds_alternative<ExpressionScorerSpec>(component.scorer)) proto->mutable_expression();
    if (const auto* regex = std::get_if<RegexScorerSpec>(&component.scorer)) {
      proto->mutable_regex()->set_pattern(regex->pattern);
    }
    if (const auto* length = std::get_if<LengthScorerSpec>(&component.scorer)) {
      proto->mutable_length()->set_soft_limit(length->soft_limit);
      proto->mutable_length()->set_hard_limit(length->hard_limit);
    }
  }
  return out;
}

absl::StatusOr<RewardSpec> FromProto(const v1::RewardSpec& proto) {
  FieldCheck check;
  check.Require(proto.component_size() > 0, "reward.component", "at least one component is needed");
  check.AtMost(proto.component_size(), kMaxComponents, "reward.component", "members");
  SLUICE_RETURN_IF_ERROR(check.status());
  RewardSpec out;
  std::set<std::string> names;
  for (int i = 0; i < proto.component_size(); ++i) {
    const std::string field = absl::StrCat("reward.component[", i, "]");
    absl::StatusOr<RewardComponentSpec> component = ComponentFromProto(proto.component(i));
    if (!component.ok()) return Within(field, component.status());
    check.Require(names.insert(component->name).second, absl::StrCat(field, ".name"),
                  absl::StrCat("\"", component->name, "\" is used twice"));
    out.components.push_back(*std::move(component));
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

v1::ScoreItem ToProto(const ScoreItem& item) {
  v1::ScoreItem out;
  out.set_prompt(ToValidUtf8(item.prompt));
  out.set_completion(ToValidUtf8(item.completion));
  for (const auto& [name, value] : item.fields)
    (*out.mutable_fields())[ToValidUtf8(name)] = ToValidUtf8(value);
  return out;
}

absl::StatusOr<ScoreItem> FromProto(const v1::ScoreItem& proto) {
  FieldCheck check;
  check.AtMost(proto.prompt().size(), kMaxTextBytes, "prompt", "bytes");
  check.AtMost(proto.completion().size(), kMaxTextBytes, "completion", "bytes");
  check.AtMost(proto.fields().size(), kMaxFields, "fields", "members");
  ScoreItem out;
  out.prompt = proto.prompt();
  out.completion = proto.completion();
  for (const auto& [name, value] : proto.fields()) {
    check.Name(name, "fields");
    check.AtMost(value.size(), kMaxFieldBytes, absl::StrCat("fields[\"", name.substr(0, 64), "\"]"), "bytes");
    out.fields[name] = value;
  }
  SLUICE_RETURN_IF_ERROR(check.status());
  return out;
}

}  // namespace sluice
