#include "services/clients/work_link.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "services/clients/incarnation.h"
#include "services/clients/lease.h"
#include "services/rpc/duration.h"
#include "services/rpc/grpc_status.h"

namespace sluice {
namespace {}  // namespace

// The gRPC call. Lives until Done was called.
class WorkLink::Stream final : public grpc::ClientBidiReactor<v1::WorkRequest, v1::WorkResponse> {
 public:
  Stream(WorkLink& link, std::shared_ptr<grpc::Channel> channel)
      : link_(link), stub_(v1::FleetService::NewStub(std::move(channel))) {}
  void Begin() {
    stub_->async()->Work(&context_, this);
    AddHold();  // writes are started outside of reactions
    StartRead(&response_);
    StartCall();
  }
  // One at a time.
  void Write(v1::WorkRequest request) {
    request_ = std::move(request);
    StartWrite(&request_);
  }
  void SayAll() { StartWritesDone(); }
  void BreakOff() { context_.TryCancel(); }
  // Nothing more is started from outside.
  void Release() { RemoveHold(); }

  void OnReadDone(bool ok) override {
    if (!ok) return link_.ReadAll();
    link_.Heard(response_);
    StartRead(&response_);
  }
  void OnWriteDone(bool /*ok*/) override { link_.Written(); }
  void OnDone(const grpc::Status& status) override { link_.Done(FromGrpc(status)); }

 private:
  WorkLink& link_;
  const std::unique_ptr<v1::FleetService::Stub> stub_;
  grpc::ClientContext context_;
  v1::WorkRequest request_;    // owned by the write under way
  v1::WorkResponse response_;  // owned by the read under way
};

WorkLink::WorkLink(ConnectCoordinator connect, WorkHandler& handler, WorkLinkOptions options)
    : connect_(std::move(connect)),
      handler_(handler),
      options_(options),
      incarnation_(NewIncarnation()),
      thread_([this] { Run(); }) {}

WorkLink::~WorkLink() { Stop(); }

void WorkLink::Join(v1::WorkJoin join) {
  if (join.registration().incarnation().empty()) join.mutable_registration()->set_incarnation(incarnation_);
  absl::MutexLock lock(&mu_);
  const uint32_t number = join.worker();
  workers_[number].join = std::move(join);
  wake_ = true;
}

void WorkLink::Report(v1::WorkReport report) {
  const size_t bytes = report.ByteSizeLong();
  SLUICE_FAIL_POINT("worker.reporting");
  absl::MutexLock lock(&mu_);
  const auto room = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !open_ || stopping_ || outgoing_.bytes() < options_.queued_bytes;
  };
  mu_.Await(absl::Condition(&room));
  const auto worker = workers_.find(report.worker());
  if (!open_ || said_all_ || worker == workers_.end()) return;
  // One that asked to join may have an order already: the answer comes behind it.
  if (worker->second.epoch == 0 && !worker->second.asked) return;
  const bool first = outgoing_.empty();
  *Room(bytes).add_reports() = std::move(report);
  wake_ = wake_ || first || BatchIsDue(absl::InfinitePast());
}

uint64_t WorkLink::epoch(uint32_t worker) const {
  absl::MutexLock lock(&mu_);
  const auto it = workers_.find(worker);
  return it == workers_.end() ? 0 : it->second.epoch;
}

bool WorkLink::AwaitJoined(size_t count, absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  const auto joined = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return joined_ >= count; };
  return mu_.AwaitWithDeadline(absl::Condition(&joined), deadline);
}

void WorkLink::Leave(absl::Time deadline) {
  size_t workers = 0;
  {
    absl::MutexLock lock(&mu_);
    leave_by_ = std::min(deadline, absl::Now() + absl::Hours(1));
    workers = joined_;
    wake_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mu_);
  LogInfo("left_fleet", {{"workers", workers}, {"status", ended_.ToString()}});
}

void WorkLink::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = wake_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void WorkLink::Run() {
  absl::StatusCode last_end = absl::StatusCode::kOk;  // logged once for each change
  absl::Duration backoff = options_.min_backoff;
  while (true) {
    const absl::Status ended = Serve();
    bool served = false;
    {
      absl::MutexLock lock(&mu_);
      served = joined_ > 0;
      if (stopping_ || leaving()) break;
    }
    LoseAll();
    if (served) backoff = options_.min_backoff;
    if (served || ended.code() != last_end) LogWarning("work_stream_ended", {{"status", ended.ToString()}});
    last_end = ended.code();
    if (!Pause(backoff)) break;
    backoff = std::min(backoff * 2, options_.max_backoff);
  }
  LoseAll();
}

