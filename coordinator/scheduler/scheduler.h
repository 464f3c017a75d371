// What happens next in one job: TakeIn(state, event) -> actions takes in what happened, Decide(state, now) ->
// actions decides all that can be decided, once for any number of events. No input or output, no clock, no
// randomness: time comes with the events, so restart, duplicate, late and lost messages are tables
// (scheduler_test.cc). The runner executes the actions in order; those that change the store come before the
// effects that depend on them. What it costs grows with the logarithm of groups and workers
// (index.h).
//
// Staleness (invariant STALE): a group handed to a worker at version w gets train_by = w + max_versions. With
// v the last committed version, a new group is handed out only while fewer than groups_per_step x (train_by -
// v + 1) groups are outstanding, so each finds a place in a batch by its train_by. The batch of v + 1 takes
// complete groups by (train_by, draw) and does not close while that would leave more incomplete groups with
// some train_by than the batches until then have places for (those that are due at v have none), unless they
// are dropped as stale.
//
// Over-sampling: `extra_groups` more are outstanding, and as many may be left without a place. Those that are
// due at v and not in the batch of v + 1 are cancelled when it closes.
//
// Deterministic jobs: the batch of version k + 1 is the draws of k (BatchOf), each sampled wholly at
// SampledAt(draw); nothing is dropped and what fails is tried again without limit. Workers serve the version
// of the lowest draw that is not complete, never a newer one, so a retry always finds a worker that may load
// what it needs. An evaluation of version v waits for the draws of older versions and holds back the step
// past v.
//
// A canary (canary.cc): a version that a step made is on trial until one worker has sampled the
// first prompts of the evaluation with it. The others keep the version before it, which new groups and
// retries are sampled at meanwhile; the step past it is held back, so one that is refused has none made of
// it. In a deterministic job the trial begins when the draws of older versions are complete.
//
// A rollback (guard.cc) goes back to the checkpoint of an older version, `parent`, and makes the
// next version of it. What was not trained on by then is settled, nothing begins until that version is there,
// and what is sampled later is sampled at it or newer ones: nothing crosses the fork. In a deterministic job
// the draws up to the last that could have been issued are rolled back, so that where the fork is does not
// depend on who was fast; the batch of version fork.version + 1 + k is then the draws from fork.first_draw +
// k x groups_per_step on.
//
// A learner that was restarted redoes the steps that its checkpoint lacks. One that comes out different
// (other ranks, threads or kernels) or cannot be redone is no end: the job goes back to the learner's last
// checkpoint as by a rollback. A deterministic job pauses instead, and so does one whose learner lacks a
// checkpoint that it had made durable, until a person resumes it.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/records/attempt_outcome.h"
#include "coordinator/records/canary_record.h"
#include "coordinator/records/replay_schedule.h"
#include "coordinator/scheduler/index.h"
#include "core/rl/job_spec.h"
#include "core/rl/trainer.h"
#include "core/rl/types.h"

