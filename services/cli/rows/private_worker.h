// A worker of one's own, for as long as a command runs: of the rollout role, or of the reward role.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"

namespace sluice::cli {

// Of a rollout worker.
struct PrivateWorkerOptions {
  std::string model;           // Hugging Face directory
  std::string dtype = "bf16";  // or "fp32"
  int threads = 0;             // 0: the machine's
  int http_port = -1;          // of the OpenAI API; 0: any free one, -1: none
  absl::Duration start_deadline = absl::Minutes(10);
  CancelToken cancel = {};  // raised: the start ends with CANCELLED
};

class PrivateWorker {
 public:
  // Removes first what a command that was killed left in the temporary directory.
  // Starts sluice-rollout on the model and waits until it serves. When it ends first, its last words are the
  // error.
  static absl::StatusOr<PrivateWorker> Start(const PrivateWorkerOptions& options);
  // Likewise any role's binary ("reward": sluice-reward) with these flags besides those of every service.
  static absl::StatusOr<PrivateWorker> Start(const std::string& role, const std::vector<std::string>& flags,
                                             absl::Duration deadline, const CancelToken& cancel = {});
  ~PrivateWorker();
  PrivateWorker(PrivateWorker&& other) noexcept;
  PrivateWorker& operator=(PrivateWorker&&) = delete;

  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }  // empty without http_port

 private:
  PrivateWorker() = default;
  absl::Status AwaitServing(const std::string& role, absl::Duration deadline, const CancelToken& cancel);

  pid_t pid_ = 0;
  std::string folder_;  // its address file and log; removed at the end
  std::string address_, http_address_;
};

}  // namespace sluice::cli
