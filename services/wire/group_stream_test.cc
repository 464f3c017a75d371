#include "services/wire/group_stream.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ScoredSample SomeSample(uint32_t index, VerdictKind kind, double reward, size_t tokens = 2) {
  ScoredSample out;
  Trajectory& t = out.trajectory;
  t.key = {7, index};
  for (size_t i = 0; i < tokens; ++i) {
    t.tokens.push_back(static_cast<int32_t>((i * 2654435761u + index) % 150000));
    t.raw_logprobs.push_back(-static_cast<float>(i % 97) / 8);
    t.processed_logprobs.push_back(-static_cast<float>(i % 89) / 4);
  }
  const auto size = static_cast<int32_t>(tokens);
  if (size > 1) t.spans.push_back({0, size / 2, 3, "h3", "cpu"});
  if (size > 0) t.spans.push_back({size / 2, size, 4, "h4", "cpu"});
  t.finish_reason = FinishReason::kLength;
  t.text = "text";
  t.worker = "rollout-1";
  t.attempt = 3;
  out.verdict.kind = kind;
  out.verdict.value = reward;
  out.advantage = reward - 0.5;
  return out;
}

Group SomeGroup() {
  Group out;
  out.draw = 7;
  out.prompt.tokens = {1, 2};
  out.prompt.text = "prompt";
  out.samples = {SomeSample(0, VerdictKind::kCorrect, 1), SomeSample(1, VerdictKind::kInfrastructure, 0),
                 SomeSample(2, VerdictKind::kWrong, 0)};
  return out;
}

std::vector<v1::AddGroupRequest> PiecesOf(const Group& group) {
  GroupPieces pieces("job", 4, 9, group);
  std::vector<v1::AddGroupRequest> out;
  for (v1::AddGroupRequest piece; pieces.Next(piece);) out.push_back(piece);
  return out;
}

absl::StatusOr<GroupForVersion> Assemble(const std::vector<v1::AddGroupRequest>& pieces,
                                         int64_t max_bytes = kMaxGroupBytes) {
  GroupAssembly assembly(max_bytes);
  for (const v1::AddGroupRequest& piece : pieces) {
    if (absl::Status status = assembly.Add(piece); !status.ok()) return status;
  }
  return std::move(assembly).Finish();
}

void ExpectSame(const Trajectory& sent, const Trajectory& got) {
  EXPECT_EQ(got.key, sent.key);
  EXPECT_TRUE(got.tokens == sent.tokens);
  EXPECT_TRUE(got.raw_logprobs == sent.raw_logprobs);
  EXPECT_TRUE(got.processed_logprobs == sent.processed_logprobs);
  EXPECT_TRUE(got.spans == sent.spans);
  EXPECT_TRUE(got.experts == sent.experts);
  EXPECT_EQ(got.finish_reason, sent.finish_reason);
  EXPECT_EQ(got.worker, sent.worker);
  EXPECT_EQ(got.attempt, sent.attempt);
}

TEST(GroupStream, CarriesOnlySamplesWithARewardAndNoTexts) {
  const Group in = SomeGroup();
  const auto pieces = PiecesOf(in);
  ASSERT_EQ(pieces.size(), 1u);
  const GroupForVersion out = *Assemble(pieces);
  EXPECT_EQ(out.job, "job");
  EXPECT_EQ(out.version, 4);
  EXPECT_EQ(out.coordinator_epoch, 9u);
  EXPECT_EQ(out.group.draw, 7u);
  EXPECT_EQ(out.group.prompt.tokens, (std::vector<int32_t>{1, 2}));
  ASSERT_EQ(out.group.samples.size(), 2u);
  EXPECT_EQ(out.group.samples[1].trajectory.key.index, 2u);
  EXPECT_EQ(out.group.samples[1].advantage, -0.5);
  EXPECT_EQ(out.group.samples[0].verdict.value, 1);
  EXPECT_TRUE(out.group.samples[0].verdict.HasReward());
  ExpectSame(in.samples[0].trajectory, out.group.samples[0].trajectory);
  EXPECT_EQ(out.group.samples[0].trajectory.text, "");
}

// A group of nothing is one too: fewer than two of its samples had a reward.
TEST(GroupStream, CarriesAGroupWithoutSamplesAndASampleWithoutTokens) {
  Group none = SomeGroup();
  none.samples.clear();
  EXPECT_EQ(Assemble(PiecesOf(none))->group.samples.size(), 0u);
  Group empty = SomeGroup();
  empty.samples = {SomeSample(0, VerdictKind::kWrong, 0, 0), SomeSample(1, VerdictKind::kWrong, 0, 0)};
  EXPECT_EQ(Assemble(PiecesOf(empty))->group.samples.size(), 2u);
}

