#include <filesystem>

#include "coordinator/testing_store.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using testing::HasSubstr;

constexpr size_t kGroupText = 100 << 10;  // of each of its samples: five groups fill a file

// SmallJob: a checkpoint every two steps.
class StoreRetentionTest : public StoreFixture {
 protected:
  explicit StoreRetentionTest(StoreOptions options = {.keep_bytes = 3 << 20, .keep_draws = 4})
      : StoreFixture(std::move(options)) {}
  void SetUp() override {
    StoreFixture::SetUp();
    row_ = Row();
    Insert();
  }
  // A step over the next four draws; another is dropped on the way.
  void Step(PolicyVersion version, PolicyVersion checkpointed) {
    Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      const Draw dropped = row_.next_draw++;
      Expect(tx.IssueGroup("j", dropped, version, 2));
      Expect(tx.DropGroup("j", dropped, LedgerColumn::kDroppedFiltered, "tied"));
      std::vector<Draw> draws;
      for (int i = 0; i < 4; ++i) {
        draws.push_back(row_.next_draw++);
        Expect(tx.IssueGroup("j", draws.back(), version, 2));
        Expect(tx.AddAttempt("j", {draws.back(), 1, "w", 1, 2, absl::UnixEpoch()}));
        Expect(tx.CompleteGroup("j", GroupOf(draws.back(), version - 1, text_)));
      }
      Expect(tx.RecordBatch("j", version, draws));
      Expect(tx.CommitBatch("j", {"j", version, "hash", "src"}, draws,
                            {version, version, {}, absl::UnixEpoch()}));
      row_.view.version = row_.view.step = version;
      row_.checkpointed = checkpointed;
      return tx.UpdateJob(row_);
    }));
  }
  void TidyAll() {
    for (int turn = 0; turn < 10000; ++turn) {
      const auto more = store_->Tidy();
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) return;
    }
    FAIL() << "there is always more to tidy";
  }
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path() + "/segments")) {
      bytes += static_cast<int64_t>(file.file_size());
    }
    return bytes;
  }
  absl::Status Samples(int64_t step, int* found) {
    *found = 0;
    return store_->ListSamples("j", 1000, step, false, [&](const SampleView& view) {
      EXPECT_EQ(view.ledger_column, "trained");
      ++*found;
      return true;
    });
  }
  // What one turn costs, whatever it does.
  int64_t CostOfATurn() {
    const int64_t before = store_->sql_steps();
    Expect(store_->Tidy().status());
    return store_->sql_steps() - before;
  }
  JobRow row_;
  size_t text_ = kGroupText;
};

class StoreManyStepsTest : public StoreRetentionTest {
 protected:
  StoreManyStepsTest() : StoreRetentionTest({.keep_bytes = int64_t{1} << 40}) { text_ = 10; }
};

// It is taken on the coordinator's thread, again and again: its cost may not grow with the job.
TEST_F(StoreManyStepsTest, ATurnCostsTheSameWhenMuchIsKept) {
  int64_t version = 0;
  const auto cost_at = [&](int64_t steps) {
    while (version < steps) {
      ++version;
      Step(version, version);
    }
    return CostOfATurn();
  };
  const int64_t early = cost_at(20), late = cost_at(400);
  EXPECT_GT(early, 0);
  EXPECT_LT(late, 2 * early);
}

