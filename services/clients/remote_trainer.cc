#include "services/clients/remote_trainer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/wire/group_stream.h"
#include "services/wire/job_spec.h"
#include "services/wire/learner.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr double kSlowestBytesPerSecond = 8 << 20;  // at which a group still comes in time

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

template <typename Request>
Request RemoteTrainer::RequestFor(const JobId& job) const {
  Request request;
  request.set_job(job);
  request.set_coordinator_epoch(options_.coordinator_epoch);
  return request;
}

absl::StatusOr<TrainerState> RemoteTrainer::Open(const JobId& job, const JobSpec& spec) {
  {
    absl::MutexLock lock(&mu_);
    train_timeout_ = absl::Seconds(spec.timeout.train_seconds);
  }
  auto request = RequestFor<v1::OpenJobRequest>(job);
  *request.mutable_spec() = ToProto(spec);
  v1::OpenJobResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->OpenJob(call.context(), request, &response)));
  return Checked(call, FromProto(response));
}

absl::StatusOr<StepMetrics> RemoteTrainer::Supervise(const JobId& job, int64_t step,
                                                     absl::Span<const SupervisedExample> batch) {
  auto request = RequestFor<v1::SuperviseRequest>(job);
  request.set_step(step);
  for (const SupervisedExample& example : batch) *request.add_examples() = ToProto(example);
  v1::SuperviseResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Supervise(call.context(), request, &response)));
  return Checked(call, FromProto(response.metrics()));
}

absl::StatusOr<PolicyRef> RemoteTrainer::PublishFirst(const JobId& job) {
  auto request = RequestFor<v1::PublishFirstRequest>(job);
  v1::PublishFirstResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->PublishFirst(call.context(), request, &response)));
  return Checked(call, FromProto(response.policy()));
}

absl::Status RemoteTrainer::AddGroup(const JobId& job, PolicyVersion version, const Group& group) {
  GroupPieces pieces(job, version, options_.coordinator_epoch, group);
  const double transfer_seconds = static_cast<double>(StreamedBytes(group)) / kSlowestBytesPerSecond;
  v1::AddGroupResponse response;
  ClientCall call(peer_, ShortDeadline() + absl::Seconds(transfer_seconds), &options_.cancel);
  const auto writer = stub_->AddGroup(call.context(), &response);
  v1::AddGroupRequest piece;
  while (pieces.Next(piece) && writer->Write(piece)) {
  }  // a failure is in Finish's status
  writer->WritesDone();
  const absl::Status status = call.Result(writer->Finish());
  if (absl::IsUnimplemented(status)) {
    return absl::UnavailableError(
        absl::StrCat(peer_.address,
                     ": this learner takes no groups in pieces: it is older than its coordinator; start it "
                     "from the same build"));
  }
  SLUICE_RETURN_IF_ERROR(status);
  const auto sent = std::count_if(group.samples.begin(), group.samples.end(),
                                  [](const ScoredSample& sample) { return sample.verdict.HasReward(); });
  if (response.samples() == sent) return absl::OkStatus();
  return call.BadResponse(absl::StrCat(response.samples(), " samples taken of ", sent));
}

absl::StatusOr<StepResult> RemoteTrainer::Step(const JobId& job, PolicyVersion version,
                                               absl::Span<const Draw> draws) {
  auto request = RequestFor<v1::StepRequest>(job);
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
  auto request = RequestFor<v1::RollBackRequest>(job);
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
  auto request = RequestFor<v1::PromoteRequest>(job);
  request.set_policy_version(version);
  v1::PromoteResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Promote(call.context(), request, &response)));
  return Checked(call, FromProto(response.checkpoint()));
}

absl::StatusOr<CheckpointInfo> RemoteTrainer::Checkpoint(const JobId& job) {
  auto request = RequestFor<v1::MakeCheckpointRequest>(job);
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

absl::Status RemoteTrainer::Forget(const JobId& job) {
  auto request = RequestFor<v1::ForgetJobRequest>(job);
  v1::ForgetJobResponse response;
  ClientCall call(peer_, TrainDeadline(), &options_.cancel);
  return call.Result(stub_->ForgetJob(call.context(), request, &response));
}

}  // namespace sluice
