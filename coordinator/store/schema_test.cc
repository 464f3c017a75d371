#include "coordinator/store/schema.h"

#include <filesystem>

#include "coordinator/store/spec_json.h"
#include "coordinator/store/store.h"
#include "coordinator/testing_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// As the program of version 1 wrote it, to the letter.
constexpr char kVersion1[] = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT UNIQUE NOT NULL, spec TEXT NOT NULL, files_hash TEXT NOT NULL,
  state INTEGER NOT NULL, paused INTEGER NOT NULL, error TEXT NOT NULL,
  step INTEGER NOT NULL, version INTEGER NOT NULL, warm_start_step INTEGER NOT NULL, next_draw INTEGER NOT NULL,
  manifest_hash TEXT NOT NULL, source TEXT NOT NULL, checkpointed INTEGER NOT NULL, last_step TEXT NOT NULL,
  created INTEGER NOT NULL, ended INTEGER,
  max_staleness INTEGER NOT NULL, exact_compared INTEGER NOT NULL, exact_max_difference REAL NOT NULL);
CREATE TABLE request_ids (request_id TEXT PRIMARY KEY, job TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE groups (
  job TEXT NOT NULL, draw INTEGER NOT NULL, train_by INTEGER NOT NULL, segment INTEGER, offset INTEGER, bytes INTEGER,
  PRIMARY KEY (job, draw)) WITHOUT ROWID;
CREATE TABLE samples (
  job TEXT NOT NULL, draw INTEGER NOT NULL, idx INTEGER NOT NULL, ledger TEXT NOT NULL, reason TEXT, step INTEGER,
  PRIMARY KEY (job, draw, idx)) WITHOUT ROWID;
CREATE INDEX samples_in_flight ON samples (job, draw) WHERE ledger = 'in_flight';
CREATE TABLE ledger (job TEXT NOT NULL, name TEXT NOT NULL, samples INTEGER NOT NULL,
  PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE TABLE attempts (job TEXT NOT NULL, draw INTEGER NOT NULL, number INTEGER NOT NULL,
  worker TEXT NOT NULL, samples INTEGER NOT NULL, started INTEGER NOT NULL);
CREATE TABLE batches (
  job TEXT NOT NULL, version INTEGER NOT NULL, committed INTEGER NOT NULL, manifest_hash TEXT NOT NULL,
  metrics TEXT NOT NULL, PRIMARY KEY (job, version)) WITHOUT ROWID;
CREATE TABLE batch_draws (job TEXT NOT NULL, version INTEGER NOT NULL, place INTEGER NOT NULL,
  draw INTEGER NOT NULL, PRIMARY KEY (job, version, place)) WITHOUT ROWID;
CREATE TABLE evaluations (job TEXT NOT NULL, step INTEGER NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (job, step)) WITHOUT ROWID;
CREATE TABLE evaluation_groups (
  job TEXT NOT NULL, step INTEGER NOT NULL, draw INTEGER NOT NULL, segment INTEGER, offset INTEGER, bytes INTEGER,
  PRIMARY KEY (job, step, draw)) WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, time INTEGER NOT NULL,
  text TEXT NOT NULL);
CREATE INDEX events_by_job ON events (job, seq);
INSERT INTO meta VALUES ('schema_version', 1);

INSERT INTO groups VALUES ('j', 0, 1, NULL, NULL, NULL), ('j', 1, 1, NULL, NULL, NULL), ('j', 2, 1, NULL, NULL, NULL);
INSERT INTO samples VALUES ('j', 0, 0, 'trained', NULL, 1), ('j', 0, 1, 'trained', NULL, 1),
  ('j', 1, 0, 'dropped_failed', 'few', NULL), ('j', 1, 1, 'in_flight', NULL, NULL),
  ('j', 2, 0, 'trained', NULL, 1), ('j', 2, 1, 'quarantined', 'broken', NULL);
INSERT INTO ledger VALUES ('j', 'issued', 6), ('j', 'in_flight', 1), ('j', 'trained', 3), ('j', 'dropped_failed', 1),
  ('j', 'quarantined', 1);
INSERT INTO attempts VALUES ('j', 0, 1, 'rollout-0', 2, 1000), ('j', 1, 1, 'rollout-1', 2, 2000),
  ('j', 1, 2, 'rollout-0', 1, 3000);
INSERT INTO batches VALUES ('j', 1, 1, 'hash', '{}');
INSERT INTO batch_draws VALUES ('j', 1, 0, 2), ('j', 1, 1, 0);
INSERT INTO events (job, time, text) VALUES ('j', 5, 'begun');
INSERT INTO request_ids VALUES ('request', 'j');
)sql";

