#include "learner/gang.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/spec/config/model_config.h"

namespace sluice {
namespace {

constexpr uint64_t kCommandLimit = uint64_t{4} << 30;  // bytes of one command
constexpr size_t kBroadcastFloats = size_t{16} << 20;  // of one collective

struct Header {
  uint32_t magic;
  uint32_t kind;
  uint64_t bytes;
};
constexpr uint32_t kMagic = 0x534c4743;

template <typename T>
absl::Span<char> BytesOf(T* values, size_t count) {
  return {reinterpret_cast<char*>(values), count * sizeof(T)};
}

}  // namespace

class Gang::Watched final : public Collectives {
 public:
  explicit Watched(Collectives* real) : real_(*real) {}
  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) override {
    return Note(real_.Broadcast(bytes, root, deadline));
  }
  absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all, absl::Time deadline) override {
    return Note(real_.AllGather(mine, all, deadline));
  }
  absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                absl::Time deadline) override {
    return Note(real_.ReduceScatterSum(values, mine, deadline));
  }
  absl::Status AllReduceSum(absl::Span<double> values, absl::Time deadline) override {
    return Note(real_.AllReduceSum(values, deadline));
  }
  absl::Status Barrier(absl::Time deadline) override { return Note(real_.Barrier(deadline)); }

  absl::Status Note(absl::Status status) {
    absl::MutexLock lock(&mu_);
    if (!status.ok() && first_error_.ok()) {
      first_error_ = absl::UnavailableError(
          absl::StrCat("the learner's ranks lost each other: ", status.message(), "; start all ranks again"));
      LogError("gang_broken", {{"rank", real_.rank()}, {"reason", status.message()}});
    }
    return status;
  }
  absl::Status first_error() const {
    absl::MutexLock lock(&mu_);
    return first_error_;
  }

 private:
  Collectives& real_;
  mutable absl::Mutex mu_;
  absl::Status first_error_ ABSL_GUARDED_BY(mu_);
};

Gang::Gang(const GangOptions& options)
    : options_(options),
      collectives_(std::make_unique<Watched>(options.collectives)),
      last_command_(absl::Now()) {
  if (rank() == 0 && size() > 1) keeper_ = std::thread([this] { KeepAlive(); });
}

Gang::~Gang() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
    changed_.SignalAll();
    if (rank() == 0 && size() > 1 && broken().ok()) Announce(Kind::kEnd, "").IgnoreError();
  }
  if (keeper_.joinable()) keeper_.join();
}

absl::Status Gang::broken() const { return collectives_->first_error(); }

void Gang::KeepAlive() {
  absl::MutexLock lock(&mu_);
  while (!ending_ && broken().ok()) {
    const absl::Time next = last_command_ + options_.keep_alive;
    if (absl::Now() < next) {
      changed_.WaitWithDeadline(&mu_, next);
    } else {
      Announce(Kind::kIdle, "").IgnoreError();  // an error is remembered
    }
  }
}

absl::Status Gang::Announce(Kind kind, const std::string& payload) {
  SLUICE_RETURN_IF_ERROR(broken());
  last_command_ = absl::Now();
  if (size() == 1) return absl::OkStatus();
  if (payload.size() > kCommandLimit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a command of ", payload.size(), " bytes; at most ", kCommandLimit));
  }
  Header header{kMagic, static_cast<uint32_t>(kind), payload.size()};
  const absl::Time deadline = absl::Now() + options_.timeout;
  SLUICE_RETURN_IF_ERROR(collectives_->Broadcast(BytesOf(&header, 1), 0, deadline));
  if (payload.empty()) return absl::OkStatus();
  std::string bytes = payload;
  return collectives_->Broadcast(absl::MakeSpan(bytes.data(), bytes.size()), 0, deadline);
}

absl::StatusOr<std::string> Gang::Receive(Kind* kind) {
  Header header{};
  const absl::Time deadline = absl::Now() + options_.timeout;
  SLUICE_RETURN_IF_ERROR(collectives_->Broadcast(BytesOf(&header, 1), 0, deadline));
  if (header.magic != kMagic || header.bytes > kCommandLimit) {
    return collectives_->Note(absl::InternalError("rank 0 announced something that is no command"));
  }
  *kind = static_cast<Kind>(header.kind);
  std::string payload(header.bytes, '\0');
  if (!payload.empty()) {
    SLUICE_RETURN_IF_ERROR(
        collectives_->Broadcast(absl::MakeSpan(payload.data(), payload.size()), 0, deadline));
  }
  return payload;
}

