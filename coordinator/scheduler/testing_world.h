// The world around a scheduler, simulated: its store (testing_simulated_store.h), and a fleet that answers in
// any order, twice, late, wrongly or not at all, and dies. For tests that play events from a seed.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/scheduler/testing_simulated_store.h"
#include "gtest/gtest.h"

namespace sluice {

// How often what goes wrong, per hundred choices.
struct Faults {
  int kill = 0, coordinator_restart = 0, lose = 0, repeat = 0, fail = 0, pause = 0, clock = 0, cancel = 0;
  int give = 0, yield = 0;  // to another job: a worker, the learner
  int differ = 0;           // the learner comes back with another arithmetic
};

class SimulatedWorld {
 public:
  SimulatedWorld(JobPlan plan, uint64_t seed, int rollouts = 2)
      : plan_(plan), store_(plan), random_(seed), state_(store_.Restore()) {
    for (int i = 0; i < rollouts; ++i) rollouts_[absl::StrCat("r", i)];
    rewards_["s0"];
    ForEach([](Process& process, const auto&, auto& worker) { Revive(process, worker); });
    Introduce();
  }

  const SchedulerState& state() const { return state_; }
  const SimulatedStore& store() const { return store_; }
  // What the job has done so far, for a replay of it.
  std::vector<std::vector<RecordedGroup>> Record() const {
    std::vector<std::vector<RecordedGroup>> batches;
    for (const auto& [version, batch] : store_.batches()) {
      if (version == 0 || !batch.committed) continue;
      std::vector<RecordedGroup>& out = batches.emplace_back();
      for (Draw draw : batch.draws) out.push_back(RecordOf(draw));
    }
    return batches;
  }
  // Of the last version: a function of all that was trained on.
  std::string weights() const { return learner_.made.empty() ? "" : learner_.made.rbegin()->second; }

  // One thing happens: an answer arrives, or something goes wrong.
  void Play(const Faults& faults) {
    const auto chance = [&](int percent) { return Below(100) < static_cast<uint64_t>(percent); };
    if (faults.differ > 0 && !learner_.process.up && chance(faults.differ)) ++learner_.arithmetic;
    if (chance(faults.kill)) return Kill();
    if (chance(faults.coordinator_restart)) return RestartCoordinator();
    if (chance(faults.pause)) return Below(2) == 0 ? Send(PauseEvent{}) : Send(ResumeEvent{});
    if (chance(faults.cancel)) return Send(CancelEvent{});
    if (chance(faults.give)) return GiveAWorker();
    if (chance(faults.yield)) return Yield();
    if (chance(faults.clock)) now_ += absl::Seconds(static_cast<int64_t>(Below(40)) - 5);
    if (Below(8) == 0 || calls_.empty()) return Pass();
    Answer(Below(calls_.size()), faults);
  }

  // All goes well from now on: whoever was killed comes back, everything that waits is answered. Returns the
  // rounds until the job ended.
  int PlayOut(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      if (state_.end != JobEnd::kNone) return round;
      state_.yields = false;
      for (auto& [name, worker] : rollouts_) ComeBack(name, worker.process);
      ForEach([this](Process& process, auto up, auto& worker) {
        Revive(process, worker);
        if (!process.registered || process.epoch == 0) Register(process, up);
      });
      if (state_.paused) Send(ResumeEvent{});
      for (size_t n = 4 * calls_.size(); n > 0 && !calls_.empty(); --n) Answer(Below(calls_.size()), {});
      Pass();
    }
    return rounds;
  }

  void RestartCoordinator() {
    // Calls under way may still have their effect on the learner; nobody hears of it.
    for (const Call& call : calls_) {
      if (const auto* start = std::get_if<StartLearner>(&call.start); start != nullptr && Below(2) == 0)
        (void)Execute(*start);
    }
    calls_.clear();
    told_.clear();
    if (Below(8) == 0) store_.Resume();
    state_ = store_.Restore();
    Introduce();
  }

