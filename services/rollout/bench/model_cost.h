// What a model's sizes ask of a machine, counted from the shapes of its tensors. Only matrices count: scores
// of attention, norms and sampling are left out, so shares of a machine's peak computed from this are a
// little too low. Pure.
#pragma once

#include <cstdint>

#include "core/spec/config/model_config.h"

namespace sluice::bench {

struct ModelCost {
  int64_t parameters = 0;    // of the checkpoint
  int64_t layers = 0;        // matrix elements that every token meets before the head; experts are not in it
  int64_t experts = 0;       // of all routed experts
  double experts_share = 0;  // of those, what one token meets
  int64_t head = 0;          // elements of the output matrix

  // Matrix elements that one token meets: two floating-point operations each.
  double ActiveParameters() const;
  // Of prompts whose last token alone gets logits.
  double PrefillOperations(int64_t prompts, int64_t prompt_tokens) const;
  // Read by one step of `batch` sequences: an expert is read once however many of them meet it. They are
  // taken to choose independently and evenly.
  double StepBytes(int64_t batch, int64_t element_bytes) const;
};

ModelCost CostOf(const ModelConfig& config);

}  // namespace sluice::bench
