#include <memory>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/clients/remote_key_value.h"
#include "services/servers/rendezvous_adapter.h"

namespace sluice {
namespace {

class RendezvousTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    remote_ = std::make_unique<RemoteKeyValue>(Peer{"rank 0", server_->InProcessChannel({})});
  }
  void TearDown() override { server_->Shutdown(); }
  static absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

  MemoryKeyValue store_;
  RendezvousAdapter service_{store_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<RemoteKeyValue> remote_;
};

TEST_F(RendezvousTest, RanksShareKeys) {
  const std::string bytes("a\0\xFF", 3);
  ASSERT_TRUE(remote_->Set("k", bytes, Soon()).ok());
  EXPECT_EQ(*remote_->Get("k", Soon()), bytes);
  EXPECT_EQ(*store_.Get("k", Soon()), bytes);
  EXPECT_EQ(*remote_->Add("n", 2, Soon()), 2);
  EXPECT_EQ(*remote_->Add("n", -5, Soon()), -3);
  EXPECT_TRUE(*remote_->Check({"k", "n"}, Soon()));
  EXPECT_FALSE(*remote_->Check({"k", "absent"}, Soon()));
}

TEST_F(RendezvousTest, GetWaitsUntilTheKeyIsSet) {
  std::thread setter([&] { EXPECT_TRUE(remote_->Set("late", "here", Soon()).ok()); });
  EXPECT_EQ(*remote_->Get("late", Soon()), "here");
  setter.join();
}

TEST_F(RendezvousTest, GetEndsAtItsDeadline) {
  auto got = remote_->Get("never", absl::Now() + absl::Milliseconds(300));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(RendezvousTest, BadKeysAreRefused) {
  EXPECT_EQ(remote_->Set("", "x", Soon()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(remote_->Set(std::string(1025, 'k'), "x", Soon()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(remote_->Set("k", std::string((1 << 20) + 1, 'x'), Soon()).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(remote_->Set("text", "abc", Soon()).ok());
  EXPECT_EQ(remote_->Add("text", 1, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
