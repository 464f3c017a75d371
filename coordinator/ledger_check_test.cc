// tests/fault/ledger_check.py finds what is wrong in a state directory, and nothing where all is right.
#include <array>
#include <cstdio>

#include "coordinator/testing_store.h"
#include "gmock/gmock.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class LedgerCheckTest : public StoreFixture {
 protected:
  LedgerCheckTest() : StoreFixture({.keep_bytes = 1 << 20, .keep_draws = 2}) {}
  void SetUp() override {
    StoreFixture::SetUp();
    Insert();
    epoch_ = *store_->NextEpoch(absl::UnixEpoch());
    for (PolicyVersion v = 0; v <= 4; ++v) Step(v);
    Begin();
  }
  // A batch of two groups; the first version has none.
  void Step(PolicyVersion version) {
    Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      std::vector<Draw> draws;
      for (int i = 0; version > 0 && i < 2; ++i) {
        draws.push_back(Issue(tx));
        Expect(tx.CompleteGroup("j", GroupOf(draws.back(), version - 1, 400 << 10)));
        Expect(tx.EndAttempt("j", draws.back(), 0, AttemptOutcome::kDone, 4, absl::UnixEpoch()));
      }
      if (version > 0) Expect(tx.RecordBatch("j", version, draws));
      Expect(tx.CommitBatch("j", {"j", version, "hash", "src"}, draws,
                            {version, version, {}, absl::UnixEpoch()}));
      row_.view.version = row_.view.step = version;
      row_.checkpointed = version;
      return Save(tx);
    }));
  }
  // Groups under way: 8 complete and in a batch, 9 with progress, 10 dropped.
  void Begin() {
    Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      Expect(tx.CompleteGroup("j", GroupOf(Issue(tx), 4)));
      Expect(tx.RecordBatch("j", 5, {8}));
      Trajectory progress;
      progress.key = {Issue(tx), 1};
      Expect(tx.SaveProgress("j", progress));
      Expect(tx.DropGroup("j", Issue(tx), LedgerColumn::kDroppedStale, "old"));
      return Save(tx);
    }));
  }
  Draw Issue(StoreTransaction& tx) {
    const Draw draw = row_.next_draw++;
    Expect(tx.IssueGroup("j", draw, 100, 2));
    Expect(tx.AddAttempt("j", {draw, 0, "rollout-0", epoch_, 2, absl::UnixEpoch()}));
    return draw;
  }
  absl::Status Save(StoreTransaction& tx) {
    row_.view.job = "j";
    return tx.UpdateJob(row_);
  }
  // Exit status and output, of the directory as it is.
  std::pair<int, std::string> Check() {
    const std::string command =
        absl::StrCat("python3 " SLUICE_SOURCE_DIR "/tests/fault/ledger_check.py ", folder_.path(), " 2>&1");
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    std::array<char, 4096> buffer;
    while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), n);
    return {WEXITSTATUS(pclose(pipe)), out};
  }
  JobRow row_;
  uint64_t epoch_ = 0;
};

TEST_F(LedgerCheckTest, FindsNothingWhereAllIsRight) {
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  for (bool more = true; more;) more = *store_->Tidy();
  EXPECT_NE(Sql("SELECT COUNT(*) FROM compacted_draws"), "0");
  EXPECT_EQ(Check(), std::pair(0, std::string()));
}

TEST_F(LedgerCheckTest, NamesWhatIsWrong) {
  const struct {
    const char* sql;
    const char* says;
  } cases[] = {
      {"UPDATE ledger SET samples = samples + 1 WHERE name = 'trained'", "the columns sum to"},
      {"UPDATE samples SET ledger = 'lost' WHERE draw = 9 AND idx = 0", "sample 9/0 is in no column: lost"},
      {"DELETE FROM samples WHERE draw = 9 AND idx = 1", "in_flight is 4, there are 3 samples"},
      {"DELETE FROM groups WHERE draw = 9", "11 draws were issued, 10 are accounted for"},
      {"INSERT INTO compacted_draws VALUES ('j', 8, 8)", "draw 8 has rows and is compacted"},
      {"UPDATE batches SET draws = '1-2' WHERE version = 2", "draw 1 is in two batches"},
      {"UPDATE batches SET draws = '' WHERE version = 1",
       "sample 0/0 was trained by version 1, which is not in"},
      {"INSERT INTO batch_draws VALUES ('j', 5, 1, 7)", "draw 7 is in two batches"},
      {"DELETE FROM batches WHERE version = 2", "batches are committed for versions [0, 1, 3, 4]"},
      {"UPDATE samples SET step = 4 WHERE draw = 0", "sample 0/0 was trained by version 4"},
      {"UPDATE samples SET ledger = 'in_flight', step = NULL WHERE draw = 0",
       "draw 0 is in flight, and version 1"},
      {"UPDATE batches SET trained = 3 WHERE version = 1", "version 1 trained on 3 samples, 4 are marked so"},
      {"UPDATE batches SET ledger = replace(ledger, 'trained=8', 'trained=7')",
       "ledger at version 2: issued is 8"},
      {"UPDATE batches SET oldest = 0 WHERE version = 4",
       "version 4 was trained on samples of version 0; 1 to 3"},
      {"UPDATE batches SET oldest = 4 WHERE version = 4",
       "version 4 was trained on samples of version 4; 1 to 3"},
      {"UPDATE attempts SET epoch = epoch - 1 WHERE draw = 5", "the epoch of rollout-0 went back"},
      {"UPDATE attempts SET worker = 'rollout-1' WHERE draw = 5", "rollout-1 and rollout-0 both have epoch"},
      {"UPDATE attempts SET epoch = epoch + 1000000", "was not reserved"},
      {"UPDATE attempts SET draw = 4 WHERE draw = 5", "attempt 0 of draw 4 is there twice"},
      {"UPDATE progress SET draw = 10", "progress of sample 10/1, which is dropped_stale"},
      {"UPDATE groups SET bytes = bytes + 1 WHERE draw = 8", "the record of draw 8"},
      {"UPDATE jobs SET version = 3", "the job has version 3"},
  };
  store_.reset();
  const std::string file = folder_.path() + "/sluice.db";
  (*Database::Open(file)).reset();  // takes in the log
  std::filesystem::copy_file(file, file + ".right");
  for (const auto& c : cases) {
    std::filesystem::copy_file(file + ".right", file, std::filesystem::copy_options::overwrite_existing);
    {
      auto db = *Database::Open(file);
      Expect(db->Run(c.sql));
    }
    const auto [status, out] = Check();
    EXPECT_EQ(status, 1) << c.sql << "\n" << out;
    EXPECT_THAT(out, HasSubstr(c.says)) << c.sql;
  }
}

TEST_F(LedgerCheckTest, SaysThatItCannotReadTheDirectory) {
  store_.reset();
  std::filesystem::remove(folder_.path() + "/sluice.db");
  const auto [status, out] = Check();
  EXPECT_EQ(status, 2);
  EXPECT_THAT(out, HasSubstr("sluice.db is missing"));
}

}  // namespace
}  // namespace sluice
