// Choice of experts for one row. The order of every operation is written here, because the learner
// differentiates it.
#include <algorithm>
#include <limits>

#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The best entries of `values` not yet taken, one after the other: greatest first, ties to the lower index.
// Every index comes at most once, also when values are not numbers.
std::vector<int32_t> Best(const std::vector<float>& values, int32_t count) {
  std::vector<bool> taken(values.size(), false);
  std::vector<int32_t> best;
  for (int32_t n = 0; n < count; ++n) {
    int32_t winner = -1;
    for (int32_t i = 0; i < static_cast<int32_t>(values.size()); ++i) {
      if (!taken[i] && (winner < 0 || values[i] > values[winner])) winner = i;
    }
    taken[winner] = true;
    best.push_back(winner);
  }
  return best;
}

float GroupScore(const float* values, int32_t count, bool top_two_sum) {
  float first = kLowest, second = kLowest;
  for (int32_t i = 0; i < count; ++i) {
    if (values[i] > first) {
      second = first;
      first = values[i];
    } else if (values[i] > second) {
      second = values[i];
    }
  }
  return top_two_sum && count > 1 ? first + second : first;
}

void MaskGroups(const RouterParams& params, std::vector<float>* selection) {
  const int32_t size = params.experts / params.groups;
  std::vector<float> scores(params.groups);
  for (int32_t g = 0; g < params.groups; ++g) {
    scores[g] = GroupScore(selection->data() + g * size, size, params.group_top_two_sum);
  }
  std::vector<bool> kept(params.groups, false);
  for (const int32_t g : Best(scores, params.groups_kept)) kept[g] = true;
  for (int32_t e = 0; e < params.experts; ++e) {
    if (!kept[e / size]) (*selection)[e] = kLowest;
  }
}

std::vector<float> Scores(const float* logits, const RouterParams& params) {
  std::vector<float> scores(logits, logits + params.experts);
  if (params.sigmoid) {
    ActiveKernels().sigmoid(scores.data(), params.experts);
  } else {
    ActiveKernels().softmax(scores.data(), params.experts);
  }
  return scores;
}

void Weigh(const std::vector<float>& scores, const RouterParams& params, const int32_t* ids, float* weights) {
  float sum = 0;
  for (int32_t i = 0; i < params.k; ++i) {
    weights[i] = scores[ids[i]];
    sum += weights[i];
  }
  for (int32_t i = 0; i < params.k; ++i) {
    if (params.normalize) weights[i] /= sum + 1e-20f;
    weights[i] *= params.scaling;
  }
}

}  // namespace

void Route(const float* logits, const RouterParams& params, int32_t* ids, float* weights) {
  const std::vector<float> scores = Scores(logits, params);
  std::vector<float> selection = scores;
  if (params.correction_bias != nullptr) {
    for (int32_t e = 0; e < params.experts; ++e) selection[e] += params.correction_bias[e];
  }
  if (params.groups > 1 && params.groups_kept < params.groups) MaskGroups(params, &selection);
  std::vector<int32_t> chosen = Best(selection, params.k);
  // By falling weight, which the correction bias may have changed; equal ones stay in the order of choice.
  std::vector<float> chosen_scores;
  for (const int32_t e : chosen) chosen_scores.push_back(scores[e]);
  const std::vector<int32_t> order = Best(chosen_scores, params.k);
  for (int32_t i = 0; i < params.k; ++i) ids[i] = chosen[order[i]];
  Weigh(scores, params, ids, weights);
}

void RouteTo(const float* logits, const RouterParams& params, const int32_t* ids, float* weights) {
  Weigh(Scores(logits, params), params, ids, weights);
}

}  // namespace sluice::kernels
