#include "services/servers/trainer_adapter.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/group_stream.h"
#include "services/wire/job_spec.h"
#include "services/wire/known_fields.h"
#include "services/wire/learner.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr size_t kMaxBatchRows = 1 << 16;

absl::Status CheckJob(const std::string& job) {
  FieldCheck check;
  check.Name(job, "job");
  return check.status();
}

}  // namespace

class TrainerAdapter::Turn {
 public:
  // `epoch`: of the coordinator, for a call that changes something.
  Turn(TrainerAdapter& adapter, const CallContext& call, std::optional<uint64_t> epoch,
       bool TrainerAdapter::*taken = &TrainerAdapter::busy_)
      : adapter_(adapter), taken_(taken) {
    const std::stop_callback wake(call.cancel.stop_token(), [&adapter] {
      absl::MutexLock lock(&adapter.mu_);  // the condition is looked at again when the lock is released
    });
    absl::MutexLock lock(&adapter.mu_);
    if (epoch) adapter.epoch_ = std::max(adapter.epoch_, *epoch);
    const auto outdated = [&adapter, epoch]()
                              ABSL_NO_THREAD_SAFETY_ANALYSIS { return epoch && *epoch < adapter.epoch_; };
    const auto ready = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !(adapter.*taken) || call.cancel.cancelled() || outdated();
    };
    const bool in_time = adapter.mu_.AwaitWithDeadline(absl::Condition(&ready), call.deadline);
    if (outdated()) {
      status_ = absl::AbortedError(absl::StrCat("this call is of the coordinator with epoch ", *epoch,
                                                "; the learner works for one with epoch ", adapter.epoch_));
    } else if (call.cancel.cancelled()) {
      status_ = absl::CancelledError("the client gave up while another call was under way");
    } else if (!in_time) {
      status_ = absl::DeadlineExceededError("another call of the learner was under way");
    } else {
      adapter.*taken = held_ = true;
    }
  }
  ~Turn() {
    absl::MutexLock lock(&adapter_.mu_);
    if (held_) adapter_.*taken_ = false;
  }
  const absl::Status& status() const { return status_; }

 private:
  TrainerAdapter& adapter_;
  bool TrainerAdapter::*const taken_;
  bool held_ = false;
  absl::Status status_;
};

grpc::ServerUnaryReactor* TrainerAdapter::OpenJob(grpc::CallbackServerContext* context,
                                                  const v1::OpenJobRequest* request,
                                                  v1::OpenJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    SLUICE_RETURN_IF_ERROR(CheckKnownFields(*request, "coordinator", "learner"));
    const absl::StatusOr<JobSpec> spec = FromProto(request->spec());
    if (!spec.ok()) return Within("spec", spec.status());
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const TrainerState state, trainer_.Open(request->job(), *spec));
    *response = ToProto(state);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::Supervise(grpc::CallbackServerContext* context,
                                                    const v1::SuperviseRequest* request,
                                                    v1::SuperviseResponse* response) {
  return RunUnary(
      executor_, context,
      [this, request, response](const CallContext& call) -> absl::Status {
        SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
        FieldCheck check;
        check.NotNegative(request->step(), "step");
        check.Require(!request->examples().empty(), "examples", "at least one is needed");
        check.AtMost(request->examples_size(), kMaxBatchRows, "examples", "members");
        SLUICE_RETURN_IF_ERROR(check.status());
        std::vector<SupervisedExample> examples;
        for (int i = 0; i < request->examples_size(); ++i) {
          absl::StatusOr<SupervisedExample> example = FromProto(request->examples(i));
          if (!example.ok()) return Within(absl::StrCat("examples[", i, "]"), example.status());
          examples.push_back(*std::move(example));
        }
        const Turn turn(*this, call, request->coordinator_epoch());
        SLUICE_RETURN_IF_ERROR(turn.status());
        SLUICE_ASSIGN_OR_RETURN(const StepMetrics metrics,
                                trainer_.Supervise(request->job(), request->step(), examples));
        *response->mutable_metrics() = ToProto(metrics);
        return absl::OkStatus();
      },
      request->ByteSizeLong());
}

grpc::ServerUnaryReactor* TrainerAdapter::PublishFirst(grpc::CallbackServerContext* context,
                                                       const v1::PublishFirstRequest* request,
                                                       v1::PublishFirstResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const PolicyRef policy, trainer_.PublishFirst(request->job()));
    *response->mutable_policy() = ToProto(policy);
    return absl::OkStatus();
  });
}

