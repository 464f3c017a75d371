// Mixtures of experts as config.json describes them: the experts, their router, and which layers have them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/spec/text/json.h"

namespace sluice {

enum class RouterScore { kSoftmax, kSigmoid };
enum class RouterGroupScore {
  kNone,
  kMax,
  kTopTwoSum
};  // how a group of experts is scored; kNone: no groups

struct MoeConfig {
  int32_t experts = 0;  // routed; 0: a dense model
  int32_t experts_per_token = 0, shared_experts = 0;
  int64_t intermediate = 0;  // of one expert
  int32_t groups = 1, groups_kept = 1;
  RouterScore score = RouterScore::kSoftmax;
  RouterGroupScore group_score = RouterGroupScore::kNone;
  bool correction_bias = false;  // e_score_correction_bias takes part in the choice, not in the weights
  bool normalize_weights = false;
  double scaling = 1;
};

// What the families of models with experts differ in. Softmax routers are DeepSeek-V2's (groups by their best
// expert, weights not normalised, as transformers has it), sigmoid routers DeepSeek-V3's (a correction bias,
// groups by their two best).
struct MoeFamily {
  RouterScore score = RouterScore::kSigmoid;
  int64_t first_dense_layers = 0;  // where neither first_k_dense_replace nor mlp_layer_types is given
  bool groups_required =
      false;  // n_group and topk_group must be given: the class defaults are another model's
};

// Fills `moe` and `moe_layer` (one entry a layer). A model none of whose layers has experts is dense,
// whatever its other fields say. Errors go to `in`.
void ReadMoeConfig(JsonFields& in, const MoeFamily& family, int64_t layers, MoeConfig& moe,
                   std::vector<bool>& moe_layer);

}  // namespace sluice
