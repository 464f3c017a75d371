#include "coordinator/store/store.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "absl/synchronization/notification.h"
#include "coordinator/testing_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class StoreTest : public StoreFixture {};

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

class ManyJobsTest : public StoreTest {
 protected:
  // Draws with samples, attempts and a batch each.
  void Fill(const JobId& job, Draw draws) {
    Insert(job, "request of " + job);
    for (Draw first = 0; first < draws; first += 100) {
      Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
        for (Draw draw = first; draw < std::min(draws, first + 100); ++draw) {
          const auto version = static_cast<PolicyVersion>(draw + 1);
          Expect(tx.IssueGroup(job, draw, version, 2));
          Expect(tx.AddAttempt(job, {draw, 0, "rollout-0", 1, 2, absl::UnixEpoch()}));
          Expect(tx.AddAttempt(job, {draw, 1, "rollout-1", 2, 2, absl::UnixEpoch()}));
          Expect(tx.CompleteGroup(job, GroupOf(draw)));
          Expect(tx.RecordBatch(job, version, {draw}));
          Expect(tx.CommitBatch(job, {job, version, "hash", "src"}, {draw},
                                {version, version, {}, absl::UnixEpoch()}));
        }
        return absl::OkStatus();
      }));
    }
  }
  void End(const JobId& job, Draw draws) {
    JobRow row = Row(job);
    row.view.state = JobState::kSucceeded;
    row.view.version = static_cast<PolicyVersion>(draws);
    row.view.end_time = absl::FromUnixSeconds(9);
    row.next_draw = draws;
    Expect(store_->Transact([&](StoreTransaction& tx) { return tx.UpdateJob(row); }));
  }
  void TidyAll() {
    absl::StatusOr<bool> more = true;
    for (int i = 0; i < 1000 && more.ok() && *more; ++i) more = store_->Tidy();
    EXPECT_TRUE(more.ok() && !*more) << more.status();
  }
  template <typename F>
  int64_t Steps(F query) {
    const int64_t before = store_->sql_steps();
    query();
    return store_->sql_steps() - before;
  }
  int64_t StepsOfASamplesList(const JobId& job, int32_t limit) {
    int32_t samples = 0;
    const int64_t steps = Steps([&] {
      Expect(store_->ListSamples(job, limit, 0, false, [&](const SampleView& view) {
        EXPECT_EQ(view.ledger_column, "trained");
        return ++samples <= limit;
      }));
    });
    EXPECT_EQ(samples, limit);
    return steps;
  }
  int rounds_ = 0;
};

TEST_F(ManyJobsTest, ADeletedJobGoesPieceByPiece) {
  Fill("j", 900);
  Fill("other", 3);
  const auto remove = [&] {
    return store_->Transact([](StoreTransaction& tx) { return tx.DeleteJob("j", absl::UnixEpoch()); });
  };
  EXPECT_EQ(remove().code(), absl::StatusCode::kFailedPrecondition) << "it has not ended";
  End("j", 900);
  EXPECT_FALSE(*store_->WasDeleted("j"));
  Expect(remove());
  EXPECT_TRUE(*store_->WasDeleted("j"));
  EXPECT_EQ(*store_->FindRequest("request of j"), "");
  ASSERT_EQ(store_->LoadJobs()->size(), 1u);
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM samples WHERE job = 'j'"), "1800");
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    const int64_t steps = Steps([&] { more = *store_->Tidy(); });
    EXPECT_LT(steps, 200000) << "of a piece";
    if (pieces == 1) Reopen();  // and it goes on
  }
  EXPECT_GT(pieces, 5);
  for (const char* table : {"groups", "samples", "ledger", "attempts", "batches", "batch_draws", "events"}) {
    EXPECT_EQ(Sql(absl::StrCat("SELECT COUNT(*) FROM ", table, " WHERE job = 'j'")), "0") << table;
  }
  Expect(store_->CheckLedger("other"));
  EXPECT_EQ(store_->LoadBatch("other", 3)->value().draws, std::vector<Draw>{2});
  EXPECT_TRUE(*store_->WasDeleted("j"));
}

