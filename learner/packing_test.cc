#include "learner/packing.h"

#include <set>

#include "core/kernels/kernels.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

std::vector<int32_t> Count(int n, int from = 0) {
  std::vector<int32_t> tokens(n);
  for (int i = 0; i < n; ++i) tokens[i] = from + i;
  return tokens;
}

TEST(PackTest, PromptStandsOnceAndItsLastRowPredictsEveryFirstToken) {
  const auto prompt = Count(3), a = Count(2, 10), b = Count(1, 20);
  const PackedBatch batch = Pack({{prompt, {{a, 0}, {b, 1}}}});
  EXPECT_EQ(batch.tokens, (std::vector<int32_t>{0, 1, 2, 10}));
  EXPECT_EQ(batch.positions, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(batch.head_rows, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(batch.targets.size(), 3u);
  EXPECT_EQ(batch.targets[0].token, 10);
  EXPECT_EQ(batch.targets[1].token, 20);
  EXPECT_EQ(batch.targets[1].head, 0);
  EXPECT_EQ(batch.targets[2].token, 11);
  EXPECT_EQ(batch.targets[2].head, 1);
  EXPECT_EQ(batch.targets[2].position, 1);
}

// Every row finds each earlier position of its own sequence, and no other, at the engine's place in its
// blocks.
TEST(PackTest, BlocksHoldExactlyTheRowsOwnPast) {
  for (int prompt_size : {1, 63, 64, 65, 128, 130}) {
    const auto prompt = Count(prompt_size), a = Count(70, 1000), b = Count(3, 2000);
    const PackedBatch batch = Pack({{prompt, {{a, 0}, {b, 1}}}, {prompt, {{b, 2}}}});
    std::vector<int64_t> row_at(batch.layout.blocks * kernels::kBlockTokens, -1);
    for (int64_t r = 0; r < batch.rows(); ++r) row_at[batch.layout.slot_of_row[r]] = r;
    std::set<int64_t> used(batch.layout.slot_of_row.begin(), batch.layout.slot_of_row.end());
    EXPECT_EQ(used.size(), static_cast<size_t>(batch.rows())) << "two rows in one slot";
    for (auto [row, slot] : batch.layout.copies) {
      EXPECT_EQ(row_at[slot], -1);
      row_at[slot] = row;
    }
    for (int64_t r = 0; r < batch.rows(); ++r) {
      const auto& table = batch.layout.tables[batch.layout.table_of_row[r]];
      for (int32_t p = 0; p <= batch.positions[r]; ++p) {
        const int64_t row =
            row_at[table[p / kernels::kBlockTokens] * kernels::kBlockTokens + p % kernels::kBlockTokens];
        ASSERT_GE(row, 0);
        EXPECT_EQ(batch.positions[row], p);
        const int32_t expected = p < prompt_size ? p : batch.tokens[r] - (batch.positions[r] - p);
        EXPECT_EQ(batch.tokens[row], expected);
      }
    }
  }
}

TEST(PlanMicroBatchesTest, KeepsGroupsWholeWhereTheyFitAndSplitsBetweenCompletions) {
  const auto prompt = Count(4), completion = Count(5);  // 4 + 4 rows each
  PackGroup group{prompt, {}};
  for (int64_t i = 0; i < 4; ++i) group.completions.push_back({completion, i});  // 4 + 16 rows
  const auto whole = PlanMicroBatches({group, group}, 20);
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0][0].completions.size(), 4u);
  const auto split = PlanMicroBatches({group}, 12);
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(split[0][0].completions.size(), 2u);
  EXPECT_EQ(split[1][0].completions[0].id, 2);
  EXPECT_EQ(PlanMicroBatches({group}, 1).size(), 4u) << "a completion is never cut";
  EXPECT_EQ(PlanMicroBatches({group, group}, 1000).size(), 1u);
  EXPECT_TRUE(PlanMicroBatches({}, 10).empty());
}

TEST(DistributeTest, BalancesCostsAndKeepsOrder) {
  const auto shares = Distribute({5, 1, 4, 2, 2}, 2);
  EXPECT_EQ(shares[0], (std::vector<size_t>{0, 4}));
  EXPECT_EQ(shares[1], (std::vector<size_t>{1, 2, 3}));
  EXPECT_TRUE(Distribute({1}, 3)[2].empty());
}

}  // namespace
}  // namespace sluice
