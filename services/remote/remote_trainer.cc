#include "services/remote/remote_trainer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/wire/job_spec.h"
#include "services/wire/learner.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr size_t kMaxGroupBytes = 4 << 20;  // learner.proto

// What FromProto makes of a response; a response that breaks the rules is the peer's fault, not the caller's.
template <typename Parsed>
absl::StatusOr<Parsed> Checked(const ClientCall& call, absl::StatusOr<Parsed> parsed) {
  if (!parsed.ok()) return call.BadResponse(parsed.status().message());
  return parsed;
}

}  // namespace

RemoteTrainer::RemoteTrainer(Peer peer, RemoteTrainerOptions options)
    : peer_(std::move(peer)),
      options_(std::move(options)),
      train_timeout_(options_.train_timeout),
      stub_(v1::LearnerService::NewStub(peer_.channel)) {}

absl::Time RemoteTrainer::TrainDeadline() const {
  absl::MutexLock lock(&mu_);
  return absl::Now() + train_timeout_;
}
absl::Time RemoteTrainer::ShortDeadline() const { return absl::Now() + options_.short_timeout; }

absl::StatusOr<TrainerState> RemoteTrainer::Open(const JobId& job, const JobSpec& spec) {
  {
    absl::MutexLock lock(&mu_);
    train_timeout_ = absl::Seconds(spec.timeout.train_seconds);
  }
  v1::OpenJobRequest request;
  request.set_job(job);
  *request.mutable_spec() = ToProto(spec);
  v1::OpenJobResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->OpenJob(call.context(), request, &response)));
  return Checked(call, FromProto(response));
}

absl::StatusOr<StepMetrics> RemoteTrainer::Supervise(const JobId& job, int64_t step,
                                                     absl::Span<const SupervisedExample> batch) {
  v1::SuperviseRequest request;
  request.set_job(job);
  request.set_step(step);
  for (const SupervisedExample& example : batch) *request.add_examples() = ToProto(example);
  v1::SuperviseResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Supervise(call.context(), request, &response)));
  return Checked(call, FromProto(response.metrics()));
}

absl::StatusOr<PolicyRef> RemoteTrainer::PublishFirst(const JobId& job) {
  v1::PublishFirstRequest request;
  request.set_job(job);
  v1::PublishFirstResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->PublishFirst(call.context(), request, &response)));
  return Checked(call, FromProto(response.policy()));
}

absl::Status RemoteTrainer::AddGroup(const JobId& job, PolicyVersion version, const Group& group) {
  const v1::AddGroupsRequest request = ToProto(job, version, group);
  if (request.ByteSizeLong() > kMaxGroupBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "group ", group.draw, " has ", request.ByteSizeLong(), " bytes, at most ", kMaxGroupBytes,
        " are allowed; lower sampling.group_size or max_new_tokens, or leave record_experts out"));
  }
  v1::AddGroupsResponse response;
  ClientCall call(peer_, ShortDeadline(), &options_.cancel);
  const auto writer = stub_->AddGroups(call.context(), &response);
  writer->Write(request);  // a failure is in Finish's status
  writer->WritesDone();
  SLUICE_RETURN_IF_ERROR(call.Result(writer->Finish()));
  if (response.groups() != 1) return call.BadResponse(absl::StrCat(response.groups(), " groups taken of 1"));
  return absl::OkStatus();
}

absl::StatusOr<StepResult> RemoteTrainer::Step(const JobId& job, PolicyVersion version,
                                               absl::Span<const Draw> draws) {
  v1::StepRequest request;
  request.set_job(job);
  request.set_policy_version(version);
  request.mutable_draws()->Add(draws.begin(), draws.end());
  v1::StepResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Step(call.context(), request, &response)));
  SLUICE_ASSIGN_OR_RETURN(StepResult result, Checked(call, FromProto(response)));
  if (result.policy.job != job || result.policy.version != version) {
    return call.BadResponse(absl::StrCat("version ", result.policy.version, " of job ", result.policy.job,
                                         " for version ", version, " of job ", job));
  }
  return result;
}

absl::StatusOr<PolicyRef> RemoteTrainer::RollBack(const JobId& job, PolicyVersion parent,
                                                  PolicyVersion version) {
  v1::RollBackRequest request;
  request.set_job(job);
  request.set_parent(parent);
  request.set_policy_version(version);
  v1::RollBackResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->RollBack(call.context(), request, &response)));
  SLUICE_ASSIGN_OR_RETURN(PolicyRef policy, Checked(call, FromProto(response.policy())));
  if (policy.job == job && policy.version == version) return policy;
  return call.BadResponse(
      absl::StrCat("version ", policy.version, " for a rollback to become version ", version));
}

absl::StatusOr<CheckpointInfo> RemoteTrainer::Promote(const JobId& job, PolicyVersion version) {
  v1::PromoteRequest request;
  request.set_job(job);
  request.set_policy_version(version);
  v1::PromoteResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Promote(call.context(), request, &response)));
  return Checked(call, FromProto(response.checkpoint()));
}

absl::StatusOr<CheckpointInfo> RemoteTrainer::Checkpoint(const JobId& job) {
  v1::MakeCheckpointRequest request;
  request.set_job(job);
  v1::MakeCheckpointResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->MakeCheckpoint(call.context(), request, &response)));
  return Checked(call, FromProto(response.checkpoint()));
}

absl::StatusOr<std::vector<CheckpointInfo>> RemoteTrainer::ListCheckpoints(const JobId& job) {
  v1::ListLearnerCheckpointsRequest request;
  request.set_job(job);
  v1::ListLearnerCheckpointsResponse response;
  ClientCall call(peer_, ShortDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->ListLearnerCheckpoints(call.context(), request, &response)));
  std::vector<CheckpointInfo> checkpoints;
  for (const v1::Checkpoint& proto : response.checkpoints()) {
    SLUICE_ASSIGN_OR_RETURN(CheckpointInfo info, Checked(call, FromProto(proto)));
    checkpoints.push_back(std::move(info));
  }
  return checkpoints;
}

absl::Status RemoteTrainer::Export(const JobId& job, PolicyVersion version, const std::string& path) {
  v1::ExportPolicyRequest request;
  request.set_job(job);
  request.set_policy_version(version);
  request.set_path(path);
  v1::ExportPolicyResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  return call.Result(stub_->ExportPolicy(call.context(), request, &response));
}

}  // namespace sluice
