#include "services/servers/job_adapter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/servers/job_wire.h"
#include "services/wire/field_check.h"
#include "services/wire/job_spec.h"
#include "services/wire/known_fields.h"
#include "services/wire/learner.h"

namespace sluice {
namespace {

constexpr int kMaxWatchers = 64;
constexpr size_t kMaxReleasedRows = 10000;
constexpr int32_t kJobsListed = 100, kMaxJobsListed = 1000;
constexpr size_t kJobsAtOnce = 32;
constexpr size_t kMaxPageBytes = size_t{2} << 20;
constexpr int32_t kMaxListedSamples = 1000000;
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);  // between two states of one watch
constexpr absl::Duration kSlice = absl::Milliseconds(500);             // between looks at the watcher

absl::Status CheckName(const std::string& job) {
  FieldCheck check;
  check.Name(job, "job");
  return check.status();
}

std::string TokenOf(const JobPlace& place) {
  return absl::StrCat(absl::ToUnixMicros(place.created), " ", place.job);
}

absl::StatusOr<JobPlace> PlaceOf(const std::string& token) {
  if (token.empty()) return JobPlace();
  const std::pair<std::string, std::string> parts = absl::StrSplit(token, absl::MaxSplits(' ', 1));
  int64_t micros = 0;
  if (!absl::SimpleAtoi(parts.first, &micros) || parts.second.empty()) {
    return absl::InvalidArgumentError("page_token: is none that ListJobs gave");
  }
  return JobPlace{absl::FromUnixMicros(micros), parts.second};
}

}  // namespace

JobAdapter::JobAdapter(Coordinator& coordinator, Executor& executor)
    : coordinator_(coordinator),
      executor_(executor),
      watchers_({.max_threads = kMaxWatchers, .max_queued = 0}) {}

grpc::ServerUnaryReactor* JobAdapter::SubmitJob(grpc::CallbackServerContext* context,
                                                const v1::SubmitJobRequest* request,
                                                v1::SubmitJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    FieldCheck check;
    check.AtMost(request->request_id().size(), kMaxNameBytes, "request_id", "bytes");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_RETURN_IF_ERROR(CheckKnownFields(*request));
    SLUICE_ASSIGN_OR_RETURN(const JobSpec spec, FromProto(request->spec()));
    SLUICE_ASSIGN_OR_RETURN(*response->mutable_job(),
                            coordinator_.Submit(spec, request->request_id(), call.cancel));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::CheckJob(grpc::CallbackServerContext* context,
                                               const v1::CheckJobRequest* request,
                                               v1::CheckJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckKnownFields(*request));
    SLUICE_ASSIGN_OR_RETURN(const JobSpec spec, FromProto(request->spec()));
    SLUICE_ASSIGN_OR_RETURN(const CheckedJob checked, coordinator_.Check(spec, call.cancel));
    *response->mutable_resolved_spec() = ToProto(checked.spec);
    for (const std::string& line : checked.plan) response->add_plan(line);
    for (const std::string& line : checked.warnings) response->add_warnings(line);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::GetJob(grpc::CallbackServerContext* context,
                                             const v1::GetJobRequest* request, v1::GetJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_.Get(request->job()));
    *response->mutable_job() = ToProto(view);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ListJobs(grpc::CallbackServerContext* context,
                                               const v1::ListJobsRequest* request,
                                               v1::ListJobsResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    FieldCheck check;
    check.NotNegative(request->page_size(), "page_size");
    check.AtMost(request->page_token().size(), kMaxNameBytes + 32, "page_token", "bytes");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(JobPlace place, PlaceOf(request->page_token()));
    const int32_t limit =
        request->page_size() == 0 ? kJobsListed : std::min(request->page_size(), kMaxJobsListed);
    size_t bytes = 0;
    bool more = true;
    while (more && response->jobs_size() < limit && bytes < kMaxPageBytes) {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<JobView> views, coordinator_.List(kJobsAtOnce + 1, place));
      more = views.size() > kJobsAtOnce;
      for (size_t i = 0; i < views.size() && i < kJobsAtOnce; ++i) {
        v1::Job job = ToProto(views[i]);
        bytes += job.ByteSizeLong();
        // A job alone always has room.
        if (response->jobs_size() == limit || (bytes > kMaxPageBytes && response->jobs_size() > 0)) {
          more = true;
          break;
        }
        *response->add_jobs() = std::move(job);
        place = {views[i].create_time, views[i].job};
      }
    }
    if (more) response->set_next_page_token(TokenOf(place));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::DeleteJob(grpc::CallbackServerContext* context,
                                                const v1::DeleteJobRequest* request,
                                                v1::DeleteJobResponse* /*response*/) {
  return RunUnary(executor_, context, [this, request]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    return coordinator_.Delete(request->job());
  });
}

absl::Status JobAdapter::Watch(const JobId& job, const CallContext& call,
                               MessageWriter<v1::WatchJobResponse>& writer) {
  SLUICE_RETURN_IF_ERROR(CheckName(job));
  uint64_t seen = 0;
  while (true) {
    SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_.WaitForChange(job, seen, kSlice));
    if (stopping_.cancelled()) return absl::UnavailableError("the coordinator is stopping");
    if (call.cancel.cancelled()) return absl::CancelledError("the watcher is gone");
    if (view.revision == seen) continue;
    seen = view.revision;
    v1::WatchJobResponse response;
    *response.mutable_job() = ToProto(view);
    for (const WorkerView& worker : coordinator_.Workers()) *response.add_workers() = ToProto(worker);
    SLUICE_RETURN_IF_ERROR(writer.Write(std::move(response)));
    if (IsTerminal(view.state)) return absl::OkStatus();
    // No revision is above this one: waits for the interval to pass.
    SLUICE_RETURN_IF_ERROR(
        coordinator_.WaitForChange(job, std::numeric_limits<uint64_t>::max(), kShortestInterval).status());
  }
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobAdapter::WatchJob(grpc::CallbackServerContext* context,
                                                                     const v1::WatchJobRequest* request) {
  return RunServerStream<v1::WatchJobResponse>(
      watchers_, context,
      [this, request](const CallContext& call, MessageWriter<v1::WatchJobResponse>& writer) -> absl::Status {
        return Watch(request->job(), call, writer);
      });
}

