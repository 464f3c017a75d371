// What the processes of the test have between them besides the wire: deaths that were planned, and the
// largest message that went by.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/client_interceptor.h"
#include "grpcpp/support/server_interceptor.h"

namespace sluice::bench {

// kill -9 when a process comes to `place` for the `at`-th time; once for all of its lives.
struct Death {
  std::string place;
  int64_t at = 1;
  bool coordinator = false;  // dies, and not who came there
};
// "learner.piece:300:coordinator", "learner.piece:300:self".
absl::StatusOr<Death> DeathOf(const std::string& text);
std::string ToString(const Death& death);

// Thread-safe.
class Deaths {
 public:
  Deaths(std::string folder, std::vector<Death> plan) : folder_(std::move(folder)), plan_(std::move(plan)) {}
  // Returns, if at all, when the coordinator was killed.
  void Reach(const std::string& place);
  static bool Happened(const std::string& folder, const Death& death);

 private:
  const std::string folder_;
  const std::vector<Death> plan_;
  absl::Mutex mu_;
  std::map<std::string, int64_t> times_ ABSL_GUARDED_BY(mu_);
};

// Keeps the size of the largest message of a process in FOLDER/NAME.largest, and tells of each that comes in.
// Thread-safe.
class Messages final : public grpc::experimental::ClientInterceptorFactoryInterface,
                       public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `piece`: the place that an AddGroupRequest comes to; both are borrowed.
  Messages(std::string folder, std::string name, Deaths& deaths);
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* info) override;
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override;
  void Saw(int64_t bytes);

 private:
  class Look;

  const std::string file_;
  Deaths& deaths_;
  absl::Mutex mu_;
  int64_t largest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice::bench