grpc::ServerReadReactor<v1::AddGroupRequest>* TrainerAdapter::AddGroup(grpc::CallbackServerContext* context,
                                                                       v1::AddGroupResponse* response) {
  return RunClientStream<v1::AddGroupRequest>(
      executor_, context,
      [this, response](const CallContext& call, MessageReader<v1::AddGroupRequest>& reader) -> absl::Status {
        v1::AddGroupRequest piece;
        if (!reader.Read(piece)) return absl::InvalidArgumentError("job: the stream has no piece");
        const uint64_t epoch = piece.coordinator_epoch();
        const Turn receiving(*this, call, epoch, &TrainerAdapter::receiving_);
        SLUICE_RETURN_IF_ERROR(receiving.status());
        GroupAssembly assembly;
        do SLUICE_RETURN_IF_ERROR(assembly.Add(std::move(piece)));
        while (reader.Read(piece));
        SLUICE_ASSIGN_OR_RETURN(const GroupForVersion whole, std::move(assembly).Finish());
        const Turn turn(*this, call, epoch);
        SLUICE_RETURN_IF_ERROR(turn.status());
        SLUICE_RETURN_IF_ERROR(trainer_.AddGroup(whole.job, whole.version, whole.group));
        response->set_samples(static_cast<int32_t>(whole.group.samples.size()));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* TrainerAdapter::Step(grpc::CallbackServerContext* context,
                                               const v1::StepRequest* request, v1::StepResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    FieldCheck check;
    check.Require(request->policy_version() >= 1, "policy_version", "must be at least 1");
    check.AtMost(request->draws_size(), kMaxBatchRows, "draws", "members");
    SLUICE_RETURN_IF_ERROR(check.status());
    const std::vector<Draw> draws(request->draws().begin(), request->draws().end());
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const StepResult result,
                            trainer_.Step(request->job(), request->policy_version(), draws));
    *response = ToProto(result);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::RollBack(grpc::CallbackServerContext* context,
                                                   const v1::RollBackRequest* request,
                                                   v1::RollBackResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    FieldCheck check;
    check.NotNegative(request->parent(), "parent");
    check.Require(request->policy_version() > request->parent(), "policy_version", "must be above parent");
    SLUICE_RETURN_IF_ERROR(check.status());
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const PolicyRef policy,
                            trainer_.RollBack(request->job(), request->parent(), request->policy_version()));
    *response->mutable_policy() = ToProto(policy);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::Promote(grpc::CallbackServerContext* context,
                                                  const v1::PromoteRequest* request,
                                                  v1::PromoteResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    FieldCheck check;
    check.NotNegative(request->policy_version(), "policy_version");
    SLUICE_RETURN_IF_ERROR(check.status());
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const CheckpointInfo info,
                            trainer_.Promote(request->job(), request->policy_version()));
    *response->mutable_checkpoint() = ToProto(info);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::MakeCheckpoint(grpc::CallbackServerContext* context,
                                                         const v1::MakeCheckpointRequest* request,
                                                         v1::MakeCheckpointResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const CheckpointInfo info, trainer_.Checkpoint(request->job()));
    *response->mutable_checkpoint() = ToProto(info);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::ListLearnerCheckpoints(
    grpc::CallbackServerContext* context, const v1::ListLearnerCheckpointsRequest* request,
    v1::ListLearnerCheckpointsResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const Turn turn(*this, call, std::nullopt);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                            trainer_.ListCheckpoints(request->job()));
    for (const CheckpointInfo& info : checkpoints) *response->add_checkpoints() = ToProto(info);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::ExportPolicy(grpc::CallbackServerContext* context,
                                                       const v1::ExportPolicyRequest* request,
                                                       v1::ExportPolicyResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    FieldCheck check;
    check.Require(request->policy_version() >= kNoPolicyVersion, "policy_version", "must be at least -1");
    check.NotEmpty(request->path(), "path");
    check.AtMost(request->path().size(), kMaxPathBytes, "path", "bytes");
    SLUICE_RETURN_IF_ERROR(check.status());
    const Turn turn(*this, call, std::nullopt);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_RETURN_IF_ERROR(trainer_.Export(request->job(), request->policy_version(), request->path()));
    response->set_policy_version(request->policy_version());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::ForgetJob(grpc::CallbackServerContext* context,
                                                    const v1::ForgetJobRequest* request,
                                                    v1::ForgetJobResponse* /*response*/) {
  return RunUnary(executor_, context, [this, request](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const Turn turn(*this, call, request->coordinator_epoch());
    SLUICE_RETURN_IF_ERROR(turn.status());
    return trainer_.Forget(request->job());
  });
}

}  // namespace sluice
