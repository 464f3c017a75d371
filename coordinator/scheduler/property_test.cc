// Random orders of events from seeds: what must hold after each, and that a job ends when the faults do.
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/scheduler/testing_world.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

JobPlan SmallPlan(bool deterministic, int64_t bound) {
  JobPlan plan;
  plan.groups_per_step = 2;
  plan.group_size = 3;
  plan.max_versions = bound;
  plan.stop_steps = 6;
  plan.deterministic = deterministic;
  plan.drop_on_deadline = !deterministic;
  plan.generate_timeout = absl::Seconds(20);
  plan.score_timeout = absl::Seconds(10);
  plan.load_timeout = absl::Seconds(20);
  plan.checkpoint.every_steps = 3;
  return plan;
}

// Limits that are broken now and then.
void GuardAtRandom(std::mt19937_64& random, JobPlan& plan) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  plan.stop_steps = 12;
  plan.checkpoint.every_steps = 1 + below(4);
  plan.guard.max_kl = 50 + below(50);
  plan.guard.steps = 1 + below(2);
  plan.guard.max_rollbacks = 1 + below(4);
  if (below(5) == 0) plan.guard.action = GuardAction::kPause;
  plan.gate.on = plan.evaluation_every > 0 && below(2) == 0;
  plan.gate.max_drop = below(8);
  if (plan.evaluation_every > 0 && below(2) == 0) plan.guard.held_out_drop = below(6);
}

// Now and then it refuses a version.
void CanaryAtRandom(std::mt19937_64& random, JobPlan& plan) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  plan.canary.prompts = 1 + below(3);
  plan.canary.max_drop = below(8);
  if (below(3) == 0) plan.canary.min_score = below(3);
}

// The plan and the faults that a seed stands for.
struct Case {
  JobPlan plan;
  Faults faults;
  int events = 0, rollouts = 1;
};

Case CaseOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  Case out;
  out.plan = SmallPlan(below(2) == 0, below(4));
  if (below(2) == 0) {
    out.plan.evaluation_every = 1 + below(3);
    out.plan.evaluation_prompts = 1 + below(3);
    out.plan.evaluation_samples = 1 + below(2);
  }
  if (!out.plan.deterministic) out.plan.drop_on_deadline = below(2) == 0;
  if (below(4) == 0) out.plan.filter_ties = !out.plan.deterministic;
  if (out.plan.filter_ties) out.plan.max_filtered_groups = below(3);
  if (below(4) == 0) out.plan.groups_per_worker = 1;
  if (below(2) == 0) GuardAtRandom(random, out.plan);
  if (!out.plan.deterministic) {
    if (below(3) == 0) out.plan.hedge_after = absl::Seconds(1 + below(10));
    if (below(3) == 0) out.plan.group_timeout = absl::Seconds(5 + below(40));
    if (below(3) == 0) out.plan.extra_groups = 1 + below(2);
  }
  out.faults = {.kill = below(8),
                .coordinator_restart = below(4),
                .lose = below(10),
                .repeat = below(10),
                .fail = below(20),
                .pause = below(3),
                .clock = below(10),
                .cancel = below(8) == 0 ? 1 : 0,
                .give = below(6),
                .yield = below(6)};
  if (!out.plan.deterministic && below(2) == 0) out.faults.differ = below(30);
  if (below(8) == 0) out.faults.kill = 30, out.faults.coordinator_restart = 10;
  out.events = 50 + below(400);
  out.rollouts = 1 + below(3);
  if (below(2) == 0) CanaryAtRandom(random, out.plan);
  return out;
}

std::string UndisturbedWeights(const JobPlan& plan) {
  SimulatedWorld world(plan, 1);
  EXPECT_LT(world.PlayOut(1000), 1000);
  EXPECT_EQ(world.state().end, JobEnd::kSucceeded);
  return world.weights();
}

void PlaySeed(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const Case c = CaseOf(seed);
  SimulatedWorld world(c.plan, seed, c.rollouts);
  for (int i = 0; i < c.events && !testing::Test::HasFailure(); ++i) world.Play(c.faults);
  EXPECT_LT(world.PlayOut(600), 600) << WaitingFor(world.state()) << ", version " << world.state().version;
  const bool cancelled = world.state().end == JobEnd::kCancelled;
  EXPECT_TRUE(cancelled || world.state().end == JobEnd::kSucceeded) << world.state().error;
  EXPECT_TRUE(c.plan.drop_on_deadline || world.store().ledger()[LedgerColumn::kDroppedStale] == 0);
  if (!c.plan.deterministic || cancelled) return;
  EXPECT_EQ(world.weights(), UndisturbedWeights(c.plan));
}

