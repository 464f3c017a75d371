#include "coordinator/reporting/stall_detector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Who has a sample under way, by sample.
using Holders = std::map<SampleRef, std::string>;

class WaitFinder {
 public:
  WaitFinder(const SchedulerState& state, const TimeoutSpec& timeout) : s_(state), timeout_(timeout) {
    for (const auto& [id, attempt] : s_.attempts) {
      for (uint32_t index : attempt.indices) sampling_[{attempt.group, index}] = attempt.worker;
    }
    for (const auto& [id, call] : s_.score_calls) {
      for (const SampleRef& item : call.items) judging_[item] = call.worker;
    }
  }

  std::vector<Wait> Find() {
    FindLearner();
    if (s_.version >= 0 && (s_.version < s_.plan.stop_steps || s_.evaluation)) {
      FindRegistration("rollout", s_.rollout);
      FindRegistration("reward", s_.reward);
    }
    FindWeights();
    FindGroups();
    FindStep();
    return std::move(waits_);
  }

 private:
  static absl::Duration Seconds(double seconds) { return absl::Seconds(seconds); }

  void FindLearner() {
    const LearnerState& learner = s_.learner;
    if (!learner.alive) {
      waits_.push_back({WaitKind::kRegistration, "learner", "a learner to register", "", {}});
      return;
    }
    const bool waits = s_.plan.deterministic && !learner.different.empty();
    if (!waits && !learner.busy && learner.open && learner.backoff == absl::ZeroDuration()) return;
    waits_.push_back({WaitKind::kLearner,
                      absl::StrCat("learner ", s_.version, " ", learner.version, " ", learner.warm_steps, " ",
                                   learner.added.size()),
                      LearnerCall(), learner.name, Seconds(timeout_.train_seconds)});
  }

  std::string LearnerCall() const {
    const LearnerState& learner = s_.learner;
    if (!learner.busy && !learner.different.empty()) return kLearnerThatItHad;
    if (!learner.busy) return learner.open ? "the next call" : "the job to be opened";
    switch (learner.op) {
      case LearnerOp::kOpen:
        return "the job to be opened";
      case LearnerOp::kSupervise:
        return absl::StrCat("warm start step ", learner.op_version + 1);
      case LearnerOp::kPublishFirst:
        return "the first version";
      case LearnerOp::kAddGroups:
        return absl::StrCat("the groups of step ", learner.op_version, " to be taken");
      case LearnerOp::kStep:
        return absl::StrCat("step ", learner.op_version);
      case LearnerOp::kRedo:
        return absl::StrCat("step ", learner.op_version, " again");
      case LearnerOp::kCheckpoint:
        return "the last checkpoint";
      case LearnerOp::kRollBack:
        return absl::StrCat("version ", learner.op_version, " to be made of an older one");
      case LearnerOp::kPromote:
        return absl::StrCat("the checkpoint of version ", learner.op_version, ", which is promoted");
      case LearnerOp::kFindCheckpoint:
        return "the last checkpoint to be found";
    }
    return "";
  }

