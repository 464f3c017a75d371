// Pair checks per second on one core, and the slowest of all inputs:
//   math_bench [--runs N] [--dump]
// The pairs are those of Math-Verify's rate script (docs/benchmarks/math.md), drawn by the same generator and
// seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "reward/math/suite/pathological.h"
#include "reward/math/suite/python_random.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

struct Pair {
  std::string kind, gold, completion;
  bool equal = false;
};

// The golds and answers of one kind, from the numbers that the script draws for each.
void Write(int a, int b, int c, int d, Pair* pair) {
  if (pair->kind == "integer") {
    pair->gold = absl::StrFormat("$%d$", a * 1000 + b);
    pair->completion = absl::StrFormat("\\boxed{%d,%03d}", a, b + d);
  } else if (pair->kind == "fraction") {
    pair->gold = absl::StrFormat("$\\frac{%d}{%d}$", a, b);
    pair->completion = absl::StrFormat("\\boxed{\\dfrac{%d}{%d}}", (a + d) * c, b * c);
  } else if (pair->kind == "decimal") {
    pair->gold = absl::StrFormat("$%d.%02d$", a, b);
    pair->completion = absl::StrFormat("\\boxed{\\frac{%d}{100}}", a * 100 + b + d);
  } else if (pair->kind == "root") {
    pair->gold = absl::StrFormat("$%d\\sqrt{%d}$", c, b);
    pair->completion = absl::StrFormat("\\boxed{\\sqrt{%d}}", c * c * b + d);
  } else if (pair->kind == "interval") {
    pair->gold = absl::StrFormat("$[%d, %d)$", -a, b);
    pair->completion = absl::StrFormat("\\boxed{\\left[%d, %d\\right)}", -a, b + d);
  } else {
    pair->gold = absl::StrFormat("$(x+%d)(x-%d)$", b, c);
    pair->completion =
        absl::StrReplaceAll(absl::StrFormat("\\boxed{x^2 + %dx - %d}", b - c + d, b * c), {{"+ -", "- "}});
  }
  pair->completion = absl::StrCat("The final answer is ", pair->completion, ".");
}

std::vector<Pair> MakePairs(int count) {
  const char* kinds[] = {"integer", "fraction", "decimal", "root", "interval", "polynomial"};
  PythonRandom random(7);
  std::vector<Pair> pairs(count);
  for (int i = 0; i < count; ++i) {
    pairs[i].kind = kinds[i % 6];
    pairs[i].equal = random.Random() < 0.5;
    const int a = random.RandInt(2, 99), b = random.RandInt(2, 19), c = random.RandInt(2, 9);
    Write(a, b, c, pairs[i].equal ? 0 : random.RandInt(1, 5), &pairs[i]);
  }
  return pairs;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Milliseconds of one judgement.
double Time(const std::string& gold, const std::string& completion, Answer* answer) {
  const absl::Time start = absl::Now();
  *answer = JudgeCompletion(gold, completion).decision.answer;
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

void RunMix(int runs) {
  const std::vector<Pair> pairs = MakePairs(500);
  std::vector<double> rates, all;
  std::map<std::string, std::vector<double>> kinds;
  int disagree = 0;
  for (int run = -1; run < runs; ++run) {  // the first warms up
    const absl::Time start = absl::Now();
    for (int pass = 0; pass < 20; ++pass) {
      for (const Pair& pair : pairs) {
        Answer answer;
        const double ms = Time(pair.gold, pair.completion, &answer);
        if (run < 0) {
          disagree += pass == 0 && (answer == Answer::kEqual) != pair.equal;
          continue;
        }
        all.push_back(ms);
        kinds[pair.kind].push_back(ms);
      }
    }
    if (run >= 0) rates.push_back(20.0 * pairs.size() / absl::ToDoubleSeconds(absl::Now() - start));
  }
  std::sort(all.begin(), all.end());
  std::printf("%zu pairs, %d runs of 20 passes, %d verdicts not as constructed\n", pairs.size(), runs,
              disagree);
  std::printf("checks/s: median %.0f, least %.0f, most %.0f\n", Median(rates),
              *std::min_element(rates.begin(), rates.end()), *std::max_element(rates.begin(), rates.end()));
  std::printf("p50 %.4f ms, p99 %.4f ms, max %.3f ms\n", all[all.size() / 2], all[all.size() * 99 / 100],
              all.back());
  for (auto& [kind, times] : kinds) std::printf("  %-11s p50 %.4f ms\n", kind.c_str(), Median(times));
}

// Each against itself, against 5 and asked for by 5; the shortest of three runs, for the machine has other
// work.
void RunPathological() {
  std::vector<std::pair<double, std::string>> slowest;
  for (const auto& [name, text] : PathologicalAnswers()) {
    for (const auto& [gold, answer] :
         {std::pair(text, text), {"5", text}, {text, "5"}, {text, text + "+1"}}) {
      double best = 1e9;
      Answer verdict;
      for (int i = 0; i < 3; ++i) best = std::min(best, Time(gold, "\\boxed{" + answer + "}", &verdict));
      slowest.push_back({best, name.substr(0, 60)});
    }
  }
  std::sort(slowest.rbegin(), slowest.rend());
  std::printf("pathological: %zu judgements, slowest:\n", slowest.size());
  for (size_t i = 0; i < 8; ++i) std::printf("  %8.3f ms  %s\n", slowest[i].first, slowest[i].second.c_str());
}

void Dump() {
  for (const Pair& pair : MakePairs(500)) {
    std::printf("%s\t%s\t%s\t%d\n", pair.kind.c_str(), pair.gold.c_str(), pair.completion.c_str(),
                pair.equal);
  }
}

}  // namespace
}  // namespace sluice::math

int main(int argc, char** argv) {
  int runs = 5;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--dump") == 0) return sluice::math::Dump(), 0;
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
      continue;
    }
    std::fprintf(stderr, "usage: math_bench [--runs N] [--dump]\n");
    return 2;
  }
  sluice::math::RunMix(runs);
  sluice::math::RunPathological();
  return 0;
}