absl::Status WorkLink::Serve() {
  Stream stream(*this, connect_());
  {
    absl::MutexLock lock(&mu_);
    if (stopping_ || leaving()) return ended_;
    open_ = true;
    said_all_ = read_all_ = done_ = writing_ = false;
  }
  stream.Begin();
  while (Act(stream)) {
  }
  stream.Release();
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&done_));
  open_ = false;
  return ended_;
}

bool WorkLink::Act(Stream& stream) {
  v1::WorkRequest next;
  bool write = false, say_all = false;
  {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithDeadline(absl::Condition(&wake_), NextAct());
    wake_ = false;
    if (read_all_) return false;
    const absl::Time now = absl::Now();
    if (!MayGoOn(now)) {
      stream.BreakOff();
      return false;
    }
    AskToJoin(now);
    AskToRenew(now);
    if (leaving()) AskToLeave();
    write = !writing_ && BatchIsDue(now);
    if (write) {
      next = outgoing_.Take();
      writing_ = true;
      batch_since_ = now;
      hurry_ = hurry_ && !outgoing_.empty();
    } else if (leaving() && !writing_ && outgoing_.empty() && !said_all_) {
      said_all_ = say_all = true;
    }
  }
  if (write) stream.Write(std::move(next));
  if (say_all) stream.SayAll();
  return true;
}

bool WorkLink::MayGoOn(absl::Time now) {
  if (stopping_ || now >= leave_by_) return false;
  const bool due = asked_ > 0 || renewing_;
  if (!due || now < silent_since_ + options_.silence) return true;
  LogWarning("coordinator_silent", {{"seconds", absl::ToDoubleSeconds(options_.silence)}});
  return false;
}

void WorkLink::AskToJoin(absl::Time now) {
  if (leaving()) return;
  for (auto& [number, worker] : workers_) {
    if (worker.epoch != 0 || worker.asked || now < worker.not_before) continue;
    SLUICE_FAIL_POINT("worker.joining");
    if (asked_ == 0 && !renewing_) silent_since_ = now;
    worker.asked = hurry_ = true;
    ++asked_;
    *Room(worker.join.ByteSizeLong()).add_joins() = worker.join;
  }
}

void WorkLink::AskToRenew(absl::Time now) {
  if (now < renew_at_ || renewing_ || leaving()) return;
  if (asked_ == 0) silent_since_ = now;
  renewing_ = hurry_ = true;
  Room(0).mutable_renewal();
}

// Behind what was reported.
void WorkLink::AskToLeave() {
  for (auto& [number, worker] : workers_) {
    if (std::exchange(worker.epoch, 0) == 0) continue;
    Room(sizeof(number)).add_leaves(number);
    hurry_ = true;
  }
  joined_ = 0;
}

v1::WorkRequest& WorkLink::Room(size_t bytes) {
  if (outgoing_.empty()) batch_since_ = absl::Now();
  return outgoing_.Room(bytes);
}

bool WorkLink::BatchIsDue(absl::Time now) const {
  if (outgoing_.empty()) return false;
  return hurry_ || outgoing_.items() >= options_.batch_reports || outgoing_.bytes() >= options_.batch_bytes ||
         now >= batch_since_ + options_.batch_wait;
}

absl::Time WorkLink::NextAct() const {
  absl::Time next = leave_by_;
  if (asked_ > 0 || renewing_) next = std::min(next, silent_since_ + options_.silence);
  if (!writing_ && !outgoing_.empty()) next = std::min(next, batch_since_ + options_.batch_wait);
  if (leaving()) return next;
  if (!renewing_) next = std::min(next, renew_at_);
  if (asked_ + joined_ == workers_.size()) return next;
  for (const auto& [number, worker] : workers_) {
    if (worker.epoch == 0 && !worker.asked) next = std::min(next, worker.not_before);
  }
  return next;
}

void WorkLink::Written() {
  absl::MutexLock lock(&mu_);
  writing_ = false;
  wake_ = true;
}

void WorkLink::ReadAll() {
  absl::MutexLock lock(&mu_);
  read_all_ = wake_ = true;
}

void WorkLink::Done(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  ended_ = status;
  done_ = true;
}

