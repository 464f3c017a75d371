#include "learner/replica.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/status.h"
#include "core/model/row_ranges.h"
#include "learner/audit.h"
#include "learner/kept_versions.h"
#include "learner/loss.h"
#include "learner/packing.h"
#include "learner/policy.h"

namespace sluice {
namespace {

using learner::Policy;
using learner::TargetGradient;
using learner::TargetScore;

// Sums and maxima over the tokens of a batch, added up over ranks in rank order.
struct Totals {
  double loss = 0, kl_reference = 0, kl_behaviour = 0, entropy = 0, clipped = 0, ratio = 0, tokens = 0;
  double exact_compared = 0, exact_unaudited = 0;
  double ratio_max = 0, exact_max_difference = 0;

  void Add(const Totals& o) {
    loss += o.loss;
    kl_reference += o.kl_reference;
    kl_behaviour += o.kl_behaviour;
    entropy += o.entropy;
    clipped += o.clipped;
    ratio += o.ratio;
    tokens += o.tokens;
    exact_compared += o.exact_compared;
    exact_unaudited += o.exact_unaudited;
    ratio_max = std::max(ratio_max, o.ratio_max);
    exact_max_difference = std::max(exact_max_difference, o.exact_max_difference);
  }
};

// A completion as the loss sees it. Its number in the batch is its id.
struct Completion {
  double weight = 0;  // of each of its tokens
  double advantage = 0;
  const TrainingSequence* sampled = nullptr;  // null in supervised batches
};

struct Batch {
  std::vector<PackGroup> groups;  // of all ranks
  std::vector<Completion> completions;
  int64_t completion_tokens = 0, tokens = 0;
  absl::Span<const TrainingGroup> sampled;  // what the audit is taken from; empty in supervised batches
};

struct Objective {
  const PolicyLoss* loss = nullptr;
  PolicyTemperature temperature;
  bool reference = false;
  PolicyVersion exact_version = kNoPolicyVersion;
  std::string exact_hash;
  double learning_rate = 0;
};

int64_t RowsOf(const PackGroup& group) {
  int64_t rows = static_cast<int64_t>(group.prompt.size());
  for (const PackCompletion& c : group.completions) rows += static_cast<int64_t>(c.tokens.size());
  return rows;
}

Batch SupervisedBatch(absl::Span<const SupervisedExample> examples) {
  Batch batch;
  for (const SupervisedExample& e : examples) {
    const absl::Span<const int32_t> tokens = e.tokens;
    const int64_t id = static_cast<int64_t>(batch.completions.size());
    batch.groups.push_back({tokens.subspan(0, e.prompt_size), {{tokens.subspan(e.prompt_size), id}}});
    batch.completions.emplace_back();
    batch.tokens += static_cast<int64_t>(tokens.size());
    batch.completion_tokens += static_cast<int64_t>(tokens.size()) - e.prompt_size;
  }
  for (Completion& c : batch.completions) c.weight = 1.0 / static_cast<double>(batch.completion_tokens);
  return batch;
}

Batch GroupBatch(absl::Span<const TrainingGroup> groups, Aggregation aggregation) {
  Batch batch;
  batch.sampled = groups;
  for (const TrainingGroup& g : groups) {
    std::vector<SequenceToPack> sequences;
    for (const TrainingSequence& s : g.sequences) {
      if (s.tokens.empty()) continue;
      sequences.push_back({&s, static_cast<int64_t>(batch.completions.size())});
      batch.completions.push_back({0, s.advantage, &s});
      batch.completion_tokens += static_cast<int64_t>(s.tokens.size());
    }
    for (PackGroup& packed : PackGroupsOf(g, sequences)) {
      batch.tokens += RowsOf(packed);
      batch.groups.push_back(std::move(packed));
    }
  }
  const int64_t sequences = static_cast<int64_t>(batch.completions.size());
  for (Completion& c : batch.completions) {
    c.weight = TokenWeight(aggregation, static_cast<int64_t>(c.sampled->tokens.size()),
                           batch.completion_tokens, sequences);
  }
  return batch;
}

class GangReplica final : public Replica {
 public:
  explicit GangReplica(Options options)
      : options_(std::move(options)),
        pool_(options_.threads),
        dtype_(options_.spec.dtype == ModelDtype::kBF16 ? DType::kBF16 : DType::kF32),
        policy_(options_.config, dtype_, options_.frozen, options_.threads > 1 ? &pool_ : nullptr),
        slice_size_(SliceSize(policy_.layout().trained_size(), options_.collectives->size())),
        slice_(slice_size_) {}