 private:
  // A process of the fleet. The next one takes the address of the one before, and calls to it.
  struct Process {
    bool up = false, registered = false;
    uint64_t epoch = 0;  // of the lease that the coordinator believes in; 0: none
    int incarnation = 0;
    bool given = false;  // to another job
  };
  struct Rollout {
    Process process;
    PolicyVersion serves = kNoPolicyVersion;
  };
  struct Learner {
    Process process;
    bool open = false;
    std::map<PolicyVersion, std::string> made;  // hashes; published ones outlive the process
    PolicyVersion version = kNoPolicyVersion, checkpoint = kNoPolicyVersion;
    std::set<Draw> added;
    std::set<PolicyVersion> checkpoints;  // that are kept
    PolicyVersion promoted = kNoPolicyVersion;
    uint64_t arithmetic = 0;
  };
  struct Call {
    std::variant<TakeRecorded, StartGenerate, StartScore, StartLoad, StartLearner> start;
    int incarnation = 0;           // of the worker when the call was made
    bool begun = false;            // the worker has it
    std::set<uint32_t> left = {};  // of StartGenerate
    PolicyVersion pinned = kNoPolicyVersion;
  };

  RecordedGroup RecordOf(Draw draw) const {
    RecordedGroup out;
    out.draw = draw;
    const std::vector<LedgerColumn>& columns = store_.groups().at(draw).columns;
    out.samples = static_cast<int64_t>(columns.size());
    std::set<PolicyVersion> versions;
    for (uint32_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != LedgerColumn::kTrained) {
        out.lost[i] = {columns[i], "recorded"};
      } else {
        versions.insert(sampled_.at({draw, i}));
      }
    }
    out.taken = versions.size() > 1;
    out.sampled_at = versions.empty() ? 0 : *versions.rbegin();
    return out;
  }
  uint64_t Below(uint64_t n) { return random_() % n; }
  static uint64_t Hash(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  // What follows from it is decided at once or with a later event.
  void Send(decltype(Event::body) body) {
    if (const auto* done = std::get_if<LearnerDone>(&body); done != nullptr && done->status.ok())
      store_.KeepMetrics(done->policy.version, done->metrics);
    const bool tick = std::holds_alternative<TickEvent>(body);
    CarryOut(TakeIn(state_, Event{now_, std::move(body)}));
    if (tick || Below(3) == 0) CarryOut(DecideAll());
  }
  // With what follows from the score of an evaluation that ends in it.
  std::vector<Action> DecideAll() {
    std::vector<Action> actions = Decide(state_, now_);
    if (const PolicyVersion version = state_.unjudged; version != kNoPolicyVersion) {
      const HeldOutScore score = ScoreOf(version);
      store_.KeepScore(score);
      for (Action& action : Step(state_, Event{now_, EvaluationScored{score}}))
        actions.push_back(std::move(action));
    }
    if (state_.canary.awaits_score) {
      for (Action& action :
           Step(state_, Event{now_, CanaryScored{state_.version, CanaryScore(state_.version)}}))
        actions.push_back(std::move(action));
    }
    return actions;
  }
  void CarryOut(const std::vector<Action>& actions) {
    for (const Action& action : actions) std::visit([this](const auto& a) { store_.Write(a); }, action);
    store_.WriteRow(state_);
    for (const Action& action : actions) std::visit([this](const auto& a) { Start(a); }, action);
    Check();
  }
  // Signals are functions of the weights.
  HeldOutScore ScoreOf(PolicyVersion version) const {
    const uint64_t hash = std::stoull(learner_.made.at(version));
    return {version, static_cast<double>(hash % 8), static_cast<double>(hash % 5)};
  }
  double CanaryScore(PolicyVersion version) const {
    const uint64_t hash = std::stoull(learner_.made.at(version));
    return hash % 11 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(hash % 8);
  }
  static std::map<std::string, double> MetricsOf(const std::string& weights) {
    return {{"kl", static_cast<double>(std::stoull(weights) % 100)}};
  }
  void Pass() {
    now_ += absl::Seconds(1 + static_cast<int64_t>(Below(5)));
    Send(TickEvent{});
  }

  // --- What holds after every event ---
  void Check() {
    const Ledger ledger = store_.ledger();
    EXPECT_TRUE(ledger.Balances());
    if (state_.end != JobEnd::kNone) {
      EXPECT_EQ(ledger[LedgerColumn::kInFlight], 0);
    }
    std::map<std::string, std::set<uint64_t>> calls;
    for (const auto& [id, attempt] : state_.attempts) calls[attempt.worker].insert(id);
    for (const auto& [id, call] : state_.score_calls) calls[call.worker].insert(id);
    for (const auto* workers : {&state_.rollout, &state_.reward}) {
      for (const auto& [name, worker] : *workers) {
        EXPECT_EQ(worker.calls, calls[name]) << name;
        EXPECT_TRUE(worker.alive || worker.calls.empty()) << name << " is dead";
      }
    }
    std::map<GroupKey, std::vector<std::string>> tried_by;
    for (const auto& [id, attempt] : state_.attempts) tried_by[attempt.group].push_back(attempt.worker);
    for (const auto& [key, workers] : tried_by) {
      EXPECT_LE(workers.size(), 2u) << "draw " << key.draw;
      EXPECT_EQ(std::set<std::string>(workers.begin(), workers.end()).size(), workers.size()) << key.draw;
    }
    EXPECT_TRUE(state_.index == IndexOf(state_)) << "the index is not that of the state";
    for (const auto& [name, worker] : state_.rollout) EXPECT_EQ(worker.canary, name == state_.canary.worker);
    if (plan_.canary.on() && state_.version >= 0) {
      EXPECT_EQ(OnTrial(state_), !store_.IsSettled(state_.version)) << "version " << state_.version;
    }
    for (const auto& [key, group] : state_.groups) {
      EXPECT_TRUE(key.evaluation || group.train_by >= state_.version) << "draw " << key.draw;
    }
  }
  void CheckBatch(PolicyVersion version, const std::vector<Draw>& draws) {
    for (Draw draw : draws) {
      for (uint32_t i = 0; i < plan_.group_size; ++i) {
        const auto at = sampled_.find({draw, i});
        if (at == sampled_.end() || store_.groups().at(draw).columns[i] != LedgerColumn::kInFlight) continue;
        const Fork& fork = state_.fork;
        EXPECT_GE(at->second, fork.version) << "sample " << draw << "/" << i << " crosses the fork";
        EXPECT_LE(version - 1 - at->second, plan_.max_versions) << "sample " << draw << "/" << i;
        if (plan_.replay) {
          EXPECT_EQ(at->second, plan_.replay->Of(draw).sampled_at) << "draw " << draw;
          EXPECT_EQ(plan_.replay->Of(draw).batch, version - 1);
        }
        if (!plan_.deterministic || plan_.replay) continue;
        EXPECT_EQ(at->second, std::max(fork.version, version - 1 - plan_.max_versions)) << "draw " << draw;
        EXPECT_EQ(static_cast<int64_t>(draw - fork.first_draw) / plan_.groups_per_step,
                  version - 1 - fork.version);
      }
    }
  }

  // --- Effects ---
  template <typename Other>
  void Start(const Other&) {}
  void Start(const TakeRecorded& a) { calls_.push_back({a}); }
  void Start(const RecordBatch& a) { CheckBatch(a.version, a.draws); }
  void Start(const StartGenerate& a) {
    ExpectTold(a.worker);
    EXPECT_TRUE(a.group.evaluation || store_.groups().count(a.group.draw) == 1) << "not issued";
    EXPECT_FALSE(a.indices.empty());
    if (OnTrial(state_)) {
      EXPECT_TRUE(!a.group.evaluation || a.worker == state_.canary.worker)
          << a.worker << " is not the canary";
      EXPECT_TRUE(a.group.evaluation || state_.rollout.at(a.worker).version <= TrustedVersion(state_));
    }
    Call call{a, rollouts_.at(a.worker).process.incarnation};
    call.left.insert(a.indices.begin(), a.indices.end());
    calls_.push_back(std::move(call));
  }
  void Start(const StartScore& a) {
    ExpectTold(a.worker);
    calls_.push_back({a, rewards_.at(a.worker).incarnation});
  }
  void Start(const StartLoad& a) {
    ExpectTold(a.worker);
    const Rollout& worker = rollouts_.at(a.worker);
    const bool same = worker.process.up && worker.process.epoch == a.epoch;
    EXPECT_TRUE(!plan_.deterministic || !same || a.policy.version >= worker.serves)
        << a.worker << " cannot go back";
    if (!store_.IsSettled(a.policy.version)) {
      tried_by_[a.policy.version].insert(a.worker);
      EXPECT_TRUE(a.policy.version == 0 || a.worker == state_.canary.worker) << "it is on trial";
    }
    EXPECT_EQ(a.policy.manifest_hash, store_.batches().at(a.policy.version).hash);
    calls_.push_back({a, worker.process.incarnation});
  }
  void Start(const StartLearner& a) {
    ExpectTold(a.worker);
    for (const Call& call : calls_)
      EXPECT_FALSE(std::holds_alternative<StartLearner>(call.start)) << "overlap";
    calls_.push_back({a, learner_.process.incarnation});
  }
  void ExpectTold(const std::string& name) {
    EXPECT_EQ(told_.count(name), 1u) << name << " is not there, as the coordinator was told";
  }

  // --- The fleet ---
  // `body` with the process, how it says that it is there, and what it forgets when it dies, of each worker.
  template <typename Body>
  void ForEach(Body body) {
    for (auto& [name, worker] : rollouts_) body(worker.process, RolloutUp{name}, worker);
    for (auto& [name, process] : rewards_) body(process, RewardUp{name}, process);
    body(learner_.process, LearnerUp{"learner"}, learner_);
  }
  static void Forget(Rollout& worker) { worker.serves = kNoPolicyVersion; }
  static void Forget(Process&) {}
  static void Forget(Learner& learner) {
    learner.open = false;
    learner.added.clear();
    learner.version = learner.checkpoint;
  }
  template <typename Worker>
  static void Revive(Process& process, Worker& worker) {
    if (process.up) return;
    Forget(worker);
    process.up = true;
    process.registered = false;
    ++process.incarnation;
  }
  template <typename Up>
  void Register(Process& process, Up up) {
    process.registered = true;
    process.given = false;
    process.epoch = up.epoch = ++epochs_;
    told_.insert(up.name);
    Send(up);
  }
  void Introduce() {
    ForEach([this](Process& process, auto up, auto&) {
      process.epoch = 0;
      if (process.up) Register(process, up);
    });
    Send(TickEvent{});
  }
  // One process is killed, or comes nearer to being back: its lease ends, it starts, it registers.
  void Kill() {
    uint64_t pick = Below(rollouts_.size() + rewards_.size() + 1);
    ForEach([&](Process& process, auto up, auto& worker) {
      if (pick-- != 0) return;
      if (process.up && process.registered) {
        process.up = false;
      } else if (process.epoch != 0 && Below(2) == 0) {
        told_.erase(up.name);
        Send(WorkerDown{up.name, std::exchange(process.epoch, 0), "killed"});
      } else if (!process.up) {
        Revive(process, worker);
      } else {
        Register(process, up);
      }
    });
  }
  // One rollout worker goes to another job, or comes back; its lease is the same.
  void GiveAWorker() {
    auto& [name, worker] = *std::next(rollouts_.begin(), static_cast<int64_t>(Below(rollouts_.size())));
    Process& process = worker.process;
    if (process.given || process.epoch == 0) return ComeBack(name, process);
    process.given = true;
    worker.serves = kNoPolicyVersion;
    told_.erase(name);
    std::erase_if(calls_, [&, n = name](const Call& call) {
      const auto* load = std::get_if<StartLoad>(&call.start);
      return load != nullptr && load->worker == n;
    });
    Send(WorkerDown{name, process.epoch, "given to another", true});
  }
  void ComeBack(const std::string& name, Process& process) {
    if (!std::exchange(process.given, false) || process.epoch == 0) return;
    told_.insert(name);
    Send(RolloutUp{name, process.epoch});
  }
  // Another job wants the learner; when nothing is lost by it, it has it for a while.
  void Yield() {
    if (!std::exchange(state_.yields, true) || !CanStandDown(state_)) return Pass();
    Send(StandDownEvent{});
    calls_.clear();
    told_.clear();
    Forget(learner_);
    state_ = store_.Restore();
    Introduce();
  }
  // Whether the call comes to the process that is there now.
  bool Reaches(Call& call, const Process& process) {
    const bool same = call.incarnation == process.incarnation;
    if (!process.up || (!same && (call.begun || Below(2) == 0))) return false;
    call.incarnation = process.incarnation;
    return call.begun = true;
  }

  // --- Answers ---
  void Answer(size_t place, const Faults& faults) {
    Call call = calls_[place];
    calls_.erase(calls_.begin() + static_cast<int64_t>(place));
    const bool lost = Below(100) < static_cast<uint64_t>(faults.lose);
    const bool sure = std::holds_alternative<StartLearner>(call.start) ||
                      std::holds_alternative<TakeRecorded>(call.start);  // a read of the disk
    if (lost && !sure) return;
    const bool failed = Below(100) < static_cast<uint64_t>(faults.fail);
    repeat_ = Below(100) < static_cast<uint64_t>(faults.repeat);
    std::visit([&](const auto& start) { Answer(call, start, failed); }, call.start);
  }
  void Reply(decltype(Event::body) body) {
    Send(body);
    if (std::exchange(repeat_, false)) Send(body);
  }
  absl::Status Trouble() {
    switch (Below(4)) {
      case 0:
        return absl::UnavailableError("connection reset");
      case 1:
        return absl::ResourceExhaustedError("the queue is full");
      case 2:
        return absl::DeadlineExceededError("too late");
      default:
        return absl::InternalError("broken");
    }
  }
  void Answer(const Call&, const TakeRecorded& start, bool) {
    Reply(RecordedTaken{start.draw, start.indices});
  }
  void Answer(Call call, const StartGenerate start, bool failed) {
    const Rollout& worker = rollouts_.at(start.worker);
    if (!Reaches(call, worker.process))
      return Reply(GenerateEnded{start.attempt, absl::UnavailableError("connection refused")});
    if (failed) return Reply(GenerateEnded{start.attempt, Trouble()});
    if (worker.serves == kNoPolicyVersion)
      return Reply(GenerateEnded{start.attempt, absl::FailedPreconditionError("no policy")});
    if (call.left.empty()) return Reply(GenerateEnded{start.attempt, absl::OkStatus()});
    if (call.pinned == kNoPolicyVersion) call.pinned = worker.serves;
    const uint32_t index = *std::next(call.left.begin(), static_cast<int64_t>(Below(call.left.size())));
    call.left.erase(index);
    calls_.push_back(call);
    const bool awaited = Generating(start.group, index);
    Reply(SampleArrived{start.attempt, index, call.pinned, call.pinned});
    if (!start.group.evaluation && awaited && !Generating(start.group, index))
      Sampled(start, index, call.pinned);
  }
  // At a version that is on trial only what the canary had begun.
  void Sampled(const StartGenerate& start, uint32_t index, PolicyVersion version) {
    sampled_[{start.group.draw, index}] = version;
    EXPECT_TRUE(store_.IsSettled(version) || version == 0 || tried_by_[version].count(start.worker) > 0)
        << start.worker << " serves version " << version << ", which is on trial";
  }
  bool Generating(const GroupKey& key, uint32_t index) const {
    const auto group = state_.groups.find(key);
    return group != state_.groups.end() && group->second.samples[index].status == SampleStatus::kGenerating;
  }
  void Answer(Call call, const StartScore start, bool failed) {
    const Process& worker = rewards_.at(start.worker);
    if (!Reaches(call, worker))
      return Reply(ScoreEnded{start.call, absl::UnavailableError("connection refused"), {}});
    if (failed && Below(2) == 0) return Reply(ScoreEnded{start.call, Trouble(), {}});
    ScoreEnded ended{start.call, absl::OkStatus(), {}};
    for (const SampleRef& item : start.items) {
      const uint64_t hash = Hash(item.group.draw, item.index);
      Judged judged{hash % 8 == 0 ? Judgement::kUndecided : Judgement::kReward,
                    static_cast<double>(hash % 3)};
      if (failed && Below(2) == 0) judged.judgement = Judgement::kInfrastructure;
      ended.verdicts.push_back(judged);
    }
    Reply(std::move(ended));
  }
  void Answer(Call call, const StartLoad start, bool failed) {
    Rollout& worker = rollouts_.at(start.worker);
    PolicyLoaded loaded{start.worker, start.epoch, start.policy.version, absl::OkStatus()};
    if (!Reaches(call, worker.process)) {
      loaded.status = absl::UnavailableError("connection refused");
    } else if (worker.serves > start.policy.version) {
      loaded.status = absl::AbortedError("a newer one is served");
    } else {
      if (!failed || Below(2) == 0) worker.serves = start.policy.version;
      if (failed) loaded.status = Trouble();
    }
    Reply(loaded);
  }
  void Answer(Call call, const StartLearner start, bool failed) {
    LearnerDone done;
    done.call = start.call;
    if (!Reaches(call, learner_.process)) {
      done.status = absl::UnavailableError("connection refused");
    } else if (failed && Below(2) == 0) {
      done.status =
          Below(4) == 0 ? absl::ResourceExhaustedError("disk full") : absl::UnavailableError("reset");
    } else {
      done = Execute(start);
      if (failed) done.status = absl::UnavailableError("the answer was lost");
    }
    Reply(std::move(done));
  }

  // --- The learner ---
  static PolicyRef Ref(PolicyVersion version, const std::string& hash) {
    return {"job", version, hash, "learner"};
  }
  LearnerDone Execute(const StartLearner& start) {
    LearnerDone done;
    done.call = start.call;
    if (start.op == LearnerOp::kOpen) {
      learner_.open = true;
      done.state.version = learner_.version;
      done.state.incarnation = absl::StrCat(learner_.process.incarnation);
      if (learner_.version >= 0)
        done.state.policy = Ref(learner_.version, learner_.made.at(learner_.version));
      done.expected_hash = Recorded(learner_.version);
      return done;
    }
    if (!learner_.open) {
      done.status = absl::FailedPreconditionError("the job is not open");
      return done;
    }
    switch (start.op) {
      case LearnerOp::kPublishFirst:
        if (learner_.version < 0) {
          learner_.made.emplace(0, "0");
          learner_.version = 0;
          KeepCheckpoint();
        }
        done.policy = Ref(0, learner_.made.at(0));
        break;
      case LearnerOp::kAddGroups:
        learner_.added.insert(start.draws.begin(), start.draws.end());
        break;
      case LearnerOp::kStep:
        Make(start.number, start.draws, done);
        break;
      case LearnerOp::kRedo: {
        const std::vector<Draw>& draws = store_.batches().at(start.number).draws;
        learner_.added.insert(draws.begin(), draws.end());
        Make(start.number, draws, done);
        done.expected_hash = Recorded(start.number);
        break;
      }
      case LearnerOp::kCheckpoint:
        KeepCheckpoint();
        break;
      case LearnerOp::kRollBack:
        GoBack(start.parent, start.number);
        done.policy = Ref(start.number, learner_.made.at(start.number));
        done.expected_hash = Recorded(start.number);
        break;
      case LearnerOp::kFindCheckpoint:
        for (PolicyVersion checkpoint : learner_.checkpoints) {
          if (checkpoint <= start.number) done.found = checkpoint;
        }
        break;
      case LearnerOp::kPromote:
        EXPECT_EQ(start.number, learner_.version);
        learner_.promoted = start.number;
        KeepCheckpoint();
        break;
      default:
        break;
    }
    return done;
  }
  // As the trainer does: the newest one, those that a rollback may need, the promoted one.
  void KeepCheckpoint() {
    JobSpec spec;
    spec.guard = plan_.guard;
    spec.checkpoint = plan_.checkpoint;
    spec.evaluation.every_steps = plan_.evaluation_every;
    spec.evaluation.canary = plan_.canary;
    learner_.checkpoint = learner_.version;
    learner_.checkpoints.insert(learner_.checkpoint);
    PolicyVersion oldest = RollBackFloor(spec, learner_.version);
    if (oldest == kNoPolicyVersion) oldest = learner_.checkpoint;
    std::erase_if(learner_.checkpoints,
                  [&](PolicyVersion v) { return v < oldest && v != learner_.promoted; });
  }
  void GoBack(PolicyVersion parent, PolicyVersion version) {
    if (version <= learner_.version) return;
    EXPECT_EQ(learner_.checkpoints.count(parent), 1u) << "the checkpoint of " << parent << " is gone";
    learner_.made[version] = absl::StrCat(Hash(1, std::stoull(learner_.made.at(parent))));
    learner_.version = version;
    learner_.added.clear();
    KeepCheckpoint();
  }
  std::string Recorded(PolicyVersion version) const {
    const auto batch = store_.batches().find(version);
    return batch != store_.batches().end() && batch->second.committed ? batch->second.hash : "";
  }
  void Make(PolicyVersion version, const std::vector<Draw>& draws, LearnerDone& done) {
    if (version > learner_.version) {
      uint64_t hash = Hash(learner_.arithmetic, std::stoull(learner_.made.at(version - 1)));
      for (Draw draw : draws) {
        if (learner_.added.count(draw) == 0) {
          done.status = absl::FailedPreconditionError(absl::StrCat("group ", draw, " is missing"));
          return;
        }
        hash = Hash(hash, draw);
        for (uint32_t i = 0; i < plan_.group_size; ++i) {
          const LedgerColumn column = store_.groups().at(draw).columns[i];
          if (column == LedgerColumn::kInFlight || column == LedgerColumn::kTrained) hash = Hash(hash, i);
        }
      }
      const auto published = learner_.made.find(version);
      if (published != learner_.made.end() && published->second != absl::StrCat(hash)) {
        done.status = absl::AlreadyExistsError("it is published otherwise");
        return;
      }
      learner_.made[version] = absl::StrCat(hash);
      learner_.version = version;
      learner_.added.clear();
      if (version % plan_.checkpoint.every_steps == 0) KeepCheckpoint();
    }
    done.metrics = MetricsOf(learner_.made.at(version));
    done.policy = Ref(version, learner_.made.at(version));
    done.checkpointed = learner_.checkpoint == version;
  }

  const JobPlan plan_;
  SimulatedStore store_;
  std::mt19937_64 random_;
  SchedulerState state_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t epochs_ = 0;
  std::map<std::string, Rollout> rollouts_;
  std::map<std::string, Process> rewards_;
  Learner learner_;
  std::set<std::string> told_;  // workers that the coordinator was told are there
  std::vector<Call> calls_;
  std::map<std::pair<Draw, uint32_t>, PolicyVersion> sampled_;  // of samples that were taken
  std::map<PolicyVersion, std::set<std::string>> tried_by_;     // who was given it before it was settled
  bool repeat_ = false;
};

}  // namespace sluice
