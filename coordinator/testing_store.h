// A store in a folder of its own, for the store's tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/testing_job.h"
#include "gtest/gtest.h"

namespace sluice {

class StoreFixture : public testing::Test {
 protected:
  explicit StoreFixture(StoreOptions options = {}) : folder_("store"), options_(std::move(options)) {}
  void SetUp() override { Reopen(); }
  void Reopen() {
    store_.reset();
    auto opened = Store::Open(folder_.path(), options_);
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
    const absl::Status status =
        store_->Transact([&](StoreTransaction& tx) { return tx.InsertJob(Row(job), request); });
    ASSERT_TRUE(status.ok()) << status;
  }
  // Two samples with rewards, sampled at `version`, with `bytes` of text.
  static Group GroupOf(Draw draw, PolicyVersion version = 0, size_t bytes = 10) {
    Group group;
    group.draw = draw;
    group.prompt.text = absl::StrCat("prompt ", draw);
    group.samples.resize(2);
    for (uint32_t i = 0; i < 2; ++i) {
      Trajectory& t = group.samples[i].trajectory;
      t.key = {draw, i};
      t.tokens = {1, 2};
      t.spans = {{0, 2, version, "hash", "cpu"}};
      t.text.assign(bytes, 'x');
      group.samples[i].verdict.kind = VerdictKind::kCorrect;
    }
    return group;
  }
  void Expect(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  // Of the store's file, closed meanwhile.
  std::string Sql(const std::string& sql) {
    store_.reset();
    auto db = *Database::Open(folder_.path() + "/sluice.db");
    std::string out;
    Expect(db->Query(sql, {}, [&](const SqlRow& row) {
      absl::StrAppend(&out, out.empty() ? "" : " ", row.IsNull(0) ? "NULL" : row.Text(0));
    }));
    db.reset();
    Reopen();
    return out;
  }

  TestFolder folder_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
};

}  // namespace sluice