namespace sluice {

struct SampleRef {
  GroupKey group;
  uint32_t index = 0;
  friend auto operator<=>(const SampleRef&, const SampleRef&) = default;
};

// An evaluation beside the first, whose prompts come behind its and those of the others before.
struct HeldOutPlan {
  int64_t every = 0;  // steps; a multiple of the first's
  int64_t prompts = 0, samples = 1;
};

// The constants of a job.
struct JobPlan {
  int64_t groups_per_step = 1, group_size = 2, max_versions = 0, stop_steps = 1, warm_start_steps = 0;
  bool drop_on_deadline = true, filter_ties = false, deterministic = false;
  int64_t max_filtered_groups = 0;  // that tie, for each step; 0: no limit
  int64_t evaluation_every = 0;     // steps; 0: never
  int64_t evaluation_prompts = 0, evaluation_samples = 1;
  std::vector<HeldOutPlan> more_evaluations = {};
  GateSpec gate;
  CanarySpec canary;
  GuardSpec guard;
  CheckpointSpec checkpoint;
  int32_t max_attempts = 3;
  absl::Duration generate_timeout = absl::Seconds(300), score_timeout = absl::Seconds(60);
  absl::Duration load_timeout = absl::Seconds(300);
  absl::Duration hedge_after = absl::InfiniteDuration();    // of an attempt's start
  absl::Duration group_timeout = absl::InfiniteDuration();  // from a training group's issue, or the restart
  int64_t extra_groups = 0;                                 // of over-sampling
  // Limits of what is under way at once; the first two are of rollout workers that are called, whose every
  // attempt takes a thread.
  int32_t groups_per_worker = 64, groups_in_flight = 192, score_calls_per_worker = 2,
          items_per_score_call = 512;
  // Of a replay: what it follows in place of the formulas. Shared: it does not change.
  std::shared_ptr<const ReplaySchedule> replay = nullptr;
};
// `evaluation_prompts`: how many each evaluation has, the first before the others.
JobPlan PlanOf(const JobSpec& spec, const std::vector<size_t>& evaluation_prompts);
// Whether version `version`, which is evaluated, is by this one too.
bool IsDue(const JobPlan& plan, const HeldOutPlan& more, PolicyVersion version);

// Makes the plan that of a replay: a deterministic job whose draws, batches and versions are the recorded
// ones, without evaluations and what else a job decides by itself.
void FollowRecord(JobPlan& plan, std::shared_ptr<const ReplaySchedule> record);

enum class SampleStatus { kPending, kGenerating, kGenerated, kScoring, kScored, kGone };

struct SampleSlot {
  SampleStatus status = SampleStatus::kPending;
  int32_t failures = 0, losses = 0,
          judge_failures = 0;  // tries lost by: an error, the worker's end, the checker
  bool queued = false;         // in to_score
  double reward = 0;           // where kScored
};

// A sample that will have no reward: the ledger's column, written with its group, and why.
struct LostSample {
  LedgerColumn column = LedgerColumn::kQuarantined;
  std::string reason;
  int32_t tries = 0;  // that failed: of its generation, or of its judgement
};

struct GroupState {
  PolicyVersion train_by = 0;                    // last version at which it may be trained on (training only)
  PolicyVersion oldest = kNoPolicyVersion;       // oldest version among its spans
  bool ready = false;                            // complete and durable
  uint32_t attempts = 0;                         // so far
  std::vector<uint64_t> running;                 // attempts under way; the second is a hedge
  absl::Time deadline = absl::InfiniteFuture();  // of training: then what is missing is given up
  std::map<uint32_t, LostSample> lost;           // by index
  std::vector<SampleSlot> samples;
  GroupPlace place;  // in the index
};

struct AttemptState {
  GroupKey group;
  std::set<uint32_t> indices;  // still to come
  std::string worker;
  absl::Time started, deadline;
  bool hedge = false;  // another was under way when it began
};

struct ScoreCallState {
  std::vector<SampleRef> items;
  std::string worker;
  absl::Time deadline;
};

struct WorkerState {
  uint64_t epoch = 0;
  bool alive = false;
  PolicyVersion version = kNoPolicyVersion;  // served (rollout)
  PolicyVersion loading = kNoPolicyVersion;  // asked to load
  std::string source;                        // the worker that it loads from; empty: the learner
  bool only_learner = false;                 // loads from there next: a worker could not give it the policy
  bool gives = true;                         // policies to others
  std::set<uint64_t> calls;                  // attempts or score calls under way
  int32_t slots = 1;                         // how many there may be
  bool called = false;                       // each attempt takes a thread: it has no stream
  bool canary = false;                       // has only what is on trial to do
  std::string away;                          // why it judges nothing (reward); empty: it does
  absl::Time load_deadline;
  absl::Time not_before = absl::InfinitePast();  // rests until then
  absl::Duration backoff;
  WorkerPlace place;  // in the index
};

enum class LearnerOp {
  kOpen,
  kSupervise,
  kPublishFirst,
  kAddGroups,
  kStep,
  kRedo,
  kCheckpoint,
  kRollBack,
  kPromote,
  kFindCheckpoint
};

struct LearnerState {
  std::string name, incarnation;
  uint64_t epoch = 0;
  bool alive = false, open = false;
  std::optional<uint64_t> busy;  // id of the call under way; calls do not overlap
  LearnerOp op = LearnerOp::kOpen;
  int64_t op_version = 0;
  uint64_t op_epoch = 0;
  std::vector<Draw> op_draws;
  PolicyVersion version = kNoPolicyVersion;  // where it stands
  int64_t warm_steps = 0;
  std::set<Draw> added;  // groups it has for the next version
  int32_t failures = 0;  // in a row, of one incarnation
  absl::Time not_before = absl::InfinitePast();
  absl::Duration backoff;
  std::string refuses;  // why it does not open the job; tried again
  // Why a step cannot be redone; its last checkpoint is looked for. A deterministic job stands still.
  std::string different;
};

// Draws of prompts in quarantine among those that come next. They are settled at once.
struct BarredDraws {
  std::set<Draw> draws;
  Draw known_below = std::numeric_limits<Draw>::max();  // draws from here on wait until more is known
  int64_t in_a_row = 0;                                 // settled since one of another prompt, or a resume
};

struct EvaluationRun {
  PolicyVersion version = kNoPolicyVersion;
  int64_t prompts = 0;            // the first, then those of others that are due
  bool canary = false;            // on the canary alone, and not an evaluation that is due
  int64_t started = 0, done = 0;  // prompts
};

// The score of an evaluation, and the mean training reward of the steps since the one before it.
struct HeldOutScore {
  PolicyVersion version = kNoPolicyVersion;
  double score = 0;  // not a number: no sample has a reward
  std::optional<double> train_reward = {};
};

// How the last version is tried, where the plan has a canary.
struct CanaryState {
  PolicyVersion settled =
      kNoPolicyVersion;               // the last that all may load: it passed, was taken, or is a rollback's
  std::string worker;                 // that tries the last version; empty: none yet
  bool awaits_score = false;          // of what it sampled
  std::vector<CanaryRecord> records;  // of the versions that the last one was made of, oldest first
};

// What the guard knows of the versions that the last one was made of.
struct GuardState {
  std::map<std::string, int64_t> broken;  // limit -> steps in a row
  std::vector<HeldOutScore> held_out;     // oldest first
};

// A version that is made of an older one. Draws go on at first_draw.
struct Fork {
  PolicyVersion version = 0, parent = kNoPolicyVersion;
  Draw first_draw = 0;
  std::string reason = {};
  bool by_guard = true;  // else because a learner could not redo what it had done
};

// What a deterministic job waits for when its learner comes to other bits.
constexpr char kLearnerThatItHad[] =
    "a learner with the ranks, threads and processor that it had: start it so again";

// That no reward worker judges anything.
struct RewardAway {
  std::string why;  // empty: one does, or none is registered
  absl::Time since;
  bool noted = false;
};

// Of a state: made with its first step, and kept from then on.
struct SchedulerIndex {
  bool made = false;
  GroupIndex groups;
  WorkerIndex rollout, reward;
  friend bool operator==(const SchedulerIndex&, const SchedulerIndex&) = default;
};

enum class JobEnd { kNone, kSucceeded, kFailed, kCancelled };

struct SchedulerState {
  JobPlan plan;
  bool paused = false;
  bool admit = true;    // new groups may begin; else only what has begun goes on
  bool yields = false;  // another job is to have the learner: no further step begins, and what was trained
                        // is made durable
  bool stood_down = false;  // the learner is another job's: nothing happens any more
  JobEnd end = JobEnd::kNone;
  std::string error;  // why it failed, or why it was paused by an error

