#include "coordinator/jobs/job_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "coordinator/replay/replay_check.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/rl/advantage.h"
#include "core/rl/reward_composition.h"

namespace sluice {
namespace {

constexpr size_t kEventsKept = 100;
constexpr size_t kDetailBytes = 200;
constexpr absl::Duration kProgressInterval = absl::Seconds(1);
constexpr int64_t kProgressBytes = int64_t{32} << 20;  // in one transaction, about: it must not take long

JobState StateOf(const SchedulerState& s) {
  switch (s.end) {
    case JobEnd::kSucceeded:
      return JobState::kSucceeded;
    case JobEnd::kFailed:
      return JobState::kFailed;
    case JobEnd::kCancelled:
      return JobState::kCancelled;
    case JobEnd::kNone:
      break;
  }
  if (s.paused) return JobState::kPaused;
  if (s.stood_down) return JobState::kPending;
  if (s.version >= 0) return JobState::kRunning;
  if (!s.learner.open && s.learner.warm_steps == 0) return JobState::kPending;
  return s.plan.warm_start_steps > 0 ? JobState::kWarmingUp : JobState::kRunning;
}

// What the checker says, as one short line.
std::string DetailOf(const Verdict& verdict) {
  std::string detail = verdict.detail;
  for (const VerdictComponent& component : verdict.components) {
    if (detail.empty() && component.kind == verdict.kind) detail = component.detail;
  }
  if (detail.size() > kDetailBytes) detail = detail.substr(0, kDetailBytes) + "...";
  for (char& c : detail) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return detail;
}

// What a component has to ask is away.
bool IsUnavailable(const Verdict& verdict) {
  return verdict.kind == VerdictKind::kInfrastructure &&
         std::any_of(verdict.components.begin(), verdict.components.end(),
                     [](const VerdictComponent& part) { return part.outcome == "unavailable"; });
}

Judged JudgedOf(const Verdict& verdict) {
  if (IsUnavailable(verdict)) return {Judgement::kUnavailable, 0, DetailOf(verdict)};
  if (verdict.HasReward() && std::isfinite(verdict.value)) return {Judgement::kReward, verdict.value};
  return {verdict.kind == VerdictKind::kUndecided ? Judgement::kUndecided : Judgement::kInfrastructure, 0,
          DetailOf(verdict)};
}

VersionRange VersionsOf(const Trajectory& trajectory) {
  VersionRange out{trajectory.spans.front().version, trajectory.spans.front().version};
  for (const VersionSpan& span : trajectory.spans) {
    out.min = std::min(out.min, span.version);
    out.max = std::max(out.max, span.version);
  }
  return out;
}

// What could not be read once does not come back by trying the write again, for which all jobs would wait.
absl::Status OfThisJobAlone(const absl::Status& read) {
  return IsDiskFault(read) ? absl::DataLossError(read.message()) : read;
}

}  // namespace

JobRun::JobRun(JobRow row, PromptSet prompts, const std::string& log_folder)
    : row_(std::move(row)),
      prompts_(std::move(prompts)),
      order_(row_.view.spec.seed, RandomDomain::kShuffle, prompts_.training.size(),
             row_.view.spec.from.first_prompt),
      warm_order_(row_.view.spec.seed, RandomDomain::kWarmStart,
                  std::max<size_t>(1, prompts_.warm_start.size())),
      log_(log_folder) {
  const JobSpec& spec = row_.view.spec;
  size_t end = 0;
  for (size_t i = 0; i < prompts_.evaluation_sizes.size(); ++i) {
    const EvaluationSpec& evaluation = i == 0 ? spec.evaluation : spec.more_evaluations.at(i - 1);
    end += prompts_.evaluation_sizes[i];
    held_out_.push_back({evaluation, end, sluice::SamplingOf(spec.sampling.params, evaluation)});
  }
}

void JobRun::Handle(const Event& event) {
  Begin(event.now);
  ApplyAll(event.now, TakeIn(state_, event));
}

void JobRun::Advance(absl::Time now) {
  Begin(now);
  state_.admit = admitted_ && held_bytes_ <= most_held_;
  if (!state_.plan.deterministic) quarantine_.Foresee(order_, state_);
  ApplyAll(now, Decide(state_, now));
  const auto score = std::exchange(scored_, std::nullopt);
  const auto canary = std::exchange(canary_scored_, std::nullopt);
  if (score) Handle({now, EvaluationScored{*score}});
  if (canary) Handle({now, *canary});
  if (score || canary) ApplyAll(now, Decide(state_, now));
  RefreshRow(now);
  touched_ = false;
}

void JobRun::Begin(absl::Time now) {
  if (last_commit_ == absl::Time()) last_commit_ = now;
  now_ = now;
  touched_ = true;
}

void JobRun::ApplyAll(absl::Time now, const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    std::visit([&](const auto& a) { Apply(now, a); }, action);
  }
}

