// Disks that are full, read-only, broken or slow, and files that are damaged.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "absl/synchronization/notification.h"
#include "coordinator/testing_store.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StoreFaultTest : public StoreFixture {
 protected:
  StoreFaultTest() {
    options_.fault = [this](absl::string_view operation) { return operation == fails_ ? error_ : 0; };
    options_.on_commit = [this](absl::Duration) { ++commits_; };
  }
  absl::Status Write(Draw draw) {
    return store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      absl::Status status = tx.IssueGroup("j", draw, 1, 2);
      if (status.ok()) status = tx.CompleteGroup("j", GroupOf(draw));
      return status;
    });
  }
  void Damage(Draw draw) {
    const std::string at = Sql(absl::StrCat("SELECT offset FROM groups WHERE draw = ", draw));
    std::fstream file(folder_.path() + "/segments/00000000.seg",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::stoll(at) + 20);
    file.put('\x7f');
  }
  std::string fails_;
  int error_ = 0, commits_ = 0;
};

TEST_F(StoreFaultTest, LosesNothingByAFaultOfTheDiskAndNamesIt) {
  Insert();
  Expect(Write(0));
  const struct {
    int error;
    absl::StatusCode code;
    const char* says;
  } faults[] = {{ENOSPC, absl::StatusCode::kResourceExhausted, "No space left"},
                {EDQUOT, absl::StatusCode::kResourceExhausted, "quota"},
                {EROFS, absl::StatusCode::kUnavailable, "the disk is read-only"},
                {EIO, absl::StatusCode::kUnavailable, "the disk fails"}};
  Draw draw = 1;
  for (const char* operation : {"segment.write", "segment.sync", "database.commit"}) {
    for (const auto& fault : faults) {
      fails_ = operation;
      error_ = fault.error;
      const absl::Status status = Write(draw);
      EXPECT_EQ(status.code(), fault.code) << status;
      EXPECT_TRUE(IsDiskFault(status));
      EXPECT_THAT(std::string(status.message()), HasSubstr(fault.says));
      EXPECT_EQ(store_->LoadLedger("j")->issued, static_cast<int64_t>(draw) * 2);
      error_ = 0;
      Expect(Write(draw));
      Reopen();
      for (Draw d = 0; d <= draw; ++d) EXPECT_EQ(store_->LoadGroup("j", d)->draw, d);
      Expect(store_->CheckLedger("j"));
      ++draw;
    }
  }
}

TEST_F(StoreFaultTest, OpensOnAFullDiskAndEndsWhatWasUnderWayLater) {
  Insert();
  Expect(store_->Transact([](StoreTransaction& tx) {
    return tx.AddAttempt("j", {0, 0, "w", 5, 2, absl::UnixEpoch()});
  }));
  fails_ = "database.commit";
  error_ = ENOSPC;
  Reopen();
  EXPECT_EQ(store_->LoadJobs()->size(), 1u);
  EXPECT_EQ(Write(0).code(), absl::StatusCode::kResourceExhausted);
  error_ = 0;
  Expect(Write(0));
  EXPECT_EQ(Sql("SELECT outcome FROM attempts"), "lost");
}

TEST_F(StoreFaultTest, DoesNotTakeAFaultOfTheProgramForOneOfTheDisk) {
  Insert();
  Expect(Write(0));
  EXPECT_FALSE(IsDiskFault(Write(0)));
  EXPECT_FALSE(IsDiskFault(store_->LoadGroup("j", 9).status()));
}

TEST_F(StoreFaultTest, SaysHowLongItHasBeenWriting) {
  Insert();
  EXPECT_EQ(store_->WritingFor(), absl::ZeroDuration());
  absl::Duration during;
  options_.fault = [&](absl::string_view) {
    if (store_ != nullptr) during = store_->WritingFor();  // opening writes too
    return 0;
  };
  Reopen();
  const int before = commits_;
  Expect(Write(0));
  EXPECT_GT(during, absl::ZeroDuration());
  EXPECT_EQ(store_->WritingFor(), absl::ZeroDuration());
  EXPECT_EQ(commits_, before + 1);
}

TEST_F(StoreFaultTest, GeneratesADamagedGroupAgainAndKeepsTheOthers) {
  Insert();
  for (Draw draw : {0, 1, 2, 3}) Expect(Write(draw));
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.RecordBatch("j", 1, {0, 1}); }));
  Damage(1);
  Damage(2);
  Reopen();
  EXPECT_EQ(Sql("SELECT draw FROM groups WHERE segment IS NULL"), "1 2");
  for (Draw draw : {0, 3}) EXPECT_EQ(store_->LoadGroup("j", draw)->draw, draw);
  EXPECT_EQ(store_->LoadGroup("j", 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(store_->LoadBatch("j", 1)->has_value());  // was not trained
  const std::vector<StoredGroup> open = *store_->LoadOpenGroups("j");
  ASSERT_EQ(open.size(), 4u);
  EXPECT_EQ(open[1].record.segment, -1);
  EXPECT_EQ(open[1].in_flight, (std::vector<bool>{true, true}));
  EXPECT_THAT(store_->LoadJobs()->at(0).view.events.at(0).text,
              AllOf(HasSubstr("draw 1 is generated again"), HasSubstr("00000000.seg")));
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.CompleteGroup("j", GroupOf(1)); }));
  EXPECT_EQ(store_->LoadGroup("j", 1)->draw, 1u);
  Expect(store_->CheckLedger("j"));
}

TEST_F(StoreFaultTest, ListsTheOtherSamplesWhereATrainedGroupIsDamaged) {
  Insert();
  for (Draw draw : {0, 1, 2}) Expect(Write(draw));
  Expect(store_->Transact([](StoreTransaction& tx) -> absl::Status {
    absl::Status status = tx.RecordBatch("j", 1, {0, 1, 2});
    status.Update(tx.CommitBatch("j", {"j", 1, "hash", "src"}, {0, 1, 2}, {1, 1, {}, absl::UnixEpoch()}));
    return status;
  }));
  Damage(1);
  Reopen();
  std::vector<Draw> listed;
  const absl::Status status = store_->ListSamples("j", 100, 0, false, [&](const SampleView& view) {
    listed.push_back(view.sample.trajectory.key.draw);
    return true;
  });
  EXPECT_EQ(listed, (std::vector<Draw>{2, 2, 0, 0}));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("00000000.seg"));
  EXPECT_EQ(store_->LoadGroup("j", 1).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(StoreFaultTest, GeneratesAgainWhatWasInAFileThatIsMissing) {
  Insert();
  for (Draw draw : {0, 1}) Expect(Write(draw));
  store_.reset();
  std::filesystem::remove(folder_.path() + "/segments/00000000.seg");
  Reopen();
  EXPECT_EQ(store_->LoadOpenGroups("j")->at(0).record.segment, -1);
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.CompleteGroup("j", GroupOf(0)); }));
  Reopen();
  EXPECT_EQ(store_->LoadGroup("j", 0)->draw, 0u);
}

TEST_F(StoreFaultTest, ThereIsRoomOnTheDiskOfTheTests) {
  const auto space = DiskSpaceOf(folder_.path());
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_TRUE(IsDiskFault(DiskSpaceOf(folder_.path() + "/none").status()));
}

}  // namespace
}  // namespace sluice
