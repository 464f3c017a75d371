#include "services/cli/demo/problems.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/random.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {
namespace {

using Digits = std::vector<int>;

// A stream of random choices of its own.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t stream) : seed_(BitsAt(seed, RandomDomain::kShuffle, stream)) {}
  uint64_t Below(uint64_t bound) { return BitsAt(seed_, RandomDomain::kShuffle, next_++) % bound; }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t seed_, next_ = 0;
};

// Every rising choice of `count` digits from 1 to 9: each stands for all orders of its digits.
std::vector<Digits> DigitSets(int count) {
  std::vector<Digits> out;
  for (int bits = 0; bits < 1 << 9; ++bits) {
    Digits digits;
    for (int d = 1; d <= 9; ++d) {
      if (bits >> (d - 1) & 1) digits.push_back(d);
    }
    if (static_cast<int>(digits.size()) == count) out.push_back(std::move(digits));
  }
  return out;
}

Problem MakeProblem(const std::vector<Digits>& pool, Dice& dice) {
  Problem out{pool[dice.Below(pool.size())]};
  dice.Shuffle(out.digits);
  return out;
}

// Distinct problems, as many as asked for or as are found soon.
void AddHeldOut(const std::vector<Digits>& pool, int count, Dice& dice, std::vector<Problem>& out) {
  std::set<std::string> seen;
  for (int tries = 0; tries < 100 * count && static_cast<int>(seen.size()) < count; ++tries) {
    Problem problem = MakeProblem(pool, dice);
    if (seen.insert(problem.prompt()).second) out.push_back(std::move(problem));
  }
}

// Takes one in so many sets out of the pool.
std::vector<Digits> HoldOut(std::vector<Digits>& pool, int one_in, Dice& dice) {
  dice.Shuffle(pool);
  const size_t kept = pool.size() - std::max<size_t>(1, pool.size() / one_in);
  std::vector<Digits> out(pool.begin() + kept, pool.end());
  pool.resize(kept);
  return out;
}

}  // namespace

std::string Problem::kind() const {
  constexpr const char* kNames[] = {"no",   "one", "two",   "three", "four",
                                    "five", "six", "seven", "eight", "nine"};
  return absl::StrCat(kNames[digits.size()], " digits");
}

std::string Problem::prompt() const { return absl::StrCat(absl::StrJoin(digits, " "), ":"); }

std::string Problem::answer() const {
  Digits sorted = digits;
  std::sort(sorted.begin(), sorted.end());
  return absl::StrJoin(sorted, "");
}

ProblemSet MakeProblems(const DemoTask& task, uint64_t seed) {
  Dice split(seed, 1), training(seed, 2), held(seed, 3), warm(seed, 4);
  std::vector<std::vector<Digits>> pools;
  ProblemSet out;
  for (int count = task.least_digits; count <= task.most_digits; ++count) {
    std::vector<Digits> pool = DigitSets(count);
    AddHeldOut(HoldOut(pool, task.held_out_one_in, split), task.held_out_per_kind, held, out.held_out);
    pools.push_back(std::move(pool));
  }
  for (int i = 0; i < task.training_problems; ++i) {
    out.training.push_back(MakeProblem(pools[training.Below(pools.size())], training));
  }
  for (int i = 0; i < task.warm_rows; ++i) {
    const Problem problem = MakeProblem(pools[warm.Below(pools.size())], warm);
    Digits shown = problem.digits;
    warm.Shuffle(shown);
    out.warm.push_back({problem.prompt(), absl::StrJoin(shown, "")});
  }
  return out;
}

std::string PromptRows(const std::vector<Problem>& problems, const std::string& id_prefix) {
  std::string out;
  for (size_t i = 0; i < problems.size(); ++i) {
    const Problem& p = problems[i];
    const nlohmann::ordered_json row = {{"id", absl::StrFormat("%s-%05d", id_prefix, i)},
                                        {"prompt", p.prompt()},
                                        {"answer", p.answer()},
                                        {"kind", p.kind()}};
    absl::StrAppend(&out, row.dump(), "\n");
  }
  return out;
}

std::string WarmRows(const std::vector<WarmRow>& rows) {
  std::string out;
  for (const WarmRow& row : rows) {
    absl::StrAppend(
        &out, nlohmann::ordered_json{{"prompt", row.prompt}, {"completion", row.completion}}.dump(), "\n");
  }
  return out;
}

}  // namespace sluice::cli
