#include "services/adapters/trainer_adapter.h"

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/job_spec.h"
#include "services/wire/learner.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

constexpr size_t kMaxGroupBytes = 4 << 20;  // learner.proto
constexpr size_t kMaxBatchRows = 1 << 16;

absl::Status CheckJob(const std::string& job) {
  FieldCheck check;
  check.Name(job, "job");
  return check.status();
}

}  // namespace

class TrainerAdapter::Turn {
 public:
  Turn(TrainerAdapter& adapter, const CallContext& call) : adapter_(adapter) {
    const std::stop_callback wake(call.cancel.stop_token(), [&adapter] {
      absl::MutexLock lock(&adapter.mu_);  // the condition is looked at again when the lock is released
    });
    const auto ready = [&adapter, &call]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !adapter.busy_ || call.cancel.cancelled();
    };
    absl::MutexLock lock(&adapter.mu_);
    const bool in_time = adapter.mu_.AwaitWithDeadline(absl::Condition(&ready), call.deadline);
    if (call.cancel.cancelled()) {
      status_ = absl::CancelledError("the client gave up while another call was under way");
    } else if (!in_time) {
      status_ = absl::DeadlineExceededError("another call of the learner was under way");
    } else {
      adapter.busy_ = true;
      held_ = true;
    }
  }
  ~Turn() {
    absl::MutexLock lock(&adapter_.mu_);
    if (held_) adapter_.busy_ = false;
  }
  const absl::Status& status() const { return status_; }

 private:
  TrainerAdapter& adapter_;
  bool held_ = false;
  absl::Status status_;
};

grpc::ServerUnaryReactor* TrainerAdapter::OpenJob(grpc::CallbackServerContext* context,
                                                  const v1::OpenJobRequest* request,
                                                  v1::OpenJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const absl::StatusOr<JobSpec> spec = FromProto(request->spec());
    if (!spec.ok()) return Within("spec", spec.status());
    const Turn turn(*this, call);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const TrainerState state, trainer_.Open(request->job(), *spec));
    *response = ToProto(state);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::Supervise(grpc::CallbackServerContext* context,
                                                    const v1::SuperviseRequest* request,
                                                    v1::SuperviseResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
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
    const Turn turn(*this, call);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const StepMetrics metrics,
                            trainer_.Supervise(request->job(), request->step(), examples));
    *response->mutable_metrics() = ToProto(metrics);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* TrainerAdapter::PublishFirst(grpc::CallbackServerContext* context,
                                                       const v1::PublishFirstRequest* request,
                                                       v1::PublishFirstResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckJob(request->job()));
    const Turn turn(*this, call);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_ASSIGN_OR_RETURN(const PolicyRef policy, trainer_.PublishFirst(request->job()));
    *response->mutable_policy() = ToProto(policy);
    return absl::OkStatus();
  });
}

grpc::ServerReadReactor<v1::AddGroupsRequest>* TrainerAdapter::AddGroups(grpc::CallbackServerContext* context,
                                                                         v1::AddGroupsResponse* response) {
  return RunClientStream<v1::AddGroupsRequest>(
      executor_, context,
      [this, response](const CallContext& call, MessageReader<v1::AddGroupsRequest>& reader) -> absl::Status {
        int32_t groups = 0;
        v1::AddGroupsRequest request;
        while (reader.Read(request)) {
          if (request.ByteSizeLong() > kMaxGroupBytes) {
            return absl::ResourceExhaustedError(absl::StrCat("group ", request.draw(), " is over 4 MiB"));
          }
          SLUICE_ASSIGN_OR_RETURN(const GroupForVersion parsed, FromProto(request));
          const Turn turn(*this, call);  // not held while the next group is on its way
          SLUICE_RETURN_IF_ERROR(turn.status());
          SLUICE_RETURN_IF_ERROR(trainer_.AddGroup(parsed.job, parsed.version, parsed.group));
          ++groups;
        }
        response->set_groups(groups);
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
    const Turn turn(*this, call);
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
    const Turn turn(*this, call);
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
    const Turn turn(*this, call);
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
    const Turn turn(*this, call);
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
    const Turn turn(*this, call);
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
    const Turn turn(*this, call);
    SLUICE_RETURN_IF_ERROR(turn.status());
    SLUICE_RETURN_IF_ERROR(trainer_.Export(request->job(), request->policy_version(), request->path()));
    response->set_policy_version(request->policy_version());
    return absl::OkStatus();
  });
}

}  // namespace sluice
