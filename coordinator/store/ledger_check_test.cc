// tests/fault/ledger_check.py finds what is wrong in a state directory, and nothing where all is right.
#include <array>
#include <cstdio>
#include <random>

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

TEST_F(LedgerCheckTest, FindsNothingWrongWhileADeletedJobGoes) {
  Insert("other");
  row_.view.end_time = absl::FromUnixSeconds(9);
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    Expect(tx.CancelInFlight("j", "cancelled"));
    return Save(tx);
  }));
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.DeleteJob("j", absl::UnixEpoch()); }));
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  for (bool more = true; more;) {
    more = *store_->Tidy();
    EXPECT_EQ(Check(), std::pair(0, std::string()));
  }
  EXPECT_EQ(Sql("SELECT gone FROM deleted_jobs"), "1");
  EXPECT_EQ(Sql("UPDATE deleted_jobs SET gone = 0, job = 'other'"), "");
  EXPECT_THAT(Check().second, HasSubstr("job other is deleted and there"));
}

// A rollback that is decided and then done, of a job that is deterministic or not.
TEST_F(LedgerCheckTest, FindsNothingWrongInARollback) {
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    Expect(tx.CommitBatch("j", {"j", 5, "hash", "src"}, {8}, {5, 5, {}, absl::UnixEpoch()}));
    row_.view.version = row_.view.step = 5;
    Expect(tx.DropGroup("j", 9, LedgerColumn::kRolledBack, "version 6 goes back to version 4"));
    Expect(tx.RecordRollBack("j", {6, 4, row_.next_draw, "kl", absl::UnixEpoch(), false}));
    return Save(tx);
  }));
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  EXPECT_FALSE(store_->LoadRollbacks("j")->at(0).committed);
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    Expect(tx.CommitBatch("j", {"j", 6, "hash", "src"}, {}, {6, 6, {}, absl::UnixEpoch()}));
    row_.view.version = row_.view.step = row_.checkpointed = 6;
    return Save(tx);
  }));
  EXPECT_TRUE(store_->LoadRollbacks("j")->at(0).committed);
  EXPECT_EQ(store_->LoadJobs()->at(0).view.rollbacks.at(0).parent, 4);
  for (PolicyVersion v = 7; v <= 8; ++v) Step(v);
  const Draw first = row_.next_draw;
  EXPECT_EQ(store_->Transact([](StoreTransaction& tx) { return tx.RollBackDraws("j", 0, ""); }).code(),
            absl::StatusCode::kFailedPrecondition);
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    Expect(tx.CompleteGroup("j", GroupOf(Issue(tx), 8)));
    Expect(tx.SettleSample("j", {first, 1}, LedgerColumn::kQuarantined, "broken"));
    Issue(tx);
    Expect(tx.RollBackDraws("j", first, "version 9 goes back to version 7"));
    Expect(tx.RecordRollBack("j", {9, 7, row_.next_draw, "kl", absl::UnixEpoch(), false}));
    return Save(tx);
  }));
  EXPECT_EQ((*store_->LoadLedger("j"))[LedgerColumn::kRolledBack], 2 + 4);
  EXPECT_EQ((*store_->LoadLedger("j"))[LedgerColumn::kQuarantined], 0);
  Expect(store_->CheckLedger("j"));
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  const struct {
    const char* sql;
    const char* says;
  } cases[] = {
      {"UPDATE rollbacks SET parent = 6 WHERE version = 6", "version 6 goes back to version 6"},
      {"UPDATE rollbacks SET parent = 5 WHERE version = 9",
       "version 9 goes back to version 5, behind version 6"},
      {"UPDATE rollbacks SET first_draw = 13 WHERE version = 6",
       "draw 11 is from before the rollback of version 6"},
      {"UPDATE batches SET oldest = 5 WHERE version = 7",
       "version 7 was trained on samples of version 5; 6 to 6"},
      {"UPDATE rollbacks SET version = 11 WHERE version = 9",
       "there is no batch for the rollback of version 11"},
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
    EXPECT_THAT(Check().second, HasSubstr(c.says)) << c.sql;
  }
}

