#include "coordinator/workers/work_orders.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class FakePort final : public WorkPort {
 public:
  void Generate(uint64_t, const RolloutRequest&) override {}
  void Load(uint64_t, const PolicyRef&, SwapMode, absl::Time) override {}
  void Cancel(uint64_t order, const absl::Status&) override { cancelled.push_back(order); }
  std::vector<uint64_t> cancelled;
};

class WorkOrdersTest : public ::testing::Test {
 protected:
  uint64_t Add(uint64_t run, uint64_t attempt, const std::string& worker = "a", uint64_t epoch = 1) {
    return orders_.Add(
        {.run = run, .attempt = attempt, .worker = worker, .epoch = epoch, .port = port_, .delivery = {}});
  }
  std::shared_ptr<FakePort> port_ = std::make_shared<FakePort>();
  WorkOrders orders_;
};

TEST_F(WorkOrdersTest, AnOrderIsFoundByItsWorkerUnderItsRegistrationAlone) {
  const uint64_t order = Add(1, 5);
  EXPECT_NE(orders_.Find({"a", 1, order, {}}), nullptr);
  EXPECT_EQ(orders_.Find({"b", 1, order, {}}), nullptr);
  EXPECT_EQ(orders_.Find({"a", 2, order, {}}), nullptr);
  EXPECT_EQ(orders_.Find({"a", 1, order + 1, {}}), nullptr);
  EXPECT_EQ(orders_.Take(order).attempt, 5u);
  EXPECT_EQ(orders_.size(), 0u);
}

TEST_F(WorkOrdersTest, ACancelledAttemptIsToldToItsWorkerOnce) {
  const uint64_t order = Add(1, 5);
  Add(2, 5);
  EXPECT_TRUE(orders_.Cancel(1, 5));
  EXPECT_FALSE(orders_.Cancel(1, 5));
  EXPECT_THAT(port_->cancelled, ElementsAre(order));
  EXPECT_EQ(orders_.size(), 1u);
}

TEST_F(WorkOrdersTest, TheOrdersOfARunAreCancelledTogether) {
  const uint64_t first = Add(1, 5), load = Add(1, 0);
  const uint64_t other = Add(2, 5);
  orders_.CancelRun(1);
  EXPECT_THAT(port_->cancelled, ElementsAre(first, load));
  EXPECT_NE(orders_.Find({"a", 1, other, {}}), nullptr);
}

TEST_F(WorkOrdersTest, ARegistrationThatIsOverTakesItsOrdersWithIt) {
  Add(1, 5, "a", 1);
  const uint64_t newer = Add(1, 6, "a", 2);
  orders_.Forget("a", 1);
  orders_.Forget("b", 1);
  EXPECT_EQ(orders_.size(), 1u);
  EXPECT_NE(orders_.Find({"a", 2, newer, {}}), nullptr);
  EXPECT_TRUE(port_->cancelled.empty());
}

}  // namespace
}  // namespace sluice
