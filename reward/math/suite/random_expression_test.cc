// Twenty thousand random answers against their rewritten and perturbed forms, where doubles at random points
// say whether the value is the same.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "reward/math/suite/random_expression.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

enum class Truth { kSame, kOther, kUnclear };

// By doubles: the same at every point, clearly another at some, or too near or undefined to tell.
Truth Compare(const Formula& a, const Formula& b, Generator& generator) {
  std::uniform_real_distribution<double> uniform(0.6, 2.2);
  int told = 0;
  bool other = false;
  for (int i = 0; i < 6; ++i) {
    const Point point = {{"x", uniform(generator)}, {"y", uniform(generator)}, {"a", uniform(generator)}};
    const double va = Evaluate(a, point), vb = Evaluate(b, point);
    if (!std::isfinite(va) || !std::isfinite(vb) || std::abs(va) > 1e12 || std::abs(vb) > 1e12)
      return Truth::kUnclear;
    const double size = std::max({1e-3, std::abs(va), std::abs(vb)}), gap = std::abs(va - vb) / size;
    if (gap > 1e-9 && gap < 1e-5) return Truth::kUnclear;
    other = other || gap >= 1e-5;
    ++told;
  }
  return other ? Truth::kOther : told > 0 ? Truth::kSame : Truth::kUnclear;
}

struct Tally {
  int cases = 0, wrong = 0, undecided = 0;

  void Count(const std::string& gold, const std::string& prediction, bool same) {
    const Explanation told = ComparePair(gold, prediction);
    const Answer answer = told.decision.answer;
    ++cases;
    undecided += answer == Answer::kUndecided;
    if (answer == Answer::kUndecided || (answer == Answer::kEqual) == same) return;
    if (++wrong > 20) return;
    std::printf("{%s} against {%s} must %sbe equal: %s, {%s} {%s}\n", gold.c_str(), prediction.c_str(),
                same ? "" : "not ", told.decision.rule.c_str(), told.decision.gold.c_str(),
                told.decision.prediction.c_str());
  }
  void ExpectRight(const char* name, int least) const {
    std::printf("%s: %d cases, %d wrong, %d undecided\n", name, cases, wrong, undecided);
    EXPECT_GE(cases, least);
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(undecided, 0.01 * cases);
  }
};

void CompareFormulas(bool free, int depth, int rounds, uint64_t seed) {
  Generator generator(seed);
  Tally same, other;
  for (int i = 0; i < rounds; ++i) {
    const Formula gold = RandomFormula(generator, depth, free);
    const Formula rewritten = Rewrite(gold, generator, 4), perturbed = Perturb(rewritten, generator);
    const std::string text = Spell(gold, generator);
    if (Compare(gold, rewritten, generator) == Truth::kSame)
      same.Count(text, Spell(rewritten, generator), true);
    if (Compare(gold, perturbed, generator) == Truth::kOther)
      other.Count(text, Spell(perturbed, generator), false);
  }
  same.ExpectRight("rewritten", rounds / 2);
  other.ExpectRight("perturbed", rounds / 2);
}

TEST(RandomExpressionTest, ClosedValuesEqualTheirRewrittenFormsOnly) { CompareFormulas(false, 3, 5000, 1); }
TEST(RandomExpressionTest, FunctionsEqualTheirRewrittenFormsOnly) { CompareFormulas(true, 3, 5000, 2); }
TEST(RandomExpressionTest, DeepFormulasEqualTheirRewrittenFormsOnly) { CompareFormulas(true, 5, 500, 3); }

// An equation with a constant side is solved or contradicts itself, for which there are rules of their own.
bool HasVariable(const Formula& f) {
  const bool variable = f.op == Formula::Op::kName && f.name != "e" && f.name != "\\pi";
  return variable || std::any_of(f.args.begin(), f.args.end(), HasVariable);
}

// Formulas inside of collections and statements: the order counts in some of them.
TEST(RandomExpressionTest, CollectionsEqualTheirRewrittenFormsOnly) {
  Generator generator(4);
  Tally same, other;
  const struct {
    const char *open, *separator, *close;
    bool ordered;
  } shapes[] = {{"(", ",", ")", true},
                {"\\{", ",", "\\}", false},
                {"\\begin{pmatrix}", "\\\\", "\\end{pmatrix}", true},
                {"\\left\\{", ", ", "\\right\\}", false},
                {"", "=", "", false}};
  for (int i = 0; i < 3000; ++i) {
    const auto& shape = shapes[i % 5];
    std::vector<Formula> golds, others;
    for (int k = 0; k < 2; ++k) golds.push_back(RandomFormula(generator, 2, true));
    for (const Formula& gold : golds) others.push_back(Rewrite(gold, generator, 2));
    if (Compare(golds[0], golds[1], generator) != Truth::kOther) continue;
    if (*shape.separator == '=' && !(HasVariable(golds[0]) && HasVariable(golds[1]))) continue;
    const auto spell = [&](const std::vector<Formula>& parts) {
      std::vector<std::string> texts;
      for (const Formula& part : parts) texts.push_back(Spell(part, generator));
      return absl::StrCat(shape.open, absl::StrJoin(texts, shape.separator), shape.close);
    };
    const std::string gold = spell(golds);
    const bool defined = Compare(golds[0], others[0], generator) == Truth::kSame &&
                         Compare(golds[1], others[1], generator) == Truth::kSame;
    if (!defined) continue;
    same.Count(gold, spell(others), true);
    std::vector<Formula> turned = {others[1], others[0]};
    if (shape.ordered) other.Count(gold, spell(turned), false);
    if (!shape.ordered) same.Count(gold, spell(turned), true);
    const Formula changed = Perturb(others[1], generator);
    const bool apart = Compare(golds[1], changed, generator) == Truth::kOther &&
                       Compare(golds[0], changed, generator) == Truth::kOther;
    if (apart && *shape.separator != '=') other.Count(gold, spell({others[0], changed}), false);
  }
  same.ExpectRight("rewritten", 2000);
  other.ExpectRight("perturbed", 1000);
}

}  // namespace
}  // namespace sluice::math
