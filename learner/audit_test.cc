#include "learner/audit.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// A group of `sequences` completions of 5 tokens at `version`.
TrainingGroup MakeGroup(Draw draw, PolicyVersion version, int sequences = 4) {
  TrainingGroup group{draw, {1, 2, 3}, {}};
  for (int i = 0; i < sequences; ++i) {
    TrainingSequence s;
    s.tokens.assign(5, i);
    s.raw_logprobs.assign(5, -1);
    s.processed_logprobs = s.raw_logprobs;
    s.spans = {{0, 5, version, "hash" + std::to_string(version), "path"}};
    group.sequences.push_back(s);
  }
  return group;
}

std::vector<TrainingGroup> MakeGroups(int count, PolicyVersion version) {
  std::vector<TrainingGroup> groups;
  for (int i = 0; i < count; ++i) groups.push_back(MakeGroup(1000 + i, version));
  return groups;
}

std::set<Draw> DrawsOf(const std::vector<AuditPiece>& plan, const std::vector<TrainingGroup>& groups) {
  std::set<Draw> draws;
  for (const AuditPiece& p : plan) draws.insert(groups[p.group].draw);
  return draws;
}

TEST(AuditTest, TakesTheShareOfTokensOfOlderVersions) {
  const auto groups = MakeGroups(64, 3);
  const auto plan = PlanAudit(groups, 6, "path");
  ASSERT_EQ(plan.size(), 8u);
  for (const AuditPiece& p : plan) {
    EXPECT_EQ(p.version, 3);
    EXPECT_EQ(p.manifest_hash, "hash3");
    EXPECT_EQ(p.sequences, (std::vector<size_t>{0, 1, 2, 3}));
    EXPECT_EQ(p.tokens, 20);
  }
}

TEST(AuditTest, TakesAFewPiecesOfASmallBatch) {
  EXPECT_EQ(PlanAudit(MakeGroups(6, 3), 6, "path").size(), kAuditPieces);
  EXPECT_EQ(PlanAudit(MakeGroups(2, 3), 6, "path").size(), 2u);
  EXPECT_TRUE(PlanAudit({}, 6, "path").empty());
}

TEST(AuditTest, TakesTheOlderSpansOfSequencesThatWentOnWithANewVersion) {
  auto groups = MakeGroups(1, 5);
  groups[0].sequences[1].spans = {{0, 2, 3, "hash3", "path"}, {2, 5, 4, "hash4", "path"}};
  groups[0].sequences[2].spans = {{0, 1, 4, "hash4", "path"}, {1, 5, 5, "hash5", "path"}};
  auto plan = PlanAudit(groups, 6, "path");
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].version, 3);
  EXPECT_EQ(plan[0].sequences, std::vector<size_t>{1});
  EXPECT_EQ(plan[0].tokens, 2);
  EXPECT_EQ(plan[1].version, 4);
  EXPECT_EQ(plan[1].sequences, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(plan[1].tokens, 4);
  for (TrainingSequence& s : groups[0].sequences) s.experts = {1, 1, {0}};
  EXPECT_TRUE(PlanAudit(groups, 6, "path").empty()) << "recorded under more than one version";
}

TEST(AuditTest, LeavesOutWhatIsComparedForFreeOrCannotBeCompared) {
  EXPECT_TRUE(PlanAudit(MakeGroups(8, 5), 6, "path").empty()) << "the training forward compares these";
  EXPECT_TRUE(PlanAudit(MakeGroups(8, 3), 6, "another path").empty());
  auto groups = MakeGroups(1, 3);
  groups[0].sequences[1].spans[0].kernel_path = "another path";
  groups[0].sequences[2].tokens.clear();
  groups[0].sequences[2].spans.clear();
  groups[0].sequences[3].spans[0].version = 4;
  const auto plan = PlanAudit(groups, 6, "path");
  ASSERT_EQ(plan.size(), 2u) << "one piece for each version";
  EXPECT_EQ(plan[0].sequences, std::vector<size_t>{0});
  EXPECT_EQ(plan[1].sequences, std::vector<size_t>{3});
}

TEST(AuditTest, NamesAtMostAFewVersions) {
  std::vector<TrainingGroup> groups;
  for (int i = 0; i < 40; ++i) groups.push_back(MakeGroup(i, i % 10));
  std::set<PolicyVersion> versions;
  const auto plan = PlanAudit(groups, 20, "path");
  for (const AuditPiece& p : plan) versions.insert(p.version);
  EXPECT_EQ(versions.size(), kAuditVersions);
  EXPECT_GE(plan.size(), kAuditPieces);
}

TEST(AuditTest, ChoosesByTheDrawAndNotByTheOrder) {
  auto groups = MakeGroups(64, 3);
  const std::set<Draw> chosen = DrawsOf(PlanAudit(groups, 6, "path"), groups);
  std::reverse(groups.begin(), groups.end());
  EXPECT_EQ(DrawsOf(PlanAudit(groups, 6, "path"), groups), chosen);
  EXPECT_NE(chosen, (std::set<Draw>{1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007}));
}

}  // namespace
}  // namespace sluice
