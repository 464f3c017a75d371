#include "services/servers/work_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/rl/trajectory_parts.h"
#include "services/rpc/channel.h"
#include "services/rpc/duration.h"
#include "services/rpc/grpc_status.h"
#include "services/servers/job_wire.h"
#include "services/wire/field_check.h"
#include "services/wire/rollout.h"
#include "services/wire/types.h"
#include "services/wire/work.h"

namespace sluice {
namespace {

constexpr size_t kMaxJoins = 1024, kMaxListed = 4096;
constexpr uint32_t kMaxWorker = 1 << 16;
constexpr int32_t kMaxSlots = 4096;

google::protobuf::Duration TimeoutOf(absl::Time deadline) {
  return ToProto(std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Hours(24)));
}

}  // namespace

// The way to one worker. When the stream is over, nowhere.
class WorkSession::Port final : public WorkPort {
 public:
  Port(std::weak_ptr<WorkSession> session, uint32_t worker) : session_(std::move(session)), worker_(worker) {}
  void Generate(uint64_t order, const RolloutRequest& request) override {
    v1::WorkOrder out = OrderOf(order, request.deadline);
    *out.mutable_generate() = ToProtoWithoutBegun(request);
    if (const auto session = session_.lock()) session->Send(std::move(out), request.begun);
  }
  void Load(uint64_t order, const PolicyRef& policy, SwapMode mode, absl::Time deadline) override {
    v1::WorkOrder out = OrderOf(order, deadline);
    *out.mutable_load()->mutable_policy() = ToProto(policy);
    out.mutable_load()->set_swap_mode(ToProto(mode));
    Send(std::move(out));
  }
  void Cancel(uint64_t order, const absl::Status& why) override {
    if (const auto session = session_.lock()) session->Cancel(order, why);
  }

 private:
  v1::WorkOrder OrderOf(uint64_t order, absl::Time deadline) const {
    v1::WorkOrder out;
    out.set_order(order);
    out.set_worker(worker_);
    *out.mutable_timeout() = TimeoutOf(deadline);
    return out;
  }
  void Send(v1::WorkOrder order) {
    if (const auto session = session_.lock()) session->Send(std::move(order));
  }

  const std::weak_ptr<WorkSession> session_;
  const uint32_t worker_;
};

WorkSession::WorkSession(grpc::CallbackServerContext* context, const WorkSessionEnv& env)
    : context_(*context), env_(env) {
  env_.metrics.Opened();
}

WorkSession::~WorkSession() { env_.metrics.Closed(); }

std::shared_ptr<WorkSession> WorkSession::Start(grpc::CallbackServerContext* context,
                                                const WorkSessionEnv& env) {
  std::shared_ptr<WorkSession> session(new WorkSession(context, env));
  session->self_ = session;
  session->Pump();
  return session;
}

void WorkSession::OnDone() {
  const std::shared_ptr<WorkSession> last = std::move(self_);  // it may end here
  absl::MutexLock lock(&mu_);
  env_.metrics.Queued(-static_cast<double>(outgoing_.bytes()));
  outgoing_.Clear();
}

// Operations are claimed under the lock and started without it: gRPC may answer at once.
void WorkSession::Pump() {
  bool read = false, write = false;
  {
    absl::MutexLock lock(&mu_);
    if (!ending_) {
      read = !reading_ && !read_all_ && untaken_ < kUntaken;
      write = !writing_ && !outgoing_.empty();
    }
    if (read) reading_ = true;
    if (write) {
      writing_ = true;
      env_.metrics.Queued(-static_cast<double>(outgoing_.bytes()));
      response_ = outgoing_.Take();
      for (const v1::WorkBegun& part : response_.begun()) begun_bytes_ -= part.ByteSizeLong();
      env_.metrics.Queued(static_cast<double>(outgoing_.bytes()));
      env_.metrics.Sent(response_.orders_size());
    }
    ++starting_;
  }
  if (read) StartRead(&request_);
  if (write) StartWrite(&response_);
  FinishIfIdle();
}

void WorkSession::FinishIfIdle() {
  absl::Status final;
  {
    absl::MutexLock lock(&mu_);
    --starting_;
    if (!ending_ || finished_ || writing_ || starting_ > 0) return;
    finished_ = true;
    final = final_;
  }
  Finish(ToGrpc(final));
}

