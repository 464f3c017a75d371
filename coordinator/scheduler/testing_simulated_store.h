// A store that keeps what a scheduler writes and refuses what cannot be. For tests that play events from a
// seed (testing_world.h).
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/canary.h"
#include "coordinator/scheduler/guard.h"
#include "coordinator/scheduler/scheduler.h"
#include "gtest/gtest.h"

namespace sluice {

// What a coordinator's store holds of a job, and the state that a restart makes of it.
class SimulatedStore {
 public:
  struct StoredGroup {
    PolicyVersion train_by = 0;
    bool complete = false;
    std::vector<LedgerColumn> columns;  // by index
  };
  struct StoredBatch {
    std::vector<Draw> draws;
    bool committed = false;
    std::string hash;
  };

  explicit SimulatedStore(JobPlan plan) : plan_(plan) {}

  void Write(const IssueGroup& a) {
    EXPECT_EQ(a.draw, plan_.replay ? plan_.replay->At(next_draw_).draw : next_draw_)
        << "draws are never used again";
    ++next_draw_;
    groups_[a.draw] = {a.train_by, false,
                       std::vector<LedgerColumn>(static_cast<size_t>(a.samples), LedgerColumn::kInFlight)};
    issued_ += a.samples;
  }
  void Write(const GroupComplete& a) {
    if (a.group.evaluation) return;
    EXPECT_FALSE(groups_.at(a.group.draw).complete) << "draw " << a.group.draw << " completed twice";
    groups_.at(a.group.draw).complete = true;
  }
  void Write(const SettleSample& a) {
    ASSERT_FALSE(a.sample.group.evaluation);
    Move(a.sample.group.draw, a.sample.index, a.column);
  }
  void Write(const DropGroup& a) {
    for (uint32_t i = 0; i < groups_.at(a.draw).columns.size(); ++i) {
      if (groups_.at(a.draw).columns[i] == LedgerColumn::kInFlight) Move(a.draw, i, a.column);
    }
  }
  void Write(const RecordBatch& a) {
    EXPECT_EQ(batches_.count(a.version), 0u) << "the batch of " << a.version << " is recorded twice";
    EXPECT_EQ(a.version, version_ + 1);
    EXPECT_TRUE(IsSettled(version_)) << "a step past version " << version_ << ", which is on trial";
    EXPECT_EQ(static_cast<int64_t>(a.draws.size()), plan_.groups_per_step);
    for (Draw draw : a.draws) {
      EXPECT_GE(draw, FirstDraw()) << "draw " << draw << " is from before the rollback";
      EXPECT_TRUE(batched_.insert(draw).second) << "draw " << draw << " is in two batches";
      EXPECT_TRUE(groups_.at(draw).complete) << "draw " << draw;
    }
    batches_[a.version].draws = a.draws;
  }
  void Write(const CommitVersion& a) {
    EXPECT_EQ(a.policy.version, version_ + 1);
    StoredBatch& batch = batches_[a.policy.version];
    EXPECT_EQ(batch.draws, a.draws);
    batch.committed = true;
    batch.hash = a.policy.manifest_hash;
    for (Draw draw : a.draws) {
      for (uint32_t i = 0; i < groups_.at(draw).columns.size(); ++i) {
        if (groups_.at(draw).columns[i] == LedgerColumn::kInFlight) Move(draw, i, LedgerColumn::kTrained);
      }
    }
    version_ = a.policy.version;
    policy_ = a.policy;
  }
  void Write(const RecordRollBack& a) {
    EXPECT_EQ(a.fork.version, version_ + 1);
    EXPECT_GE(a.fork.parent, forks_.empty() ? 0 : forks_.back().version);
    EXPECT_LE(a.fork.parent, version_);
    EXPECT_EQ(a.fork.first_draw, next_draw_);
    EXPECT_EQ(ledger()[LedgerColumn::kInFlight], 0);
    // Steps that cannot be redone are no matter of the guard, but count with it.
    const auto counted =
        std::count_if(forks_.begin(), forks_.end(), [](const Fork& f) { return f.by_guard; });
    EXPECT_TRUE(!a.fork.by_guard || counted < plan_.guard.max_rollbacks);
    batches_[a.fork.version] = {};
    forks_.push_back(a.fork);
  }
  void Write(const CommitRollBack& a) {
    ASSERT_FALSE(forks_.empty());
    EXPECT_EQ(a.policy.version, forks_.back().version);
    EXPECT_EQ(a.policy.version, version_ + 1);
    StoredBatch& batch = batches_.at(a.policy.version);
    batch.committed = true;
    batch.hash = a.policy.manifest_hash;
    version_ = a.policy.version;
    policy_ = a.policy;
  }
  void Write(const RollBackDraws& a) {
    for (auto group = groups_.lower_bound(a.first); group != groups_.end(); ++group) {
      for (LedgerColumn& column : group->second.columns) {
        EXPECT_NE(column, LedgerColumn::kTrained);
        column = LedgerColumn::kRolledBack;
      }
    }
  }
  void Write(const PromoteVersion& a) {
    EXPECT_GT(a.version, promoted_);
    EXPECT_EQ(a.version, version_);
    promoted_ = a.version;
  }
  void Write(const FinishCanary& a) {
    EXPECT_EQ(a.version, version_);
    EXPECT_EQ(canaries_.count(a.version), 0u) << "tried twice";
  }
  void Write(const RecordCanary& a) {
    const CanaryRecord& record = a.record;
    EXPECT_EQ(record.version, version_);
    const auto before = canaries_.find(record.version);
    const bool taken = record.verdict == CanaryVerdict::kTaken;
    EXPECT_EQ(taken, before != canaries_.end()) << "version " << record.version;
    EXPECT_TRUE(before == canaries_.end() || before->second.verdict == CanaryVerdict::kRefused);
    canaries_[record.version] = record;
  }
  void KeepMetrics(PolicyVersion version, const std::map<std::string, double>& metrics) {
    metrics_[version] = metrics;
  }
  void KeepScore(const HeldOutScore& score) { scores_.push_back(score); }
  void Write(const FinishEvaluation& a) {
    EXPECT_GT(a.version, evaluated_) << "evaluated twice";
    EXPECT_EQ(a.version, version_) << "evaluated late";
    evaluated_ = a.version;
  }
  template <typename Other>
  void Write(const Other&) {}
  // By a person while the job waits for its turn.
  void Resume() { paused_ = false; }
  // The job's row, which is written with every event.
  void WriteRow(const SchedulerState& state) {
    paused_ = state.paused;
    end_ = state.end;
    checkpointed_ = state.checkpointed;
    policy_.source = state.policy.source;
  }

