#include "coordinator/jobs/progress_table.h"

#include "coordinator/store/transaction.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr int64_t kAll = int64_t{1} << 40;

SampleRef Sample(Draw draw, uint32_t index) { return {{false, draw}, index}; }
Trajectory Report(Draw draw, uint32_t index, size_t tokens) {
  Trajectory out;
  out.key = {draw, index};
  out.tokens.resize(tokens);
  return out;
}

TEST(ProgressTable, KeepsTheLongestReportOfEachSample) {
  ProgressTable table;
  EXPECT_EQ(table.Find(Sample(1, 0)), nullptr);
  table.Keep(Sample(1, 0), Report(1, 0, 64));
  table.Keep(Sample(1, 0), Report(1, 0, 128));
  table.Keep(Sample(1, 0), Report(1, 0, 64));  // late
  ASSERT_NE(table.Find(Sample(1, 0)), nullptr);
  EXPECT_EQ(table.Find(Sample(1, 0))->tokens.size(), 128u);
  EXPECT_EQ(table.Find(Sample(1, 1)), nullptr);
}

TEST(ProgressTable, PutsPartsTogetherAndKeepsWhatItHasWhereOneIsMissing) {
  const auto part = [](int32_t begin, int32_t end) {
    Trajectory out = Report(1, 0, static_cast<size_t>(end - begin));
    out.raw_logprobs = out.processed_logprobs = std::vector<float>(out.tokens.size());
    out.spans = {{begin, end, 0, "h", "cpu"}};
    return out;
  };
  ProgressTable table;
  table.Keep(Sample(1, 0), part(10, 20));
  EXPECT_EQ(table.Find(Sample(1, 0)), nullptr) << "without a beginning";
  table.Keep(Sample(1, 0), part(0, 10));
  table.Keep(Sample(1, 0), part(10, 30));
  table.Keep(Sample(1, 0), part(20, 40));
  table.Keep(Sample(1, 0), part(10, 20));  // late
  table.Keep(Sample(1, 0), part(50, 60));
  ASSERT_NE(table.Find(Sample(1, 0)), nullptr);
  EXPECT_EQ(table.Find(Sample(1, 0))->tokens.size(), 40u);
  EXPECT_EQ(table.Find(Sample(1, 0))->spans, part(0, 40).spans);
  table.Keep(Sample(1, 0), part(0, 70));
  table.Keep(Sample(1, 0), part(70, 80));
  EXPECT_EQ(table.Find(Sample(1, 0))->tokens.size(), 80u);
  EXPECT_EQ(table.TakeUnsaved(kAll)[0].tokens.size(), 80u);
  EXPECT_EQ(table.Forget(Sample(1, 0)), 80);
  EXPECT_EQ(table.bytes(), 0);
}

// Also on the way to another worker, and on disk.
TEST(ProgressTable, HasRoomForAGroupOfLongCompletionsWithTheirExperts) {
  constexpr int64_t kCompletion = 16384 * (12 + 48 * 8 * 2);
  EXPECT_GE(ProgressTable::kMaxBytes, 64 * kCompletion);
  EXPECT_GE(StoreTransaction::kMaxProgressBytes, kCompletion);
}

TEST(ProgressTable, HandsOutEachReportToBeSavedOnce) {
  ProgressTable table;
  EXPECT_FALSE(table.HasUnsaved());
  table.Keep(Sample(1, 0), Report(1, 0, 64));
  table.Keep(Sample(1, 0), Report(1, 0, 128));
  table.Keep({{true, 3}, 0}, Report(3, 0, 64));  // of an evaluation
  table.Restore(Sample(2, 0), Report(2, 0, 64));
  const std::vector<Trajectory> unsaved = table.TakeUnsaved(kAll);
  ASSERT_EQ(unsaved.size(), 1u);
  EXPECT_EQ(unsaved[0].tokens.size(), 128u);
  EXPECT_FALSE(table.HasUnsaved());
  table.Keep(Sample(1, 0), Report(1, 0, 159));
  EXPECT_FALSE(table.HasUnsaved()) << "little came";
  table.Keep(Sample(1, 0), Report(1, 0, 160));
  EXPECT_TRUE(table.HasUnsaved());
  EXPECT_NE(table.Find({{true, 3}, 0}), nullptr);
  EXPECT_NE(table.Find(Sample(2, 0)), nullptr);
}

TEST(ProgressTable, HandsOutTheRestInTurnWhenAllIsTooMuch) {
  ProgressTable table;
  for (uint32_t index : {0, 1, 2}) table.Keep(Sample(1, index), Report(1, index, 100));
  const int64_t room = 2 * BytesOf(*table.Find(Sample(1, 0)));
  const auto places = [](const std::vector<Trajectory>& taken) {
    std::vector<uint32_t> out;
    for (const Trajectory& t : taken) out.push_back(t.key.index);
    return out;
  };
  EXPECT_EQ(places(table.TakeUnsaved(room)), (std::vector<uint32_t>{0, 1}));
  for (uint32_t index : {0, 1}) table.Keep(Sample(1, index), Report(1, index, 200));
  // What was not taken before comes before what grew meanwhile; one alone may be larger.
  EXPECT_EQ(places(table.TakeUnsaved(1)), (std::vector<uint32_t>{2}));
  EXPECT_EQ(places(table.TakeUnsaved(1)), (std::vector<uint32_t>{0}));
  EXPECT_EQ(places(table.TakeUnsaved(kAll)), (std::vector<uint32_t>{1}));
  EXPECT_FALSE(table.HasUnsaved());
}

TEST(ProgressTable, ForgetsSamplesAndGroups) {
  ProgressTable table;
  for (uint32_t index : {0, 1, 2}) table.Keep(Sample(1, index), Report(1, index, 10));
  table.Keep(Sample(2, 0), Report(2, 0, 10));
  EXPECT_EQ(table.Forget(Sample(1, 1)), 10);
  EXPECT_EQ(table.Forget(Sample(1, 1)), 0);
  EXPECT_EQ(table.ForgetGroup({false, 1}), 20);
  EXPECT_EQ(table.TakeUnsaved(kAll).size(), 1u);
  EXPECT_EQ(table.ForgetGroup({false, 2}), 10);
  EXPECT_EQ(table.bytes(), 0);
}

TEST(ProgressTable, StaysWithinItsBytes) {
  ProgressTable table(10000);
  for (Draw draw = 0; draw < 100; ++draw) table.Keep(Sample(draw, 0), Report(draw, 0, 100));
  EXPECT_LE(table.bytes(), 10000);
  EXPECT_NE(table.Find(Sample(0, 0)), nullptr);
  EXPECT_EQ(table.Find(Sample(99, 0)), nullptr);
  table.Keep(Sample(0, 0), Report(0, 0, 5000));
  EXPECT_EQ(table.Find(Sample(0, 0))->tokens.size(), 100u) << "the report before stays";
  table.Forget(Sample(1, 0));
  table.Keep(Sample(99, 0), Report(99, 0, 100));
  EXPECT_NE(table.Find(Sample(99, 0)), nullptr);
}

}  // namespace
}  // namespace sluice