  const ParameterLayout& layout() const override { return policy_.layout(); }
  const TensorMap& tensors() const override { return policy_.tensors(); }

  absl::Status SetState(const TrainingState& state) override {
    const int64_t total = layout().trained_size();
    if (static_cast<int64_t>(state.masters.size()) != total) {
      return absl::InvalidArgumentError(
          absl::StrCat(state.masters.size(), " parameters; the model has ", total));
    }
    slice_.Reset();
    slice_.set_updates(state.updates);
    CopySlice(state.masters, slice_.masters());
    if (!state.first_moment.empty()) CopySlice(state.first_moment, slice_.first_moment());
    if (!state.second_moment.empty()) CopySlice(state.second_moment, slice_.second_moment());
    return Guard([&] { return policy_.SetPublished(state.masters); });
  }

  absl::StatusOr<TrainingState> GatherState() override {
    SLUICE_RETURN_IF_ERROR(Agree(half_updated_));
    TrainingState state;
    state.updates = slice_.updates();
    SLUICE_ASSIGN_OR_RETURN(state.masters, GatherFloats(slice_.masters()));
    SLUICE_ASSIGN_OR_RETURN(state.first_moment, GatherFloats(slice_.first_moment()));
    SLUICE_ASSIGN_OR_RETURN(state.second_moment, GatherFloats(slice_.second_moment()));
    return state;
  }

  absl::Status BeginReinforcement() override {
    slice_.Reset();
    if (options_.spec.grpo.kl_coefficient > 0) reference_ = policy_.packed();
    return absl::OkStatus();
  }

  absl::Status SetReference(absl::Span<const float> published) override {
    SLUICE_ASSIGN_OR_RETURN(reference_, PackPublished(published));
    return absl::OkStatus();
  }

  bool Holds(PolicyVersion version, const std::string& manifest_hash) const override {
    return kept_.Find(version, manifest_hash) != nullptr;
  }

  absl::Status Hold(PolicyVersion version, const std::string& manifest_hash,
                    absl::Span<const float> published) override {
    SLUICE_ASSIGN_OR_RETURN(auto weights, PackPublished(published));
    kept_.Keep(version, manifest_hash, std::move(weights));
    return absl::OkStatus();
  }

  absl::StatusOr<StepMetrics> Supervise(int64_t step, absl::Span<const SupervisedExample> examples) override {
    SLUICE_ASSIGN_OR_RETURN(auto loss, MakePolicyLoss("nll", options_.spec.grpo));
    Objective objective;
    objective.loss = loss.get();
    objective.learning_rate = WarmStartLearningRate(options_.spec.warm_start, step);
    return Train(SupervisedBatch(examples), objective);
  }

  absl::StatusOr<StepMetrics> Step(PolicyVersion version, const std::string& current_hash,
                                   absl::Span<const TrainingGroup> groups) override {
    const LearningSpec& spec = options_.spec;
    SLUICE_ASSIGN_OR_RETURN(auto loss, MakePolicyLoss("grpo", spec.grpo));
    Objective objective;
    objective.loss = loss.get();
    objective.temperature = spec.temperature;
    objective.reference = reference_ != nullptr && spec.grpo.kl_coefficient > 0;
    objective.exact_version = version - 1;
    objective.exact_hash = current_hash;
    objective.learning_rate = LearningRate(spec.optimizer, options_.first_step + version - 1,
                                           options_.first_step + spec.stop_steps);
    kept_.Keep(version - 1, current_hash, policy_.packed());
    absl::StatusOr<StepMetrics> metrics = Train(GroupBatch(groups, spec.grpo.aggregation), objective);
    kept_.Trim();
    if (metrics.ok()) AddGroupMetrics(groups, &*metrics);
    return metrics;
  }