TEST_F(ManyJobsTest, TheFilesOfADeletedJobGo) {
  options_.keep_bytes = 8 << 20;  // files of 1 MiB
  Reopen();
  Insert();
  for (Draw draw = 0; draw < 5; ++draw) {
    Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      Expect(tx.IssueGroup("j", draw, 1, 2));
      return tx.CompleteGroup("j", GroupOf(draw, 0, 600 << 10));
    }));
  }
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder_.path() + "/segments"),
                         std::filesystem::directory_iterator());
  };
  const auto before = files();
  EXPECT_GT(before, 3);
  End("j", 5);
  std::filesystem::create_directories(folder_.path() + "/jobs/j/sub");
  Expect(store_->Transact([](StoreTransaction& tx) { return tx.DeleteJob("j", absl::UnixEpoch()); }));
  TidyAll();
  EXPECT_EQ(files(), 1) << "that which takes the next records";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/jobs/j"));
}

TEST_F(ManyJobsTest, TidyingCostsTheSameHoweverManyJobsEnded) {
  const auto round = [&] {
    Insert(absl::StrCat("round ", ++rounds_));  // something to look at
    End(absl::StrCat("round ", rounds_), 0);
    return Steps([&] { TidyAll(); });
  };
  Fill("running", 10);
  TidyAll();
  const int64_t few = round();
  for (int i = 0; i < 200; ++i) {
    Insert(absl::StrCat("ended ", i));
    End(absl::StrCat("ended ", i), 0);
  }
  TidyAll();
  EXPECT_LE(round(), few + few / 10);
}

TEST_F(ManyJobsTest, AListReadsOnlyWhatItShows) {
  Fill("small", 20);
  Fill("large", 800);
  Fill("last", 20);
  EXPECT_LE(StepsOfASamplesList("large", 8), StepsOfASamplesList("small", 8) * 11 / 10);
  const auto attempts = [&](const JobId& job, std::optional<Draw> draw) {
    return Steps([&] { EXPECT_EQ(store_->ListAttempts(job, draw, 2)->size(), 2u); });
  };
  EXPECT_LE(attempts("large", std::nullopt), attempts("small", std::nullopt) * 11 / 10);
  EXPECT_LE(attempts("large", 7), attempts("small", 7) * 11 / 10);
  EXPECT_EQ(store_->ListAttempts("large", 7, 2)->at(0).number, 1u) << "the last of a draw first";
}

TEST_F(ManyJobsTest, ALongListComesWholeAndInOrder) {
  Fill("j", 150);  // more than are read at once
  std::vector<Draw> draws;
  Expect(store_->ListSamples("j", 299, 0, false, [&](const SampleView& view) {
    draws.push_back(view.sample.trajectory.key.draw);
    EXPECT_EQ(view.step, static_cast<int64_t>(draws.back()) + 1);
    return true;
  }));
  ASSERT_EQ(draws.size(), 299u);
  EXPECT_TRUE(std::is_sorted(draws.rbegin(), draws.rend()));
  EXPECT_EQ(draws.back(), 0u);
}

TEST_F(StoreTest, AJobIsBoundToItsLearnerFromTheFirst) {
  JobRow row = Row("bound");
  row.view.learner = "learner-1";
  ASSERT_TRUE(store_->Transact([&](StoreTransaction& tx) { return tx.InsertJob(row, ""); }).ok());
  EXPECT_EQ(store_->LoadJobs()->back().view.learner, "learner-1");
}

TEST_F(ManyJobsTest, EvaluationsAreListedByStepAcrossReads) {
  Insert();
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    for (int64_t step : {0, 4}) {
      for (Draw draw = 0; draw < 70; ++draw) Expect(tx.AddEvaluationGroup("j", step, GroupOf(draw)));
    }
    return absl::OkStatus();
  }));
  std::vector<std::pair<int64_t, Draw>> seen;
  Expect(store_->ListSamples("j", 1000, 0, true, [&](const SampleView& view) {
    seen.emplace_back(-view.step, view.sample.trajectory.key.draw);
    return true;
  }));
  EXPECT_EQ(seen.size(), 2u * 2 * 70);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