  void FindRegistration(const char* role, const std::map<std::string, WorkerState>& workers) {
    if (std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w.second.alive; })) return;
    waits_.push_back(
        {WaitKind::kRegistration, role, absl::StrCat("a ", role, " worker to register"), "", {}});
  }

  void FindWeights() {
    if (s_.version < 0 || !s_.learner.open || s_.learner.version < s_.version) return;
    for (const auto& [name, worker] : s_.rollout) {
      const PolicyVersion last = worker.canary ? s_.version : TrustedVersion(s_);
      const bool loading = worker.loading != kNoPolicyVersion;
      const bool behind = s_.plan.deterministic ? loading : worker.version < last;
      if (!worker.alive || !(behind || worker.version == kNoPolicyVersion)) continue;
      if (s_.plan.deterministic && OnTrial(s_) && !worker.canary && !loading) continue;  // it is to wait
      const PolicyVersion wanted = loading ? worker.loading : last;
      waits_.push_back(
          {WaitKind::kWeights, absl::StrCat("weights ", name, " ", worker.epoch, " ", worker.version),
           absl::StrCat("version ", wanted, " to be loaded"), name, Seconds(timeout_.load_policy_seconds)});
    }
  }

  void FindGroups() {
    std::vector<std::pair<PolicyVersion, GroupKey>> order;
    for (const auto& [key, group] : s_.groups) order.emplace_back(group.train_by, key);
    std::sort(order.begin(), order.end());
    int64_t position = 0;  // among those that are trained on
    for (const auto& [train_by, key] : order) {
      const PolicyVersion step = s_.version + 1 + position / std::max<int64_t>(1, s_.plan.groups_per_step);
      if (!key.evaluation) ++position;
      const GroupState& group = s_.groups.at(key);
      if (!group.ready) FindGroup(key, group, s_.plan.deterministic ? BatchOf(s_, key.draw) + 1 : step);
    }
  }

  void FindGroup(const GroupKey& key, const GroupState& group, PolicyVersion step) {
    int64_t sampled = 0, judged = 0;
    std::optional<uint32_t> not_sampled, not_judged;  // the first
    for (uint32_t i = 0; i < group.samples.size(); ++i) {
      const SampleStatus status = group.samples[i].status;
      const bool has_text = status != SampleStatus::kPending && status != SampleStatus::kGenerating;
      const bool settled = status == SampleStatus::kScored || status == SampleStatus::kGone;
      sampled += has_text;
      judged += settled;
      if (!has_text && !not_sampled) not_sampled = i;
      if (!settled && !not_judged) not_judged = i;
    }
    progress_ += sampled + judged;
    if (!not_judged) return;  // it is being made durable
    const int64_t left = static_cast<int64_t>(group.samples.size()) - (not_sampled ? sampled : judged);
    const std::string more = left > 1 ? absl::StrCat(" and ", left - 1, " more") : "";
    const char* run = s_.evaluation && s_.evaluation->canary ? "canary" : "evaluation";
    const std::string name =
        key.evaluation ? absl::StrCat("prompt ", key.draw, " of the ", run, " of version ", s_.version)
                       : absl::StrCat("group ", key.draw, " of step ", step);
    Wait wait;
    wait.key = absl::StrCat("group ", key.evaluation, " ", key.draw, " ", sampled, " ", judged);
    wait.kind = not_sampled ? WaitKind::kRollout : WaitKind::kReward;
    wait.what = not_sampled ? absl::StrCat(name, ": sample ", *not_sampled, more)
                            : absl::StrCat(name, ": the verdict of sample ", *not_judged, more);
    wait.on = not_sampled ? HolderOf(sampling_, {key, *not_sampled}, "any rollout worker")
                          : HolderOf(judging_, {key, *not_judged}, "any reward worker");
    wait.limit = Seconds(not_sampled ? timeout_.generate_seconds : timeout_.score_seconds);
    waits_.push_back(std::move(wait));
  }

  static std::string HolderOf(const Holders& holders, const SampleRef& sample, const char* otherwise) {
    const auto it = holders.find(sample);
    return it == holders.end() ? otherwise : it->second;
  }

  void FindStep() {
    waits_.push_back({WaitKind::kStep,
                      absl::StrCat("step ", s_.version, " ", s_.learner.version, " ", s_.learner.warm_steps,
                                   " ", s_.next_draw, " ", s_.groups.size(), " ", progress_, " ",
                                   s_.evaluated_step, " ", s_.evaluation ? s_.evaluation->done : -1),
                      WaitingFor(s_), "",
                      Seconds(std::max({timeout_.train_seconds, timeout_.load_policy_seconds,
                                        timeout_.generate_seconds + timeout_.score_seconds}))});
  }

  const SchedulerState& s_;
  const TimeoutSpec& timeout_;
  Holders sampling_, judging_;
  int64_t progress_ = 0;  // samples with a text, and with a verdict
  std::vector<Wait> waits_;
};

}  // namespace

const char* WaitKindName(WaitKind kind) {
  switch (kind) {
    case WaitKind::kLearner:
      return "learner";
    case WaitKind::kRollout:
      return "rollout";
    case WaitKind::kReward:
      return "reward";
    case WaitKind::kWeights:
      return "weights";
    case WaitKind::kRegistration:
      return "registration";
    case WaitKind::kStore:
      return "store";
    case WaitKind::kStep:
      return "step";
  }
  return "?";
}

std::vector<Wait> WaitsOf(const SchedulerState& state, const TimeoutSpec& timeout) {
  if (state.end != JobEnd::kNone || state.paused) return {};
  return WaitFinder(state, timeout).Find();
}

std::string DescribeStall(const Stall& stall) {
  return absl::StrCat(stall.what, stall.on.empty() ? "" : " on ", stall.on,
                      stall.others > 0 ? absl::StrCat(" (and ", stall.others, " like it)") : "", " since ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", stall.since, absl::UTCTimeZone()));
}

StallDetector::Stalls StallDetector::Find(const std::vector<Wait>& waits, absl::Time now) {
  std::map<std::string, absl::Time> since;
  Stalls found;
  for (const Wait& wait : waits) {
    const auto before = since_.find(wait.key);
    const absl::Time began = before == since_.end() ? now : before->second;
    since[wait.key] = began;
    if (now - began <= std::max(wait.limit, least_)) continue;
    std::optional<Stall>& stall = found[static_cast<size_t>(wait.kind)];
    const int64_t others = stall ? stall->others + 1 : 0;
    if (!stall || began < stall->since) stall = Stall{wait.kind, wait.key, wait.what, wait.on, 0, began};
    stall->others = others;
  }
  since_ = std::move(since);
  std::optional<Stall>& step = found[static_cast<size_t>(WaitKind::kStep)];
  const auto any =
      std::count_if(found.begin(), found.end(), [](const auto& stall) { return stall.has_value(); });
  if (step && any > 1) step.reset();  // the others say more
  return found;
}

StallDetector::News StallDetector::Observe(const std::vector<Wait>& waits, absl::Time now) {
  Stalls found = Find(waits, now);
  News news;
  for (size_t kind = 0; kind < found.size(); ++kind) {
    if (found[kind] && !stalls_[kind]) news.begun.push_back(*found[kind]);
    if (!found[kind] && stalls_[kind]) news.ended.push_back(*stalls_[kind]);
  }
  stalls_ = std::move(found);
  return news;
}

std::optional<Stall> StallDetector::Longest() const {
  std::optional<Stall> longest;
  for (const auto& stall : stalls_) {
    if (stall && (!longest || stall->since < longest->since)) longest = stall;
  }
  return longest;
}

}  // namespace sluice