  PolicyVersion version = kNoPolicyVersion;        // last committed
  PolicyRef policy;                                // of `version`
  std::map<PolicyVersion, std::string> manifests;  // hashes of the versions that samples may still name
  PolicyVersion checkpointed = kNoPolicyVersion;
  Draw next_draw = 0;           // of deterministic jobs and replays: the place in the order of their draws
  Draw complete_below = 0;      // of deterministic jobs: the draws in all places below are complete
  BarredDraws barred;           // of jobs that are not deterministic
  int64_t evaluated_step = -1;  // last step that was evaluated
  std::map<GroupKey, GroupState> groups;
  int64_t drops_in_a_row = 0;  // groups with nothing to learn from since one became ready or a resume
  int64_t drops_since_step = 0, filtered_since_step = 0;
  std::string last_drop;                              // why the last of them was dropped
  std::vector<Draw> batch;                            // recorded for version + 1; empty: none
  absl::Time blocked_since = absl::InfiniteFuture();  // the batch waits for due groups only

  // In order of their start, hence of their deadlines, as long as the clock does not go back.
  std::map<uint64_t, AttemptState> attempts;
  std::map<uint64_t, ScoreCallState> score_calls;
  std::deque<SampleRef> to_score;  // some of groups that are gone
  uint64_t next_id = 1;            // of attempts and calls
  std::map<std::string, WorkerState> rollout, reward;
  LearnerState learner;
  RewardAway reward_away;
  bool checkpoint_lost = false;  // the job is paused because the learner lacks a checkpoint that it had
  bool goes_on_without = false;  // a person resumed it all the same; until the learner stands at `version`
  std::optional<EvaluationRun> evaluation;
  PolicyVersion unjudged = kNoPolicyVersion;  // evaluated; its score is to come

