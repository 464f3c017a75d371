#include "core/rl/reward_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"

namespace sluice {
namespace {

constexpr double kMaxWeight = 1e6;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status InRange(double value, double low, double high, absl::string_view field) {
  if (std::isfinite(value) && value >= low && value <= high) return absl::OkStatus();
  return Wrong(field, absl::StrCat("must be between ", low, " and ", high, ", is ", value));
}

absl::Status Sized(absl::string_view text, size_t limit, absl::string_view field) {
  if (text.empty()) return Wrong(field, "must not be empty");
  if (text.size() <= limit) return absl::OkStatus();
  return Wrong(field, absl::StrCat("has ", text.size(), " bytes, at most ", limit, " are allowed"));
}

// A tag's name can stand between angle brackets.
bool IsTagName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxTagBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
         });
}

// One overload for each scorer; fields are named from the scorer on ("length.soft_limit").
absl::Status Check(const MathScorerSpec&) { return absl::OkStatus(); }
absl::Status Check(const ExpressionScorerSpec&) { return absl::OkStatus(); }
absl::Status Check(const RegexScorerSpec& s) { return Sized(s.pattern, kMaxPatternBytes, "regex.pattern"); }

absl::Status Check(const LengthScorerSpec& s) {
  if (s.soft_limit < 1)
    return Wrong("length.soft_limit", absl::StrCat("must be at least 1, is ", s.soft_limit));
  if (s.hard_limit > s.soft_limit) return absl::OkStatus();
  return Wrong("length.hard_limit",
               absl::StrCat("must be above soft_limit, ", s.soft_limit, ", is ", s.hard_limit));
}

absl::Status Check(const CodeScorerSpec& s) {
  SLUICE_RETURN_IF_ERROR(InRange(s.absolute_tolerance, 0, 1e300, "code.absolute_tolerance"));
  SLUICE_RETURN_IF_ERROR(InRange(s.relative_tolerance, 0, 1, "code.relative_tolerance"));
  SLUICE_RETURN_IF_ERROR(InRange(s.timeout_seconds, 0.01, 300, "code.timeout"));
  SLUICE_RETURN_IF_ERROR(InRange(static_cast<double>(s.memory_bytes), 16 << 20,
                                 static_cast<double>(int64_t{64} << 30), "code.memory_bytes"));
  SLUICE_RETURN_IF_ERROR(InRange(s.max_tests, 1, kMaxTestsOfARow, "code.max_tests"));
  return InRange(static_cast<double>(s.output_bytes), 1, static_cast<double>(int64_t{1} << 30),
                 "code.output_bytes");
}

absl::Status Check(const TagsScorerSpec& s) {
  if (s.tags.empty() || s.tags.size() > kMaxTags)
    return Wrong("tags.tag", absl::StrCat("1 to ", kMaxTags, " are needed, ", s.tags.size(), " are given"));
  for (size_t i = 0; i < s.tags.size(); ++i) {
    if (!IsTagName(s.tags[i])) {
      return Wrong("tags.tag", absl::StrCat("\"", s.tags[i].substr(0, kMaxTagBytes), "\" is no name of 1 to ",
                                            kMaxTagBytes, " letters, digits and . : _ - without brackets"));
    }
    if (std::find(s.tags.begin(), s.tags.begin() + i, s.tags[i]) != s.tags.begin() + i)
      return Wrong("tags.tag", absl::StrCat("\"", s.tags[i], "\" is given twice"));
  }
  return absl::OkStatus();
}

absl::Status Check(const RepetitionScorerSpec& s) {
  SLUICE_RETURN_IF_ERROR(InRange(s.ngram, 1, 32, "repetition.ngram"));
  if (!(s.scale > 0)) return Wrong("repetition.scale", absl::StrCat("must be above 0, is ", s.scale));
  return InRange(s.scale, 0, kMaxWeight, "repetition.scale");
}

absl::Status Check(const LanguageScorerSpec& s) {
  const bool code =
      s.language.size() == 2 && std::all_of(s.language.begin(), s.language.end(),
                                            [](unsigned char c) { return absl::ascii_islower(c); });
  if (code) return absl::OkStatus();
  return Wrong("language.language", "must be an ISO 639-1 code of two small letters, for example \"en\"");
}

