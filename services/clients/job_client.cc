#include "services/clients/job_client.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// Hands each message of a stream to `on_message` until it says stop.
template <typename Response, typename Reader>
absl::Status ReadAll(ClientCall& call, Reader& reader,
                     const std::function<bool(const Response&)>& on_message) {
  bool go_on = true;
  Response response;
  while (go_on && reader.Read(&response)) go_on = on_message(response);
  if (!go_on) call.context()->TryCancel();
  const grpc::Status status = reader.Finish();
  return go_on ? call.Result(status) : absl::OkStatus();
}

}  // namespace

JobClient::JobClient(Peer peer, JobClientOptions options)
    : peer_(std::move(peer)), options_(std::move(options)), stub_(v1::JobService::NewStub(peer_.channel)) {}

absl::StatusOr<std::string> JobClient::Submit(const v1::JobSpec& spec, const std::string& request_id) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  v1::SubmitJobResponse response;
  ClientCall call(peer_, absl::Now() + options_.submit_timeout, &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->SubmitJob(call.context(), request, &response)));
  return response.job();
}

absl::StatusOr<v1::CheckJobResponse> JobClient::Check(const v1::JobSpec& spec) {
  v1::CheckJobRequest request;
  *request.mutable_spec() = spec;
  v1::CheckJobResponse response;
  ClientCall call(peer_, absl::Now() + options_.submit_timeout, &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->CheckJob(call.context(), request, &response)));
  return response;
}

absl::StatusOr<v1::Job> JobClient::Get(const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  v1::GetJobResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->GetJob(call.context(), request, &response)));
  return std::move(*response.mutable_job());
}

absl::Status JobClient::List(const std::function<bool(const std::vector<v1::Job>&)>& on_page) {
  v1::ListJobsRequest request;
  do {
    v1::ListJobsResponse response;
    ClientCall call(peer_, Deadline(), &options_.cancel);
    SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListJobs(call.context(), request, &response)));
    if (!on_page({response.jobs().begin(), response.jobs().end()})) return absl::OkStatus();
    if (!response.next_page_token().empty() && response.next_page_token() == request.page_token())
      return absl::InternalError("the coordinator gave the same page of jobs again");
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Job>> JobClient::List() {
  std::vector<v1::Job> all;
  SLUICE_RETURN_IF_ERROR(List([&](const std::vector<v1::Job>& page) {
    all.insert(all.end(), page.begin(), page.end());
    return true;
  }));
  return all;
}

absl::Status JobClient::Delete(const std::string& job) {
  v1::DeleteJobRequest request;
  request.set_job(job);
  v1::DeleteJobResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  return call.Result(stub_->DeleteJob(call.context(), request, &response));
}

absl::StatusOr<v1::Job> JobClient::Pause(const std::string& job) {
  v1::PauseJobRequest request;
  request.set_job(job);
  v1::PauseJobResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->PauseJob(call.context(), request, &response)));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> JobClient::SetPriority(const std::string& job, int32_t priority) {
  v1::SetPriorityRequest request;
  request.set_job(job);
  request.set_priority(priority);
  v1::SetPriorityResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->SetPriority(call.context(), request, &response)));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> JobClient::Resume(const std::string& job) {
  v1::ResumeJobRequest request;
  request.set_job(job);
  v1::ResumeJobResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ResumeJob(call.context(), request, &response)));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> JobClient::Cancel(const std::string& job) {
  v1::CancelJobRequest request;
  request.set_job(job);
  v1::CancelJobResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->CancelJob(call.context(), request, &response)));
  return std::move(*response.mutable_job());
}

absl::StatusOr<std::vector<v1::Checkpoint>> JobClient::ListCheckpoints(const std::string& job) {
  v1::ListCheckpointsRequest request;
  request.set_job(job);
  v1::ListCheckpointsResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListCheckpoints(call.context(), request, &response)));
  return std::vector<v1::Checkpoint>(response.checkpoints().begin(), response.checkpoints().end());
}

absl::StatusOr<v1::ListAttemptsResponse> JobClient::ListAttempts(const v1::ListAttemptsRequest& request) {
  v1::ListAttemptsResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListAttempts(call.context(), request, &response)));
  return response;
}

absl::StatusOr<v1::ListQuarantineResponse> JobClient::ListQuarantine(
    const v1::ListQuarantineRequest& request) {
  v1::ListQuarantineResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListQuarantine(call.context(), request, &response)));
  return response;
}

absl::StatusOr<int64_t> JobClient::ReleaseQuarantine(const v1::ReleaseQuarantineRequest& request) {
  v1::ReleaseQuarantineResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ReleaseQuarantine(call.context(), request, &response)));
  return response.prompts();
}

absl::StatusOr<v1::ListReplayStepsResponse> JobClient::ListReplaySteps(const std::string& job,
                                                                       int64_t after_step) {
  v1::ListReplayStepsRequest request;
  request.set_job(job);
  request.set_after_step(after_step);
  v1::ListReplayStepsResponse response;
  ClientCall call(peer_, Deadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListReplaySteps(call.context(), request, &response)));
  return response;
}

absl::StatusOr<int64_t> JobClient::Export(const std::string& job, std::optional<int64_t> policy_version,
                                          const std::string& path) {
  v1::ExportJobRequest request;
  request.set_job(job);
  if (policy_version.has_value()) request.set_policy_version(*policy_version);
  request.set_path(path);
  v1::ExportJobResponse response;
  ClientCall call(peer_, absl::Now() + options_.export_timeout, &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ExportJob(call.context(), request, &response)));
  return response.policy_version();
}

absl::Status JobClient::Watch(const std::string& job, absl::Time deadline,
                              const std::function<bool(const v1::WatchJobResponse&)>& on_state) {
  v1::WatchJobRequest request;
  request.set_job(job);
  ClientCall call(peer_, deadline, &options_.cancel);
  const auto reader = stub_->WatchJob(call.context(), request);
  return ReadAll(call, *reader, on_state);
}

absl::Status JobClient::ListSamples(const v1::ListSamplesRequest& request,
                                    const std::function<bool(const v1::ListSamplesResponse&)>& on_sample) {
  ClientCall call(peer_, Deadline(), &options_.cancel);
  const auto reader = stub_->ListSamples(call.context(), request);
  return ReadAll(call, *reader, on_sample);
}

}  // namespace sluice
