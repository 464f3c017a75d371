// Completions made to hurt: every scorer must come to a verdict, in bounded time, with a detail that can
// travel.
#include <random>
#include <string>
#include <vector>

#include "core/base/character.h"
#include "gtest/gtest.h"
#include "reward/composite_scorer.h"

namespace sluice {
namespace {

std::string Repeat(const std::string& piece, size_t bytes) {
  std::string out;
  out.reserve(bytes + piece.size());
  while (out.size() < bytes) out += piece;
  return out;
}

class HostileInputTest : public testing::Test {
 protected:
  // Judges by all scorers; checks the shape of what comes back.
  void Judge(const std::vector<std::string>& completions) {
    std::vector<ScoreItem> items;
    for (const std::string& c : completions) {
      items.push_back({"prompt", c, {{"answer", "72"}, {"numbers", "3 5 7"}, {"target", "22"}}});
    }
    RewardSpec spec{{{"math", 1, MathScorerSpec{}},
                     {"expression", 1, ExpressionScorerSpec{}},
                     {"form", 0.1, RegexScorerSpec{"<answer>.*</answer>"}},
                     {"length", 0.1, LengthScorerSpec{100, 200}}}};
    auto verdicts = scorer_.Score(spec, items, absl::InfiniteFuture());
    ASSERT_TRUE(verdicts.ok()) << verdicts.status();
    ASSERT_EQ(verdicts->size(), items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const Verdict& v = (*verdicts)[i];
      EXPECT_NE(v.kind, VerdictKind::kUnspecified);
      EXPECT_NE(v.kind, VerdictKind::kInfrastructure) << v.detail;
      EXPECT_TRUE(std::isfinite(v.value));
      EXPECT_LT(v.detail.size(), 4096u);
      for (unsigned char c : v.detail) ASSERT_TRUE(c >= 0x20 && c != 0x7F) << v.detail;
      for (size_t k = 0; k < v.detail.size(); k += ReadCharacter(v.detail, k).bytes)
        ASSERT_NE(ReadCharacter(v.detail, k).code_point, kNoCodePoint) << v.detail;
    }
  }
  prometheus::Registry metrics_;
  CompositeScorer scorer_{ScorerRegistry::Builtin(), {}, metrics_};
};

TEST_F(HostileInputTest, MegabyteCompletionsAreJudged) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<std::string> completions;
  for (const char* piece : {"9",
                            "9 ",
                            "9,999",
                            "1/",
                            "1e9",
                            "1e",
                            "9.",
                            ".",
                            "-",
                            "\\frac",
                            "\\frac{",
                            "\\frac{1}{",
                            "\\frac{1}{0}",
                            "\\boxed{",
                            "\\boxed{1}",
                            "}",
                            "{",
                            "####",
                            "#### ",
                            "####1\n",
                            "(",
                            "((3)",
                            "<answer>",
                            "</answer>",
                            "$",
                            "\\text{",
                            "1\\,",
                            "\\sqrt{3",
                            "^2",
                            "\xFF",
                            "\xE2\x88\x92",
                            "\xE2",
                            "10^",
                            "* 10^{9",
                            " ",
                            "\n",
                            "a",
                            "1 million ",
                            "5 1/2 ",
                            "=",
                            "1+",
                            "\\"}) {
    completions.push_back(Repeat(piece, kBytes));
  }
  completions.push_back("\\boxed{" + Repeat("{", kBytes) + Repeat("}", kBytes) + "}");
  completions.push_back(std::string(kBytes, '\0'));
  completions.push_back("1" + std::string(kBytes, ' ') + "/" + std::string(kBytes, ' ') + "2");
  Judge(completions);
}

TEST_F(HostileInputTest, MutatedCompletionsAreJudged) {
  const std::vector<std::string> seeds = {
      "so \\boxed{\\frac{3}{4}} is 72",     "3*5+7",    "#### $1,072.50 dollars", "<answer>-5 1/2</answer>",
      "x = 3 \\times 10^{8} \\text{ km}^2", "((3)*5)+7"};
  const std::string alphabet = std::string("0123456789+-*/().,{}\\$%#^_= eE\n") + "\xFF\xE2\x88\x92" + '\0';
  std::mt19937 random(20240607);  // fixed: a failure repeats
  auto upto = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> completions;
    for (int k = 0; k < 200; ++k) {
      std::string text = seeds[upto(seeds.size())];
      for (size_t edits = 1 + upto(8); edits > 0; --edits) {
        size_t at = upto(text.size() + 1);
        switch (upto(4)) {
          case 0:
            text.insert(at, 1, alphabet[upto(alphabet.size())]);
            break;
          case 1:
            text.erase(at, 1 + upto(3));
            break;
          case 2:
            text.insert(at, seeds[upto(seeds.size())].substr(0, upto(12)));
            break;
          default:
            text.insert(at, text.substr(at, upto(10)));
            break;
        }
      }
      completions.push_back(std::move(text));
    }
    Judge(completions);
  }
}

}  // namespace
}  // namespace sluice
