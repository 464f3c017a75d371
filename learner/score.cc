#include "learner/score.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "learner/policy.h"

namespace sluice {
namespace {

// LibTorch's exceptions end here.
template <typename Work>
auto Guard(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
  }
}

}  // namespace

class TokenScorer::Impl {
 public:
  Impl(const ModelConfig& config, DType dtype, std::vector<float> frozen, int threads)
      : pool_(threads), policy_(config, dtype, std::move(frozen), &pool_) {}

  absl::Status Load(absl::Span<const float> trained) { return policy_.SetPublished(trained); }

  absl::Status Check(absl::Span<const int32_t> tokens) const {
    const ModelConfig& config = policy_.config();
    if (tokens.size() < 2) return absl::InvalidArgumentError("scoring needs at least two tokens");
    if (static_cast<int64_t>(tokens.size()) > config.max_positions) {
      return absl::InvalidArgumentError(
          absl::StrCat(tokens.size(), " tokens exceed the model's ", config.max_positions, " positions"));
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < config.vocab) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is not in the vocabulary of ", config.vocab));
    }
    return absl::OkStatus();
  }

  std::vector<float> Score(absl::Span<const int32_t> tokens) {
    at::set_num_threads(1);  // the pool divides the work
    const PackGroup group{tokens.subspan(0, 1), {{tokens.subspan(1), 0}}};
    auto batch = std::make_shared<const PackedBatch>(Pack({group}));
    std::vector<float> logprobs(tokens.size() - 1);
    // The training path: with a graph, and with a loss that has no gradient.
    policy_.Accumulate(batch, 1.0f, [&](size_t target, const learner::TargetScore& score) {
      logprobs[batch->targets[target].position] = score.raw_logprob;
      return learner::TargetGradient{};
    });
    return logprobs;
  }

 private:
  ThreadPool pool_;
  learner::Policy policy_;
};

TokenScorer::TokenScorer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenScorer::~TokenScorer() = default;

absl::StatusOr<std::unique_ptr<TokenScorer>> TokenScorer::Open(const std::string& model_directory,
                                                               ModelDtype dtype, int threads) {
  using Result = absl::StatusOr<std::unique_ptr<TokenScorer>>;
  if (threads < 1) return absl::InvalidArgumentError("scoring needs at least one thread");
  SLUICE_ASSIGN_OR_RETURN(ModelDirectory model, ReadModelDirectory(model_directory));
  const ParameterLayout layout(model.config);
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> frozen, layout.Flatten(layout.frozen(), model.tensors));
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> trained, layout.Flatten(layout.trained(), model.tensors));
  return Guard([&]() -> Result {
    const DType stored = dtype == ModelDtype::kBF16 ? DType::kBF16 : DType::kF32;
    auto impl = std::make_unique<Impl>(model.config, stored, std::move(frozen), threads);
    SLUICE_RETURN_IF_ERROR(impl->Load(trained));
    return std::unique_ptr<TokenScorer>(new TokenScorer(std::move(impl)));
  });
}

absl::StatusOr<std::vector<float>> TokenScorer::Score(absl::Span<const int32_t> tokens) {
  SLUICE_RETURN_IF_ERROR(impl_->Check(tokens));
  return Guard([&]() -> absl::StatusOr<std::vector<float>> { return impl_->Score(tokens); });
}

absl::StatusOr<std::vector<float>> ScoreTokens(const std::string& model_directory, ModelDtype dtype,
                                               absl::Span<const int32_t> tokens, int threads) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<TokenScorer> scorer,
                          TokenScorer::Open(model_directory, dtype, threads));
  return scorer->Score(tokens);
}

}  // namespace sluice