void WorkLink::Heard(v1::WorkResponse& response) {
  std::vector<uint32_t> lost;
  const absl::Time now = absl::Now();
  {
    absl::MutexLock lock(&mu_);
    silent_since_ = now;
    if (response.has_renewed()) lost = TakeRenewal(response.renewed(), now);
    for (const v1::WorkJoined& joined : response.joined()) TakeAnswer(joined, now);
    wake_ = wake_ || response.has_renewed() || response.joined_size() > 0;
  }
  for (uint32_t worker : lost) handler_.Lost(worker);
  Keep(response);
  for (v1::WorkOrder& order : *response.mutable_orders()) {
    SLUICE_FAIL_POINT("worker.order_taken");
    const absl::Time deadline = now + FromProto(order.timeout());
    handler_.Take(std::move(order), deadline);
  }
  for (const v1::WorkCancel& cancel : response.cancels()) {
    if (cancel.has_why()) {
      LogWarning("report_refused", {{"order", cancel.order()}, {"why", cancel.why().message()}});
    }
    handler_.Cancel(cancel.order());
  }
}

void WorkLink::Keep(v1::WorkResponse& response) {
  absl::MutexLock lock(&mu_);
  for (v1::WorkBegun& part : *response.mutable_begun()) {
    Begun& begun = begun_[part.order()];
    const size_t bytes = part.trajectory().ByteSizeLong();
    if (!begun.too_large && begun_bytes_ + bytes > options_.begun_bytes) {
      LogWarning("begun_anew", {{"order", part.order()}, {"bytes", begun.bytes + bytes}});
      begun_bytes_ -= begun.bytes;
      begun = {.too_large = true};
    }
    if (begun.too_large) continue;
    begun.bytes += bytes;
    begun_bytes_ += bytes;
    begun.parts.Add(std::move(*part.mutable_trajectory()));
  }
  for (v1::WorkOrder& order : *response.mutable_orders()) {
    auto begun = begun_.extract(order.order());
    if (begun.empty()) continue;
    begun_bytes_ -= begun.mapped().bytes;
    if (!order.has_generate()) continue;
    for (v1::Trajectory& part : begun.mapped().parts)
      order.mutable_generate()->mutable_begun()->Add(std::move(part));
  }
}

void WorkLink::TakeAnswer(const v1::WorkJoined& joined, absl::Time now) {
  const auto it = workers_.find(joined.worker());
  if (it == workers_.end() || !it->second.asked) return;
  Worker& worker = it->second;
  worker.asked = false;
  --asked_;
  const absl::StatusOr<absl::Duration> lease = ReadLease(joined.registered().lease());
  if (joined.has_registered() && lease.ok()) {
    SLUICE_FAIL_POINT("worker.joined");
    worker.epoch = joined.registered().epoch();
    worker.backoff = absl::ZeroDuration();
    ++joined_;
    lease_ = *lease;
    renew_at_ = std::min(renew_at_, now + lease_ / 3);
    LogInfo("registered", {{"name", worker.join.registration().name()}, {"epoch", worker.epoch}});
    return;
  }
  const std::string why(joined.has_refused() ? joined.refused().message() : lease.status().message());
  if (worker.backoff == absl::ZeroDuration())
    LogWarning("not_registered", {{"name", worker.join.registration().name()}, {"error", why}});
  worker.backoff = std::clamp(worker.backoff * 2, options_.min_backoff, options_.max_backoff);
  worker.not_before = now + worker.backoff;
}

// Those that lost their registration. They join again.
std::vector<uint32_t> WorkLink::TakeRenewal(const v1::WorkRenewed& renewed, absl::Time now) {
  SLUICE_FAIL_POINT("worker.lease_kept");
  std::vector<uint32_t> lost;
  renewing_ = false;
  for (uint32_t number : renewed.refused()) {
    const auto it = workers_.find(number);
    if (it == workers_.end() || it->second.epoch == 0) continue;
    it->second.epoch = 0;
    --joined_;
    lost.push_back(number);
  }
  if (const absl::StatusOr<absl::Duration> lease = ReadLease(renewed.lease()); lease.ok()) {
    lease_ = *lease;
  } else {
    LogWarning("lease_not_taken", {{"error", std::string(lease.status().message())}});
  }
  renew_at_ = now + lease_ / 3;
  return lost;
}

void WorkLink::LoseAll() {
  std::vector<uint32_t> lost;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [number, worker] : workers_) {
      worker.epoch = 0;
      worker.asked = false;
      lost.push_back(number);
    }
    joined_ = asked_ = 0;
    renewing_ = hurry_ = false;
    renew_at_ = absl::InfiniteFuture();
    outgoing_.Clear();
    begun_.clear();
    begun_bytes_ = 0;
  }
  for (uint32_t worker : lost) handler_.Lost(worker);
}

bool WorkLink::Pause(absl::Duration pause) {
  absl::MutexLock lock(&mu_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || leaving(); };
  return !mu_.AwaitWithTimeout(absl::Condition(&over), pause);
}

}  // namespace sluice