// A transaction that takes long, as with a slow disk.
TEST_F(ManyJobsTest, ListsDoNotWaitForACommit) {
  Fill("j", 3);
  Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    Expect(tx.IssueGroup("j", 3, 9, 2));
    Expect(tx.AddAttempt("j", {3, 0, "rollout-0", 1, 2, absl::UnixEpoch()}));
    absl::Notification read;
    std::thread reader([&] {
      EXPECT_EQ(store_->ListAttempts("j", std::nullopt, 100)->size(), 6u) << "what is committed";
      Expect(store_->ListSamples("j", 10, 0, false, [](const SampleView&) { return true; }));
      EXPECT_TRUE(store_->ListQuarantine("j", 10).ok());
      read.Notify();
    });
    EXPECT_TRUE(read.WaitForNotificationWithTimeout(absl::Seconds(60)));
    reader.join();
    return absl::OkStatus();
  }));
  EXPECT_EQ(store_->ListAttempts("j", std::nullopt, 100)->size(), 7u);
}

TEST_F(StoreTest, KeepsTheVerdictsOfCanaries) {
  Insert();
  EXPECT_FALSE(store_->LoadJobs()->at(0).view.canary);
  const auto record = [&](const CanaryRecord& canary, int64_t seconds) {
    Expect(store_->Transact([&](StoreTransaction& tx) {
      return tx.RecordCanary("j", {canary, absl::FromUnixSeconds(seconds)});
    }));
  };
  record({0, CanaryVerdict::kPassed, std::numeric_limits<double>::quiet_NaN(), "r0", ""}, 1);
  record({1, CanaryVerdict::kPassed, 0.5, "r0", ""}, 2);
  record({2, CanaryVerdict::kRefused, 0.25, "r1", "low"}, 3);
  record({2, CanaryVerdict::kTaken, 0.25, "r1", "low"}, 4);
  Reopen();
  const std::vector<CanaryRecord> all = *store_->LoadCanaries("j");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].version, 0);
  EXPECT_TRUE(std::isnan(all[0].score));
  EXPECT_EQ(all[1].verdict, CanaryVerdict::kPassed);
  EXPECT_EQ(all[2].verdict, CanaryVerdict::kTaken);
  const std::optional<CanaryView> last = store_->LoadJobs()->at(0).view.canary;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->record.version, 2);
  EXPECT_EQ(last->record.score, 0.25);
  EXPECT_EQ(last->record.worker, "r1");
  EXPECT_EQ(last->record.why, "low");
  EXPECT_EQ(last->time, absl::FromUnixSeconds(4));
  EXPECT_EQ(Sql("UPDATE canaries SET verdict = 'lost'"), "");
  Reopen();
  EXPECT_EQ(store_->LoadCanaries("j").status().code(), absl::StatusCode::kDataLoss);
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

TEST_F(StoreTest, WhatAStartAndAPageCostDoesNotGrowWithTheJobsThatEnded) {
  const auto end = [&](int from, int to) {
    Expect(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      for (int i = from; i < to; ++i) {
        JobRow row = Row(absl::StrCat("ended", 1000 + i));
        row.view.create_time = absl::FromUnixSeconds(i);
        Expect(tx.InsertJob(row, ""));
        Expect(tx.AddEvent(row.view.job, {absl::UnixEpoch(), "done"}));
        row.view.state = JobState::kSucceeded;
        row.view.end_time = absl::FromUnixSeconds(i + 1);
        Expect(tx.UpdateJob(row));
      }
      return absl::OkStatus();
    }));
  };
  const auto steps = [&] {
    const int64_t before = store_->sql_steps();
    EXPECT_EQ(store_->LoadJobs()->size(), 1u);
    const std::vector<JobView> page = *store_->ListEndedJobs(3, {});
    EXPECT_EQ(page.size(), 3u);
    const std::vector<JobView> next = *store_->ListEndedJobs(3, {page.back().create_time, page.back().job});
    EXPECT_EQ(next.at(0).create_time, page.back().create_time - absl::Seconds(1));
    EXPECT_EQ(store_->LoadJob(next.back().job)->view.events.at(0).text, "done");
    return store_->sql_steps() - before;
  };
  Insert("live");
  end(0, 10);
  const int64_t few = steps();
  end(10, 400);
  EXPECT_LE(steps(), few * 11 / 10);
}