absl::Status Check(const RemoteScorerSpec& s) {
  SLUICE_RETURN_IF_ERROR(Sized(s.service, kMaxComponentNameBytes, "remote.service"));
  if (s.parameters.size() > kMaxRemoteParameters) {
    return Wrong("remote.parameter", absl::StrCat("has ", s.parameters.size(), " members, at most ",
                                                  kMaxRemoteParameters, " are allowed"));
  }
  for (const auto& [name, value] : s.parameters) {
    if (name.empty() || name.size() > kMaxComponentNameBytes || value.size() > kMaxRemoteParameterBytes) {
      return Wrong("remote.parameter",
                   absl::StrCat("\"", name.substr(0, 64), "\": a name has 1 to ", kMaxComponentNameBytes,
                                " bytes, a value at most ", kMaxRemoteParameterBytes));
    }
  }
  SLUICE_RETURN_IF_ERROR(InRange(s.timeout_seconds, 0.1, 3600, "remote.timeout"));
  SLUICE_RETURN_IF_ERROR(InRange(s.max_attempts, 1, 20, "remote.max_attempts"));
  SLUICE_RETURN_IF_ERROR(InRange(s.max_batch, 1, 4096, "remote.max_batch"));
  if (s.expect_version.size() <= kMaxComponentNameBytes) return absl::OkStatus();
  return Wrong("remote.expect_version", absl::StrCat("has more than ", kMaxComponentNameBytes, " bytes"));
}

absl::Status Check(const GroupLengthScorerSpec& s) {
  if (!s.correct_by.empty()) return absl::OkStatus();
  return Wrong("group_length.correct_by", "is needed: the component that says what is right");
}

// The greatest value that a component can have.
struct Greatest {
  double operator()(const LengthScorerSpec&) const { return 0; }
  double operator()(const RepetitionScorerSpec&) const { return 0; }
  double operator()(const GroupLengthScorerSpec&) const { return 0.5; }
  double operator()(const RemoteScorerSpec&) const { return kMaxRemoteValue; }
  template <typename Spec>
  double operator()(const Spec&) const {
    return 1;
  }
};

// A gate that no completion can open is a mistake.
absl::Status CheckGate(const RewardComponentSpec& c) {
  SLUICE_RETURN_IF_ERROR(InRange(*c.gate, -kMaxWeight, kMaxWeight, "gate"));
  const double greatest = std::visit(Greatest(), c.scorer);
  if (*c.gate <= greatest) return absl::OkStatus();
  return Wrong("gate", absl::StrCat("is ", *c.gate, ", which \"", c.name,
                                    "\" can never reach: its greatest value is ", greatest));
}

absl::Status CheckComponent(const RewardComponentSpec& c, RewardCombination combination) {
  SLUICE_RETURN_IF_ERROR(Sized(c.name, kMaxComponentNameBytes, "name"));
  SLUICE_RETURN_IF_ERROR(InRange(c.weight, -kMaxWeight, kMaxWeight, "weight"));
  if (combination != RewardCombination::kWeightedSum && c.weight != 1 && c.weight != 0) {
    return Wrong("weight",
                 absl::StrCat("must be 1 (or 0, shown only) in a PRODUCT or MINIMUM, is ", c.weight));
  }
  SLUICE_RETURN_IF_ERROR(InRange(c.gate_value, -kMaxWeight, kMaxWeight, "gate_value"));
  if (!c.gate && c.gate_value != 0) return Wrong("gate_value", "is given without a gate");
  SLUICE_RETURN_IF_ERROR(std::visit([](const auto& scorer) { return Check(scorer); }, c.scorer));
  return c.gate ? CheckGate(c) : absl::OkStatus();
}

// Rules between components: names are unique, a group term refers to a component of one completion.
absl::Status CheckReferences(const RewardSpec& spec, size_t i) {
  const auto named = [&](absl::string_view name) {
    return std::find_if(spec.components.begin(), spec.components.end(),
                        [&](const RewardComponentSpec& c) { return c.name == name; });
  };
  const RewardComponentSpec& component = spec.components[i];
  if (named(component.name) != spec.components.begin() + i)
    return Wrong("name", absl::StrCat("\"", component.name, "\" is used twice"));
  const auto* group = std::get_if<GroupLengthScorerSpec>(&component.scorer);
  if (group == nullptr) return absl::OkStatus();
  const auto right = named(group->correct_by);
  if (right != spec.components.end() && !IsGroupTerm(*right)) return absl::OkStatus();
  return Wrong("group_length.correct_by", absl::StrCat("\"", group->correct_by.substr(0, 64),
                                                       "\" names no other component that judges"));
}

}  // namespace

absl::Status Validate(const RewardSpec& spec) {
  if (spec.components.empty()) return Wrong("reward.component", "at least one component is needed");
  if (spec.components.size() > kMaxRewardComponents) {
    return Wrong("reward.component", absl::StrCat("has ", spec.components.size(), " members, at most ",
                                                  kMaxRewardComponents, " are allowed"));
  }
  for (size_t i = 0; i < spec.components.size(); ++i) {
    absl::Status status = CheckComponent(spec.components[i], spec.combination);
    if (status.ok()) status = CheckReferences(spec, i);
    if (!status.ok())
      return absl::InvalidArgumentError(absl::StrCat("reward.component[", i, "].", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace sluice