class SchemaTest : public testing::Test {
 protected:
  SchemaTest() : folder_("schema") {}
  std::unique_ptr<Database> OpenDatabase() { return *Database::Open(folder_.path() + "/sluice.db"); }
  void WriteVersion1() {
    auto db = OpenDatabase();
    ASSERT_TRUE(db->Script(kVersion1).ok());
    ASSERT_TRUE(
        db->Run("INSERT INTO jobs (job, spec, files_hash, state, paused, error, step, version, "
                "warm_start_step, next_draw, manifest_hash, source, checkpointed, last_step, created, "
                "max_staleness, exact_compared, exact_max_difference) VALUES ('j', ?, 'files', 2, 0, '', 1, "
                "1, 0, 3, 'hash', 'src', 0, '', 5, 0, 0, 0)",
                {SpecToJson(SmallJob(folder_))})
            .ok());
  }
  static int64_t Number(Database& db, const std::string& sql) {
    int64_t out = -1;
    EXPECT_TRUE(db.Query(sql, {}, [&](const SqlRow& row) { out = row.Int(0); }).ok()) << sql;
    return out;
  }
  static std::string Text(Database& db, const std::string& sql) {
    std::string out;
    EXPECT_TRUE(db.Query(sql, {}, [&](const SqlRow& row) { out = row.Text(0); }).ok()) << sql;
    return out;
  }
  TestFolder folder_;
};

TEST_F(SchemaTest, UpgradesAVersion1DirectoryWithAllThatIsInIt) {
  WriteVersion1();
  auto store = Store::Open(folder_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  const Ledger ledger = *(*store)->LoadLedger("j");
  EXPECT_EQ(ledger.issued, 6);
  EXPECT_EQ(ledger[LedgerColumn::kTrained], 3);
  const absl::Status checked = (*store)->CheckLedger("j");
  EXPECT_TRUE(checked.ok()) << checked;
  EXPECT_EQ(*(*store)->FindRequest("request"), "j");
  EXPECT_EQ((*store)->LoadJobs()->at(0).view.learner, "") << "any learner may have its checkpoints";
  const std::vector<StoredGroup> open = *(*store)->LoadOpenGroups("j");
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].draw, 1u);
  EXPECT_EQ(open[0].in_flight, (std::vector<bool>{false, true}));
  EXPECT_EQ(open[0].attempts, 3u);
  EXPECT_EQ((*store)->LoadBatch("j", 1)->value().draws, (std::vector<Draw>{2, 0}));
  const std::vector<JobRow> jobs = *(*store)->LoadJobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].next_draw, 3u);
  EXPECT_EQ(jobs[0].view.promoted, kNoPolicyVersion);
  EXPECT_TRUE((*store)->LoadRollbacks("j")->empty());
  EXPECT_TRUE((*store)->LoadCanaries("j")->empty());
  EXPECT_FALSE(jobs[0].view.canary);
  EXPECT_EQ(jobs[0].view.events.at(0).text, "begun");
  store->reset();
  auto db = OpenDatabase();
  EXPECT_EQ(Number(*db, "SELECT value FROM meta WHERE key = 'schema_version'"), kSchemaVersion);
  EXPECT_EQ(Text(*db, "SELECT draws FROM batches"), "0,2");
  EXPECT_EQ(Number(*db, "SELECT trained FROM batches"), 3);
  EXPECT_EQ(Text(*db, "SELECT group_concat(worker) FROM (SELECT worker FROM attempts ORDER BY seq)"),
            "rollout-0,rollout-1,rollout-0");
  EXPECT_EQ(Text(*db, "SELECT draw || '/' || idx || ' ' || reason || ' ' || attempts FROM quarantine"),
            "2/1 broken 0");
}

