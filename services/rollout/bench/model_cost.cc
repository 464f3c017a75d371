#include "services/rollout/bench/model_cost.h"

#include <cmath>

#include "absl/strings/match.h"

namespace sluice::bench {

double ModelCost::ActiveParameters() const {
  return static_cast<double>(layers + head) + experts_share * static_cast<double>(experts);
}

double ModelCost::PrefillOperations(int64_t prompts, int64_t prompt_tokens) const {
  const double body = static_cast<double>(layers) + experts_share * static_cast<double>(experts);
  return 2 * static_cast<double>(prompts) *
         (body * static_cast<double>(prompt_tokens) + static_cast<double>(head));
}

double ModelCost::StepBytes(int64_t batch, int64_t element_bytes) const {
  const double met = 1 - std::pow(1 - experts_share, static_cast<double>(batch));
  return static_cast<double>(element_bytes) *
         (static_cast<double>(layers + head) + met * static_cast<double>(experts));
}

ModelCost CostOf(const ModelConfig& config) {
  ModelCost out;
  for (const TensorShape& tensor : TensorTable(config)) {
    int64_t elements = 1;
    for (int64_t d : tensor.shape) elements *= d;
    out.parameters += elements;
    if (tensor.shape.size() < 2) continue;
    if (absl::StrContains(tensor.name, "embed_tokens")) {
      if (config.tied_embeddings) out.head = elements;
    } else if (absl::StrContains(tensor.name, "lm_head")) {
      out.head = elements;
    } else if (absl::StrContains(tensor.name, ".experts.")) {
      out.experts += elements;
    } else {
      out.layers += elements;
    }
  }
  if (config.moe.experts > 0)
    out.experts_share = static_cast<double>(config.moe.experts_per_token) / config.moe.experts;
  return out;
}

}  // namespace sluice::bench