absl::Status Gang::BroadcastFloats(std::vector<float>* values) {
  for (size_t at = 0; at < values->size(); at += kBroadcastFloats) {
    const size_t count = std::min(kBroadcastFloats, values->size() - at);
    SLUICE_RETURN_IF_ERROR(
        collectives_->Broadcast(BytesOf(values->data() + at, count), 0, absl::Now() + options_.timeout));
  }
  return absl::OkStatus();
}

absl::Status Gang::NeedReplica() const {
  return replica_ != nullptr ? absl::OkStatus() : absl::FailedPreconditionError("no job is open");
}

// On followers the vectors of `start` are filled in here.
absl::Status Gang::StartHere(GangStart* start, bool has_moments) {
  SLUICE_ASSIGN_OR_RETURN(ModelConfig config,
                          ParseModelConfig(start->config_json, start->generation_config_json));
  const ParameterLayout layout(config);
  start->frozen.resize(layout.frozen_size());
  start->state.masters.resize(layout.trained_size());
  start->state.first_moment.resize(has_moments ? layout.trained_size() : 0);
  start->state.second_moment.resize(has_moments ? layout.trained_size() : 0);
  for (auto* values :
       {&start->frozen, &start->state.masters, &start->state.first_moment, &start->state.second_moment}) {
    SLUICE_RETURN_IF_ERROR(BroadcastFloats(values));
  }
  Replica::Options options;
  options.config = std::move(config);
  options.spec = start->spec;
  options.first_step = start->first_step;
  options.frozen = std::move(start->frozen);
  options.collectives = collectives_.get();
  options.threads = options_.threads;
  options.timeout = options_.timeout;
  absl::StatusOr<std::unique_ptr<Replica>> replica = Replica::Create(std::move(options));
  const absl::Status made = replica.ok() ? (*replica)->SetState(start->state) : replica.status();
  SLUICE_RETURN_IF_ERROR(Settle(made));
  replica_ = *std::move(replica);
  return absl::OkStatus();
}

// OK when all ranks succeeded.
absl::Status Gang::Settle(const absl::Status& mine) {
  double failed = mine.ok() ? 0 : 1;
  SLUICE_RETURN_IF_ERROR(
      collectives_->AllReduceSum(absl::MakeSpan(&failed, 1), absl::Now() + options_.timeout));
  if (!mine.ok()) return mine;
  if (failed == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(failed, " of the other ranks failed; their logs say why"));
}

template <typename Body>
auto Gang::Run(Kind kind, const std::string& payload, Body body) -> decltype(body()) {
  absl::MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(Announce(kind, payload));
  auto result = body();
  last_command_ = absl::Now();
  changed_.SignalAll();
  const absl::Status gone = broken();
  if (!gone.ok()) return gone;
  return result;
}

absl::Status Gang::Start(GangStart start) {
  const bool has_moments = !start.state.first_moment.empty();
  ByteWriter payload;
  payload.PutString(start.config_json);
  payload.PutString(start.generation_config_json);
  Put(start.spec, &payload);
  payload.Put(start.state.updates);
  payload.Put(start.first_step);
  payload.Put<uint8_t>(has_moments ? 1 : 0);
  return Run(Kind::kStart, payload.Finish(),
             [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return StartHere(&start, has_moments); });
}

absl::Status Gang::SetReference(std::vector<float> published) {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  return Run(Kind::kReference, "", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    SLUICE_RETURN_IF_ERROR(BroadcastFloats(&published));
    return Settle(replica_->SetReference(published));
  });
}

absl::Status Gang::Hold(PolicyVersion version, const std::string& manifest_hash,
                        std::vector<float> published) {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  ByteWriter payload;
  payload.Put(version);
  payload.PutString(manifest_hash);
  return Run(Kind::kHold, payload.Finish(), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    SLUICE_RETURN_IF_ERROR(BroadcastFloats(&published));
    return Settle(replica_->Hold(version, manifest_hash, published));
  });
}

absl::Status Gang::BeginReinforcement() {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  return Run(Kind::kBeginReinforcement, "", [&] { return replica_->BeginReinforcement(); });
}