void JobRun::HandleSample(absl::Time now, uint64_t attempt, Trajectory trajectory, int64_t new_tokens) {
  auto it = state_.attempts.find(attempt);
  const uint32_t index = trajectory.key.index;
  if (it == state_.attempts.end() || it->second.indices.count(index) == 0) return;
  const SampleRef ref{it->second.group, index};
  if (absl::Status bad = CheckTrajectory(trajectory, RulesFor(ref.group)); !bad.ok()) {
    LogWarning("trajectory_refused",
               {{"job", row_.view.job}, {"worker", trajectory.worker}, {"why", bad.message()}});
    return;
  }
  const VersionRange sampled = VersionsOf(trajectory);
  if (trajectory.finish_reason == FinishReason::kUnspecified) {
    const VersionRange allowed = AllowedVersions(state_, ref.group);
    if (sampled.min >= allowed.min && sampled.max <= allowed.max) progress_.Keep(ref, std::move(trajectory));
    return;
  }
  attempts_.CountTokens(attempt, new_tokens);
  const bool reported = progress_.Find(ref) != nullptr;
  Hold(ref, std::move(trajectory));
  SLUICE_FAIL_POINT("coordinator.sample_arrived");
  Handle({now, SampleArrived{attempt, index, sampled.min, sampled.max}});
  const auto group = state_.groups.find(ref.group);
  const bool taken =
      group == state_.groups.end() || group->second.samples[index].status != SampleStatus::kGenerating;
  if (!taken) return;
  progress_.Forget(ref);
  // Until its group is durable only this process has it: one that was long enough for reports is kept like
  // them.
  if (reported && !ref.group.evaluation) ended_.insert(ref);
}

TrajectoryRules JobRun::RulesFor(const GroupKey& key) {
  return {key.draw, PromptOf(key).tokens.size(), SamplingOf(key), state_.manifests};
}

const SamplingParams& JobRun::SamplingOf(const GroupKey& key) {
  return key.evaluation ? HeldOutOf(key.draw).sampling : row_.view.spec.sampling.params;
}

JobRun::HeldOut& JobRun::HeldOutOf(Draw row) {
  return *std::find_if(held_out_.begin(), held_out_.end(), [row](const HeldOut& h) { return row < h.end; });
}

void JobRun::ForgetEvaluation() {
  for (HeldOut& held_out : held_out_) held_out.summary = {};
  // Of groups that the scheduler gave up.
  for (auto it = samples_.lower_bound({{true, 0}, 0}); it != samples_.end();) {
    const GroupKey key = it->first.group;
    if (state_.groups.count(key) == 0) {
      Release(key);
      CountTokens(0, progress_.ForgetGroup(key));
    }
    it = samples_.upper_bound({key, std::numeric_limits<uint32_t>::max()});
  }
}

void JobRun::HandleVerdicts(absl::Time now, uint64_t call, const absl::Status& status,
                            std::vector<Verdict> verdicts) {
  ScoreEnded event{call, status, {}, {}};
  if (auto it = state_.score_calls.find(call); it != state_.score_calls.end()) {
    const std::vector<SampleRef>& items = it->second.items;
    std::set<GroupKey> groups;
    for (size_t i = 0; i < items.size() && i < verdicts.size(); ++i) {
      if (auto sample = samples_.find(items[i]); sample != samples_.end())
        sample->second.verdict = verdicts[i];
      groups.insert(items[i].group);
    }
    for (const GroupKey& group : groups) CompareMembers(group, event);
    for (size_t i = 0; i < items.size() && i < verdicts.size(); ++i) {
      const auto sample = samples_.find(items[i]);
      if (sample != samples_.end()) verdicts[i] = sample->second.verdict;
    }
  }
  for (const Verdict& verdict : verdicts) event.verdicts.push_back(JudgedOf(verdict));
  Handle({now, std::move(event)});
}

