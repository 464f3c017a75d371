// What the coordinator's scheduler costs beside a fleet of so many rollout workers: one group of 8 in flight
// at each, staleness 1, every version loaded by every worker. Only the scheduler's own time is counted, and
// nothing is stored or sent.
//   scheduler_rate [--workers N...] [--turn EVENTS] [--seconds S] [--runs N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/scheduler.h"

namespace sluice {
namespace {

struct Options {
  std::vector<int> workers = {100, 1000, 5000, 20000, 100000};
  int turn = 256, runs = 5;
  double seconds = 2;
};

struct Cost {
  double seconds = 0, worst_turn = 0;
  int64_t events = 0, samples = 0;
};

// Answers at once what the learner, the loads and the reward workers are asked, and the attempts in a random
// order.
class AnsweringFleet {
 public:
  explicit AnsweringFleet(int workers) : workers_(workers) {
    state_.plan = {.groups_per_step = workers, .group_size = 8, .max_versions = 1, .stop_steps = 1 << 30};
    std::vector<Event> arrivals = {{now_, LearnerUp{"learner", 1}}};
    for (int i = 0; i < 8; ++i) arrivals.push_back({now_, RewardUp{absl::StrCat("reward-", i), Epoch()}});
    for (int i = 0; i < workers; ++i)
      arrivals.push_back({now_, RolloutUp{absl::StrCat("rollout-", i), Epoch(), 1}});
    Turn(arrivals);
  }

  // Until each worker has sampled a group or two, so that what follows is the steady state.
  void WarmUp(int turn) {
    for (int64_t samples = 0; samples < int64_t{12} * workers_; samples = cost_.samples) Turn(Answers(turn));
    cost_ = {};
  }
  Cost Run(int turn, double seconds) {
    while (cost_.seconds < seconds) Turn(Answers(turn));
    return cost_;
  }

 private:
  uint64_t Epoch() { return ++epoch_; }

  void Turn(const std::vector<Event>& events) {
    std::vector<Action> actions;
    const auto begin = std::chrono::steady_clock::now();
    for (const Event& event : events) Append(TakeIn(state_, event), actions);
    Append(Decide(state_, now_), actions);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    cost_.seconds += took.count();
    cost_.worst_turn = std::max(cost_.worst_turn, took.count());
    cost_.events += static_cast<int64_t>(events.size());
    now_ += absl::Milliseconds(10);
    for (Action& action : actions) std::visit([this](auto& a) { Take(a); }, action);
  }
  static void Append(std::vector<Action> more, std::vector<Action>& actions) {
    std::move(more.begin(), more.end(), std::back_inserter(actions));
  }

  std::vector<Event> Answers(int turn) {
    std::vector<Event> events = std::exchange(answers_, {});
    while (static_cast<int>(events.size()) < turn && !running_.empty()) {
      std::swap(running_[random_() % running_.size()], running_.back());
      const StartGenerate start = std::move(running_.back());
      running_.pop_back();
      const PolicyVersion version = state_.rollout.at(start.worker).version;
      for (uint32_t index : start.indices)
        events.push_back({now_, SampleArrived{start.attempt, index, version, version}});
      events.push_back({now_, GenerateEnded{start.attempt, absl::OkStatus()}});
      cost_.samples += static_cast<int64_t>(start.indices.size());
    }
    return events;
  }

  template <typename StoreAction>
  void Take(const StoreAction&) {}
  void Take(StartGenerate& a) { running_.push_back(std::move(a)); }
  void Take(const StartScore& a) {
    ScoreEnded ended{a.call, absl::OkStatus(), {}};
    for (const SampleRef& item : a.items)
      ended.verdicts.push_back({Judgement::kReward, static_cast<double>(item.index)});
    answers_.push_back({now_, std::move(ended)});
  }
  void Take(const StartLoad& a) {
    answers_.push_back({now_, PolicyLoaded{a.worker, a.epoch, a.policy.version, absl::OkStatus()}});
  }
  void Take(const StartLearner& a) {
    LearnerDone done;
    done.call = a.call;
    const PolicyVersion version = a.op == LearnerOp::kPublishFirst ? 0 : a.number;
    done.policy = {"job", version, absl::StrCat("hash", version), "learner"};
    answers_.push_back({now_, std::move(done)});
  }

  const int workers_;
  SchedulerState state_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t epoch_ = 0;
  std::mt19937_64 random_{7};
  std::vector<StartGenerate> running_;
  std::vector<Event> answers_;
  Cost cost_;
};

struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

void Row(int workers, const std::vector<Cost>& costs) {
  const auto spread = [&](auto value) {
    std::vector<double> values;
    for (const Cost& cost : costs) values.push_back(value(cost));
    return SpreadOf(std::move(values));
  };
  const Spread rate = spread([](const Cost& c) { return static_cast<double>(c.events) / c.seconds; });
  const Spread sample =
      spread([](const Cost& c) { return 1e9 * c.seconds / static_cast<double>(c.samples); });
  const Spread turn = spread([](const Cost& c) { return 1e3 * c.worst_turn; });
  printf("| %d | %.0f [%.0f-%.0f] | %.0f [%.0f-%.0f] | %.2f [%.2f-%.2f] |\n", workers, rate.median, rate.low,
         rate.high, sample.median, sample.low, sample.high, turn.median, turn.low, turn.high);
  fflush(stdout);
}

int Main(const Options& options) {
  printf("| workers | events a second | ns a sample | longest turn, ms |\n|---|---|---|---|\n");
  for (int workers : options.workers) {
    std::vector<Cost> costs;
    for (int run = 0; run < options.runs; ++run) {
      AnsweringFleet fleet(workers);
      fleet.WarmUp(options.turn);
      costs.push_back(fleet.Run(options.turn, options.seconds));
    }
    Row(workers, costs);
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  CLI::App app("Measures what the scheduler costs beside so many workers");
  sluice::Options options;
  app.add_option("--workers", options.workers, "Sizes of the fleet")->check(CLI::Range(1, 1000000));
  app.add_option("--turn", options.turn, "Events taken in before a decision")->check(CLI::Range(1, 100000));
  app.add_option("--seconds", options.seconds, "The scheduler's time in one run");
  app.add_option("--runs", options.runs, "Of each size")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return sluice::Main(options);
}