 private:
  ThreadPool* pool() { return options_.threads > 1 ? &pool_ : nullptr; }
  absl::Time Deadline() const { return absl::Now() + options_.timeout; }

  // A version's weights, from the values of its trained parameters.
  absl::StatusOr<std::shared_ptr<const DecoderWeights>> PackPublished(absl::Span<const float> published) {
    std::shared_ptr<const DecoderWeights> packed;
    SLUICE_RETURN_IF_ERROR(Guard([&]() -> absl::Status {
      TensorMap all = layout().Unflatten(layout().trained(), published, dtype_);
      all.merge(layout().Unflatten(layout().frozen(), options_.frozen, dtype_));
      SLUICE_ASSIGN_OR_RETURN(packed, PackDecoderWeights(options_.config, std::move(all), dtype_));
      return absl::OkStatus();
    }));
    return packed;
  }

  // Runs work of LibTorch's: its exceptions end here.
  template <typename Work>
  absl::Status Guard(Work work) {
    try {
      at::set_num_threads(1);  // the pool divides the work
      return work();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
    }
  }

  void CopySlice(const std::vector<float>& whole, absl::Span<float> slice) const {
    const int64_t from = options_.collectives->rank() * slice_size_;
    const int64_t count = std::min(slice_size_, static_cast<int64_t>(whole.size()) - from);
    if (count > 0) std::copy_n(whole.begin() + from, count, slice.begin());
  }

  absl::StatusOr<std::vector<float>> GatherFloats(absl::Span<const float> slice) {
    std::vector<float> all(slice.size() * options_.collectives->size());
    SLUICE_RETURN_IF_ERROR(options_.collectives->AllGather(
        {reinterpret_cast<const char*>(slice.data()), slice.size() * sizeof(float)},
        {reinterpret_cast<char*>(all.data()), all.size() * sizeof(float)}, Deadline()));
    all.resize(layout().trained_size());
    return all;
  }

  // The first rank's error becomes everyone's, before anything has changed.
  absl::Status Agree(const absl::Status& mine) {
    struct Vote {
      int32_t code;
      int32_t size;
      char text[504];
    };
    Vote vote = {};
    const std::string message(mine.message());
    vote.code = static_cast<int32_t>(mine.code());
    vote.size = static_cast<int32_t>(std::min(message.size(), sizeof(vote.text)));
    std::memcpy(vote.text, message.data(), vote.size);
    std::vector<Vote> votes(options_.collectives->size());
    SLUICE_RETURN_IF_ERROR(options_.collectives->AllGather(
        {reinterpret_cast<const char*>(&vote), sizeof(vote)},
        {reinterpret_cast<char*>(votes.data()), votes.size() * sizeof(vote)}, Deadline()));
    for (size_t r = 0; r < votes.size(); ++r) {
      if (votes[r].code == 0) continue;
      return absl::Status(static_cast<absl::StatusCode>(votes[r].code),
                          absl::StrCat("rank ", r, ": ", std::string(votes[r].text, votes[r].size)));
    }
    return absl::OkStatus();
  }

  absl::Status AddUp(Totals* totals) {
    std::vector<Totals> all(options_.collectives->size());
    SLUICE_RETURN_IF_ERROR(options_.collectives->AllGather(
        {reinterpret_cast<const char*>(totals), sizeof(Totals)},
        {reinterpret_cast<char*>(all.data()), all.size() * sizeof(Totals)}, Deadline()));
    *totals = Totals();
    for (const Totals& t : all) totals->Add(t);
    return absl::OkStatus();
  }

