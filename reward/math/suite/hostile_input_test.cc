// Answers made to be slow and answers made of broken pieces: every one is judged, within bounded work, and a
// text is never another value than itself. Wall time is measured by math_bench; here a limit of processor
// time far above the promised one catches what is not bounded at all.
#include <ctime>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reward/math/suite/pathological.h"
#include "reward/math/suite/rows.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Judges within bounds.
Decision Judge(const std::string& gold, const std::string& answer) {
  const double start = ProcessorSeconds();
  const Decision pair = ComparePair(gold, answer).decision;
  (void)JudgeCompletion(gold, answer);
  const double seconds = ProcessorSeconds() - start;
  EXPECT_LT(seconds, 3) << gold.substr(0, 200) << " against " << answer.substr(0, 200);
  return pair;
}

TEST(HostileInputTest, PathologicalAnswersAreJudgedWithinBounds) {
  for (const auto& [name, text] : PathologicalAnswers()) {
    EXPECT_NE(Judge(text, text).answer, Answer::kDifferent) << name << " differs from itself";
    EXPECT_NE(Judge("5", text).answer, Answer::kEqual) << name << " is not five";
    (void)Judge(text, "5");
    (void)Judge(text, text + "+1");
    (void)Judge("x^2+\\sqrt{2}", text);
  }
}

TEST(HostileInputTest, PathologicalAnswersAreJudgedAgainstEachOtherWithinBounds) {
  std::vector<std::string> texts;
  for (const Pathological& item : PathologicalAnswers()) {
    if (item.text.size() < 4000) texts.push_back(item.text);
  }
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    for (const size_t step : {1, 7, 31}) (void)Judge(texts[i], texts[(i + step) % texts.size()]);
  }
}

// One to four edits: a byte, a piece cut out or doubled, a piece of another text put in.
std::string Mutate(std::string text, const std::vector<std::string>& donors, std::mt19937_64& random) {
  const auto draw = [&](size_t bound) { return std::uniform_int_distribution<size_t>(0, bound)(random); };
  const std::string bytes = "\\{}()[]^_$,.%!|&-+/=<>0123456789xyie \xff\n\t";
  for (size_t edits = draw(3) + 1; edits > 0; --edits) {
    const size_t at = draw(text.size()), length = std::min(draw(8), text.size() - at);
    const std::string& donor = donors[draw(donors.size() - 1)];
    switch (draw(3)) {
      case 0:
        text.insert(at, 1, bytes[draw(bytes.size() - 1)]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.insert(at, donor.substr(draw(donor.size()), 12));
    }
  }
  return text;
}

TEST(HostileInputTest, BrokenAnswersAreJudgedAndEqualThemselves) {
  std::vector<std::string> texts;
  for (const SuiteRow& row : ReadSuite(SLUICE_SOURCE_DIR "/reward/math/suite/pairs.jsonl")) {
    texts.push_back(row.answer);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string a = Mutate(texts[random() % texts.size()], texts, random);
    const std::string b = Mutate(a, texts, random);
    EXPECT_NE(Judge(a, a).answer, Answer::kDifferent) << "{" << a << "} differs from itself";
    (void)Judge(a, b);
  }
}

}  // namespace
}  // namespace sluice::math