TEST_F(LedgerCheckTest, FindsVersionsThatAreMadeOfOneThatDidNotPass) {
  JobSpec spec = row_.view.spec;
  spec.evaluation.canary.prompts = 1;
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    for (PolicyVersion v = 0; v <= 4; ++v)
      Expect(tx.RecordCanary("j", {{v, CanaryVerdict::kPassed, 0.5, "r0", ""}, absl::UnixEpoch()}));
    return tx.UpdateSpec("j", spec);
  }));
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  const struct {
    const char* sql;
    const char* says;
  } cases[] = {
      {"UPDATE canaries SET verdict = 'refused' WHERE version = 3",
       "version 4 is made of version 3, whose canary refused"},
      {"DELETE FROM canaries WHERE version = 4",
       "version 5 is made of version 4, whose canary has no verdict"},
      {"UPDATE canaries SET version = 9 WHERE version = 4", "the canary of version 9 passed"},
      {"UPDATE canaries SET verdict = 'lost' WHERE version = 2", "the canary of version 2 lost"},
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
    EXPECT_THAT(Check().second, HasSubstr(c.says)) << c.sql;
  }
}

// What a coordinator may do to its store in any order, with restarts in between.
TEST_F(LedgerCheckTest, FindsNothingAfterRandomLives) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const JobId job = absl::StrCat("life-", seed);
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    JobRow row = Row(job);
    Insert(job);
    std::vector<Draw> open, ready;
    const auto take = [&](std::vector<Draw>& from) {
      const size_t at = below(from.size());
      const Draw draw = from[at];
      from.erase(from.begin() + static_cast<int64_t>(at));
      return draw;
    };
    row.view.version = -1;
    for (int turn = 0; turn < 400; ++turn) {
      Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
        switch (below(8)) {
          case 0:
          case 1:
            open.push_back(row.next_draw++);
            Expect(tx.IssueGroup(job, open.back(), 1000, 2));
            Expect(tx.AddAttempt(job, {open.back(), 0, job, epoch_ + seed, 2, absl::UnixEpoch()}));
            break;
          case 2:
          case 3:
            if (open.empty()) break;
            ready.push_back(take(open));
            Expect(tx.CompleteGroup(job, GroupOf(ready.back(), row.view.version, 100 << 10)));
            Expect(tx.EndAttempt(job, ready.back(), 0, AttemptOutcome::kDone, 4, absl::UnixEpoch()));
            break;
          case 4: {
            if (open.empty()) break;
            Trajectory progress;
            progress.key = {open[below(open.size())], static_cast<uint32_t>(below(2))};
            Expect(tx.SaveProgress(job, progress));
            break;
          }
          case 5:
            if (open.empty()) break;
            Expect(tx.DropGroup(job, take(open), LedgerColumn::kDroppedFailed,
                                absl::StrCat("reason ", below(3))));
            break;
          case 6:
            // Some of a group that is ready is settled before it is trained on.
            if (!ready.empty() && below(2) == 0) {
              const Draw draw = ready[below(ready.size())];
              (void)tx.SettleSample(job, {draw, 1}, LedgerColumn::kQuarantined, "broken");
            }
            break;
          case 7: {
            if (row.view.version >= 0 && ready.size() < 2) break;
            const PolicyVersion version = row.view.version + 1;
            std::vector<Draw> draws;
            if (version > 0) draws = {take(ready), take(ready)};
            if (version > 0) Expect(tx.RecordBatch(job, version, draws));
            Expect(tx.CommitBatch(job, {job, version, "hash", "src"}, draws, {version, version, {}, {}}));
            row.view.version = row.view.step = version;
            if (below(2) == 0) row.checkpointed = version;
            // What is too old by now is not trained on.
            std::erase_if(ready, [&](Draw draw) {
              Expect(tx.DropGroup(job, draw, LedgerColumn::kDroppedStale, "old"));
              return true;
            });
            break;
          }
        }
        return tx.UpdateJob(row);
      }));
      if (below(20) == 0) Reopen();
      if (below(5) == 0) Expect(store_->Tidy().status());
    }
    EXPECT_GT(row.view.version, 5);
  }
  for (bool more = true; more;) more = *store_->Tidy();
  EXPECT_EQ(Check(), std::pair(0, std::string()));
  for (uint32_t seed = 1; seed <= 3; ++seed) Expect(store_->CheckLedger(absl::StrCat("life-", seed)));
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