  SchedulerState Restore() const {
    SchedulerState state;
    state.plan = plan_;
    state.paused = paused_;
    state.end = end_;
    state.version = version_;
    state.policy = policy_;
    state.checkpointed = checkpointed_;
    state.next_draw = next_draw_;
    state.evaluated_step = evaluated_;
    state.promoted = promoted_;
    state.rollbacks = std::count_if(forks_.begin(), forks_.end(), [](const Fork& f) { return f.by_guard; });
    GuardHistory history{.steps = {}, .scores = scores_, .forks = {}};
    for (const Fork& fork : forks_) {
      if (fork.version > version_) {
        state.rollback = fork;
      } else {
        state.fork = fork;
        history.forks.push_back(fork);
      }
    }
    std::vector<CanaryRecord> canaries;
    for (const auto& [version, record] : canaries_) canaries.push_back(record);
    RestoreCanary(canaries, history.forks, state);
    const PolicyVersion oldest = std::min(version_ - plan_.max_versions, TrustedVersion(state));
    for (const auto& [version, batch] : batches_) {
      if (batch.committed && version >= oldest) AddManifest(state, version, batch.hash);
    }
    for (const auto& [draw, stored] : groups_) {
      const bool open = std::count(stored.columns.begin(), stored.columns.end(), LedgerColumn::kInFlight) > 0;
      const bool emptied = plan_.deterministic && !state.rollback &&
                           BatchOf(state, draw) >= std::max<PolicyVersion>(0, version_);
      if (!open && !emptied) continue;
      GroupState& group = state.groups[GroupKey{false, draw}];
      group.train_by = stored.train_by;
      group.ready = stored.complete;
      for (LedgerColumn column : stored.columns) {
        group.samples.push_back({.status = column != LedgerColumn::kInFlight ? SampleStatus::kGone
                                           : stored.complete                 ? SampleStatus::kScored
                                                                             : SampleStatus::kPending});
      }
    }
    const auto batch = batches_.find(version_ + 1);
    if (batch != batches_.end()) state.batch = batch->second.draws;
    for (PolicyVersion v = FirstJudged(state); v <= version_; ++v) {
      if (const auto metrics = metrics_.find(v); metrics != metrics_.end()) history.steps.insert(*metrics);
    }
    RestoreGuard(history, state);
    return state;
  }

  const std::map<PolicyVersion, StoredBatch>& batches() const { return batches_; }
  const std::map<Draw, StoredGroup>& groups() const { return groups_; }
  const std::vector<Fork>& forks() const { return forks_; }
  PolicyVersion promoted() const { return promoted_; }
  const std::map<PolicyVersion, CanaryRecord>& canaries() const { return canaries_; }
  // All workers may have it.
  bool IsSettled(PolicyVersion version) const {
    if (!plan_.canary.on()) return true;
    const auto record = canaries_.find(version);
    if (record != canaries_.end()) return record->second.verdict != CanaryVerdict::kRefused;
    return std::any_of(forks_.begin(), forks_.end(), [&](const Fork& f) { return f.version == version; });
  }
  Ledger ledger() const {
    Ledger out;
    out.issued = issued_;
    for (const auto& [draw, group] : groups_) {
      for (LedgerColumn column : group.columns) ++out[column];
    }
    return out;
  }

 private:
  void Move(Draw draw, uint32_t index, LedgerColumn to) {
    LedgerColumn& column = groups_.at(draw).columns[index];
    EXPECT_EQ(column, LedgerColumn::kInFlight) << "sample " << draw << "/" << index << " is settled twice";
    column = to;
  }

  Draw FirstDraw() const { return forks_.empty() ? 0 : forks_.back().first_draw; }

  const JobPlan plan_;
  bool paused_ = false;
  JobEnd end_ = JobEnd::kNone;
  PolicyVersion version_ = kNoPolicyVersion, checkpointed_ = kNoPolicyVersion;
  int64_t evaluated_ = -1, issued_ = 0;
  PolicyRef policy_;
  Draw next_draw_ = 0;
  std::map<Draw, StoredGroup> groups_;
  std::map<PolicyVersion, StoredBatch> batches_;
  std::set<Draw> batched_;
  std::vector<Fork> forks_;  // all; the last one may not be committed
  PolicyVersion promoted_ = kNoPolicyVersion;
  std::map<PolicyVersion, std::map<std::string, double>> metrics_;
  std::vector<HeldOutScore> scores_;
  std::map<PolicyVersion, CanaryRecord> canaries_;
};

}  // namespace sluice
