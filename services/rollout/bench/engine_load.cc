#include "services/rollout/bench/engine_load.h"

#include <atomic>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/random.h"

namespace sluice::bench {
namespace {

constexpr absl::Duration kReadingPeriod = absl::Milliseconds(1);

RolloutRequest RequestFor(const LoadShape& shape, const LoadedPolicy& policy, int64_t number) {
  RolloutRequest request;
  request.job = policy.job;
  request.domain = RandomDomain::kEvaluation;
  request.seed = shape.seed;
  request.draw = static_cast<Draw>(number);
  for (int64_t i = 0; i < shape.group; ++i) request.indices.push_back(static_cast<uint32_t>(i));
  for (int64_t i = 0; i < shape.prompt_tokens; ++i) {
    const uint64_t counter = static_cast<uint64_t>(number * shape.prompt_tokens + i);
    request.prompt_tokens.push_back(static_cast<int32_t>(BitsAt(shape.seed, RandomDomain::kShuffle, counter) %
                                                         static_cast<uint64_t>(policy.config.vocab)));
  }
  request.sampling.max_new_tokens = static_cast<int32_t>(shape.new_tokens);
  request.sampling.ignore_eos = true;
  request.progress_every_tokens = shape.each_token ? 1 : 0;
  return request;
}

// Notes every change of the counters until it is stopped.
class Watcher {
 public:
  explicit Watcher(const EngineMetrics& metrics)
      : metrics_(metrics), begin_(absl::Now()), first_(Read()), thread_([this] { Watch(); }) {}

  // To be called once.
  std::vector<Reading> Stop() {
    stop_ = true;
    thread_.join();
    return std::move(readings_);
  }
  absl::Duration Elapsed() const { return absl::Now() - begin_; }

 private:
  // Again where the thread had to wait in between: time and counters would not belong together.
  Reading Read() const {
    while (true) {
      const absl::Time before = absl::Now();
      const Reading read = {before - begin_, metrics_.prompt_tokens.Value(),
                            metrics_.tokens_generated.Value(), metrics_.sequences_running.Value(),
                            metrics_.cache_blocks_used.Value()};
      if (absl::Now() - before < kReadingPeriod) return read;
    }
  }
  void Watch() {
    while (!stop_) {
      Reading now = Read();
      now.prompt_tokens -= first_.prompt_tokens;
      now.new_tokens -= first_.new_tokens;
      if (readings_.empty() || now.prompt_tokens != readings_.back().prompt_tokens ||
          now.new_tokens != readings_.back().new_tokens || now.running != readings_.back().running) {
        readings_.push_back(now);
      }
      absl::SleepFor(kReadingPeriod);
    }
  }

  const EngineMetrics& metrics_;
  const absl::Time begin_;
  const Reading first_;
  std::vector<Reading> readings_;  // of the thread, until it ended
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Notes when tokens of one request's completions were reported.
class TokenClock {
 public:
  TokenClock(const Watcher& watcher, int64_t completions) : watcher_(watcher), times_(completions) {}
  void Note(const Trajectory& trajectory) {
    times_[trajectory.key.index].resize(trajectory.tokens.size(), watcher_.Elapsed());
  }
  std::vector<std::vector<absl::Duration>> Take() { return std::move(times_); }

 private:
  const Watcher& watcher_;
  std::vector<std::vector<absl::Duration>> times_;
};

}  // namespace

absl::StatusOr<LoadTimes> RunLoad(WatchedEngine watched, const LoadShape& shape) {
  const PolicyHandle policy = watched.engine.policy();
  if (policy == nullptr) return absl::FailedPreconditionError("no model is loaded");
  const size_t requests = static_cast<size_t>(shape.requests);
  std::vector<absl::Status> statuses(requests);
  std::vector<std::vector<std::vector<absl::Duration>>> times(requests);
  Watcher watcher(watched.metrics);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < requests; ++i) {
    callers.emplace_back([&, i] {
      TokenClock clock(watcher, shape.group);
      statuses[i] = watched.engine.Generate(RequestFor(shape, *policy, static_cast<int64_t>(i)),
                                            CancelToken(), [&](const Trajectory& t) { clock.Note(t); });
      times[i] = clock.Take();
    });
  }
  for (std::thread& caller : callers) caller.join();
  LoadTimes out;
  out.whole = watcher.Elapsed();
  out.readings = watcher.Stop();
  for (size_t i = 0; i < requests; ++i) {
    if (!statuses[i].ok()) return statuses[i];
    if (!shape.each_token) continue;
    for (auto& completion : times[i]) out.token_times.push_back(std::move(completion));
  }
  return out;
}

}  // namespace sluice::bench
