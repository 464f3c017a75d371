#include "reward/scorer_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "reward/expression_scorer.h"
#include "reward/language_scorer.h"
#include "reward/length_scorer.h"
#include "reward/math_scorer.h"
#include "reward/regex_scorer.h"
#include "reward/repetition_scorer.h"
#include "reward/tags_scorer.h"

namespace sluice {
namespace {

struct NameOf {
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

template <size_t... kinds>
std::vector<std::string> NamesOf(std::index_sequence<kinds...>) {
  return {NameOf()(std::variant_alternative_t<kinds, ScorerSpec>())...};
}

using Made = absl::StatusOr<std::unique_ptr<ItemScorer>>;

}  // namespace

const char* ScorerName(const ScorerSpec& spec) { return std::visit(NameOf{}, spec); }

std::vector<std::string> ScorerNames() {
  return NamesOf(std::make_index_sequence<std::variant_size_v<ScorerSpec>>());
}

ScorerRegistry ScorerRegistry::Builtin() {
  ScorerRegistry registry;
  registry.factories_["math"] = [](const ScorerSpec& spec) -> Made {
    return std::make_unique<MathItemScorer>(std::get<MathScorerSpec>(spec));
  };
  registry.factories_["expression"] = [](const ScorerSpec&) -> Made {
    return std::make_unique<ExpressionItemScorer>();
  };
  registry.factories_["regex"] = [](const ScorerSpec& spec) -> Made {
    return RegexItemScorer::Create(std::get<RegexScorerSpec>(spec).pattern);
  };
  registry.factories_["length"] = [](const ScorerSpec& spec) -> Made {
    return std::make_unique<LengthItemScorer>(std::get<LengthScorerSpec>(spec));
  };
  registry.factories_["tags"] = [](const ScorerSpec& spec) -> Made {
    return std::make_unique<TagsItemScorer>(std::get<TagsScorerSpec>(spec));
  };
  registry.factories_["repetition"] = [](const ScorerSpec& spec) -> Made {
    return std::make_unique<RepetitionItemScorer>(std::get<RepetitionScorerSpec>(spec));
  };
  registry.factories_["language"] = [](const ScorerSpec& spec) -> Made {
    return LanguageItemScorer::Create(std::get<LanguageScorerSpec>(spec));
  };
  return registry;
}

absl::Status ScorerRegistry::Register(const std::string& name, Factory factory) {
  if (batch_factories_.count(name) == 0 && factories_.emplace(name, std::move(factory)).second)
    return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("a scorer named \"", name, "\" is registered already"));
}

absl::Status ScorerRegistry::RegisterBatch(const std::string& name, BatchFactory factory) {
  if (factories_.count(name) == 0 && batch_factories_.emplace(name, std::move(factory)).second)
    return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("a scorer named \"", name, "\" is registered already"));
}

std::vector<std::string> ScorerRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& [name, factory] : factories_) out.push_back(name);
  for (const auto& [name, factory] : batch_factories_) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status ScorerRegistry::Unknown(const ScorerSpec& spec) const {
  return absl::InvalidArgumentError(absl::StrCat("this service has no scorer \"", ScorerName(spec),
                                                 "\"; it has: ", absl::StrJoin(names(), ", ")));
}

absl::StatusOr<std::unique_ptr<ItemScorer>> ScorerRegistry::Make(const ScorerSpec& spec) const {
  const auto it = factories_.find(ScorerName(spec));
  return it == factories_.end() ? Unknown(spec) : it->second(spec);
}

absl::StatusOr<ComponentScorer> ScorerRegistry::MakeComponent(const ScorerSpec& spec) const {
  ComponentScorer out;
  if (const auto batch = batch_factories_.find(ScorerName(spec)); batch != batch_factories_.end()) {
    SLUICE_ASSIGN_OR_RETURN(out.batch, batch->second(spec));
  } else {
    SLUICE_ASSIGN_OR_RETURN(out.item, Make(spec));
  }
  return out;
}

}  // namespace sluice
