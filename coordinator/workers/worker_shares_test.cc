#include "coordinator/workers/worker_shares.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

ShareClaim Claim(const JobId& job, int32_t priority = 0, int32_t least = 0, int32_t most = 0) {
  return {job, {priority, least, most}, static_cast<uint64_t>(job[0])};
}

Assignment Workers(int n, const JobId& job = "") {
  Assignment out;
  for (int i = 0; i < n; ++i) out[absl::StrCat("w", i)] = job;
  return out;
}

std::map<JobId, int64_t> Counts(const Assignment& assignment) {
  std::map<JobId, int64_t> out;
  for (const auto& [worker, job] : assignment) ++out[job];
  return out;
}

int64_t Moves(const Assignment& before, const Assignment& after) {
  int64_t moves = 0;
  for (const auto& [worker, job] : before) moves += !job.empty() && after.at(worker) != job;
  return moves;
}

struct Case {
  const char* what;
  std::vector<ShareClaim> claims;
  int64_t workers;
  std::map<JobId, int64_t> held, expected;
};

TEST(ShareOut, GivesEachJobItsShare) {
  const Case cases[] = {
      {"one job has all", {Claim("a")}, 5, {}, {{"a", 5}}},
      {"equals share evenly", {Claim("a"), Claim("b")}, 6, {}, {{"a", 3}, {"b", 3}}},
      {"the older has the odd one", {Claim("b"), Claim("a")}, 5, {}, {{"a", 3}, {"b", 2}}},
      {"who has the odd one keeps it",
       {Claim("a"), Claim("b")},
       5,
       {{"a", 2}, {"b", 3}},
       {{"a", 2}, {"b", 3}}},
      {"a step of priority doubles", {Claim("a"), Claim("b", 1)}, 6, {}, {{"a", 2}, {"b", 4}}},
      {"each has one before any has two", {Claim("a"), Claim("b", 9)}, 2, {}, {{"a", 1}, {"b", 1}}},
      {"too few: by priority",
       {Claim("a"), Claim("b", 1), Claim("c")},
       1,
       {{"a", 1}},
       {{"a", 0}, {"b", 1}, {"c", 0}}},
      {"minimum first", {Claim("a", 0, 4), Claim("b", 3)}, 5, {}, {{"a", 4}, {"b", 1}}},
      {"minimums by priority", {Claim("a", 0, 4), Claim("b", 3, 3)}, 5, {}, {{"a", 2}, {"b", 3}}},
      {"maximum", {Claim("a", 0, 0, 1), Claim("b", -3, 0, 2)}, 5, {}, {{"a", 1}, {"b", 2}}},
      {"no claims", {}, 3, {}, {}},
      {"no workers", {Claim("a", 0, 2)}, 0, {}, {{"a", 0}}},
  };
  for (const Case& c : cases) EXPECT_EQ(ShareOut(c.claims, c.workers, c.held), c.expected) << c.what;
}

TEST(ShareOut, AJobWithoutNeedKeepsOnlyWhatNobodyCanUse) {
  ShareClaim paused = Claim("a");
  paused.needs = false;
  EXPECT_THAT(ShareOut({paused, Claim("b")}, 4, {{"a", 4}}), ElementsAre(Pair("a", 0), Pair("b", 4)));
  EXPECT_THAT(ShareOut({paused, Claim("b", 0, 0, 1)}, 4, {{"a", 4}}),
              ElementsAre(Pair("a", 3), Pair("b", 1)));
}

TEST(Assign, MovesOnlyWhoMust) {
  Assignment now = Workers(6, "a");
  const Assignment fair = Assign({Claim("a"), Claim("b")}, now);
  EXPECT_THAT(Counts(fair), ElementsAre(Pair("a", 3), Pair("b", 3)));
  EXPECT_EQ(Moves(now, fair), 3);
  EXPECT_EQ(Assign({Claim("a"), Claim("b")}, fair), fair);
  now = fair;
  now["w6"];  // a new one
  EXPECT_EQ(Moves(now, Assign({Claim("a"), Claim("b")}, now)), 0);
}

TEST(Assign, OfAJobThatEndedWorkersGoToTheOthers) {
  EXPECT_THAT(Counts(Assign({Claim("b")}, Workers(3, "a"))), ElementsAre(Pair("b", 3)));
  EXPECT_THAT(Counts(Assign({}, Workers(3, "a"))), ElementsAre(Pair("", 3)));
}