TEST_F(SchemaTest, UpgradesADirectoryOfTheVersionBefore) {
  WriteVersion1();
  {
    auto db = OpenDatabase();
    ASSERT_TRUE(UpgradeSchema(*db, SchemaSteps().subspan(0, 3)).ok());
    ASSERT_TRUE(db->Run("INSERT INTO rollbacks VALUES ('j', 2, 0, 3, 'kl', 7)").ok());
    ASSERT_TRUE(
        db->Run("INSERT INTO batches (job, version, committed, manifest_hash, metrics) VALUES ('j', 2, "
                "1, 'hash', '{}')")
            .ok());
  }
  auto store = Store::Open(folder_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_EQ((*store)->LoadRollbacks("j")->size(), 1u);
  EXPECT_TRUE((*store)->LoadRollbacks("j")->at(0).by_guard);
  EXPECT_TRUE((*store)->LoadCanaries("j")->empty());
  EXPECT_TRUE((*store)->CheckLedger("j").ok());
}

TEST_F(SchemaTest, StaysAtItsVersionWhenAStepFailsInTheMiddle) {
  WriteVersion1();
  const std::string half =
      std::string(SchemaSteps()[1].sql) + "CREATE TABLE meta (key);";  // is there already
  const SchemaStep broken[] = {SchemaSteps()[0], {2, half.c_str()}};
  {
    auto db = OpenDatabase();
    const absl::Status status = UpgradeSchema(*db, broken);
    EXPECT_THAT(std::string(status.message()), HasSubstr("making schema version 2"));
    EXPECT_EQ(Number(*db, "SELECT value FROM meta WHERE key = 'schema_version'"), 1);
    EXPECT_EQ(Number(*db, "SELECT COUNT(*) FROM attempts WHERE worker = 'rollout-0'"), 2);
    EXPECT_EQ(Number(*db, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'progress'"), 0);
  }
  auto store = Store::Open(folder_.path());  // the right step
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->CheckLedger("j").ok());
}

TEST_F(SchemaTest, TakesUpAFileWhoseFirstTablesWereMadeInPart) {
  {
    auto db = OpenDatabase();
    ASSERT_TRUE(
        db->Script("CREATE TABLE ledger (job TEXT NOT NULL, name TEXT NOT NULL, samples INTEGER NOT NULL,"
                   "PRIMARY KEY (job, name)) WITHOUT ROWID;")
            .ok());
  }
  EXPECT_TRUE(Store::Open(folder_.path()).ok());
}

TEST_F(SchemaTest, MakesTheSameTablesOfNothingAsOfVersion1) {
  constexpr char kShape[] =
      "SELECT group_concat(name || ':' || replace(replace(sql, 'IF NOT EXISTS ', ''), ' ', ''), ';') FROM "
      "(SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY "
      "name)";
  WriteVersion1();
  auto upgraded = OpenDatabase();
  ASSERT_TRUE(UpgradeSchema(*upgraded).ok());
  TestFolder other("schema");
  auto fresh = *Database::Open(other.path() + "/sluice.db");
  ASSERT_TRUE(UpgradeSchema(*fresh).ok());
  EXPECT_EQ(Text(*fresh, kShape), Text(*upgraded, kShape));
}

TEST_F(SchemaTest, RefusesANewerVersion) {
  {
    auto db = OpenDatabase();
    ASSERT_TRUE(UpgradeSchema(*db).ok());
    ASSERT_TRUE(db->Run("UPDATE meta SET value = 99 WHERE key = 'schema_version'").ok());
  }
  auto opened = Store::Open(folder_.path());
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("schema version 99"));
}

}  // namespace
}  // namespace sluice