  CanaryState canary;
  GuardState guard;
  Fork fork;                                   // the last rollback that is committed; version 0: none
  std::optional<Fork> rollback;                // recorded, to be committed as version + 1
  int64_t rollbacks = 0;                       // recorded ones of the guard
  PolicyVersion promoted = kNoPolicyVersion;   // last
  PolicyVersion promoting = kNoPolicyVersion;  // its checkpoint is to be made and kept
  SchedulerIndex index;
};

// Of the last version: not all workers may load it yet; nor will they, unless a person says so.
bool OnTrial(const SchedulerState& state);
bool IsRefused(const SchedulerState& state);
// The last version that all workers may load.
PolicyVersion TrustedVersion(const SchedulerState& state);

// Whether the last version is not made of this one: a rollback went back behind it. `forks`: all.
bool IsLeftBehind(PolicyVersion version, const std::vector<Fork>& forks);

// Of deterministic jobs: the batch that a draw belongs to, which is trained on at this version, and the
// version that it is sampled at. The batch of a draw from before the last rollback is one before it.
PolicyVersion BatchOf(const SchedulerState& state, Draw draw);
PolicyVersion SampledAt(const SchedulerState& state, Draw draw);
// The draw that is issued in this place, from 0; nullopt: all have been.
std::optional<Draw> DrawAt(const SchedulerState& state, uint64_t place);
// The first draw of the batch that is trained on at `version`.
Draw FirstDrawOf(const SchedulerState& state, PolicyVersion version);

// --- Events ---
struct TickEvent {};
struct RolloutUp {
  std::string name;
  uint64_t epoch = 0;
  int32_t slots = 0;  // groups that it takes at once over its stream; 0: it has none and is called
};
struct RewardUp {
  std::string name;
  uint64_t epoch = 0;
};
struct LearnerUp {
  std::string name;
  uint64_t epoch = 0;
};
struct WorkerDown {
  std::string name;
  uint64_t epoch = 0;
  std::string reason;
  bool given_away = false;  // to another job: not the worker's end, and no sample's fault
};
struct PolicyLoaded {
  std::string worker;
  uint64_t epoch = 0;
  PolicyVersion version = 0;
  absl::Status status;
};
struct SampleArrived {
  uint64_t attempt = 0;
  uint32_t index = 0;
  PolicyVersion oldest = 0, newest = kNoPolicyVersion;  // among its spans
};
struct GenerateEnded {
  uint64_t attempt = 0;
  absl::Status status;
};
// The recorded completions of these samples are there (TakeRecorded).
struct RecordedTaken {
  Draw draw = 0;
  std::vector<uint32_t> indices;
};
// kUnavailable: what the checker asks is away. Not the sample's fault.
enum class Judgement { kReward, kUndecided, kInfrastructure, kUnavailable };
struct Judged {
  Judgement judgement = Judgement::kReward;
  double reward = 0;
  std::string detail = {};  // of the checker, where there is no reward; one line
};
struct ScoreEnded {
  uint64_t call = 0;
  absl::Status status;
  std::vector<Judged> verdicts;  // in order of the items
  // Rewards of members of the items' groups as group terms make them with these verdicts.
  std::vector<std::pair<SampleRef, double>> compared = {};
};
struct LearnerDone {
  uint64_t call = 0;
  absl::Status status;
  TrainerState state;                      // of kOpen
  PolicyRef policy;                        // of kPublishFirst, kStep, kRedo
  PolicyVersion found = kNoPolicyVersion;  // of kFindCheckpoint: the newest full one
  std::string expected_hash;               // in the store for the version it reports; empty: none
  bool checkpointed = false;
  std::map<std::string, double> metrics = {};  // of kStep
};
struct EvaluationScored {  // answers FinishEvaluation, with the same writes
  HeldOutScore score;
};
struct CanaryScored {  // answers FinishCanary, with the same writes
  PolicyVersion version = kNoPolicyVersion;
  double score = 0;
};
struct PauseEvent {};
struct ResumeEvent {};
struct CancelEvent {};
// The job makes room for another; what is under way is given up, and goes on when it is restored.
struct StandDownEvent {};

struct Event {
  absl::Time now;
  std::variant<TickEvent, RolloutUp, RewardUp, LearnerUp, WorkerDown, PolicyLoaded, SampleArrived,
               GenerateEnded, RecordedTaken, ScoreEnded, LearnerDone, EvaluationScored, CanaryScored,
               PauseEvent, ResumeEvent, CancelEvent, StandDownEvent>
      body;
};

// --- Actions. First those that go to the store ---
struct IssueGroup {
  Draw draw = 0;
  PolicyVersion train_by = 0;
  int64_t samples = 0;
};
struct GroupComplete {
  GroupKey group;
};  // its samples are stored; of training: it is ready for a batch
struct SettleSample {
  SampleRef sample;
  LedgerColumn column = LedgerColumn::kCancelled;
  std::string reason;
  int32_t tries = 0;  // as LostSample's
};
struct DropGroup {
  Draw draw = 0;
  LedgerColumn column = LedgerColumn::kCancelled;
  std::string reason;
};
struct RecordBatch {
  PolicyVersion version = 0;
  std::vector<Draw> draws;
};
struct CommitVersion {
  PolicyRef policy;
  std::vector<Draw> draws;
  bool checkpointed = false;
};
struct RecordRollBack {
  Fork fork;
};
struct CommitRollBack {
  PolicyRef policy;
  Fork fork;
};
struct RollBackDraws {  // all samples of these and later draws, whatever became of them
  Draw first = 0;
  std::string reason;
};
struct PromoteVersion {
  PolicyVersion version = 0;
};
struct RecordWarmStep {
  int64_t steps = 0;
};
struct FinishEvaluation {
  PolicyVersion version = 0;
};
struct FinishCanary {
  PolicyVersion version = 0;
};
struct RecordCanary {  // in place of what was recorded of the version before
  CanaryRecord record;
};
struct SaveState {};  // paused, end, error
struct Note {
  std::string text;
};
struct AttemptOver {
  uint64_t attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::kDone;
};
enum class Straggling { kHedgeStarted, kHedgeWon, kHedgeLost, kGroupLate, kGroupOverSampled };
struct Tally {
  Straggling what = Straggling::kHedgeStarted;
};
// --- and the effects ---
// Of a replay: these samples are to have their recorded completions; RecordedTaken says that they do.
struct TakeRecorded {
  Draw draw = 0;
  std::vector<uint32_t> indices;
};
struct StartGenerate {
  uint64_t attempt = 0;
  std::string worker;
  GroupKey group;
  std::vector<uint32_t> indices;
  uint32_t number = 0;  // of the attempt at this group
  absl::Time deadline;
};
struct CancelGenerate {
  uint64_t attempt = 0;
};
struct StartScore {
  uint64_t call = 0;
  std::string worker;
  std::vector<SampleRef> items;
  absl::Time deadline;
};
struct StartLoad {
  std::string worker;
  uint64_t epoch = 0;
  PolicyRef policy;
  absl::Time deadline;
  std::string source = {};  // the worker that gives it; empty: policy.source
};
struct StartLearner {
  uint64_t call = 0;
  std::string worker;
  LearnerOp op = LearnerOp::kOpen;
  int64_t number = 0;  // supervised step, or version
  std::vector<Draw> draws;
  PolicyVersion parent = kNoPolicyVersion;  // of kRollBack
};

using Action = std::variant<IssueGroup, GroupComplete, SettleSample, DropGroup, RecordBatch, CommitVersion,
                            RecordRollBack, CommitRollBack, RollBackDraws, PromoteVersion, RecordWarmStep,
                            FinishEvaluation, FinishCanary, RecordCanary, SaveState, Note, AttemptOver, Tally,
                            TakeRecorded, StartGenerate, CancelGenerate, StartScore, StartLoad, StartLearner>;

// Takes in one event.
std::vector<Action> TakeIn(SchedulerState& state, const Event& event);
// Decides all that can be decided now.
std::vector<Action> Decide(SchedulerState& state, absl::Time now);
// Both.
std::vector<Action> Step(SchedulerState& state, const Event& event);
// The index that a state must have.
SchedulerIndex IndexOf(SchedulerState state);

// Workers that load a policy from one worker, or from the learner, at a time: so it spreads as a tree.
constexpr int kReceiversPerSource = 2;

// After so many groups in a row that failed or were filtered the job pauses: nothing shows that another would
// do better.
constexpr int64_t kMinDropsToPause = 64, kStepsOfDropsToPause = 20;
int64_t DropsToPause(const JobPlan& plan);

// Takes in the manifest of a version, and forgets those that no sample may name any more.
void AddManifest(SchedulerState& state, PolicyVersion version, const std::string& hash);

// The versions that a sample of a group may be sampled at; the group is in the state.
struct VersionRange {
  PolicyVersion min = 0, max = 0;
};
VersionRange AllowedVersions(const SchedulerState& state, const GroupKey& key);

// Of each reward worker at once, from now on.
void LimitScoreCalls(SchedulerState& state, int32_t calls);

// Of a state that yields: nothing would be lost if it stood down now.
bool CanStandDown(const SchedulerState& state);

// What the job waits for now, for people, to be read after "waiting for"; empty when it ended.
std::string WaitingFor(const SchedulerState& state);

}  // namespace sluice