// What holds for all claims and fleets.
TEST(Assign, RandomFleets) {
  std::mt19937_64 random(17);
  const auto below = [&](uint64_t n) { return static_cast<int32_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<ShareClaim> claims;
    for (int j = 0, n = below(5); j < n; ++j) {
      const int32_t least = below(4), most = below(3) == 0 ? least + below(4) : 0;
      claims.push_back(Claim(std::string(1, static_cast<char>('a' + j)), below(4) - 1, least, most));
      claims.back().needs = below(5) != 0;
    }
    Assignment now;
    for (int w = 0, n = below(12); w < n; ++w) {
      now[absl::StrCat("w", w)] = below(3) == 0 ? "" : std::string(1, static_cast<char>('a' + below(5)));
    }
    const Assignment fair = Assign(claims, now);
    ASSERT_EQ(fair.size(), now.size());
    ASSERT_EQ(Assign(claims, fair), fair) << "stays as it is";
    std::vector<ShareClaim> other_order = claims;
    std::shuffle(other_order.begin(), other_order.end(), random);
    ASSERT_EQ(Assign(other_order, now), fair) << "the order of the claims says nothing";
    std::map<JobId, int64_t> held = Counts(now), has = Counts(fair);
    int64_t must = 0;  // leave the job that they work for
    for (const auto& [job, n] : held) must += job.empty() ? 0 : std::max<int64_t>(0, n - has[job]);
    ASSERT_EQ(Moves(now, fair), must) << "the fewest moves";
    int64_t least = 0;
    for (const ShareClaim& c : claims) {
      ASSERT_TRUE(c.share.max_workers == 0 || has[c.job] <= c.share.max_workers);
      least += c.needs ? c.share.min_workers : 0;
    }
    if (least > static_cast<int64_t>(now.size())) continue;
    for (const ShareClaim& c : claims) {
      if (!c.needs) continue;
      ASSERT_GE(has[c.job], c.share.min_workers);
      ASSERT_TRUE(has[""] == 0 || has[c.job] == c.share.max_workers) << "a worker is free";
    }
  }
}

class WorkerSharesTest : public testing::Test {
 protected:
  const std::vector<ShareClaim> both_ = {Claim("a"), Claim("b")};
  const absl::Time start_ = absl::UnixEpoch();
  WorkerShares shares_{absl::Seconds(10)};
};

TEST_F(WorkerSharesTest, WhatAJobAsksForChangesAtOnce) {
  Assignment now = shares_.Update({Claim("a")}, Workers(4), start_);
  EXPECT_THAT(Counts(now), ElementsAre(Pair("a", 4)));
  now = shares_.Update(both_, now, start_);
  EXPECT_THAT(Counts(now), ElementsAre(Pair("a", 2), Pair("b", 2)));
  now = shares_.Update({Claim("a"), Claim("b", 1)}, now, start_);
  EXPECT_THAT(Counts(now), ElementsAre(Pair("a", 1), Pair("b", 3)));
}

TEST_F(WorkerSharesTest, AWorkerThatIsAwayForAMomentMovesNobody) {
  Assignment now = shares_.Update(both_, Workers(6), start_);
  Assignment fewer = now;
  std::erase_if(fewer, [](const auto& entry) { return entry.second == "a"; });
  EXPECT_EQ(shares_.Update(both_, fewer, start_ + absl::Seconds(1)), fewer);
  EXPECT_EQ(shares_.Update(both_, fewer, start_ + absl::Seconds(10)), fewer);
  Assignment back = fewer;
  for (const auto& [worker, job] : now) back.try_emplace(worker);
  EXPECT_EQ(shares_.Update(both_, back, start_ + absl::Seconds(10)), now);
}

TEST_F(WorkerSharesTest, AChangeThatLastsMovesWorkers) {
  Assignment now = shares_.Update(both_, Workers(6), start_);
  std::erase_if(now, [](const auto& entry) { return entry.second == "a"; });
  now = shares_.Update(both_, now, start_ + absl::Seconds(1));
  now = shares_.Update(both_, now, start_ + absl::Seconds(11));
  EXPECT_THAT(Counts(now), ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST_F(WorkerSharesTest, AFreeWorkerIsGivenOutWhileOthersWait) {
  Assignment now = shares_.Update(both_, Workers(6), start_);
  std::erase_if(now, [](const auto& entry) { return entry.second == "a"; });
  now = shares_.Update(both_, now, start_ + absl::Seconds(1));
  now["new"];
  EXPECT_EQ(shares_.Update(both_, now, start_ + absl::Seconds(2)).at("new"), "a");
}

}  // namespace
}  // namespace sluice
