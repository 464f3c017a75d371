// How commands find and talk to a coordinator.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "services/clients/job_client.h"

namespace CLI {
class App;
}

namespace sluice::cli {

constexpr char kDefaultState[] = "./sluice-state";

struct ConnectionOptions {
  std::string coordinator;  // "host:port"
  std::string state = kDefaultState;
};

// Declares --coordinator and --state.
void AddConnectionOptions(CLI::App& command, ConnectionOptions& options);

absl::StatusOr<std::unique_ptr<JobClient>> ConnectToCoordinator(const ConnectionOptions& options);

// Submits a job once, whatever is lost on the way: it is sent again under one request id while the
// coordinator is away, for at most `patience`; an empty one: a random one. Returns the job's name.
absl::StatusOr<std::string> SubmitJob(const ConnectionOptions& options, const v1::JobSpec& spec,
                                      absl::Duration patience, std::string request_id = "");

// Shows each state of a job until it has ended, and returns the last. Connects again while the coordinator is
// away, for at most `patience` in one go; its address is looked up anew each time. `on_state` returns whether
// to go on.
absl::StatusOr<v1::Job> FollowJob(const ConnectionOptions& options, const std::string& job,
                                  absl::Duration patience,
                                  const std::function<bool(const v1::WatchJobResponse&)>& on_state);

// A message as JSON, with field names as in the proto; `pretty` over several lines.
std::string ToJson(const google::protobuf::Message& message, bool pretty);

}  // namespace sluice::cli
