#include "core/spec/config/moe_config.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr int64_t kMaxExperts = 4096, kMaxExpertsOfModel = 1 << 18, kMaxExpertIntermediate = 1 << 20;

// Which layers are mixtures: mlp_layer_types, else those from first_k_dense_replace on. moe_layer_freq is not
// looked at, as in transformers (all released models say 1).
void ReadLayers(JsonFields& in, const MoeFamily& family, std::vector<bool>& out) {
  const int64_t first = in.IntOr("first_k_dense_replace", family.first_dense_layers, 0, 1 << 20);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i) >= first;
  const nlohmann::json* types = in.Find("mlp_layer_types");
  if (types == nullptr) return;
  if (!types->is_array() || types->size() != out.size()) {
    in.Fail("mlp_layer_types", absl::StrCat("is not a list of num_hidden_layers = ", out.size(), " entries"));
    return;
  }
  std::vector<bool> listed(out.size());
  for (size_t i = 0; i < listed.size(); ++i) {
    if ((*types)[i] != "dense" && (*types)[i] != "sparse")
      in.Fail("mlp_layer_types", "has an entry besides dense, sparse");
    listed[i] = (*types)[i] == "sparse";
  }
  if (in.Has("first_k_dense_replace") && listed != out)
    in.Fail("mlp_layer_types", "and first_k_dense_replace name different layers as mixtures");
  out = listed;
}

void ReadScore(JsonFields& in, bool softmax, MoeConfig& out) {
  const char* score = softmax ? "softmax" : "sigmoid";
  if (in.StringOr("scoring_func", score) != score)
    in.Fail("scoring_func", absl::StrCat("must be \"", score, "\" for this model_type"));
  out.score = softmax ? RouterScore::kSoftmax : RouterScore::kSigmoid;
  out.correction_bias = !softmax;
  const bool normalize = in.BoolOr("norm_topk_prob", true);
  out.normalize_weights = !softmax && normalize;
  out.scaling = softmax ? in.NumberOr("routed_scaling_factor", 1, 1e-6, 1e6)
                        : in.Number("routed_scaling_factor", 1e-6, 1e6);
}

// Whether the router chooses within groups.
bool ReadMethod(JsonFields& in, bool softmax) {
  const std::string method = in.StringOr("topk_method", softmax ? "greedy" : "noaux_tc");
  const bool grouped = method == (softmax ? "group_limited_greedy" : "noaux_tc");
  if (!grouped && !(softmax && method == "greedy")) {
    in.Fail("topk_method", absl::StrCat("is \"", method.substr(0, 64), "\"; this model_type supports ",
                                        softmax ? "greedy and group_limited_greedy" : "noaux_tc"));
  }
  return grouped;
}

void ReadGroups(JsonFields& in, const MoeFamily& family, bool grouped, MoeConfig& out) {
  for (const char* field : {"n_group", "topk_group"}) {
    if (family.groups_required && !in.Has(field)) in.Fail(field, "is missing (1: no groups)");
  }
  const int64_t groups = in.IntOr("n_group", 1, 1, out.experts);
  const int64_t kept = in.IntOr("topk_group", 1, 1, groups);
  if (!grouped || groups == 1) return;
  out.groups = static_cast<int32_t>(groups);
  out.groups_kept = static_cast<int32_t>(kept);
  const bool softmax = family.score == RouterScore::kSoftmax;
  out.group_score = softmax ? RouterGroupScore::kMax : RouterGroupScore::kTopTwoSum;
  if (out.experts % out.groups != 0) in.Fail("n_group", "does not divide n_routed_experts");
  const int32_t per_group = out.experts / out.groups;
  if (!softmax && per_group < 2) in.Fail("n_group", "leaves fewer than two experts in a group");
  if (out.experts_per_token > per_group * out.groups_kept)
    in.Fail("num_experts_per_tok", "is more than the experts of topk_group groups");
}

}  // namespace

void ReadMoeConfig(JsonFields& in, const MoeFamily& family, int64_t layers, MoeConfig& moe,
                   std::vector<bool>& moe_layer) {
  moe = MoeConfig();
  moe_layer.assign(static_cast<size_t>(layers), false);
  const int64_t experts = in.IntOr("n_routed_experts", 0, 0, kMaxExperts);
  if (experts == 0) return;
  ReadLayers(in, family, moe_layer);
  const int64_t mixtures = std::count(moe_layer.begin(), moe_layer.end(), true);
  if (mixtures == 0) return;
  if (experts * mixtures > kMaxExpertsOfModel) {
    in.Fail("n_routed_experts", absl::StrCat("times the layers that have them is over ", kMaxExpertsOfModel));
    return;
  }
  moe.experts = static_cast<int32_t>(experts);
  moe.experts_per_token = static_cast<int32_t>(in.Int("num_experts_per_tok", 1, experts));
  moe.shared_experts = static_cast<int32_t>(in.IntOr("n_shared_experts", 0, 0, 64));
  moe.intermediate = in.Int("moe_intermediate_size", 1, kMaxExpertIntermediate);
  const bool softmax = family.score == RouterScore::kSoftmax;
  const bool grouped = ReadMethod(in, softmax);
  ReadScore(in, softmax, moe);
  ReadGroups(in, family, grouped, moe);
}

}  // namespace sluice
