#include "reward/scorer_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reward/expression_scorer.h"
#include "reward/length_scorer.h"
#include "reward/math_scorer.h"
#include "reward/regex_scorer.h"

namespace sluice {
namespace {

struct NameOf {
  const char *operator()(const MathScorerSpec &) const { return "math"; }
  const char *operator()(const RegexScorerSpec &) const { return "regex"; }
  const char *operator()(const ExpressionScorerSpec &) const {
    return "expression";
  }
  const char *operator()(const LengthScorerSpec &) const { return "length"; }
  const char *operator()(const CodeScorerSpec &) const { return "code"; }
  const char *operator()(const TagsScorerSpec &) const { return "tags"; }
  const char *operator()(const RepetitionScorerSpec &) const {
    return "repetition";
  }
  const char *operator()(const LanguageScorerSpec &) const {
    return "language";
  }
  const char *operator()(const RemoteScorerSpec &) const { return "remote"; }
  const char *operator()(const GroupLengthScorerSpec &) const {
    return "group_length";
  }
};

using Made = absl::StatusOr<std::unique_ptr<ItemScorer>>;

} // namespace

const char *ScorerName(const ScorerSpec &spec) {
  return std::visit(NameOf{}, spec);
}

ScorerRegistry ScorerRegistry::Builtin() {
  ScorerRegistry registry;
  registry.factories_["math"] = [](const ScorerSpec &spec) -> Made {
    return std::make_unique<MathItemScorer>(std::get<MathScorerSpec>(spec));
  };
  registry.factories_["expression"] = [](const ScorerSpec &) -> Made {
    return std::make_unique<ExpressionItemScorer>();
  };
  registry.factories_["regex"] = [](const ScorerSpec &spec) -> Made {
    return RegexItemScorer::Create(std::get<RegexScorerSpec>(spec).pattern);
  };
  registry.factories_["length"] = [](const ScorerSpec &spec) -> Made {
    return LengthItemScorer::Create(std::get<LengthScorerSpec>(spec));
  };
  return registry;
}

absl::Status ScorerRegistry::Register(const std::string &name,
                                      Factory factory) {
  if (!factories_.emplace(name, std::move(factory)).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("a scorer named \"", name, "\" is registered already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ItemScorer>>
ScorerRegistry::Make(const ScorerSpec &spec) const {
  auto it = factories_.find(ScorerName(spec));
  if (it == factories_.end()) {
    std::string have =
        absl::StrJoin(factories_, ", ", [](std::string *out, const auto &f) {
          out->append(f.first);
        });
    return absl::InvalidArgumentError(
        absl::StrCat("this service has no scorer \"", ScorerName(spec),
                     "\"; it has: ", have));
  }
  return it->second(spec);
}

} // namespace sluice