  absl::StatusOr<StepMetrics> Train(const Batch& batch, const Objective& objective) {
    Totals totals;
    const absl::Status mine =
        half_updated_.ok() ? Guard([&] { return Accumulate(batch, objective, &totals); }) : half_updated_;
    SLUICE_RETURN_IF_ERROR(Agree(mine));
    SLUICE_FAIL_POINT("learner.gradient_agreed");
    SLUICE_RETURN_IF_ERROR(AddUp(&totals));
    absl::Span<const float> gradient = policy_.gradient();
    std::vector<float> reduced;
    if (options_.collectives->size() > 1) {
      reduced.resize(slice_size_);
      SLUICE_RETURN_IF_ERROR(
          options_.collectives->ReduceScatterSum(gradient, absl::MakeSpan(reduced), Deadline()));
      gradient = reduced;
    }
    double square = SquareOf(gradient);
    SLUICE_FAIL_POINT("learner.gradient_reduced");
    SLUICE_RETURN_IF_ERROR(options_.collectives->AllReduceSum(absl::MakeSpan(&square, 1), Deadline()));
    const double norm = std::sqrt(square);
    const bool finite = std::isfinite(norm) && std::isfinite(totals.loss);
    if (finite && batch.completion_tokens > 0) {
      half_updated_ =
          Annotate(Update(gradient, norm, objective.learning_rate), "an update was left half done");
      SLUICE_RETURN_IF_ERROR(Agree(half_updated_));
    }
    SLUICE_FAIL_POINT("learner.weights_gathered");
    StepMetrics metrics = MetricsOf(batch, totals, objective.reference);
    metrics.values["grad_norm"] = norm;
    metrics.values["learning_rate"] = objective.learning_rate;
    metrics.values["skipped_nonfinite"] = finite ? 0 : 1;
    return metrics;
  }