void WorkSession::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    if (ending_) return;
    ending_ = true;
    final_ = status;
  }
  Schedule(&WorkSession::TakeEnd);
  Pump();
}

void WorkSession::Schedule(void (WorkSession::*work)()) {
  const absl::Status scheduled =
      env_.executor.Schedule([self = shared_from_this(), work] { ((*self).*work)(); });
  if (!scheduled.ok()) End(scheduled);
}

v1::WorkResponse& WorkSession::Room(size_t bytes) {
  env_.metrics.Queued(static_cast<double>(bytes));
  return outgoing_.Room(bytes);
}

WorkSession::Begun WorkSession::PartsToSend(uint64_t order, const Trajectory& whole) {
  Begun out;
  out.index = whole.key.index;
  for (const Trajectory& part : PartsOf(whole, kPartBytes)) {
    v1::WorkBegun& message = out.parts.emplace_back();
    message.set_order(order);
    *message.mutable_trajectory() = ToProto(part);
    out.bytes += message.ByteSizeLong();
  }
  return out;
}

void WorkSession::Queue(uint64_t order, Begun begun) {
  if (begun_bytes_ + begun.bytes > kBegunBytes) {
    LogWarning("begun_anew", {{"order", order}, {"index", begun.index}, {"bytes", begun.bytes}});
    return;
  }
  begun_bytes_ += begun.bytes;
  for (v1::WorkBegun& part : begun.parts) {
    const size_t bytes = part.ByteSizeLong();
    *Room(bytes).add_begun() = std::move(part);
  }
}

void WorkSession::Send(v1::WorkOrder order, const std::vector<Trajectory>& begun) {
  std::vector<Begun> before;  // of the order
  for (const Trajectory& whole : begun) before.push_back(PartsToSend(order.order(), whole));
  bool full = false;
  {
    absl::MutexLock lock(&mu_);
    if (ending_) return;
    if (const auto it = workers_.find(order.worker());
        it != workers_.end() && order.has_generate() && it->second.ended != absl::InfinitePast()) {
      env_.metrics.Dispatched(absl::Now() - it->second.ended);
      it->second.ended = absl::InfinitePast();
    }
    full = outgoing_.bytes() - begun_bytes_ > kQueuedBytes;
    for (Begun& each : before) Queue(order.order(), std::move(each));
    const size_t bytes = order.ByteSizeLong();
    *Room(bytes).add_orders() = std::move(order);
  }
  if (full) {
    End(absl::ResourceExhaustedError("the client does not read its orders"));
    context_.TryCancel();  // the write under way would wait for it
  }
  Pump();
}

void WorkSession::Cancel(uint64_t order, const absl::Status& why) {
  v1::WorkCancel cancel;
  cancel.set_order(order);
  if (!why.ok()) *cancel.mutable_why() = WorkEndOf(why);
  {
    absl::MutexLock lock(&mu_);
    if (ending_) return;
    const size_t bytes = cancel.ByteSizeLong();
    *Room(bytes).add_cancels() = std::move(cancel);
  }
  Pump();
}

void WorkSession::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
  }
  if (!ok) End(absl::UnavailableError("the stream broke"));
  Pump();  // also of a stream that was ending before: it may have waited for this write
}

void WorkSession::OnReadDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    taking_in_ = ok;
    reading_ = ok;
    read_all_ = !ok;
  }
  Schedule(ok ? &WorkSession::TakeIn : &WorkSession::TakeEnd);
}

void WorkSession::TakeIn() {
  v1::WorkRequest request = std::move(request_);
  if (const absl::Status right = CheckMessage(request); !right.ok()) return End(right);
  for (int i = 0; i < request.joins_size(); ++i) Join(request.joins(i), i);
  if (request.has_renewal()) Renew(request.renewal());
  std::vector<WorkReport> reports = ReportsOf(request);
  std::vector<Worker> leaving = TakeLeaving(request);
  if (!reports.empty() || !leaving.empty()) Deliver(std::move(reports), std::move(leaving));
  {
    absl::MutexLock lock(&mu_);
    reading_ = taking_in_ = false;
  }
  Pump();
}