TEST(GroupStream, CutsEveryArrayIntoPiecesOfABoundedSize) {
  Group in = SomeGroup();
  in.prompt.tokens.assign(500000, 149999);
  in.samples = {SomeSample(0, VerdictKind::kCorrect, 1, 300000), SomeSample(5, VerdictKind::kWrong, 0, 1),
                SomeSample(6, VerdictKind::kWrong, 0, 120000)};
  in.samples[1].trajectory.spans.clear();
  in.samples[1].trajectory.spans = {{0, 1, 3, "h", "cpu"}};
  std::vector<VersionSpan>& spans = in.samples[2].trajectory.spans;  // of one token each
  spans.clear();
  for (int32_t i = 0; i < 120000; ++i) spans.push_back({i, i + 1, i, std::string(64, 'a'), "cpu-avx512"});
  RoutedExperts& experts = in.samples[0].trajectory.experts;
  experts.moe_layers = 6;
  experts.per_token = 2;
  for (size_t i = 0; i < 800000 * 12; ++i) experts.ids.push_back(static_cast<uint16_t>(i * 40503u));
  const auto pieces = PiecesOf(in);
  EXPECT_GT(pieces.size(), 30u);
  for (const v1::AddGroupRequest& piece : pieces) {
    EXPECT_LE(piece.ByteSizeLong(), static_cast<size_t>(kGroupPieceBytes) + 512);
  }
  const GroupForVersion out = *Assemble(pieces);
  EXPECT_TRUE(out.group.prompt.tokens == in.prompt.tokens);
  ASSERT_EQ(out.group.samples.size(), 3u);
  for (size_t i = 0; i < 3; ++i) ExpectSame(in.samples[i].trajectory, out.group.samples[i].trajectory);
}

template <typename Result>
void ExpectRefused(const Result& result, const std::string& field) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_THAT(std::string(result.status().message()), StartsWith(field + ":"));
}

TEST(GroupStream, IsRefusedWhenAFieldIsWrong) {
  const auto good = PiecesOf(SomeGroup());
  auto bad = good;
  bad[0].clear_job();
  ExpectRefused(Assemble(bad), "job");
  bad = good;
  bad[0].clear_prompt_tokens();
  ExpectRefused(Assemble(bad), "prompt_tokens");
  bad = good;
  bad[0].mutable_samples(1)->set_advantage(std::nan(""));
  ExpectRefused(Assemble(bad), "samples[1].advantage");
  bad = good;
  bad[0].mutable_samples(1)->mutable_trajectory()->mutable_key()->set_draw(8);
  ExpectRefused(Assemble(bad), "samples[1].trajectory.key.draw");
  bad = good;
  *bad[0].add_samples() = bad[0].samples(0);  // not next to the one that it would go on with
  ExpectRefused(Assemble(bad), "samples[2].trajectory.key.index");
  bad = good;
  bad[0].mutable_samples(0)->mutable_trajectory()->clear_spans();
  ExpectRefused(Assemble(bad), "samples[0].trajectory.spans");
}

TEST(GroupStream, IsNothingBeforeItsLastPieceAndNothingFollowsThat) {
  auto pieces = PiecesOf(SomeGroup());
  pieces[0].set_last(false);
  ExpectRefused(Assemble(pieces), "last");
  ExpectRefused(Assemble({}), "last");
  pieces = PiecesOf(SomeGroup());
  pieces.push_back(pieces[0]);
  ExpectRefused(Assemble(pieces), "last");
}

TEST(GroupStream, IsRefusedAboveItsBound) {
  const absl::Status status = Assemble(PiecesOf(SomeGroup()), 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("group 7 has more than 100 bytes; lower"));
}

TEST(GroupStream, IsMeasuredBeforeItIsSent) {
  Group in = SomeGroup();
  in.samples[0] = SomeSample(0, VerdictKind::kCorrect, 1, 100000);
  int64_t sent = 0;
  for (const v1::AddGroupRequest& piece : PiecesOf(in)) sent += static_cast<int64_t>(piece.ByteSizeLong());
  EXPECT_NEAR(static_cast<double>(StreamedBytes(in)), static_cast<double>(sent), 0.3 * sent);
}

}  // namespace
}  // namespace sluice