// Computes the group terms of those that are judged so far; with the last verdict they are final.
void JobRun::CompareMembers(const GroupKey& group, ScoreEnded& event) {
  if (!HasGroupTerms(row_.view.spec.reward)) return;
  std::vector<Verdict*> verdicts;
  std::vector<double> lengths;
  std::vector<SampleRef> refs;
  for (auto it = samples_.lower_bound(SampleRef{group, 0}); it != samples_.end() && it->first.group == group;
       ++it) {
    if (!it->second.verdict.HasReward()) continue;
    refs.push_back(it->first);
    verdicts.push_back(&it->second.verdict);
    lengths.push_back(static_cast<double>(it->second.trajectory.tokens.size()));
  }
  ApplyGroupTerms(row_.view.spec.reward, lengths, verdicts);
  for (size_t i = 0; i < refs.size(); ++i) event.compared.emplace_back(refs[i], verdicts[i]->value);
}

void JobRun::HandleLearner(absl::Time now, LearnerDone done, std::map<std::string, double> metrics,
                           std::optional<absl::StatusOr<RecordedStep>> recorded) {
  recorded_step_ = std::move(recorded);
  learner_metrics_ = done.metrics = std::move(metrics);
  recorded_job_hash_ = std::exchange(done.policy.recorded_job_hash, "");
  done.state.policy.recorded_job_hash.clear();
  Handle({now, std::move(done)});
  learner_metrics_.clear();
  recorded_step_.reset();
}

const Prompt& JobRun::PromptOf(const GroupKey& key) {
  return key.evaluation ? prompts_.evaluation[key.draw] : prompts_.training[order_.At(key.draw)];
}

RolloutRequest JobRun::RequestFor(const StartGenerate& start) {
  RolloutRequest request;
  request.job = row_.view.job;
  request.domain = start.group.evaluation ? RandomDomain::kEvaluation : RandomDomain::kTraining;
  request.seed = row_.view.spec.seed;
  request.draw = start.group.draw;
  request.indices = start.indices;
  request.attempt = start.number;
  request.prompt_tokens = PromptOf(start.group).tokens;
  request.sampling = SamplingOf(start.group);
  request.progress_every_tokens = row_.view.spec.checkpoint.progress_tokens;
  request.progress_in_parts = true;
  for (uint32_t index : start.indices) {
    if (const Trajectory* begun = progress_.Find({start.group, index})) request.begun.push_back(*begun);
  }
  request.deadline = start.deadline;
  return request;
}