absl::Status WorkSession::CheckMessage(const v1::WorkRequest& request) {
  FieldCheck check;
  check.AtMost(static_cast<size_t>(request.joins_size()), kMaxJoins, "joins", "workers");
  check.AtMost(static_cast<size_t>(request.renewal().workers_size()), kMaxListed, "renewal.workers",
               "workers");
  check.AtMost(static_cast<size_t>(request.reports_size()), kMaxListed, "reports", "reports");
  check.AtMost(static_cast<size_t>(request.leaves_size()), kMaxListed, "leaves", "workers");
  absl::MutexLock lock(&mu_);
  const auto joined = [&](uint32_t worker, absl::string_view field) {
    const bool known = workers_.count(worker) > 0;
    check.Require(known, field, absl::StrCat(worker, " did not join on this stream"));
  };
  for (uint32_t worker : request.renewal().workers()) joined(worker, "renewal.workers");
  for (uint32_t worker : request.leaves()) joined(worker, "leaves");
  return check.status();
}

void WorkSession::Join(const v1::WorkJoin& join, int place) {
  absl::StatusOr<Lease> lease = TryJoin(join);
  v1::WorkJoined answer;
  answer.set_worker(join.worker());
  if (lease.ok()) {
    answer.mutable_registered()->set_epoch(lease->epoch);
    *answer.mutable_registered()->mutable_lease() = ToProto(lease->duration);
  } else {
    const bool field = absl::IsInvalidArgument(lease.status());
    *answer.mutable_refused() =
        WorkEndOf(field ? Within(absl::StrCat("joins[", place, "]"), lease.status()) : lease.status());
  }
  absl::MutexLock lock(&mu_);
  if (lease.ok()) workers_[join.worker()] = {join.registration().name(), lease->epoch};
  const size_t bytes = answer.ByteSizeLong();
  *Room(bytes).add_joined() = std::move(answer);
}

absl::StatusOr<Lease> WorkSession::TryJoin(const v1::WorkJoin& join) {
  const v1::RegisterWorkerRequest& who = join.registration();
  FieldCheck check;
  check.Require(join.worker() < kMaxWorker, "worker", absl::StrCat("must be below ", kMaxWorker));
  check.Require(join.slots() >= 1 && join.slots() <= kMaxSlots, "slots",
                absl::StrCat("must be between 1 and ", kMaxSlots));
  check.Name(who.name(), "registration.name");
  check.Name(who.incarnation(), "registration.incarnation");
  check.Require(who.role() == v1::ROLLOUT, "registration.role", "must be ROLLOUT");
  SLUICE_RETURN_IF_ERROR(check.status());
  SLUICE_RETURN_IF_ERROR(CheckLoopback(who.address(), "registration.address"));
  {
    absl::MutexLock lock(&mu_);
    const auto before = workers_.find(join.worker());
    if (before != workers_.end() && before->second.name != who.name()) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker: ", join.worker(), " is ", before->second.name, " on this stream"));
    }
  }
  SLUICE_FAIL_POINT("coordinator.worker_joining");
  return env_.coordinator.JoinFleet({who.name(), WorkerRole::kRollout, who.address(), who.incarnation(),
                                     std::make_shared<Port>(weak_from_this(), join.worker()), join.slots()});
}

void WorkSession::Renew(const v1::WorkRenewal& renewal) {
  std::vector<std::pair<uint32_t, Worker>> asked;
  {
    absl::MutexLock lock(&mu_);
    if (renewal.workers().empty()) asked.assign(workers_.begin(), workers_.end());
    for (uint32_t worker : renewal.workers()) asked.emplace_back(worker, workers_.at(worker));
  }
  RenewAll(asked);
}

void WorkSession::KeepLeases() {
  std::vector<std::pair<uint32_t, Worker>> kept;
  {
    absl::MutexLock lock(&mu_);
    if (ending_ || (!taking_in_ && untaken_ == 0)) return;
    kept.assign(workers_.begin(), workers_.end());
  }
  RenewAll(kept);
  Pump();
}