absl::StatusOr<StepMetrics> Gang::Supervise(int64_t step, absl::Span<const SupervisedExample> examples) {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  ByteWriter payload;
  payload.Put(step);
  payload.Put<uint64_t>(examples.size());
  for (const SupervisedExample& e : examples) Put(e, &payload);
  return Run(Kind::kSupervise, payload.Finish(), [&] { return replica_->Supervise(step, examples); });
}

absl::StatusOr<StepMetrics> Gang::Step(PolicyVersion version, const std::string& current_hash,
                                       absl::Span<const TrainingGroup> groups) {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  ByteWriter payload;
  payload.Put(version);
  payload.PutString(current_hash);
  payload.Put<uint64_t>(groups.size());
  for (const TrainingGroup& g : groups) Put(g, &payload);
  return Run(Kind::kStep, payload.Finish(), [&] { return replica_->Step(version, current_hash, groups); });
}

absl::StatusOr<TrainingState> Gang::GatherState() {
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  return Run(Kind::kGather, "", [&] { return replica_->GatherState(); });
}

absl::Status Gang::Execute(Kind kind, const std::string& payload) {
  ByteReader in(payload);
  if (kind == Kind::kIdle || kind == Kind::kEnd) return in.Finish();
  if (kind == Kind::kStart) {
    GangStart start;
    start.config_json = in.GetString();
    start.generation_config_json = in.GetString();
    start.spec = GetLearningSpec(&in);
    start.state.updates = in.Get<int64_t>();
    start.first_step = in.Get<int64_t>();
    const bool has_moments = in.Get<uint8_t>() != 0;
    SLUICE_RETURN_IF_ERROR(in.Finish());
    return StartHere(&start, has_moments);
  }
  SLUICE_RETURN_IF_ERROR(NeedReplica());
  if (kind == Kind::kReference) {
    std::vector<float> published(replica_->layout().trained_size());
    SLUICE_RETURN_IF_ERROR(BroadcastFloats(&published));
    return Settle(replica_->SetReference(published));
  }
  if (kind == Kind::kHold) {
    const PolicyVersion version = in.Get<PolicyVersion>();
    const std::string hash = in.GetString();
    SLUICE_RETURN_IF_ERROR(in.Finish());
    std::vector<float> published(replica_->layout().trained_size());
    SLUICE_RETURN_IF_ERROR(BroadcastFloats(&published));
    return Settle(replica_->Hold(version, hash, published));
  }
  if (kind == Kind::kBeginReinforcement) return replica_->BeginReinforcement();
  if (kind == Kind::kGather) return replica_->GatherState().status();
  if (kind == Kind::kSupervise) {
    const int64_t step = in.Get<int64_t>();
    std::vector<SupervisedExample> examples(in.GetCount(12));
    for (SupervisedExample& e : examples) e = GetExample(&in);
    SLUICE_RETURN_IF_ERROR(in.Finish());
    return replica_->Supervise(step, examples).status();
  }
  if (kind == Kind::kStep) {
    const PolicyVersion version = in.Get<PolicyVersion>();
    const std::string hash = in.GetString();
    std::vector<TrainingGroup> groups(in.GetCount(24));
    for (TrainingGroup& g : groups) g = GetTrainingGroup(&in);
    SLUICE_RETURN_IF_ERROR(in.Finish());
    return replica_->Step(version, hash, groups).status();
  }
  return absl::InternalError(absl::StrCat("unknown command ", static_cast<uint32_t>(kind), " from rank 0"));
}

absl::Status Gang::Follow() {
  absl::MutexLock lock(&mu_);
  while (true) {
    Kind kind = Kind::kIdle;
    absl::StatusOr<std::string> payload = Receive(&kind);
    if (!payload.ok()) return broken();
    if (kind == Kind::kEnd) return absl::OkStatus();
    SLUICE_FAIL_POINT("learner.follower_told");
    const absl::Status done = Execute(kind, *payload);
    SLUICE_FAIL_POINT("learner.follower_done");
    if (!broken().ok()) return broken();
    // Rank 0 has the same error and reports it; one that only this rank has would let the ranks differ.
    if (!done.ok()) LogWarning("command_failed", {{"rank", rank()}, {"reason", done.message()}});
  }
}

}  // namespace sluice