TEST_F(StoreManyStepsTest, ForgetsTheRecordsOfAFileInPieces) {
  for (int64_t v = 1; v <= 2000; ++v) Step(v, v);
  options_.keep_bytes = 1 << 20;
  Reopen();
  for (int64_t v = 2001; v <= 2010; ++v) Step(v, v);  // in the next file; what may be redone is there
  const auto recorded = [&] {
    return std::stoi(Sql("SELECT COUNT(*) FROM groups WHERE segment = 0"));  // and opens the store again
  };
  const int all = recorded();
  ASSERT_EQ(all, 8000);
  ASSERT_TRUE(*store_->Tidy());
  const int left = recorded();
  EXPECT_LT(left, all);
  EXPECT_GT(left, all / 2);
  const std::string file = folder_.path() + "/segments/00000000.seg";
  EXPECT_TRUE(std::filesystem::exists(file));
  TidyAll();
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(recorded(), 0);
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, KeepsNoMoreThanTheLimitAndTheWholeAccount) {
  constexpr int kSteps = 40;
  for (int64_t v = 1; v <= kSteps; ++v) {
    Step(v, v / 2 * 2);
    TidyAll();
    EXPECT_LE(Bytes(), options_.keep_bytes + (1 << 20) + 4 * 2 * static_cast<int64_t>(kGroupText));
    Expect(store_->CheckLedger("j"));
  }
  EXPECT_LT(std::stoi(Sql("SELECT COUNT(*) FROM samples")), 60);
  EXPECT_LT(std::stoi(Sql("SELECT COUNT(*) FROM attempts")), 30);
  EXPECT_LT(std::stoi(Sql("SELECT COUNT(*) FROM batch_draws")), 40);
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM compacted_draws"), "1");
  EXPECT_EQ(Sql("SELECT first FROM compacted_draws"), "0");
  EXPECT_EQ(Sql("SELECT draws FROM batches WHERE version = 2"), "6-9");
  EXPECT_EQ(Sql("SELECT trained FROM batches WHERE version = 2"), "8");
  EXPECT_EQ(Sql("SELECT oldest FROM batches WHERE version = 2"), "1");
  EXPECT_EQ(Sql("SELECT DISTINCT name || ' ' || reason FROM compacted_samples"),
            "dropped_filtered tied trained ");
  const Ledger ledger = *store_->LoadLedger("j");
  EXPECT_EQ(ledger[LedgerColumn::kTrained], kSteps * 8);
  EXPECT_EQ(ledger[LedgerColumn::kDroppedFiltered], kSteps * 2);
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, KeepsTheQuarantineWhenTheRowsOfItsDrawsAreGone) {
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    const Draw draw = row_.next_draw++;
    Expect(tx.IssueGroup("j", draw, 1, 2));
    for (uint32_t n : {0, 1}) Expect(tx.AddAttempt("j", {draw, n, "w", 1, 2, absl::UnixEpoch()}));
    for (uint32_t i : {0, 1}) {
      Expect(tx.SettleSample("j", {draw, i}, LedgerColumn::kQuarantined, "it crashes"));
      Expect(tx.Quarantine("j", {{draw, i}, 17, "row-17", "it crashes", 0, absl::FromUnixSeconds(9), false}));
    }
    return tx.UpdateJob(row_);
  }));
  for (int64_t v = 1; v <= 20; ++v) Step(v, v / 2 * 2);
  TidyAll();
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM samples WHERE draw = 0"), "0");
  const auto kept = *store_->ListQuarantine("j", 10);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[1].sample, (SampleKey{0, 1}));
  EXPECT_EQ(kept[0].prompt_uid, "row-17");
  EXPECT_EQ(kept[0].attempts, 2);
  EXPECT_EQ(kept[0].time, absl::FromUnixSeconds(9));
  EXPECT_EQ(*store_->LoadQuarantinedRows("j"), std::vector<uint64_t>{17});
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, KeepsWhatAReplayFollows) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, v);
  JobRow replay = Row("again");
  replay.view.spec.replay = {"j", 20};
  Expect(store_->Transact([&](StoreTransaction& tx) { return tx.InsertJob(replay, ""); }));
  TidyAll();
  const auto schedule = store_->LoadSchedule("j", 20);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ((*schedule)->steps(), 20);
  EXPECT_EQ((*schedule)->Of(7).sampled_at, 1);
  replay.view.end_time = absl::FromUnixSeconds(9);
  Expect(store_->Transact([&](StoreTransaction& tx) { return tx.UpdateJob(replay); }));
  TidyAll();
  const absl::Status gone = store_->LoadSchedule("j", 20).status();
  EXPECT_THAT(std::string(gone.message()), AllOf(HasSubstr("step 1 "), HasSubstr("--keep-samples-bytes")));
}