void WorkSession::RenewAll(const std::vector<std::pair<uint32_t, Worker>>& workers) {
  v1::WorkRenewed renewed;
  *renewed.mutable_lease() = ToProto(env_.coordinator.lease());
  for (const auto& [worker, known] : workers) {
    if (!env_.coordinator.RenewLease(known.name, known.epoch).ok()) renewed.add_refused(worker);
  }
  absl::MutexLock lock(&mu_);
  Room(renewed.ByteSizeLong()).mutable_renewed()->MergeFrom(renewed);
}

std::vector<WorkReport> WorkSession::ReportsOf(v1::WorkRequest& request) {
  std::vector<WorkReport> out;
  int samples = 0, progress = 0, ends = 0;
  const absl::Time now = absl::Now();
  for (v1::WorkReport& report : *request.mutable_reports()) {
    if (report.has_ended()) {
      ++ends;
    } else if (report.generated().trajectory().finish_reason() == v1::FINISH_REASON_UNSPECIFIED) {
      ++progress;
    } else {
      ++samples;
    }
    absl::StatusOr<WorkReport> read = ReportOf(report, now);
    if (read.ok()) {
      out.push_back(*std::move(read));
    } else {
      LogWarning("report_refused", {{"order", report.order()}, {"why", read.status().message()}});
      Cancel(report.order(), read.status());
    }
  }
  env_.metrics.Received(samples, progress, ends);
  return out;
}

// One that cannot be read ends its order, for the coordinator and for the worker.
absl::StatusOr<WorkReport> WorkSession::ReportOf(v1::WorkReport& report, absl::Time now) {
  WorkReport out;
  out.order = report.order();
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(report.worker());
    if (it == workers_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker: ", report.worker(), " did not join on this stream"));
    }
    out.worker = it->second.name;
    out.epoch = it->second.epoch;
    if (report.has_ended()) it->second.ended = now;
  }
  if (report.has_ended()) {
    out.body = StatusOf(report.ended());
    return out;
  }
  absl::StatusOr<Trajectory> trajectory = report.has_generated()
                                              ? PartFromProto(report.generated().trajectory())
                                              : absl::InvalidArgumentError("report: is missing");
  if (trajectory.ok()) {
    out.body = *std::move(trajectory);
  } else {
    const absl::Status bad =
        report.has_generated() ? Within("generated.trajectory", trajectory.status()) : trajectory.status();
    Cancel(report.order(), bad);
    out.body = absl::InternalError(absl::StrCat(out.worker, ": bad report: ", bad.message()));
  }
  return out;
}

std::vector<WorkSession::Worker> WorkSession::TakeLeaving(const v1::WorkRequest& request) {
  std::vector<Worker> out;
  absl::MutexLock lock(&mu_);
  for (uint32_t worker : request.leaves()) {
    const auto it = workers_.find(worker);
    if (it == workers_.end()) continue;  // named twice
    out.push_back(it->second);
    workers_.erase(it);
  }
  return out;
}

void WorkSession::Deliver(std::vector<WorkReport> reports, std::vector<Worker> leaving) {
  {
    absl::MutexLock lock(&mu_);
    ++untaken_;
  }
  env_.coordinator.TakeReports(std::move(reports), [self = shared_from_this(), leaving = std::move(leaving)] {
    for (const Worker& worker : leaving) {
      if (const auto left = self->env_.coordinator.LeaveFleet(worker.name, worker.epoch); !left.ok())
        LogWarning("worker_not_let_go", {{"worker", worker.name}, {"error", left.ToString()}});
    }
    {
      absl::MutexLock lock(&self->mu_);
      --self->untaken_;
    }
    self->Pump();
  });
}

// Also of a stream that broke. What came before is taken in first.
void WorkSession::TakeEnd() {
  std::vector<Worker> gone;
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(lost_, true)) return;
    for (const auto& [number, worker] : workers_) gone.push_back(worker);
  }
  env_.coordinator.TakeReports({}, [self = shared_from_this(), gone = std::move(gone)] {
    for (const Worker& worker : gone) {
      const auto left =
          self->env_.coordinator.WorkerGone(worker.name, worker.epoch, "its stream to the coordinator ended");
      if (!left.ok()) LogWarning("worker_not_let_go", {{"worker", worker.name}, {"error", left.ToString()}});
    }
    self->End(absl::OkStatus());
  });
}

}  // namespace sluice
