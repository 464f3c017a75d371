#include "core/rl/trajectory_parts.h"

#include <utility>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// 3 tokens of prompt, `tokens` of completion, two versions.
Trajectory Whole(int tokens) {
  Trajectory out;
  out.key = {5, 2};
  out.worker = "w";
  out.attempt = 1;
  out.text = "text";
  for (int i = 0; i < tokens; ++i) {
    out.tokens.push_back(i);
    out.raw_logprobs.push_back(-static_cast<float>(i));
    out.processed_logprobs.push_back(-2.0f * static_cast<float>(i));
    out.alternatives.push_back({i, -1});
    out.alternatives.push_back({i + 1, -2});
  }
  out.spans = {{0, 4, 3, "h3", "cpu"}, {4, tokens, 4, "h4", "cpu"}};
  out.experts = {2, 1, {}};
  for (int i = 0; i < 2 * (3 + tokens - 1); ++i) out.experts.ids.push_back(static_cast<uint16_t>(i));
  return out;
}

void ExpectSame(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.raw_logprobs, b.raw_logprobs);
  EXPECT_EQ(a.processed_logprobs, b.processed_logprobs);
  EXPECT_EQ(a.alternatives, b.alternatives);
  EXPECT_EQ(a.experts, b.experts);
  EXPECT_EQ(a.spans, b.spans);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.worker, b.worker);
  EXPECT_EQ(a.attempt, b.attempt);
}

TEST(TrajectoryParts, TogetherAreTheWhole) {
  const Trajectory whole = Whole(11);
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{200}, size_t{100000}}) {
    const std::vector<Trajectory> parts = PartsOf(whole, bytes);
    EXPECT_EQ(parts.size() == 1, bytes == 100000u);
    Trajectory all = parts[0];
    size_t tokens = parts[0].tokens.size();
    for (size_t i = 1; i < parts.size(); ++i) {
      EXPECT_EQ(FirstToken(parts[i]), tokens);
      EXPECT_EQ(parts[i].experts.ids.size(), parts[i].tokens.size() * 2);
      tokens += parts[i].tokens.size();
      ASSERT_TRUE(Append(parts[i], all).ok());
    }
    ExpectSame(all, whole);
  }
  EXPECT_TRUE(PartsOf(Trajectory(), 10).empty());
}

TEST(TrajectoryParts, OverlapsAreTakenOnceAndWholesReplace) {
  const Trajectory whole = Whole(11);
  Trajectory all = PartOf(whole, 0, 5);
  ASSERT_TRUE(Append(PartOf(whole, 2, 8), all).ok());
  ExpectSame(all, PartOf(whole, 0, 8));
  ASSERT_TRUE(Append(PartOf(whole, 2, 8), all).ok()) << "late";
  ASSERT_TRUE(Append(PartOf(whole, 0, 3), all).ok()) << "late";
  ExpectSame(all, PartOf(whole, 0, 8));
  ASSERT_TRUE(Append(whole, all).ok());
  ExpectSame(all, whole);
  Trajectory tail = PartOf(whole, 5, 7);
  ASSERT_TRUE(Append(PartOf(whole, 7, 11), tail).ok());
  ExpectSame(tail, PartOf(whole, 5, 11));
}

TEST(TrajectoryParts, WhatDoesNotFitChangesNothing) {
  const Trajectory whole = Whole(11);
  Trajectory all = PartOf(whole, 0, 5);
  EXPECT_FALSE(Append(PartOf(whole, 6, 8), all).ok()) << "a token is missing";
  Trajectory other = PartOf(whole, 5, 8);
  other.key.index = 3;
  EXPECT_FALSE(Append(other, all).ok());
  other = PartOf(whole, 5, 8);
  other.experts.per_token = 2;
  EXPECT_FALSE(Append(other, all).ok());
  other = PartOf(whole, 5, 8);
  other.alternatives.clear();
  EXPECT_FALSE(Append(other, all).ok());
  ExpectSame(all, PartOf(whole, 0, 5));
}

}  // namespace
}  // namespace sluice
