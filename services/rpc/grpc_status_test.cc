#include "services/rpc/grpc_status.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(GrpcStatus, KeepsEveryCodeAndTheMessageBothWays) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "what went wrong");
    const grpc::Status carried = ToGrpc(status);
    EXPECT_EQ(static_cast<int>(carried.error_code()), code);
    EXPECT_EQ(FromGrpc(carried), status);
  }
}

TEST(GrpcStatus, CutsAMessageThatWouldNotFitAHeader) {
  const grpc::Status carried = ToGrpc(absl::InternalError(std::string(100000, 'x')));
  EXPECT_EQ(carried.error_message(), std::string(2048, 'x'));
}

TEST(GrpcStatus, MakesAnUnknownCodeUnknown) {
  EXPECT_EQ(FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(99), "m")), absl::UnknownError("m"));
}

}  // namespace
}  // namespace sluice