TEST_F(StoreTest, IsHeldByOneAtATime) {
  auto second = Store::Open(folder_.path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), testing::HasSubstr("state directory in use"));
}

TEST_F(StoreTest, KeepsTheLastProgressOfSamplesInFlight) {
  Insert("j");
  Insert("other");
  const auto partial = [](Draw draw, uint32_t index, int32_t tokens) {
    Trajectory t;
    t.key = {draw, index};
    t.tokens.assign(static_cast<size_t>(tokens), 7);
    t.raw_logprobs.assign(static_cast<size_t>(tokens), -1.5f);
    t.spans = {{0, tokens, 3, "hash", "cpu"}};
    return t;
  };
  ASSERT_TRUE(store_
                  ->Transact([&](StoreTransaction& tx) -> absl::Status {
                    for (const char* job : {"j", "other"}) {
                      for (Draw draw : {0, 1, 2, 3}) EXPECT_TRUE(tx.IssueGroup(job, draw, 1, 2).ok());
                      for (Draw draw : {0, 1, 2, 3}) {
                        for (uint32_t i : {0, 1})
                          EXPECT_TRUE(tx.SaveProgress(job, partial(draw, i, 64)).ok());
                      }
                    }
                    EXPECT_TRUE(tx.SaveProgress("j", partial(2, 1, 128)).ok());
                    EXPECT_TRUE(tx.SaveProgress("j", partial(9, 0, 64)).ok());  // was never issued
                    Trajectory huge = partial(3, 0, 64);
                    huge.experts.ids.resize(static_cast<size_t>(StoreTransaction::kMaxProgressBytes));
                    EXPECT_TRUE(tx.SaveProgress("j", huge).ok());
                    EXPECT_TRUE(tx.CompleteGroup("j", GroupOf(0)).ok());
                    EXPECT_TRUE(tx.DropGroup("j", 1, LedgerColumn::kDroppedStale, "old").ok());
                    return tx.SettleSample("j", {2, 0}, LedgerColumn::kQuarantined, "broken");
                  })
                  .ok());
  Reopen();
  auto progress = store_->LoadProgress("j");
  ASSERT_TRUE(progress.ok()) << progress.status();
  ASSERT_EQ(progress->size(), 3u);
  EXPECT_EQ(progress->at(0).key, (SampleKey{2, 1}));
  EXPECT_EQ(progress->at(0).tokens.size(), 128u);
  EXPECT_EQ(progress->at(0).raw_logprobs.back(), -1.5f);
  EXPECT_EQ(progress->at(0).spans, partial(2, 1, 128).spans);
  EXPECT_EQ(progress->at(1).key, (SampleKey{3, 0}));
  EXPECT_EQ(progress->at(1).tokens.size(), 64u);
  EXPECT_TRUE(progress->at(1).experts.ids.empty());
  EXPECT_EQ(store_->LoadProgress("other")->size(), 8u);
  ASSERT_TRUE(store_->Transact([](StoreTransaction& tx) { return tx.CancelInFlight("j", "over"); }).ok());
  EXPECT_EQ(store_->LoadProgress("j")->size(), 0u);
  EXPECT_EQ(store_->LoadProgress("other")->size(), 8u);
}