// A rollback in every second or third version, at any place; the same wherever the coordinator restarts.
TEST(SchedulerProperty, RollsBackTheSameWhereverTheCoordinatorRestarts) {
  for (int64_t bound = 0; bound <= 3; ++bound) {
    JobPlan plan = SmallPlan(true, bound);
    plan.evaluation_every = 2;
    plan.evaluation_prompts = 2;
    plan.stop_steps = 9;
    plan.guard.max_kl = 60;
    plan.guard.steps = 1;
    plan.guard.max_rollbacks = 4;
    plan.guard.held_out_drop = 2;
    plan.gate.on = bound % 2 == 0;
    plan.gate.max_drop = 3;
    SimulatedWorld undisturbed(plan, 1);
    EXPECT_LT(undisturbed.PlayOut(1000), 1000);
    EXPECT_GE(undisturbed.store().forks().size(), 1u) << "bound " << bound;
    for (int events = 0; events < 400 && !HasFailure(); ++events) {
      SCOPED_TRACE(absl::StrCat("bound ", bound, ", after event ", events));
      SimulatedWorld world(plan, 7);
      for (int i = 0; i < events; ++i) world.Play({});
      world.RestartCoordinator();
      EXPECT_LT(world.PlayOut(600), 600) << WaitingFor(world.state());
      EXPECT_EQ(world.weights(), undisturbed.weights());
      EXPECT_EQ(world.store().promoted(), undisturbed.store().promoted());
      EXPECT_EQ(world.store().ledger().columns, undisturbed.store().ledger().columns);
    }
  }
}

// A version that is refused, at any place; the same wherever the coordinator restarts.
TEST(SchedulerProperty, TriesTheSameWhereverTheCoordinatorRestarts) {
  for (int64_t bound = 0; bound <= 2; ++bound) {
    for (const GuardAction action : {GuardAction::kRollBack, GuardAction::kPause}) {
      JobPlan plan = SmallPlan(true, bound);
      plan.evaluation_every = 3;
      plan.evaluation_prompts = 1;
      plan.canary.prompts = 2;
      plan.canary.max_drop = 2;
      plan.guard.action = action;
      SimulatedWorld undisturbed(plan, 1);
      EXPECT_LT(undisturbed.PlayOut(1000), 1000);
      const auto& canaries = undisturbed.store().canaries();
      EXPECT_TRUE(
          std::any_of(canaries.begin(), canaries.end(),
                      [](const auto& canary) { return canary.second.verdict != CanaryVerdict::kPassed; }))
          << "bound " << bound;
      for (int events = 0; events < 300 && !HasFailure(); ++events) {
        SCOPED_TRACE(absl::StrCat("bound ", bound, ", after event ", events));
        SimulatedWorld world(plan, 7);
        for (int i = 0; i < events; ++i) world.Play({});
        world.RestartCoordinator();
        EXPECT_LT(world.PlayOut(600), 600) << WaitingFor(world.state());
        EXPECT_EQ(world.weights(), undisturbed.weights());
        EXPECT_EQ(world.store().canaries().size(), canaries.size());
        EXPECT_EQ(world.store().ledger().columns, undisturbed.store().ledger().columns);
      }
    }
  }
}

TEST(SchedulerProperty, HoldsForRandomOrdersAndEndsWhenTheFaultsDo) {
  for (uint64_t seed = 1; seed <= 4000 && !HasFailure(); ++seed) PlaySeed(seed);
}

// The coordinator restarts after every single event; the deterministic job comes out the same.
TEST(SchedulerProperty, ComesOutTheSameWhereverTheCoordinatorRestarts) {
  for (int64_t bound = 0; bound <= 3; ++bound) {
    JobPlan plan = SmallPlan(true, bound);
    plan.evaluation_every = 2;
    plan.evaluation_prompts = 2;
    const std::string weights = UndisturbedWeights(plan);
    for (int events = 0; events < 250 && !HasFailure(); ++events) {
      SCOPED_TRACE(absl::StrCat("bound ", bound, ", after event ", events));
      SimulatedWorld world(plan, 7);
      for (int i = 0; i < events; ++i) world.Play({});
      world.RestartCoordinator();
      EXPECT_LT(world.PlayOut(600), 600) << WaitingFor(world.state());
      EXPECT_EQ(world.weights(), weights);
    }
  }
}

TEST(SchedulerProperty, DependsOnTheJobAloneNotOnTheFleet) {
  for (int64_t bound = 0; bound <= 3; ++bound) {
    const JobPlan plan = SmallPlan(true, bound);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SimulatedWorld world(plan, seed, 1 + static_cast<int>(seed % 5));
      EXPECT_LT(world.PlayOut(600), 600);
      EXPECT_EQ(world.weights(), UndisturbedWeights(plan));
    }
  }
}

}  // namespace
}  // namespace sluice
