// A learner and a checker that cost nothing: every version is a name, every verdict a look at the text.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/rl/scorer.h"
#include "core/rl/trainer.h"

namespace sluice::bench {

// Thread-compatible.
class TrivialTrainer final : public Trainer {
 public:
  // `on_step` is told when a step begins.
  explicit TrivialTrainer(std::function<void()> on_step) : on_step_(std::move(on_step)) {}

  absl::StatusOr<TrainerState> Open(const JobId&, const JobSpec&) override {
    return TrainerState{"incarnation", 0, version_, policy_};
  }
  absl::StatusOr<StepMetrics> Supervise(const JobId&, int64_t, absl::Span<const SupervisedExample>) override {
    return absl::UnimplementedError("there is no warm start here");
  }
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override {
    if (version_ < 0) Publish(job, 0);
    return policy_;
  }
  absl::Status AddGroup(const JobId&, PolicyVersion, const Group& group) override {
    samples_ += static_cast<int64_t>(group.samples.size());
    return absl::OkStatus();
  }
  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> /*draws*/) override {
    on_step_();
    if (version == version_ + 1) Publish(job, version);
    return StepResult{policy_, {{{"samples", static_cast<double>(samples_)}}}, true};
  }
  absl::StatusOr<PolicyRef> RollBack(const JobId&, PolicyVersion, PolicyVersion) override {
    return absl::UnimplementedError("there is nothing to go back to here");
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion) override { return Checkpoint(job); }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId&) override {
    return CheckpointInfo{version_, "nowhere", 0, absl::UnixEpoch()};
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId&) override {
    return std::vector<CheckpointInfo>();
  }
  absl::Status Export(const JobId&, PolicyVersion, const std::string&) override {
    return absl::UnimplementedError("there are no weights here");
  }
  absl::Status Forget(const JobId&) override { return absl::OkStatus(); }

 private:
  void Publish(const JobId& job, PolicyVersion version) {
    version_ = version;
    policy_ = {job, version, Sha256Hex(absl::StrCat(job, version)), "127.0.0.1:1"};
  }

  const std::function<void()> on_step_;
  PolicyVersion version_ = kNoPolicyVersion;
  PolicyRef policy_;
  int64_t samples_ = 0;
};

class TrivialScorer final : public Scorer {
 public:
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time, const CancelToken&) override {
    std::vector<Verdict> out(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const bool right = items[i].completion == "right";
      out[i].kind = right ? VerdictKind::kCorrect : VerdictKind::kWrong;
      out[i].value = right ? 1 : 0;
      for (const auto& component : spec.components)
        out[i].components.push_back({component.name, out[i].kind, out[i].value, component.weight});
    }
    return out;
  }
};

}  // namespace sluice::bench