  // The sum of squares: in double over parts of a fixed size, which are added up in order.
  double SquareOf(absl::Span<const float> values) {
    constexpr int64_t kPart = int64_t{1} << 16;
    const int64_t parts = (static_cast<int64_t>(values.size()) + kPart - 1) / kPart;
    std::vector<double> sums(parts, 0.0);
    ForRowRanges(pool(), parts, kPart, [&](int64_t first, int64_t count) {
      for (int64_t part = first; part < first + count; ++part) {
        for (const float v : values.subspan(part * kPart, kPart)) sums[part] += static_cast<double>(v) * v;
      }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  // Forward and backward of this rank's share.
  absl::Status Accumulate(const Batch& batch, const Objective& objective, Totals* totals) {
    policy_.ZeroGradient(slice_size_ * options_.collectives->size());
    std::vector<int64_t> costs;
    for (const PackGroup& g : batch.groups) costs.push_back(RowsOf(g));
    std::vector<PackGroup> mine;
    const auto shares = Distribute(costs, options_.collectives->size());
    for (size_t i : shares[options_.collectives->rank()]) mine.push_back(batch.groups[i]);
    for (const auto& part : PlanMicroBatches(mine, options_.spec.micro_batch_tokens)) {
      AccumulatePart(batch, part, objective, totals);
      SLUICE_FAIL_POINT("learner.part_accumulated");
    }
    Audit(batch.sampled, objective, totals);
    return absl::OkStatus();
  }

  // Invariant EXACT for older versions: re-scores this rank's part of the audited share.
  void Audit(absl::Span<const TrainingGroup> groups, const Objective& objective, Totals* totals) {
    if (groups.empty()) return;
    const std::vector<AuditPiece> plan =
        PlanAudit(groups, objective.exact_version + 1, kernels::KernelPath());
    std::vector<int64_t> costs;
    for (const AuditPiece& p : plan) {
      costs.push_back(p.tokens + static_cast<int64_t>(groups[p.group].prompt.size()));
    }
    const auto shares = Distribute(costs, options_.collectives->size());
    std::map<std::pair<PolicyVersion, std::string>, std::vector<const AuditPiece*>> by_version;
    for (size_t i : shares[options_.collectives->rank()]) {
      by_version[{plan[i].version, plan[i].manifest_hash}].push_back(&plan[i]);
    }
    for (const auto& [key, pieces] : by_version) {
      const auto weights = kept_.Find(key.first, key.second);
      if (weights != nullptr) {
        AuditVersion(groups, key, pieces, weights, totals);
      } else {
        for (const AuditPiece* p : pieces) totals->exact_unaudited += static_cast<double>(p->tokens);
      }
    }
  }

  void AuditVersion(absl::Span<const TrainingGroup> groups,
                    const std::pair<PolicyVersion, std::string>& version,
                    const std::vector<const AuditPiece*>& pieces,
                    const std::shared_ptr<const DecoderWeights>& weights, Totals* totals) {
    std::vector<const TrainingSequence*> sequences;
    std::vector<PackGroup> packed;
    for (const AuditPiece* p : pieces) {
      const TrainingGroup& group = groups[p->group];
      std::vector<SequenceToPack> chosen;
      for (size_t i : p->sequences) {
        chosen.push_back({&group.sequences[i], static_cast<int64_t>(sequences.size())});
        sequences.push_back(&group.sequences[i]);
      }
      for (PackGroup& g : PackGroupsOf(group, chosen)) packed.push_back(std::move(g));
    }
    for (const auto& part : PlanMicroBatches(packed, options_.spec.micro_batch_tokens)) {
      auto rows = std::make_shared<const PackedBatch>(Pack(part));
      policy_.Score(rows, {weights}, [&](size_t i, const TargetScore& score) {
        const PackTarget& target = rows->targets[i];
        const TrainingSequence& s = *sequences[target.completion_id];
        const VersionSpan* span = SpanAt(s, target.position);
        if (span == nullptr || span->kernel_path != kernels::KernelPath()) return;
        if (std::tie(span->version, span->manifest_hash) != std::tie(version.first, version.second)) return;
        CountExact(score.raw_logprob, s.raw_logprobs[target.position], totals);
      });
    }
  }

  void AccumulatePart(const Batch& batch, const std::vector<PackGroup>& part, const Objective& objective,
                      Totals* totals) {
    auto packed = std::make_shared<const PackedBatch>(Pack(part));
    std::vector<float> reference;
    if (objective.reference) {
      reference.resize(packed->targets.size());
      policy_.Score(packed, {reference_, objective.temperature.temperature, /*replay=*/false},
                    [&](size_t i, const TargetScore& s) { reference[i] = s.logprob; });
    }
    policy_.Accumulate(packed, objective.temperature.temperature, [&](size_t i, const TargetScore& score) {
      const PackTarget& target = packed->targets[i];
      const Completion& completion = batch.completions[target.completion_id];
      TokenInput token;
      token.logprob = token.behaviour = score.logprob;
      token.entropy = score.entropy;
      token.advantage = completion.advantage;
      if (completion.sampled != nullptr) {
        const TrainingSequence& s = *completion.sampled;
        const auto& behaviour = objective.temperature.use_processed ? s.processed_logprobs : s.raw_logprobs;
        token.behaviour = behaviour[target.position];
        Compare(s, target.position, score.raw_logprob, objective, totals);
      }
      token.has_reference = objective.reference;
      if (objective.reference) token.reference = reference[i];
      const TokenOutput out = objective.loss->Token(token);
      Count(out, token, completion.weight, totals);
      return TargetGradient{completion.weight * out.d_logprob, completion.weight * out.d_entropy};
    });
  }

  static void Count(const TokenOutput& out, const TokenInput& token, double weight, Totals* totals) {
    totals->loss += weight * out.loss;
    totals->kl_reference += out.kl_reference;
    totals->kl_behaviour += out.kl_behaviour;
    totals->entropy += token.entropy;
    totals->clipped += out.clipped ? 1 : 0;
    totals->ratio += out.ratio;
    totals->ratio_max = std::max(totals->ratio_max, out.ratio);
    totals->tokens += 1;
  }

  // Invariant EXACT: where the engine sampled with these very tensors on this kernel path, the numbers are
  // equal.
  static void Compare(const TrainingSequence& s, int32_t position, float raw, const Objective& objective,
                      Totals* totals) {
    const VersionSpan* span = SpanAt(s, position);
    if (span == nullptr || !IsComparable(s) || span->version != objective.exact_version ||
        span->manifest_hash != objective.exact_hash || span->kernel_path != kernels::KernelPath()) {
      return;
    }
    CountExact(raw, s.raw_logprobs[position], totals);
  }

  static void CountExact(float mine, float engine, Totals* totals) {
    totals->exact_compared += 1;
    const double difference = std::fabs(static_cast<double>(mine) - engine);
    // A NaN here is a difference too.
    totals->exact_max_difference =
        std::max(totals->exact_max_difference, std::isnan(difference) ? HUGE_VAL : difference);
  }

  // AdamW on this rank's slice, then everyone's published values.
  absl::Status Update(absl::Span<const float> gradient, double norm, double learning_rate) {
    const OptimizerSpec& o = options_.spec.optimizer;
    const double scale = o.max_grad_norm > 0 && norm > o.max_grad_norm ? o.max_grad_norm / norm : 1;
    slice_.Update({learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay}, gradient, scale, pool());
    SLUICE_FAIL_POINT("learner.optimizer_done");
    if (options_.collectives->size() == 1) {
      return Guard([&] { return policy_.SetPublished(slice_.masters()); });
    }
    std::vector<float> published;
    if (dtype_ == DType::kF32) {
      SLUICE_ASSIGN_OR_RETURN(published, GatherFloats(slice_.masters()));
    } else {
      SLUICE_ASSIGN_OR_RETURN(published, GatherRounded());
    }
    return Guard([&] { return policy_.SetPublished(published); });
  }

  absl::StatusOr<std::vector<float>> GatherRounded() {
    std::vector<uint16_t> mine(slice_size_), all(slice_size_ * options_.collectives->size());
    for (int64_t i = 0; i < slice_size_; ++i) mine[i] = Bf16FromFloat(slice_.masters()[i]);
    SLUICE_RETURN_IF_ERROR(options_.collectives->AllGather(
        {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(uint16_t)},
        {reinterpret_cast<char*>(all.data()), all.size() * sizeof(uint16_t)}, Deadline()));
    std::vector<float> published(layout().trained_size());
    for (size_t i = 0; i < published.size(); ++i) published[i] = FloatFromBf16(all[i]);
    return published;
  }

  static StepMetrics MetricsOf(const Batch& batch, const Totals& t, bool reference) {
    const double n = std::max(t.tokens, 1.0);
    StepMetrics metrics;
    metrics.values = {{"loss", t.loss},
                      {"kl", (reference ? t.kl_reference : t.kl_behaviour) / n},
                      {"kl_behaviour", t.kl_behaviour / n},
                      {"entropy", t.entropy / n},
                      {"clip_fraction", t.clipped / n},
                      {"ratio_mean", t.ratio / n},
                      {"ratio_max", t.ratio_max},
                      {"exact_compared", t.exact_compared},
                      {"exact_max_difference", t.exact_max_difference},
                      {"exact_unaudited", t.exact_unaudited},
                      {"completion_tokens", static_cast<double>(batch.completion_tokens)},
                      {"tokens", static_cast<double>(batch.tokens)}};
    return metrics;
  }

  static void AddGroupMetrics(absl::Span<const TrainingGroup> groups, StepMetrics* metrics) {
    double reward = 0, samples = 0, ties = 0;
    for (const TrainingGroup& g : groups) {
      bool tied = true;
      for (const TrainingSequence& s : g.sequences) {
        reward += s.reward;
        samples += 1;
        tied = tied && s.advantage == 0;
      }
      ties += tied ? 1 : 0;
    }
    metrics->values["reward"] = samples > 0 ? reward / samples : 0;
    metrics->values["group_ties"] = ties;
  }

  const Options options_;
  ThreadPool pool_;
  const DType dtype_;
  Policy policy_;
  const int64_t slice_size_;
  AdamwSlice slice_;
  absl::Status
      half_updated_;  // not OK: masters moved and the published values did not follow; only a restart helps
  KeptVersions kept_;
  std::shared_ptr<const DecoderWeights> reference_;  // shared with the policy while it is version 0
};

}  // namespace

absl::StatusOr<std::unique_ptr<Replica>> Replica::Create(Options options) {
  try {
    at::set_num_threads(1);
    return std::make_unique<GangReplica>(std::move(options));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
  }
}

}  // namespace sluice
