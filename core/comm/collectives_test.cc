// One body of tests for every implementation of Collectives, run with each.
#include "core/comm/collectives.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/comm/gloo_collectives.h"
#include "core/comm/thread_collectives.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

struct Implementation {
  std::string name;
  int size;
};

class CollectivesTest : public testing::TestWithParam<Implementation> {
 protected:
  // Runs `body` once for each rank, each in a thread of its own.
  void RunRanks(const std::function<void(Collectives&)>& body) {
    const Implementation& p = GetParam();
    if (p.name == "Single") {
      SingleCollectives single;
      return body(single);
    }
    MemoryKeyValue store;
    std::vector<std::unique_ptr<Collectives>> ranks(p.size);
    if (p.name == "Thread") ranks = MakeThreadCollectives(p.size);
    std::vector<std::thread> threads;
    for (int r = 0; r < p.size; ++r) {
      threads.emplace_back([&, r] {
        if (p.name == "Gloo") {
          GlooOptions options;
          options.rank = r;
          options.size = p.size;
          auto connected = ConnectGloo(options, &store, Soon());
          ASSERT_TRUE(connected.ok()) << connected.status();
          ranks[r] = *std::move(connected);
        }
        body(*ranks[r]);
      });
    }
    for (auto& t : threads) t.join();
  }
};

TEST_P(CollectivesTest, BroadcastGivesTheRootsBytesToAll) {
  RunRanks([](Collectives& c) {
    for (int root = 0; root < c.size(); ++root) {
      std::string bytes = "rank " + std::to_string(c.rank());
      ASSERT_TRUE(c.Broadcast({bytes.data(), bytes.size()}, root, Soon()).ok());
      EXPECT_EQ(bytes, "rank " + std::to_string(root));
    }
  });
}

TEST_P(CollectivesTest, AllGatherKeepsRankOrder) {
  RunRanks([](Collectives& c) {
    const char mine[2] = {static_cast<char>('a' + c.rank()), '.'};
    std::string all(2 * c.size(), ' '), expected;
    for (int r = 0; r < c.size(); ++r) expected += std::string(1, static_cast<char>('a' + r)) + ".";
    ASSERT_TRUE(c.AllGather(mine, {all.data(), all.size()}, Soon()).ok());
    EXPECT_EQ(all, expected);
  });
}

TEST_P(CollectivesTest, ReduceScatterEqualsTheSequentialSumBitForBit) {
  RunRanks([](Collectives& c) {
    const size_t n = 37;
    auto value = [&](int rank, size_t i) { return 1.0f / static_cast<float>(3 + 7 * rank + i); };
    std::vector<float> values(n * c.size()), mine(n);
    for (size_t i = 0; i < values.size(); ++i) values[i] = value(c.rank(), i);
    ASSERT_TRUE(c.ReduceScatterSum(values, absl::MakeSpan(mine), Soon()).ok());
    for (size_t i = 0; i < n; ++i) {
      float sum = value(0, c.rank() * n + i);
      for (int r = 1; r < c.size(); ++r) sum += value(r, c.rank() * n + i);
      EXPECT_EQ(mine[i], sum);
    }
  });
}

TEST_P(CollectivesTest, AllReduceSumsInRankOrder) {
  RunRanks([](Collectives& c) {
    std::vector<double> values = {1.0 / (1 + c.rank()), 1e16 * c.rank()};
    double a = 1.0, b = 0;
    for (int r = 1; r < c.size(); ++r) a += 1.0 / (1 + r), b += 1e16 * r;
    ASSERT_TRUE(c.AllReduceSum(absl::MakeSpan(values), Soon()).ok());
    EXPECT_EQ(values[0], a);
    EXPECT_EQ(values[1], b);
  });
}

TEST_P(CollectivesTest, RefusesSizesThatDoNotFit) {
  RunRanks([](Collectives& c) {
    std::vector<float> values(c.size() + 1), mine(1);
    EXPECT_EQ(c.ReduceScatterSum(values, absl::MakeSpan(mine), Soon()).code(),
              absl::StatusCode::kInvalidArgument);
    char byte = 0;
    EXPECT_EQ(c.Broadcast({&byte, 1}, c.size(), Soon()).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(c.Barrier(Soon()).ok());
  });
}

TEST_P(CollectivesTest, WaitEndsAtItsDeadlineWhenARankIsMissing) {
  if (GetParam().size == 1) GTEST_SKIP() << "one rank waits for nobody";
  RunRanks([](Collectives& c) {
    ASSERT_TRUE(c.Barrier(Soon()).ok());
    if (c.rank() == 0) return;  // never comes to the second meeting
    const absl::Status status = c.Barrier(absl::Now() + absl::Milliseconds(50));
    EXPECT_FALSE(status.ok());
    if (GetParam().name == "Gloo") {
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr("AllGather of"));
      EXPECT_THAT(std::string(status.message()),
                  testing::HasSubstr("rank " + std::to_string(c.rank()) + " of " + std::to_string(c.size())));
    }
    EXPECT_FALSE(c.Barrier(absl::Now() + absl::Milliseconds(50)).ok()) << "a broken gang must stay broken";
  });
}

INSTANTIATE_TEST_SUITE_P(All, CollectivesTest,
                         testing::Values(Implementation{"Single", 1}, Implementation{"Thread", 2},
                                         Implementation{"Thread", 4}, Implementation{"Gloo", 2},
                                         Implementation{"Gloo", 3}),
                         [](const auto& info) { return info.param.name + std::to_string(info.param.size); });

TEST(ConnectGlooTest, StopsAtItsDeadlineWhenNoOtherRankComes) {
  MemoryKeyValue store;
  GlooOptions options;
  options.size = 2;
  auto connected = ConnectGloo(options, &store, absl::Now() + absl::Milliseconds(200));
  EXPECT_FALSE(connected.ok());
}

TEST(ConnectGlooTest, RefusesAmbiguousInterface) {
  MemoryKeyValue store;
  GlooOptions options;
  options.interface_name = "lo";
  EXPECT_EQ(ConnectGloo(options, &store, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
  options.address.clear();
  EXPECT_TRUE(ConnectGloo(options, &store, Soon()).ok());
}

}  // namespace
}  // namespace sluice
