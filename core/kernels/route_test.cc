#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/kernels/kernels.h"
#include "core/kernels/reference/reference.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

using testing::ElementsAre;

void ExpectTwin(const RouterParams& params, const at::Tensor& bias) {
  const int64_t rows = 50;
  const std::vector<float> logits = TestValues(rows * params.experts, 31);
  const auto twin = reference::Route(AsTensor(logits, {rows, params.experts}), params, bias);
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int32_t> ids(params.k);
    std::vector<float> weights(params.k);
    Route(logits.data() + r * params.experts, params, ids.data(), weights.data());
    for (int32_t i = 0; i < params.k; ++i) {
      EXPECT_EQ(ids[i], twin.ids[r][i].item<int64_t>()) << "row " << r << " slot " << i;
      EXPECT_NEAR(weights[i], twin.weights[r][i].item<double>(), 2e-6);
    }
  }
}

TEST(RouteTest, EqualsTwinForSoftmax) {
  ExpectTwin({.experts = 21, .k = 6, .scaling = 16}, {});
  ExpectTwin({.experts = 16, .k = 3, .groups = 4, .groups_kept = 2, .normalize = true}, {});
}

TEST(RouteTest, EqualsTwinForBiasedSigmoid) {
  const std::vector<float> bias = TestValues(32, 32, 0.5f);
  RouterParams params = {.experts = 32, .k = 5, .sigmoid = true, .normalize = true, .scaling = 2.5f};
  params.correction_bias = bias.data();
  ExpectTwin(params, AsTensor(bias, {32}));
  params.groups = 8;
  params.groups_kept = 3;
  params.group_top_two_sum = true;
  ExpectTwin(params, AsTensor(bias, {32}));
}

TEST(RouteTest, MaskedGroupsLoseEvenWhenKeptOnesAreNegative) {
  // Group 0 is kept for its sum; its biased scores are below 0, which a mask of 0 would prefer.
  const std::vector<float> logits = {0, 0, 0, 0}, bias = {-1, -1, -0.9f, -3};
  RouterParams params = {.experts = 4, .k = 2, .groups = 2, .groups_kept = 1, .sigmoid = true};
  params.group_top_two_sum = true;
  params.correction_bias = bias.data();
  int32_t ids[2];
  float weights[2];
  Route(logits.data(), params, ids, weights);
  EXPECT_THAT(ids, ElementsAre(0, 1));
}

TEST(RouteTest, TiesGoToTheLowerId) {
  const std::vector<float> logits(8, 0.5f);
  int32_t ids[3];
  float weights[3];
  Route(logits.data(), {.experts = 8, .k = 3}, ids, weights);
  EXPECT_THAT(ids, ElementsAre(0, 1, 2));
}

TEST(RouteTest, RouteToGivesTheSameWeightsForTheSameExperts) {
  const std::vector<float> logits = TestValues(16, 5), bias = TestValues(16, 6);
  for (const bool sigmoid : {false, true}) {
    for (const bool normalize : {false, true}) {
      RouterParams params = {.experts = 16, .k = 4, .sigmoid = sigmoid};
      params.correction_bias = bias.data();
      params.normalize = normalize;
      params.scaling = 2.5f;
      int32_t ids[4];
      float weights[4], again[4];
      Route(logits.data(), params, ids, weights);
      RouteTo(logits.data(), params, ids, again);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(weights[i], again[i]);
      std::swap(ids[0], ids[3]);
      RouteTo(logits.data(), params, ids, again);
      EXPECT_NEAR(again[0], weights[3], 1e-6);
    }
  }
}

TEST(RouteTest, GivesDistinctExpertsWhenLogitsAreNoNumbers) {
  const std::vector<float> logits(8, std::numeric_limits<float>::quiet_NaN());
  int32_t ids[4];
  float weights[4];
  Route(logits.data(), {.experts = 8, .k = 4, .groups = 4, .groups_kept = 2, .sigmoid = true}, ids, weights);
  EXPECT_EQ(std::set<int32_t>(ids, ids + 4).size(), 4u);
  EXPECT_TRUE(std::isnan(weights[0]));
}

}  // namespace
}  // namespace sluice::kernels
