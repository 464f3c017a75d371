#include "learner/score.h"

#include <torch/torch.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/checkpoint_dir.h"
#include "learner/policy.h"

namespace sluice {
namespace {

absl::StatusOr<std::vector<float>> Score(const ModelDirectory& model, DType dtype,
                                         absl::Span<const int32_t> tokens, int threads) {
  at::set_num_threads(threads);
  ThreadPool pool(threads);
  const ParameterLayout layout(model.config);
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> frozen, layout.Flatten(layout.frozen(), model.tensors));
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> trained, layout.Flatten(layout.trained(), model.tensors));
  learner::Policy policy(model.config, dtype, std::move(frozen), &pool);
  SLUICE_RETURN_IF_ERROR(policy.SetPublished(trained));
  const PackGroup group{tokens.subspan(0, 1), {{tokens.subspan(1), 0}}};
  auto batch = std::make_shared<const PackedBatch>(Pack({group}));
  std::vector<float> logprobs(tokens.size() - 1);
  // The training path: with a graph, and with a loss that has no gradient.
  policy.Accumulate(batch, 1.0f, [&](size_t target, const learner::TargetScore& score) {
    logprobs[batch->targets[target].position] = score.raw_logprob;
    return learner::TargetGradient{};
  });
  return logprobs;
}

}  // namespace

absl::StatusOr<std::vector<float>> ScoreTokens(const std::string& model_directory, ModelDtype dtype,
                                               absl::Span<const int32_t> tokens, int threads) {
  if (tokens.size() < 2) return absl::InvalidArgumentError("scoring needs at least two tokens");
  if (threads < 1) return absl::InvalidArgumentError("scoring needs at least one thread");
  SLUICE_ASSIGN_OR_RETURN(ModelDirectory model, ReadModelDirectory(model_directory));
  if (static_cast<int64_t>(tokens.size()) > model.config.max_positions) {
    return absl::InvalidArgumentError(
        absl::StrCat(tokens.size(), " tokens exceed the model's ", model.config.max_positions, " positions"));
  }
  for (int32_t token : tokens) {
    if (token < 0 || token >= model.config.vocab) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is not in the vocabulary of ", model.config.vocab));
    }
  }
  try {
    return Score(model, dtype == ModelDtype::kBF16 ? DType::kBF16 : DType::kF32, tokens, threads);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
  }
}

}  // namespace sluice
