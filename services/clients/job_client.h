// The public API of jobs, for the command line: protos in, protos out. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/rpc/peer.h"
#include "sluice/v1/job.grpc.pb.h"

namespace sluice {

struct JobClientOptions {
  absl::Duration timeout = absl::Seconds(30);  // of most calls
  absl::Duration submit_timeout =
      absl::Minutes(30);  // of Submit and Check, which read and tokenise the prompts
  absl::Duration export_timeout = absl::Minutes(30);
  CancelToken cancel;  // ends calls under way
};

class JobClient {
 public:
  explicit JobClient(Peer peer, JobClientOptions options = {});

  // Returns the job's name. An empty request_id: sending again makes another job.
  absl::StatusOr<std::string> Submit(const v1::JobSpec& spec, const std::string& request_id = "");
  absl::StatusOr<v1::CheckJobResponse> Check(const v1::JobSpec& spec);
  absl::StatusOr<v1::Job> Get(const std::string& job);
  // The newest first, page by page; `on_page` returns whether to go on. One call's limit is that of a page.
  absl::Status List(const std::function<bool(const std::vector<v1::Job>&)>& on_page);
  absl::StatusOr<std::vector<v1::Job>> List();  // all of them
  // OK also when it was deleted before.
  absl::Status Delete(const std::string& job);
  absl::StatusOr<v1::Job> Pause(const std::string& job);
  absl::StatusOr<v1::Job> SetPriority(const std::string& job, int32_t priority);
  absl::StatusOr<v1::Job> Resume(const std::string& job);
  absl::StatusOr<v1::Job> Cancel(const std::string& job);
  absl::StatusOr<std::vector<v1::Checkpoint>> ListCheckpoints(const std::string& job);
  absl::StatusOr<v1::ListAttemptsResponse> ListAttempts(const v1::ListAttemptsRequest& request);
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(const v1::ListQuarantineRequest& request);
  // Returns how many prompts were released.
  absl::StatusOr<int64_t> ReleaseQuarantine(const v1::ReleaseQuarantineRequest& request);
  absl::StatusOr<v1::ListReplayStepsResponse> ListReplaySteps(const std::string& job, int64_t after_step);
  // Returns the version written; nullopt: the last.
  absl::StatusOr<int64_t> Export(const std::string& job, std::optional<int64_t> policy_version,
                                 const std::string& path);

  // Callbacks return whether to go on; false ends the call with OK. OK also when the stream ended by itself.
  absl::Status Watch(const std::string& job, absl::Time deadline,
                     const std::function<bool(const v1::WatchJobResponse&)>& on_state);
  absl::Status ListSamples(const v1::ListSamplesRequest& request,
                           const std::function<bool(const v1::ListSamplesResponse&)>& on_sample);

 private:
  absl::Time Deadline() const { return absl::Now() + options_.timeout; }

  const Peer peer_;
  const JobClientOptions options_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
};

}  // namespace sluice