TEST_F(StoreTest, KeepsTheProgressOfALongCompletionWithItsExperts) {
  Insert();
  Trajectory t;
  t.key = {0, 0};
  t.tokens.assign(16384, 7);
  t.raw_logprobs = t.processed_logprobs = std::vector<float>(t.tokens.size(), -1.5f);
  t.spans = {{0, 16384, 3, "hash", "cpu"}};
  t.experts = {48, 8, std::vector<uint16_t>(t.tokens.size() * 48 * 8, 300)};
  t.finish_reason = FinishReason::kLength;
  ASSERT_TRUE(store_
                  ->Transact([&](StoreTransaction& tx) -> absl::Status {
                    EXPECT_TRUE(tx.IssueGroup("j", 0, 1, 2).ok());
                    return tx.SaveProgress("j", t);
                  })
                  .ok());
  Reopen();
  const auto progress = store_->LoadProgress("j");
  ASSERT_TRUE(progress.ok()) << progress.status();
  ASSERT_EQ(progress->size(), 1u);
  EXPECT_EQ(progress->at(0).experts, t.experts);
  EXPECT_EQ(progress->at(0).finish_reason, t.finish_reason);
}

TEST_F(StoreTest, LeavesOutProgressThatIsDamagedOrOfAnotherSample) {
  Insert();
  ASSERT_TRUE(store_
                  ->Transact([&](StoreTransaction& tx) -> absl::Status {
                    EXPECT_TRUE(tx.IssueGroup("j", 0, 1, 2).ok());
                    for (uint32_t i : {0, 1}) {
                      Trajectory t;
                      t.key = {0, i};
                      EXPECT_TRUE(tx.SaveProgress("j", t).ok());
                    }
                    return absl::OkStatus();
                  })
                  .ok());
  Sql("UPDATE progress SET offset = (SELECT MAX(offset) FROM progress)");
  auto progress = store_->LoadProgress("j");
  ASSERT_EQ(progress->size(), 1u);
  EXPECT_EQ(progress->at(0).key, (SampleKey{0, 1}));
}

TEST_F(StoreTest, GivesEpochsThatRiseWhateverTheClockDoes) {
  const absl::Time day = absl::FromUnixSeconds(1700000000);
  uint64_t last = *store_->NextEpoch(day);
  EXPECT_GT(last, static_cast<uint64_t>(absl::ToUnixMillis(day)));  // those of schema 1
  for (const absl::Time now : {day, day - absl::Hours(24 * 365), absl::UnixEpoch() - absl::Hours(1), day}) {
    Reopen();
    for (int i = 0; i < 3000; ++i) {
      const uint64_t next = *store_->NextEpoch(now);
      ASSERT_GT(next, last);
      last = next;
    }
  }
}

TEST_F(StoreTest, KeepsWhatBecameOfAttempts) {
  Insert();
  const auto started = absl::FromUnixMicros(10), ended = absl::FromUnixMicros(20);
  ASSERT_TRUE(store_
                  ->Transact([&](StoreTransaction& tx) -> absl::Status {
                    for (uint32_t n : {1, 2, 3})
                      EXPECT_TRUE(tx.AddAttempt("j", {0, n, "w", 5, 2, started}).ok());
                    EXPECT_TRUE(tx.EndAttempt("j", 0, 1, AttemptOutcome::kHedgeLost, 7, ended).ok());
                    EXPECT_TRUE(
                        tx.EndAttempt("j", 0, 1, AttemptOutcome::kDone, 99, ended).ok());  // has ended
                    return tx.EndAttempt("j", 0, 2, AttemptOutcome::kDone, 12, ended);
                  })
                  .ok());
  Reopen();  // the third ends with the coordinator
  EXPECT_EQ(Sql("SELECT number || ',' || worker || ',' || epoch || ',' || outcome || ',' || tokens || ',' || "
                "(ended > started) FROM attempts ORDER BY seq"),
            "1,w,5,hedge_lost,7,1 2,w,5,done,12,1 3,w,5,lost,0,1");
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