TEST_F(StoreRetentionTest, SaysWhichSamplesAreNoLongerKept) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, v / 2 * 2);
  TidyAll();
  int found = 0;
  Expect(Samples(20, &found));
  EXPECT_EQ(found, 8);
  const absl::Status gone = Samples(1, &found);
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gone.message()),
              AllOf(HasSubstr("no longer kept"), HasSubstr("--keep-samples-bytes")));
  Expect(Samples(21, &found));  // there was none
}

TEST_F(StoreRetentionTest, KeepsWhatTheLearnerMayRedo) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, 4);
  TidyAll();
  EXPECT_GT(Bytes(), options_.keep_bytes * 4);
  for (int64_t v = 3; v <= 20; ++v) {  // since the checkpoint before the last
    const auto batch = store_->LoadBatch("j", v);
    ASSERT_TRUE(batch.ok() && batch->has_value());
    ASSERT_EQ((*batch)->draws.size(), 4u) << v;
    for (Draw draw : (*batch)->draws) Expect(store_->LoadGroup("j", draw).status());
  }
}

TEST_F(StoreRetentionTest, KeepsGroupsThatWaitForTheirBatch) {
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    const Draw draw = row_.next_draw++;
    Expect(tx.IssueGroup("j", draw, 100, 2));
    return tx.CompleteGroup("j", GroupOf(draw, 0, kGroupText));
  }));
  for (int64_t v = 1; v <= 20; ++v) Step(v, v / 2 * 2);
  TidyAll();
  Expect(store_->LoadGroup("j", 0).status());
  EXPECT_EQ(store_->LoadOpenGroups("j")->size(), 1u);
  EXPECT_EQ(store_->LoadGroup("j", 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreRetentionTest, RefusesToIssueADrawWhoseRowsAreGone) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, v / 2 * 2);
  TidyAll();
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM groups WHERE draw = 3"), "0");
  const absl::Status again =
      store_->Transact([](StoreTransaction& tx) { return tx.IssueGroup("j", 3, 1, 2); });
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, KeepsNothingBeyondTheLimitOfAJobThatHasEnded) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, -1);
  row_.view.end_time = absl::FromUnixSeconds(9);
  Expect(store_->Transact([&](StoreTransaction& tx) { return tx.UpdateJob(row_); }));
  TidyAll();
  EXPECT_LE(Bytes(), options_.keep_bytes);
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, GoesOnAfterADeathBetweenRowsAndFile) {
  for (int64_t v = 1; v <= 20; ++v) Step(v, v / 2 * 2);
  Sql("UPDATE groups SET segment = NULL, offset = NULL, bytes = NULL WHERE segment = 0");
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/segments/00000000.seg"));
  TidyAll();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/segments/00000000.seg"));
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreRetentionTest, RemovesFilesOfProgressThatNothingRefersTo) {
  Trajectory t;
  t.key = {0, 0};
  t.text.assign(4 << 20, 'x');
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.IssueGroup("j", 0, 1, 2); }));
  for (int i = 0; i < 40; ++i) {
    Expect(store_->Transact([&](StoreTransaction& tx) { return tx.SaveProgress("j", t); }));
  }
  TidyAll();
  const auto files = std::filesystem::directory_iterator(folder_.path() + "/progress");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  EXPECT_EQ(store_->LoadProgress("j")->size(), 1u);
}

TEST_F(StoreRetentionTest, CountsRareReasonsTogether) {
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    for (Draw draw = 0; draw < 200; ++draw) {
      Expect(tx.IssueGroup("j", draw, 1, 1));
      Expect(tx.DropGroup("j", draw, LedgerColumn::kDroppedFailed, absl::StrCat("reason ", draw)));
    }
    row_.next_draw = 200;
    row_.view.end_time = absl::FromUnixSeconds(9);
    return tx.UpdateJob(row_);
  }));
  TidyAll();
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM compacted_samples"), "65");
  EXPECT_EQ(Sql("SELECT SUM(samples) FROM compacted_samples"), "196");
  EXPECT_EQ(Sql("SELECT samples FROM compacted_samples WHERE reason = 'other'"), "132");
  Expect(store_->CheckLedger("j"));
}

}  // namespace
}  // namespace sluice
