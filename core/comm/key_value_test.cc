#include "core/comm/key_value.h"

#include <limits>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

TEST(MemoryKeyValueTest, GetWaitsUntilTheKeyIsSet) {
  MemoryKeyValue store;
  std::thread setter([&] { EXPECT_TRUE(store.Set("k", "v", Soon()).ok()); });
  EXPECT_EQ(store.Get("k", Soon()).value(), "v");
  setter.join();
}

TEST(MemoryKeyValueTest, GetNamesTheKeyWhenItsDeadlinePasses) {
  MemoryKeyValue store;
  auto got = store.Get("absent", absl::Now() + absl::Milliseconds(10));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(got.status().message().find("absent"), absl::string_view::npos);
}

TEST(MemoryKeyValueTest, AddCountsFromZeroAndRefusesText) {
  MemoryKeyValue store;
  EXPECT_EQ(store.Add("n", 2, Soon()).value(), 2);
  EXPECT_EQ(store.Add("n", -5, Soon()).value(), -3);
  EXPECT_EQ(store.Get("n", Soon()).value(), "-3");
  ASSERT_TRUE(store.Set("t", "text", Soon()).ok());
  EXPECT_EQ(store.Add("t", 1, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store.Add("n", std::numeric_limits<int64_t>::min(), Soon()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MemoryKeyValueTest, CheckIsTrueOnlyWhenAllKeysExist) {
  MemoryKeyValue store;
  ASSERT_TRUE(store.Set("a", "", Soon()).ok());
  EXPECT_TRUE(store.Check({"a"}, Soon()).value());
  EXPECT_FALSE(store.Check({"a", "b"}, Soon()).value());
}

TEST(MemoryKeyValueTest, StopsAtItsLimits) {
  MemoryKeyValue::Limits limits;
  limits.keys = 2;
  limits.key_bytes = 4;
  limits.value_bytes = 8;
  limits.total_bytes = 12;
  MemoryKeyValue store(limits);
  EXPECT_EQ(store.Set("longkey", "", Soon()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store.Set("k", "123456789", Soon()).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(store.Set("a", "12345678", Soon()).ok());
  EXPECT_EQ(store.Set("b", "12345678", Soon()).code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(store.Set("a", "1", Soon()).ok());
  ASSERT_TRUE(store.Set("b", "1", Soon()).ok());
  EXPECT_EQ(store.Set("c", "1", Soon()).code(), absl::StatusCode::kResourceExhausted);
  store.Clear();
  EXPECT_TRUE(store.Set("c", "1", Soon()).ok());
}

}  // namespace
}  // namespace sluice
