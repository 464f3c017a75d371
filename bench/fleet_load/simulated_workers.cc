#include "bench/fleet_load/simulated_workers.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sluice::bench {

// One Work stream with its workers.
class SimulatedWorkers::Host final : public WorkHandler {
 public:
  Host(SimulatedWorkers& all, int number, int workers)
      : all_(all), workers_(static_cast<size_t>(workers)), random_(static_cast<uint64_t>(number)) {
    link_ = std::make_unique<WorkLink>(all_.fleet_.connect, *this);
    for (int i = 0; i < workers; ++i) {
      workers_[static_cast<size_t>(i)].name = absl::StrCat("simulated-", number, "-", i);
      v1::WorkJoin join;
      join.set_worker(static_cast<uint32_t>(i));
      join.set_slots(all_.fleet_.slots);
      join.mutable_registration()->set_name(workers_[static_cast<size_t>(i)].name);
      join.mutable_registration()->set_role(v1::ROLLOUT);
      join.mutable_registration()->set_address(all_.fleet_.address);
      link_->Join(std::move(join));
    }
  }
  ~Host() override { link_->Stop(); }
  WorkLink& link() { return *link_; }
  size_t size() const { return workers_.size(); }

  void Take(v1::WorkOrder order, absl::Time /*deadline*/) override {
    if (order.has_load()) return Load(order);
    const absl::Time now = absl::Now();
    std::vector<Due> due;
    {
      absl::MutexLock lock(&mu_);
      Worker& worker = workers_[order.worker()];
      if (!worker.ended.empty()) {
        all_.Dispatched(worker.ended.front(), now);
        worker.ended.pop();
      }
      std::uniform_real_distribution<double> share(0.5, 1.5);
      for (uint32_t index : order.generate().indices())
        due.push_back({now + all_.fleet_.completion * share(random_), this, order.order(), index});
      const uint64_t number = order.order();
      under_way_[number] = {std::move(order), static_cast<int>(due.size())};
    }
    all_.Schedule(std::move(due));
  }
  void Cancel(uint64_t order) override {
    absl::MutexLock lock(&mu_);
    under_way_.erase(order);
  }
  void Lost(uint32_t worker) override {
    absl::MutexLock lock(&mu_);
    workers_[worker].ended = {};
    std::erase_if(under_way_, [&](const auto& entry) { return entry.second.order.worker() == worker; });
  }
  // One of its completions is there.
  void Complete(uint64_t number, uint32_t index) {
    v1::WorkReport sample, end;
    bool last = false;
    {
      absl::MutexLock lock(&mu_);
      const auto it = under_way_.find(number);
      if (it == under_way_.end()) return;
      sample = SampleOf(it->second.order, index);
      last = --it->second.missing == 0;
      if (last) {
        end.set_worker(it->second.order.worker());
        end.set_order(number);
        end.mutable_ended();
        workers_[end.worker()].ended.push(absl::Now());
        under_way_.erase(it);
      }
    }
    link_->Report(std::move(sample));
    ++all_.completions_;
    if (!last) return;
    link_->Report(std::move(end));
    ++all_.groups_;
  }

 private:
  struct Worker {
    std::string name;
    v1::PolicyRef policy;
    std::queue<absl::Time> ended;  // groups that no order has taken the place of
  };
  struct UnderWay {
    v1::WorkOrder order;
    int missing = 0;
  };

  void Load(const v1::WorkOrder& order) {
    {
      absl::MutexLock lock(&mu_);
      workers_[order.worker()].policy = order.load().policy();
    }
    all_.StepUnderWay(false);  // it was committed
    v1::WorkReport report;
    report.set_worker(order.worker());
    report.set_order(order.order());
    report.mutable_ended();
    link_->Report(std::move(report));
  }

  v1::WorkReport SampleOf(const v1::WorkOrder& order, uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Worker& worker = workers_[order.worker()];
    const int longest = std::min(all_.fleet_.tokens, order.generate().sampling().max_new_tokens());
    const int tokens = std::uniform_int_distribution<int>(std::max(1, longest / 2), longest)(random_);
    v1::WorkReport report;
    report.set_worker(order.worker());
    report.set_order(order.order());
    v1::Trajectory& out = *report.mutable_generated()->mutable_trajectory();
    out.mutable_key()->set_draw(order.generate().draw());
    out.mutable_key()->set_index(index);
    for (int t = 0; t < tokens; ++t) {
      out.add_tokens(t % 10);
      out.add_raw_logprobs(-1.5f);
      out.add_processed_logprobs(-1.5f);
    }
    v1::VersionSpan& span = *out.add_spans();
    span.set_end(tokens);
    span.set_policy_version(worker.policy.policy_version());
    span.set_manifest_hash(worker.policy.manifest_hash());
    span.set_kernel_path("simulated");
    out.set_finish_reason(v1::STOP);
    out.set_text(index % 2 == 0 ? "right" : "wrong");
    out.set_worker(worker.name);
    out.set_attempt(order.generate().attempt());
    return report;
  }

  SimulatedWorkers& all_;
  absl::Mutex mu_;
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, UnderWay> under_way_ ABSL_GUARDED_BY(mu_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<WorkLink> link_;
};

SimulatedWorkers::SimulatedWorkers(SimulatedFleet fleet) : fleet_(std::move(fleet)) {
  for (int i = 0; i < fleet_.streams; ++i) {
    const int more = i < fleet_.workers % fleet_.streams ? 1 : 0;
    hosts_.push_back(std::make_unique<Host>(*this, i, fleet_.workers / fleet_.streams + more));
  }
  thread_ = std::thread([this] { Run(); });
}

SimulatedWorkers::~SimulatedWorkers() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = wake_ = true;
  }
  for (const auto& host : hosts_) host->link().Stop();  // a report may wait for room
  thread_.join();
}

bool SimulatedWorkers::AwaitJoined(absl::Time deadline) const {
  for (const auto& host : hosts_) {
    if (!host->link().AwaitJoined(host->size(), deadline)) return false;
  }
  return true;
}

void SimulatedWorkers::StepUnderWay(bool under_way) {
  absl::MutexLock lock(&mu_);
  step_under_way_ = under_way;
  step_ended_ = absl::Now();
}

void SimulatedWorkers::Dispatched(absl::Time ended, absl::Time now) {
  if (!measuring_) return;
  dispatch_.Add(now - ended);
  absl::MutexLock lock(&mu_);
  if (!step_under_way_ && ended > step_ended_) steady_.Add(now - ended);
}

void SimulatedWorkers::Leave(absl::Time deadline) {
  for (const auto& host : hosts_) host->link().Leave(deadline);
}

void SimulatedWorkers::Schedule(std::vector<Due> due) {
  absl::MutexLock lock(&mu_);
  for (const Due& one : due) {
    wake_ = wake_ || due_.empty() || one.time < due_.top().time;
    due_.push(one);
  }
}

void SimulatedWorkers::Run() {
  while (true) {
    Due next;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithDeadline(absl::Condition(&wake_), due_.empty() ? absl::InfiniteFuture() : due_.top().time);
      wake_ = false;
      if (stopping_) return;
      if (due_.empty() || due_.top().time > absl::Now()) continue;
      next = due_.top();
      due_.pop();
    }
    next.host->Complete(next.order, next.index);
  }
}

}  // namespace sluice::bench