std::vector<ScoreItem> JobRun::ItemsFor(const StartScore& start) {
  std::vector<ScoreItem> items;
  for (const SampleRef& ref : start.items) {
    ScoreItem item;
    const Prompt& prompt = PromptOf(ref.group);
    item.prompt = prompt.text;
    item.fields = prompt.fields;
    if (auto it = samples_.find(ref); it != samples_.end()) {
      item.completion = it->second.trajectory.text;
      item.completion_tokens = static_cast<int32_t>(it->second.trajectory.tokens.size());
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<SupervisedExample> JobRun::ExamplesFor(int64_t step) {
  std::vector<SupervisedExample> batch;
  const int64_t size = row_.view.spec.warm_start.batch_size;
  for (int64_t i = 0; i < size; ++i) {
    batch.push_back(prompts_.warm_start[warm_order_.At(static_cast<uint64_t>(step * size + i))]);
  }
  return batch;
}

void JobRun::SetPriority(absl::Time now, int32_t priority) {
  JobSpec& spec = row_.view.spec;
  if (std::exchange(spec.share.priority, priority) == priority) return;
  touched_ = true;
  Apply(now, Note{absl::StrCat("priority ", priority)});
  writes_.push_back([job = row_.view.job, spec](StoreTransaction& tx) { return tx.UpdateSpec(job, spec); });
}

std::map<std::string, int64_t> JobRun::QueueDepths() const {
  return {{"generate", static_cast<int64_t>(state_.attempts.size())},
          {"score", static_cast<int64_t>(state_.to_score.size())},
          {"ready", static_cast<int64_t>(state_.index.groups.ready().size())}};
}

void JobRun::Hold(const SampleRef& ref, Trajectory trajectory) {
  const auto [it, fresh] = samples_.try_emplace(ref);
  held_bytes_ += BytesOf(trajectory) - (fresh ? 0 : BytesOf(it->second.trajectory));
  it->second = ScoredSample{std::move(trajectory), {}, 0};
}

// The group's samples, in order, which are held no more.
std::vector<ScoredSample> JobRun::Release(const GroupKey& key) {
  std::vector<ScoredSample> samples;
  auto it = samples_.lower_bound(SampleRef{key, 0});
  for (; it != samples_.end() && it->first.group == key; it = samples_.erase(it)) {
    held_bytes_ -= BytesOf(it->second.trajectory);
    samples.push_back(std::move(it->second));
  }
  return samples;
}

Group JobRun::Assemble(const GroupKey& key) {
  Group group;
  group.draw = key.draw;
  group.prompt = PromptOf(key);
  group.samples = Release(key);
  AssignAdvantages(group, row_.view.spec.grpo.normalize_std);
  return group;
}

void JobRun::Apply(absl::Time, const IssueGroup& a) {
  row_.next_draw = state_.next_draw;
  writes_.push_back([job = row_.view.job, a](StoreTransaction& tx) {
    return tx.IssueGroup(job, a.draw, a.train_by, a.samples);
  });
}

void JobRun::Apply(absl::Time, const GroupComplete& a) {
  CountTokens(0, progress_.ForgetGroup(a.group));
  auto group =
      std::make_shared<const Group>(Assemble(a.group));  // shared with the write, which may be tried again
  if (a.group.evaluation) {
    HeldOut& held_out = HeldOutOf(a.group.draw);
    held_out.summary.Add(*group, held_out.spec);
    writes_.push_back([job = row_.view.job, group, step = state_.version](StoreTransaction& tx) {
      return tx.AddEvaluationGroup(job, step, *group);
    });
    return;
  }
  summaries_[a.group.draw] = SummariseGroup(*group);
  writes_.push_back(
      [job = row_.view.job, group](StoreTransaction& tx) { return tx.CompleteGroup(job, *group); });
}

// Their spans name the versions of this job, which has sampled none of them itself.
void JobRun::HandleRecorded(absl::Time now, const TakeRecorded& asked, absl::StatusOr<Group> group) {
  if (!group.ok()) {
    Begin(now);
    const absl::Status why =
        Annotate(OfThisJobAlone(group.status()), absl::StrCat("draw ", asked.draw, " cannot be taken over"));
    writes_.push_back([why](StoreTransaction&) { return why; });
    return;
  }
  const GroupKey key{false, asked.draw};
  const auto wanted = state_.groups.find(key);
  if (wanted == state_.groups.end() || wanted->second.ready) return;
  for (ScoredSample& sample : group->samples) {
    const uint32_t index = sample.trajectory.key.index;
    if (std::count(asked.indices.begin(), asked.indices.end(), index) == 0) continue;
    for (VersionSpan& span : sample.trajectory.spans) {
      const auto manifest = state_.manifests.find(span.version);
      if (manifest != state_.manifests.end()) span.manifest_hash = manifest->second;
    }
    Hold({key, index}, std::move(sample.trajectory));
  }
  Handle({now, RecordedTaken{asked.draw, asked.indices}});
}

void JobRun::Apply(absl::Time now, const SettleSample& a) {
  writes_.push_back([job = row_.view.job, a](StoreTransaction& tx) {
    return tx.SettleSample(job, {a.sample.group.draw, a.sample.index}, a.column, a.reason);
  });
  if (a.column == LedgerColumn::kQuarantined && replay_ == nullptr) Quarantine(now, a);
}

void JobRun::Quarantine(absl::Time now, const SettleSample& a) {
  QuarantineView view;
  view.sample = {a.sample.group.draw, a.sample.index};
  const size_t row = order_.At(a.sample.group.draw);
  view.prompt_row = static_cast<int64_t>(row);
  view.prompt_uid = prompts_.training[row].uid;
  view.reason = a.reason;
  view.attempts = a.tries;
  view.time = now;
  quarantine_.Add(row);
  writes_.push_back([job = row_.view.job, view](StoreTransaction& tx) { return tx.Quarantine(job, view); });
}

void JobRun::ForgetGroup(const GroupKey& key) {
  Release(key);
  summaries_.erase(key.draw);
  CountTokens(0, progress_.ForgetGroup(key));
}

void JobRun::Apply(absl::Time, const DropGroup& a) {
  ForgetGroup({false, a.draw});
  filtered_ += a.column == LedgerColumn::kDroppedFiltered;
  writes_.push_back([job = row_.view.job, a](StoreTransaction& tx) {
    return tx.DropGroup(job, a.draw, a.column, a.reason);
  });
}

void JobRun::Apply(absl::Time, const RecordBatch& a) {
  writes_.push_back(
      [job = row_.view.job, a](StoreTransaction& tx) { return tx.RecordBatch(job, a.version, a.draws); });
}

StepRecordView JobRun::RecordOf(absl::Time now, const CommitVersion& a) {
  StepRecordView record;
  record.step = record.version = a.policy.version;
  record.time = now;
  record.metrics = learner_metrics_;
  std::vector<GroupSummary> groups;
  std::vector<int64_t> staleness;
  double tokens = 0;
  for (Draw draw : a.draws) {
    groups.push_back(summaries_[draw]);
    const std::vector<int64_t>& lengths = groups.back().lengths;
    tokens += static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
    staleness.push_back(StalenessOf(groups.back(), a.policy.version - 1));
    summaries_.erase(draw);
  }
  reports_.push_back([staleness](CoordinatorMetrics* metrics) {
    if (metrics != nullptr) metrics->Staleness(staleness);
  });
  const int64_t filtered = std::exchange(filtered_, 0);
  for (const auto& [name, value] : SummariseBatch(groups, a.policy.version - 1, filtered)) {
    record.metrics[name] = value;
  }
  record.metrics["wait_seconds"] = absl::ToDoubleSeconds(step_started_ - last_commit_);
  record.metrics.emplace("step_seconds", absl::ToDoubleSeconds(now - step_started_));
  const double seconds = absl::ToDoubleSeconds(now - last_commit_);
  record.metrics["tokens_per_second"] = seconds > 0 ? tokens / seconds : 0;
  return record;
}

void JobRun::Apply(absl::Time now, const CommitVersion& a) {
  JobView& view = row_.view;
  StepRecordView record;
  if (a.policy.version > 0) record = RecordOf(now, a);
  last_commit_ = now;
  row_.policy = a.policy;
  view.version = view.step = a.policy.version;
  if (a.policy.version > 0) {
    view.last_step = record;
    if (const auto reward = record.metrics.find("reward"); reward != record.metrics.end())
      train_rewards_.push_back(reward->second);
    const auto value = [&](const char* name) {
      auto it = record.metrics.find(name);
      return it == record.metrics.end() || !std::isfinite(it->second) ? 0.0 : it->second;
    };
    view.max_staleness = std::max(view.max_staleness, static_cast<int64_t>(value("staleness_max")));
    view.exact_compared += static_cast<int64_t>(value("exact_compared"));
    view.exact_max_difference = std::max(view.exact_max_difference, value("exact_max_difference"));
    reports_.push_back([this, record](CoordinatorMetrics* metrics) {
      SLUICE_FAIL_POINT("coordinator.version_durable");
      log_.Step(record);
      if (metrics != nullptr) metrics->Step(row_.view.job, record);
      LogInfo("step_committed", {{"job", row_.view.job}, {"step", record.step}});
    });
  }
  writes_.push_back([job = view.job, a, record](StoreTransaction& tx) {
    return tx.CommitBatch(job, a.policy, a.draws, record);
  });
  if (replay_ != nullptr) CompareStep(now, a, std::move(record));
}

void JobRun::CompareStep(absl::Time now, const CommitVersion& a, StepRecordView record) {
  record.version = a.policy.version;
  absl::StatusOr<RecordedStep> read = absl::InternalError("a step without what was recorded of it");
  if (recorded_step_) read = *std::exchange(recorded_step_, std::nullopt);
  const auto step = read.ok() ? replay_->Compare(*std::move(read), record, recorded_job_hash_)
                              : absl::StatusOr<ReplayStepView>(read.status());
  if (!step.ok()) {
    writes_.push_back([why = OfThisJobAlone(step.status())](StoreTransaction&) { return why; });
    return;
  }
  writes_.push_back(
      [job = row_.view.job, view = *step](StoreTransaction& tx) { return tx.AddReplayStep(job, view); });
  if (!step->equal())
    Apply(now, Note{absl::StrCat("differs from ", row_.view.spec.replay.job, ", ", DifferenceOf(*step))});
}

void JobRun::Apply(absl::Time now, const RecordWarmStep& a) {
  row_.view.warm_start_step = a.steps;
  reports_.push_back([this, a, now, metrics = learner_metrics_](CoordinatorMetrics*) {
    log_.WarmStart(a.steps, metrics, now);
  });
}

void JobRun::Apply(absl::Time now, const FinishEvaluation& a) {
  EvaluationView view = held_out_.at(0).Finish(a.version);
  for (size_t i = 0; i < state_.plan.more_evaluations.size(); ++i) {
    if (IsDue(state_.plan, state_.plan.more_evaluations[i], a.version))
      view.others.push_back(held_out_.at(i + 1).Finish(a.version));
  }
  ForgetEvaluation();
  if (const auto rewards = std::exchange(train_rewards_, {}); !rewards.empty()) {
    view.train_reward =
        std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(rewards.size());
  }
  row_.view.evaluations.push_back(view);
  scored_ = ScoreOf(view);
  Apply(now, Note{DescribeEvaluation(view)});
  writes_.push_back(
      [job = row_.view.job, view](StoreTransaction& tx) { return tx.AddEvaluation(job, view); });
  SLUICE_FAIL_POINT("coordinator.evaluation_finished");
  reports_.push_back([this, view, now](CoordinatorMetrics* metrics) {
    log_.Evaluation(view, now);
    if (metrics != nullptr) metrics->Evaluation(row_.view.job, view);
  });
}

void JobRun::Apply(absl::Time now, const SaveState&) {
  if (state_.end != JobEnd::kNone && row_.view.end_time == absl::InfiniteFuture()) row_.view.end_time = now;
}

void JobRun::Apply(absl::Time now, const Note& a) {
  JobEventView event{now, a.text};
  row_.view.events.Append(event, kEventsKept);
  writes_.push_back([job = row_.view.job, event = std::move(event)](StoreTransaction& tx) {
    return tx.AddEvent(job, event);
  });
  LogInfo("job_event", {{"job", row_.view.job}, {"text", a.text}});
}

void JobRun::Apply(absl::Time now, const AttemptOver& a) {
  const std::optional<AttemptEnd> end = attempts_.Ended(now, a);
  if (!end) return;
  writes_.push_back([job = row_.view.job, end = *end](StoreTransaction& tx) {
    return tx.EndAttempt(job, end.draw, end.number, end.outcome, end.tokens, end.ended);
  });
}

void JobRun::Apply(absl::Time, const Tally& a) {
  reports_.push_back([what = a.what](CoordinatorMetrics* metrics) {
    if (metrics != nullptr) metrics->Count(what);
  });
}

void JobRun::Apply(absl::Time now, const StartGenerate& a) {
  if (!a.group.evaluation) {
    const AttemptStart attempt{a.group.draw,
                               a.number,
                               a.worker,
                               state_.rollout.at(a.worker).epoch,
                               static_cast<int64_t>(a.indices.size()),
                               now};
    writes_.push_back(
        [job = row_.view.job, attempt](StoreTransaction& tx) { return tx.AddAttempt(job, attempt); });
  }
  attempts_.Started(a);
  CheckBegun(a);
  effects_.push_back(a);
}

// What the new attempt may go on with. A completion begun at versions that its group may not have is begun
// anew.
void JobRun::CheckBegun(const StartGenerate& a) {
  if (state_.groups.count(a.group) == 0) return;
  const VersionRange allowed = AllowedVersions(state_, a.group);
  int64_t resumed = 0, lost = 0;
  for (uint32_t index : a.indices) {
    const Trajectory* begun = progress_.Find({a.group, index});
    if (begun == nullptr) continue;
    const VersionRange sampled = VersionsOf(*begun);
    if (sampled.min >= allowed.min && sampled.max <= allowed.max) {
      resumed += static_cast<int64_t>(begun->tokens.size());
    } else {
      lost += progress_.Forget({a.group, index});
    }
  }
  CountTokens(resumed, lost);
}

void JobRun::CountTokens(int64_t resumed, int64_t lost) {
  if (resumed == 0 && lost == 0) return;
  reports_.push_back([resumed, lost](CoordinatorMetrics* metrics) {
    if (metrics != nullptr) metrics->Resumed(resumed, lost);
  });
}

void JobRun::Apply(absl::Time now, const StartLearner& a) {
  if (a.op == LearnerOp::kStep) step_started_ = now;
  effects_.push_back(a);
}

void JobRun::RefreshRow(absl::Time now) {
  JobView& view = row_.view;
  const JobState state = StateOf(state_);
  if (state != view.state) {
    LogInfo("job_state",
            {{"job", view.job}, {"from", JobStateName(view.state)}, {"to", JobStateName(state)}});
  }
  view.state = state;
  view.error = state_.error;
  view.waiting_for = WaitingFor(state_);
  view.trial.reset();
  if (state_.end == JobEnd::kNone && OnTrial(state_) && !IsRefused(state_)) {
    const bool begun = state_.evaluation && state_.evaluation->canary;
    view.trial = TrialView{state_.version, state_.canary.worker, begun ? state_.evaluation->done : 0};
  }
  row_.paused = state_.paused;
  row_.checkpointed = state_.checkpointed;
  row_.policy = state_.policy;
  if (state_.learner.open) view.warm_start_step = state_.learner.warm_steps;
  if (state_.end != JobEnd::kNone && view.end_time == absl::InfiniteFuture()) view.end_time = now;
}

std::vector<StoreWrite> JobRun::TakeWrites() {
  const JobView& v = row_.view;
  std::string row = absl::StrCat(static_cast<int>(v.state), " ", row_.paused, " ", v.step, " ", v.version,
                                 " ", v.warm_start_step, " ", row_.next_draw, " ", row_.checkpointed, " ",
                                 row_.policy.source, " ", v.promoted, " ", v.error, " ", v.learner);
  if (row != saved_row_) {
    saved_row_ = std::move(row);
    writes_.push_back([copy = row_](StoreTransaction& tx) { return tx.UpdateJob(copy); });
  }
  SaveProgress();
  return std::exchange(writes_, {});
}

// With whatever else is written, else now and then: nothing waits for it.
void JobRun::SaveProgress() {
  if (!progress_.HasUnsaved() && ended_.empty()) return;
  if (writes_.empty() && now_ < progress_saved_ + kProgressInterval) return;
  progress_saved_ = now_;
  const auto save = [this](Trajectory trajectory) {
    auto shared = std::make_shared<const Trajectory>(std::move(trajectory));
    writes_.push_back(
        [job = row_.view.job, shared](StoreTransaction& tx) { return tx.SaveProgress(job, *shared); });
  };
  // What ended is the dearer. The rest goes with the next turns.
  int64_t room = kProgressBytes;
  while (room > 0 && !ended_.empty()) {
    const auto it = samples_.find(ended_.extract(ended_.begin()).value());
    if (it == samples_.end()) continue;
    room -= BytesOf(it->second.trajectory);
    save(it->second.trajectory);
  }
  if (room <= 0) return;
  for (Trajectory& report : progress_.TakeUnsaved(room)) save(std::move(report));
}

}  // namespace sluice