grpc::ServerUnaryReactor* JobAdapter::PauseJob(grpc::CallbackServerContext* context,
                                               const v1::PauseJobRequest* request,
                                               v1::PauseJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_.Pause(request->job()));
    *response->mutable_job() = ToProto(view);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::SetPriority(grpc::CallbackServerContext* context,
                                                  const v1::SetPriorityRequest* request,
                                                  v1::SetPriorityResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const JobView view,
                            coordinator_.SetPriority(request->job(), request->priority()));
    *response->mutable_job() = ToProto(view);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ResumeJob(grpc::CallbackServerContext* context,
                                                const v1::ResumeJobRequest* request,
                                                v1::ResumeJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_.Resume(request->job()));
    *response->mutable_job() = ToProto(view);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::CancelJob(grpc::CallbackServerContext* context,
                                                const v1::CancelJobRequest* request,
                                                v1::CancelJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const JobView view, coordinator_.Cancel(request->job()));
    *response->mutable_job() = ToProto(view);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::ListSamplesResponse>* JobAdapter::ListSamples(
    grpc::CallbackServerContext* context, const v1::ListSamplesRequest* request) {
  return RunServerStream<v1::ListSamplesResponse>(
      executor_, context,
      [this, request](const CallContext& call,
                      MessageWriter<v1::ListSamplesResponse>& writer) -> absl::Status {
        SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
        FieldCheck check;
        check.NotNegative(request->limit(), "limit");
        check.NotNegative(request->step(), "step");
        SLUICE_RETURN_IF_ERROR(check.status());
        absl::Status written;
        SLUICE_RETURN_IF_ERROR(
            coordinator_.ListSamples(request->job(), std::min(request->limit(), kMaxListedSamples),
                                     request->step(), request->evaluation(), [&](const SampleView& sample) {
                                       written = writer.Write(ToProto(sample));
                                       return written.ok() && !call.cancel.cancelled();
                                     }));
        return written;
      });
}

grpc::ServerUnaryReactor* JobAdapter::ListAttempts(grpc::CallbackServerContext* context,
                                                   const v1::ListAttemptsRequest* request,
                                                   v1::ListAttemptsResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    const auto draw = request->has_draw() ? std::optional<Draw>(request->draw()) : std::nullopt;
    SLUICE_ASSIGN_OR_RETURN(const std::vector<AttemptView> attempts,
                            coordinator_.ListAttempts(request->job(), draw, request->limit()));
    for (const AttemptView& attempt : attempts) *response->add_attempts() = ToProto(attempt);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ListQuarantine(grpc::CallbackServerContext* context,
                                                     const v1::ListQuarantineRequest* request,
                                                     v1::ListQuarantineResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<QuarantineView> samples,
                            coordinator_.ListQuarantine(request->job(), request->limit()));
    for (const QuarantineView& sample : samples) *response->add_samples() = ToProto(sample);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ReleaseQuarantine(grpc::CallbackServerContext* context,
                                                        const v1::ReleaseQuarantineRequest* request,
                                                        v1::ReleaseQuarantineResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    FieldCheck check;
    check.Require(request->all() == request->prompt_row().empty(), "prompt_row", "give rows, or all: true");
    check.AtMost(static_cast<size_t>(request->prompt_row_size()), kMaxReleasedRows, "prompt_row", "rows");
    for (int64_t row : request->prompt_row()) check.NotNegative(row, "prompt_row");
    SLUICE_RETURN_IF_ERROR(check.status());
    const std::vector<uint64_t> rows(request->prompt_row().begin(), request->prompt_row().end());
    SLUICE_ASSIGN_OR_RETURN(const int64_t prompts, coordinator_.ReleaseQuarantine(request->job(), rows));
    response->set_prompts(prompts);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ListReplaySteps(grpc::CallbackServerContext* context,
                                                      const v1::ListReplayStepsRequest* request,
                                                      v1::ListReplayStepsResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(
        const std::vector<ReplayStepView> steps,
        coordinator_.ListReplaySteps(request->job(), request->after_step(), request->limit()));
    for (const ReplayStepView& step : steps) *response->add_steps() = ToProto(step);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ListCheckpoints(grpc::CallbackServerContext* context,
                                                      const v1::ListCheckpointsRequest* request,
                                                      v1::ListCheckpointsResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> all,
                            coordinator_.ListCheckpoints(request->job()));
    for (const CheckpointInfo& info : all) *response->add_checkpoints() = ToProto(info);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* JobAdapter::ExportJob(grpc::CallbackServerContext* context,
                                                const v1::ExportJobRequest* request,
                                                v1::ExportJobResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckName(request->job()));
    FieldCheck check;
    check.NotEmpty(request->path(), "path");
    check.AtMost(request->path().size(), kMaxPathBytes, "path", "bytes");
    check.NotNegative(request->policy_version(), "policy_version");
    SLUICE_RETURN_IF_ERROR(check.status());
    const PolicyVersion version =
        request->has_policy_version() ? request->policy_version() : kNoPolicyVersion;
    SLUICE_ASSIGN_OR_RETURN(const PolicyVersion written,
                            coordinator_.Export(request->job(), version, request->path()));
    response->set_policy_version(written);
    return absl::OkStatus();
  });
}

}  // namespace sluice
