// A scheduler with a fleet that the test plays, for tables of events.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/scheduler/scheduler.h"
#include "gtest/gtest.h"

namespace sluice {

// Plays the fleet: feeds events and answers actions, in an order that the test chooses.
class SchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    s_.plan.groups_per_step = 2;
    s_.plan.group_size = 2;
    s_.plan.max_versions = 1;
    s_.plan.stop_steps = 10;
    s_.plan.generate_timeout = absl::Seconds(10);
    s_.plan.score_timeout = absl::Seconds(5);
  }

  std::vector<Action> Send(decltype(Event::body) body) {
    std::vector<Action> actions = Step(s_, Event{now_, std::move(body)});
    for (const Action& action : actions) log_.push_back(action);
    return actions;
  }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> out;
    for (const Action& action : log_) {
      if (const T* found = std::get_if<T>(&action)) out.push_back(*found);
    }
    return out;
  }
  template <typename T>
  std::vector<T> TakeAll() {
    std::vector<T> out = All<T>();
    std::erase_if(log_, [](const Action& action) { return std::holds_alternative<T>(action); });
    return out;
  }
  static PolicyRef Ref(PolicyVersion version) {
    return {"job", version, "hash" + std::to_string(version), "src"};
  }

  // Answers the learner's call under way.
  void AnswerLearner(TrainerState state = {}, const std::string& expected = "") {
    ASSERT_TRUE(s_.learner.busy.has_value());
    LearnerDone done;
    done.call = *s_.learner.busy;
    done.state = std::move(state);
    done.policy = Ref(s_.learner.op == LearnerOp::kPublishFirst ? 0 : s_.learner.op_version);
    done.expected_hash = expected;
    Send(done);
  }
  void FailLearner(absl::Status status) {
    LearnerDone done;
    done.call = *s_.learner.busy;
    done.status = std::move(status);
    Send(done);
  }
  void LoadAll() {
    for (const StartLoad& load : TakeAll<StartLoad>()) {
      Send(PolicyLoaded{load.worker, load.epoch, load.policy.version, absl::OkStatus()});
    }
  }
  // To version 0 served by one rollout worker, with one reward worker.
  void Begin() {
    Send(LearnerUp{"learner", 1});
    AnswerLearner();
    AnswerLearner();
    ASSERT_EQ(s_.version, 0);
    Send(RolloutUp{"r0", 2});
    Send(RewardUp{"reward", 3});
    LoadAll();
  }
  void Generate(const StartGenerate& start, PolicyVersion version) {
    for (uint32_t index : start.indices) Send(SampleArrived{start.attempt, index, version});
    Send(GenerateEnded{start.attempt, absl::OkStatus()});
  }
  void ScoreAll(Judgement judgement = Judgement::kReward) {
    for (const StartScore& score : TakeAll<StartScore>()) {
      ScoreEnded ended{score.call, absl::OkStatus(), {}};
      for (const SampleRef& ref : score.items)
        ended.verdicts.push_back({judgement, static_cast<double>(ref.index)});
      Send(ended);
    }
  }
  // Until nothing waits to be judged.
  void JudgeAll() {
    for (int i = 0; i < 100 && !All<StartScore>().empty(); ++i) ScoreAll();
  }
  void CompleteAll(PolicyVersion version) {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, version);
    ScoreAll();
  }

  SchedulerState s_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::vector<Action> log_;
};

}  // namespace sluice
