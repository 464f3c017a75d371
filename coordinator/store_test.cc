#include "coordinator/store.h"

#include "coordinator/testing_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() : folder_("store") { Reopen(); }
  void Reopen() {
    store_.reset();
    auto opened = Store::Open(folder_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  JobRow Row(const JobId& job = "j") {
    JobRow row;
    row.view.job = job;
    row.view.spec = SmallJob(folder_);
    row.view.create_time = absl::FromUnixSeconds(5);
    return row;
  }
  void Insert(const JobId& job = "j", const std::string& request = "") {
    ASSERT_TRUE(store_->Transact([&](StoreTransaction& tx) { return tx.InsertJob(Row(job), request); }).ok());
  }
  static Group GroupOf(Draw draw) {
    Group group;
    group.draw = draw;
    group.prompt.text = absl::StrCat("prompt ", draw);
    group.samples.resize(2);
    for (uint32_t i = 0; i < 2; ++i) group.samples[i].trajectory.key = {draw, i};
    return group;
  }
  TestFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsTheLedgerBalancedThroughTheLifeOfSamples) {
  Insert();
  ASSERT_TRUE(store_
                  ->Transact([&](StoreTransaction& tx) -> absl::Status {
                    for (Draw draw : {0, 1, 2}) EXPECT_TRUE(tx.IssueGroup("j", draw, 1, 2).ok());
                    EXPECT_TRUE(tx.CompleteGroup("j", GroupOf(0)).ok());
                    EXPECT_TRUE(tx.SettleSample("j", {1, 0}, LedgerColumn::kQuarantined, "broken").ok());
                    EXPECT_TRUE(tx.DropGroup("j", 1, LedgerColumn::kDroppedFailed, "few").ok());
                    EXPECT_TRUE(tx.RecordBatch("j", 1, {0}).ok());
                    return tx.CommitBatch("j", {"j", 1, "hash", "src"}, {0}, {1, 1, {}, absl::UnixEpoch()});
                  })
                  .ok());
  Reopen();
  const Ledger ledger = *store_->LoadLedger("j");
  EXPECT_EQ(ledger.issued, 6);
  EXPECT_EQ(ledger[LedgerColumn::kTrained], 2);
  EXPECT_EQ(ledger[LedgerColumn::kQuarantined], 1);
  EXPECT_EQ(ledger[LedgerColumn::kDroppedFailed], 1);
  EXPECT_EQ(ledger[LedgerColumn::kInFlight], 2);
  EXPECT_TRUE(ledger.Balances());
  EXPECT_TRUE(store_->CheckLedger("j").ok());
  auto batch = store_->LoadBatch("j", 1);
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_TRUE((*batch)->committed);
  EXPECT_EQ((*batch)->draws, std::vector<Draw>{0});
  EXPECT_EQ((*batch)->manifest_hash, "hash");
  ASSERT_EQ(store_->LoadOpenGroups("j")->size(), 1u);
  EXPECT_EQ(store_->LoadOpenGroups("j")->at(0).draw, 2u);
}

TEST_F(StoreTest, RefusesToSettleASampleTwiceAndUndoesTheWholeTransaction) {
  Insert();
  const absl::Status status = store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    EXPECT_TRUE(tx.IssueGroup("j", 0, 1, 2).ok());
    EXPECT_TRUE(tx.SettleSample("j", {0, 0}, LedgerColumn::kQuarantined, "").ok());
    return tx.SettleSample("j", {0, 0}, LedgerColumn::kCancelled, "");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->LoadLedger("j")->issued, 0);
  EXPECT_TRUE(store_->CheckLedger("j").ok());
}

TEST_F(StoreTest, ReadsBackGroupsAndJobsAfterReopening) {
  Insert("a", "request-1");
  Insert("b");
  JobRow row = Row("a");
  row.view.state = JobState::kRunning;
  row.view.version = row.view.step = 3;
  row.policy = {"a", 3, "hash", "src"};
  row.next_draw = 17;
  row.view.last_step = {3, 3, {{"reward", 0.5}}, absl::FromUnixSeconds(9)};
  ASSERT_TRUE(
      store_
          ->Transact([&](StoreTransaction& tx) -> absl::Status {
            EXPECT_TRUE(tx.UpdateJob(row).ok());
            for (int i = 0; i < 120; ++i) {
              EXPECT_TRUE(tx.AddEvent("a", {absl::FromUnixSeconds(i), absl::StrCat("event ", i)}).ok());
            }
            EXPECT_TRUE(tx.AddEvaluation("a", {0, 0, 0.5, 0.25, 8, 3, {}}).ok());
            EXPECT_TRUE(tx.IssueGroup("a", 0, 1, 2).ok());
            return tx.CompleteGroup("a", GroupOf(0));
          })
          .ok());
  Reopen();
  EXPECT_EQ(*store_->FindRequest("request-1"), "a");
  EXPECT_EQ(*store_->FindRequest("request-2"), "");
  auto jobs = store_->LoadJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at(0).view.version, 3);
  EXPECT_EQ(jobs->at(0).policy, row.policy);
  EXPECT_EQ(jobs->at(0).next_draw, 17u);
  EXPECT_EQ(jobs->at(0).view.last_step.metrics.at("reward"), 0.5);
  EXPECT_EQ(jobs->at(0).view.events.size(), 100u);
  EXPECT_EQ(jobs->at(0).view.events.back().text, "event 119");
  EXPECT_EQ(jobs->at(0).view.evaluations.at(0).accuracy, 0.25);
  EXPECT_EQ(store_->LoadGroup("a", 0)->prompt.text, "prompt 0");
  EXPECT_EQ(store_->LoadGroup("a", 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, IsHeldByOneAtATime) {
  auto second = Store::Open(folder_.path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), testing::HasSubstr("state directory in use"));
}

TEST_F(StoreTest, RefusesANewerSchema) {
  store_.reset();
  auto db = Database::Open(folder_.path() + "/sluice.db");
  ASSERT_TRUE((*db)->Run("UPDATE meta SET value = 99 WHERE key = 'schema_version'").ok());
  db->reset();
  auto opened = Store::Open(folder_.path());
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), testing::HasSubstr("schema version 99"));
}

TEST_F(StoreTest, SaysThatTheDiskIsFullAndLosesNothing) {
  Insert();
  ASSERT_TRUE(store_->LimitPages(1).ok());  // SQLite takes the present size as the least
  absl::Status status;
  Draw draw = 0;
  for (; draw < 2000 && status.ok(); ++draw) {
    status = store_->Transact([&](StoreTransaction& tx) { return tx.IssueGroup("j", draw, 1, 8); });
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(store_->CheckLedger("j").ok());
  EXPECT_EQ(store_->LoadLedger("j")->issued, static_cast<int64_t>(draw - 1) * 8);
  ASSERT_TRUE(store_->LimitPages(1 << 20).ok());
  EXPECT_TRUE(
      store_->Transact([&](StoreTransaction& tx) { return tx.IssueGroup("j", draw - 1, 1, 8); }).ok());
}

}  // namespace
}  // namespace sluice
