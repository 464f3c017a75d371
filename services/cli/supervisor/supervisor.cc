#include "services/cli/supervisor/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"
#include "services/cli/supervisor/fleet_flags.h"
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {
namespace {

constexpr int kTriesBeforeFirstServing = 3;
constexpr size_t kMaxLayouts = 64;
constexpr int kLogTailLines = 8;
constexpr absl::Duration kStartingPoll = absl::Milliseconds(20);
constexpr absl::Duration kAdoptedPoll = absl::Milliseconds(200);
constexpr absl::Duration kStoppingPoll = absl::Milliseconds(20);
constexpr double kOtherRanksShare = 0.1;  // of the fleet's time, for the ranks that the first one left
constexpr absl::Duration kExtensionReserve = absl::Seconds(2);  // for a process to end by itself
constexpr absl::Duration kLongestExtension = absl::Hours(2);
constexpr absl::Duration kKillLimit = absl::Seconds(5);      // from SIGKILL until the kernel lets go
constexpr absl::Duration kProbeInterval = absl::Seconds(5);  // at most; else a third of --hang-seconds
constexpr absl::Duration kLockPatience = absl::Seconds(2), kLockInterval = absl::Milliseconds(20);

sigset_t SupervisedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, s);
  return set;
}

// The next of them, or -1 when none came within the limit.
int AwaitSignal(absl::Duration limit) {
  const sigset_t signals = SupervisedSignals();
  const timespec wait = absl::ToTimespec(limit);
  return sigtimedwait(&signals, nullptr, &wait);
}

absl::Status SendOutputTo(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, path);
  const bool sent = dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0;
  const int error = errno;
  close(fd);
  return sent ? absl::OkStatus() : ErrnoStatus(error, path);
}

// As StopControl of a service writes it.
struct StopExtension {
  int64_t pid = 0, until = 0;  // unix seconds
  std::string waiting_for;
};
absl::StatusOr<StopExtension> ReadStopExtension(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 4096));
  const auto root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("pid") || !root["pid"].is_number_integer() ||
      !root.contains("until") || !root["until"].is_number_integer() || !root.contains("waiting_for") ||
      !root["waiting_for"].is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is malformed"));
  }
  return StopExtension{root["pid"], root["until"], root["waiting_for"]};
}

// A supervisor that was killed while it started a process leaves the lock with that one until it runs its
// own program: a moment.
absl::StatusOr<std::unique_ptr<FileLock>> AcquireLock(const std::string& path) {
  const absl::Time deadline = absl::Now() + kLockPatience;
  while (true) {
    auto lock = FileLock::Acquire(path);
    if (!absl::IsFailedPrecondition(lock.status()) || absl::Now() > deadline) return lock;
    absl::SleepFor(kLockInterval);
  }
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)) {
  for (FleetProcess& m : ProcessesOf(options_.shape)) {
    Member member;
    member.is = std::move(m);
    member.policy = RestartPolicy(options_.limits);
    members_.push_back(std::move(member));
  }
  gangs_.resize(static_cast<size_t>(options_.shape.learner_gangs));
}

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Create(SupervisorOptions options) {
  const std::string state = options.state;
  for (const char* folder : {"", "/logs", "/run"}) SLUICE_RETURN_IF_ERROR(MakeDirectories(state + folder));
  auto lock = AcquireLock(state + "/run/supervisor.lock");
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state directory ", state,
                     " is in use by another `sluice up`; stop it with `sluice down --state ", state,
                     "`, or choose another"));
  }
  if (!lock.ok()) return lock.status();
  if (!options.log_file.empty()) {
    RotateLog(options.log_file, options.max_log_bytes, /*in_use=*/false);
    SLUICE_RETURN_IF_ERROR(SendOutputTo(options.log_file));
  }
  const sigset_t signals = SupervisedSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::unique_ptr<Supervisor> out(new Supervisor(std::move(options)));
  out->lock_ = *std::move(lock);
  out->Adopt();
  SLUICE_RETURN_IF_ERROR(out->WriteRecords());
  return out;
}

void Supervisor::NoteLayout(std::vector<LearnerLayout> before) {
  layouts_ = std::move(before);
  const LearnerLayout now = {absl::ToUnixSeconds(absl::Now()), options_.shape.learner_ranks,
                             ThreadsPerProcess(options_.shape, options_.cores)};
  const bool same =
      !layouts_.empty() && layouts_.back().ranks == now.ranks && layouts_.back().threads == now.threads;
  if (!same) layouts_.push_back(now);
  if (layouts_.size() > kMaxLayouts) layouts_.erase(layouts_.begin());
}

void Supervisor::Adopt() {
  const auto record = ReadSupervisorRecord(options_.state);
  NoteLayout(record.ok() ? record->layouts : std::vector<LearnerLayout>());
  if (!record.ok()) {  // the first start
    for (Gang& gang : gangs_) gang.epoch = 1;
    return;
  }
  gangs_.resize(std::max(gangs_.size(), record->gang_epochs.size()));
  for (size_t i = 0; i < record->gang_epochs.size(); ++i) gangs_[i].epoch = record->gang_epochs[i];
  for (const RecordedProcess& p : record->processes) {
    if (!IsAlive(p.identity)) continue;
    const auto at =
        std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.is.name == p.name; });
    const bool of_gang = at != members_.end() && at->is.role == "learner";
    if (at == members_.end() || (of_gang && record->learner_ranks != options_.shape.learner_ranks)) {
      options_.say(
          absl::StrCat("stopping ", p.name, " (pid ", p.identity.pid, "), which this fleet does not have"));
      kill(p.identity.pid, SIGKILL);
      continue;
    }
    at->process = p.identity;
    at->adopted = true;
    SLUICE_FAIL_POINT("supervisor.child_adopting");
    at->phase = Phase::kStarting;  // until its address file says where it serves
    at->started = absl::Now();
    at->policy.Started(at->started);
    options_.say(absl::StrCat("adopted ", p.name, " (pid ", p.identity.pid, ")"));
  }
  RecallAddresses();
  for (int gang = 0; gang < options_.shape.learner_gangs; ++gang) AdoptGang(gang);
}

void Supervisor::AdoptGang(int gang) {
  const auto alive = std::count_if(members_.begin(), members_.end(), [gang](const Member& m) {
    return m.is.role == "learner" && m.is.gang == gang && m.process.pid != 0;
  });
  if (alive == 0) ++gangs_[static_cast<size_t>(gang)].epoch;
  if (alive > 0 && alive < options_.shape.learner_ranks) DrainGang(gang);
}

const Supervisor::Member* Supervisor::FirstRank(int gang) const {
  for (const Member& m : members_) {
    if (m.is.role == "learner" && m.is.gang == gang && m.is.index == 0) return &m;
  }
  return nullptr;
}

void Supervisor::RecallAddresses() {
  if (std::none_of(members_.begin(), members_.end(), [](const Member& m) { return m.adopted; })) return;
  for (Member& m : members_) {
    const auto address = ReadAddressFile(AddressPath(options_.state, m.is));
    if (address.ok()) m.address = *address;
  }
}

const Supervisor::Member* Supervisor::Find(const std::string& name) const {
  for (const Member& m : members_) {
    if (m.is.name == name) return &m;
  }
  return nullptr;
}

bool Supervisor::AllServing() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& m) { return m.phase == Phase::kServing; });
}

bool Supervisor::KeepsAddress(const Member& member) const {
  if (member.address.grpc.empty()) return false;
  // Others hold on to these two; a worker that cannot get its old port back takes a new one.
  const bool known = member.is.role == "coordinator" || (member.is.role == "learner" && member.is.index == 0);
  return known || member.policy.quick_deaths() < 2;
}

bool Supervisor::HasExited(Member& member, std::string& how) {
  if (member.adopted) {
    how = "gone";
    return !IsAlive(member.process);
  }
  const auto exit = PollChild(member.process.pid);
  if (exit) how = exit->ToString();
  return exit.has_value();
}

absl::Status Supervisor::Reap(Member& member, absl::Time now) {
  std::string how;
  if (member.process.pid == 0 || !HasExited(member, how)) return absl::OkStatus();
  return OnDeath(member, how, now);
}

absl::Status Supervisor::OnDeath(Member& member, const std::string& how, absl::Time now) {
  SLUICE_FAIL_POINT("supervisor.death_seen");
  const pid_t pid = member.process.pid;
  member.process = {};
  member.adopted = false;
  member.phase = Phase::kWaiting;
  member.probe.reset();
  if (member.is.role == "learner" && gangs_[static_cast<size_t>(member.is.gang)].draining) {
    DrainGang(member.is.gang);  // our own doing: it does not count against the rank
    return absl::OkStatus();
  }
  const RestartPolicy::Decision decision = member.policy.Died(now);
  member.start_at = decision.start_at;
  const std::string log = LogPath(options_.state, member.is);
  if (!member.served_once && member.policy.quick_deaths() >= kTriesBeforeFirstServing) {
    return absl::FailedPreconditionError(absl::StrCat(member.is.name, " does not start (", how,
                                                      "); the end of ", log, ":\n",
                                                      TailOfFile(log, kLogTailLines)));
  }
  options_.say(absl::StrCat(member.is.name, " (pid ", pid, ") died: ", how, "; starting it again"));
  if (decision.alarm) {
    options_.say(absl::StrCat("WARNING: ", member.is.name, " died ", member.policy.quick_deaths(),
                              " times soon after its start; see ", log));
  }
  if (member.is.role == "learner") {
    for (Member& m : members_) {
      if (m.is.role == "learner" && m.is.gang == member.is.gang) m.start_at = decision.start_at;
    }
    DrainGang(member.is.gang);
  }
  return absl::OkStatus();
}

void Supervisor::DrainGang(int number) {
  Gang& gang = gangs_[static_cast<size_t>(number)];
  gang.draining = false;
  for (Member& m : members_) {
    if (m.is.role != "learner" || m.is.gang != number || m.process.pid == 0) continue;
    kill(m.process.pid, SIGKILL);
    gang.draining = true;
    SLUICE_FAIL_POINT("supervisor.gang_draining");
  }
  if (!gang.draining) ++gang.epoch;  // the last rank of the old epoch is gone
}

bool Supervisor::MayStart(const Member& member, absl::Time now) const {
  if (member.process.pid != 0 || now < member.start_at) return false;
  if (member.is.role == "coordinator") return true;
  if (Find("coordinator")->address.grpc.empty()) return false;
  if (member.is.role != "learner") return true;
  if (gangs_[static_cast<size_t>(member.is.gang)].draining) return false;
  // Rank 0 first, because the others must know its address.
  const Member* first = FirstRank(member.is.gang);
  return member.is.index == 0 || (first->process.pid != 0 && !first->address.grpc.empty());
}

absl::Status Supervisor::Start(Member& member, absl::Time now) {
  StartContext context;
  context.binary_folder = options_.binary_folder;
  context.state = options_.state;
  context.world = options_.shape.learner_ranks;
  if (member.is.role == "learner") {
    context.gang_epoch = gangs_[static_cast<size_t>(member.is.gang)].epoch;
    context.rendezvous = FirstRank(member.is.gang)->address.grpc;
  }
  context.threads = ThreadsPerProcess(options_.shape, options_.cores);
  context.device = options_.shape.device;
  context.scorers = options_.shape.scorers;
  context.allow_weaker_sandbox = options_.shape.allow_weaker_sandbox;
  context.stop_seconds = options_.shape.stop_seconds;
  context.keep_samples_bytes = options_.shape.keep_samples_bytes;
  context.keep_free_bytes = options_.shape.keep_free_bytes;
  if (options_.shape.http) context.http_port = "0";
  context.coordinator = Find("coordinator")->address.grpc;
  if (KeepsAddress(member)) {
    context.listen = member.address.grpc;
    context.metrics_listen = member.address.metrics;
    const std::string& http = member.address.http;
    if (options_.shape.http && !http.empty()) context.http_port = http.substr(http.rfind(':') + 1);
  }
  std::error_code ignored;
  std::filesystem::remove(AddressPath(options_.state, member.is), ignored);
  std::filesystem::remove(StopPath(options_.state, member.is), ignored);
  const std::string log = LogPath(options_.state, member.is);
  RotateLog(log, options_.max_log_bytes, /*in_use=*/false);
  SpawnOptions spawn{CommandOf(member.is, context), log, /*new_session=*/true, /*die_with_parent=*/false, {}};
  // Recorded before it runs: a supervisor killed meanwhile leaves no process that the next one does not know.
  spawn.before_exec = [&](pid_t pid) -> absl::Status {
    SLUICE_FAIL_POINT("supervisor.child_forked");
    const auto identity = IdentityOf(pid);
    member.process = identity.ok() ? *identity : ProcessIdentity{pid, 0, ""};
    member.adopted = false;
    member.phase = Phase::kStarting;
    member.started = now;
    member.policy.Started(now);
    SLUICE_RETURN_IF_ERROR(WriteRecords());
    SLUICE_FAIL_POINT("supervisor.child_recorded");
    return absl::OkStatus();
  };
  const absl::Status started = Spawn(spawn).status();
  SLUICE_FAIL_POINT("supervisor.child_started");
  return started;
}

absl::Status Supervisor::CheckServing(Member& member, absl::Time now) {
  const auto address = ReadAddressFile(AddressPath(options_.state, member.is));
  if (address.ok() && address->pid == member.process.pid) {
    member.address = *address;
    member.phase = Phase::kServing;
    member.served_once = true;
    if (options_.shape.hang_seconds > 0) {
      const absl::Duration limit = absl::Seconds(options_.shape.hang_seconds);
      member.probe =
          std::make_unique<LivenessProbe>(address->metrics, std::min(kProbeInterval, limit / 3), limit);
    }
    SLUICE_FAIL_POINT("supervisor.child_serving");
    return WriteRecords();
  }
  if (now - member.started > options_.start_deadline) {
    options_.say(absl::StrCat(member.is.name, " does not serve after ",
                              absl::FormatDuration(options_.start_deadline)));
    kill(member.process.pid, SIGKILL);
  }
  return absl::OkStatus();
}

// Its end is seen like any other.
void Supervisor::KillIfSilent(Member& member, absl::Time now) {
  if (member.probe == nullptr || member.probe->Look(now)) return;
  options_.say(absl::StrCat(member.is.name, " (pid ", member.process.pid, ") has not answered for ",
                            options_.shape.hang_seconds, " s (--hang-seconds); killing it"));
  kill(member.process.pid, SIGKILL);
  member.probe.reset();
}

// One earlier log of each is kept.
void Supervisor::RotateLogs(absl::Time now) {
  if (now < logs_looked_ + options_.logs_interval) return;
  logs_looked_ = now;
  for (const Member& member : members_)
    RotateLog(LogPath(options_.state, member.is), options_.max_log_bytes, /*in_use=*/true);
  if (!options_.log_file.empty()) RotateLog(options_.log_file, options_.max_log_bytes, /*in_use=*/true);
}

absl::Status Supervisor::Tick(absl::Time now) {
  RotateLogs(now);
  for (Member& m : members_) SLUICE_RETURN_IF_ERROR(Reap(m, now));
  for (Member& m : members_) {
    if (m.phase == Phase::kStarting) SLUICE_RETURN_IF_ERROR(CheckServing(m, now));
    KillIfSilent(m, now);
    if (m.phase == Phase::kWaiting && MayStart(m, now)) SLUICE_RETURN_IF_ERROR(Start(m, now));
  }
  if (!announced_ && AllServing()) {
    announced_ = true;
    options_.say(absl::StrCat("serving at ", Find("coordinator")->address.grpc));
  }
  return absl::OkStatus();
}

absl::Duration Supervisor::NextWait(absl::Time now) const {
  absl::Duration wait = absl::Seconds(1);
  for (const Member& m : members_) {
    if (m.phase == Phase::kStarting) wait = std::min(wait, kStartingPoll);
    if (m.phase == Phase::kWaiting) wait = std::min(wait, std::max(kStartingPoll, m.start_at - now));
    if (m.adopted) wait = std::min(wait, kAdoptedPoll);
  }
  return wait;
}

absl::Status Supervisor::Run() {
  absl::Status status;
  while (status.ok()) {
    status = Tick(absl::Now());
    const int signal = status.ok() ? AwaitSignal(NextWait(absl::Now())) : 0;
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) break;
  }
  const absl::Status stopped = StopAll();
  return status.ok() ? stopped : status;
}

std::string Supervisor::HowItStopped(const Member& member, const std::string& how) const {
  if (member.killed) return "did not stop in time and was killed";
  // SIGTERM: before it had a program of its own that takes it.
  if (how == "exit code 0" || how == ExitStatus{true, SIGTERM}.ToString()) return "";
  if (!member.adopted) return how;
  const bool late = absl::StrContains(TailOfFile(LogPath(options_.state, member.is), 1), "stop_timed_out");
  return late ? "did not stop in time" : "";
}

void Supervisor::NoteEnd(const Member& member, const std::string& how) {
  if (how.empty()) return;
  unclean_.push_back({member.is.name, how});
  options_.say(absl::StrCat(member.is.name, " did not end in order: ", how, ". The end of its log:\n",
                            TailOfFile(LogPath(options_.state, member.is), kLogTailLines)));
}

std::vector<Supervisor::Member*> Supervisor::Running(const StopStage& stage) {
  std::vector<Member*> running;
  for (Member& m : members_) {
    if (std::count(stage.roles.begin(), stage.roles.end(), m.is.role) == 0 || m.process.pid == 0) continue;
    std::string how;
    if (HasExited(m, how)) {
      NoteEnd(m, HowItStopped(m, how));
      m.process = {};
      m.ended = absl::Now();
      m.phase = Phase::kWaiting;
    } else {
      running.push_back(&m);
    }
  }
  return running;
}

bool Supervisor::StopMembers(const StopStage& stage, absl::Time deadline) {
  while (true) {
    TellToStop(stage);
    const std::vector<Member*> running = Running(stage);
    if (running.empty()) return true;
    for (Member* m : running) {
      if (m->killed || absl::Now() <= PatienceWith(*m, deadline)) continue;
      m->killed = true;
      options_.say(absl::StrCat(m->is.name, " did not stop in time; killing it"));
      kill(m->process.pid, SIGKILL);
    }
    if (AwaitSignal(kStoppingPoll) == SIGINT) return false;
  }
}

void Supervisor::TellToStop(const StopStage& stage) {
  for (Member* m : Running(stage)) {
    const Member* first = m->is.role == "learner" ? FirstRank(m->is.gang) : m;
    if (m->told_to_stop || (first != m && first->process.pid != 0)) continue;
    m->told_to_stop = true;
    kill(m->process.pid, SIGTERM);
  }
}

absl::Time Supervisor::PatienceWith(const Member& member, absl::Time deadline) {
  // The other ranks of a gang wait for what the first one waits for.
  const Member& asked = member.is.role == "learner" ? *FirstRank(member.is.gang) : member;
  if (asked.process.pid == 0) {  // told only now
    return std::max(deadline, asked.ended + kOtherRanksShare * absl::Seconds(options_.shape.stop_seconds));
  }
  const auto extension = ReadStopExtension(StopPath(options_.state, asked.is));
  if (!extension.ok() || extension->pid != asked.process.pid) return deadline;
  const absl::Time until = std::min(absl::FromUnixSeconds(extension->until), absl::Now() + kLongestExtension);
  if (until > stop_until_) {
    stop_until_ = until;
    options_.say(absl::StrCat(asked.is.name, " has up to ",
                              absl::FormatDuration(absl::Trunc(until - absl::Now(), absl::Seconds(1))),
                              " for ", extension->waiting_for));
    const absl::Status written = WriteRecords();
    if (!written.ok()) options_.say(std::string(written.message()));
  }
  return std::max(deadline, until + kExtensionReserve);
}

void Supervisor::KillAll() {
  for (Member& m : members_) m.killed = true;
  for (const StopStage& stage : StopStages()) {
    for (const Member* m : Running(stage)) kill(m->process.pid, SIGKILL);
  }
  const absl::Time deadline = absl::Now() + kKillLimit;
  for (const StopStage& stage : StopStages()) {
    while (!Running(stage).empty() && absl::Now() < deadline) AwaitSignal(kStoppingPoll);
  }
}

absl::Status Supervisor::StopAll() {
  absl::Time start = absl::Now();
  options_.say(absl::StrCat("stopping, within ", options_.shape.stop_seconds,
                            " s: the workers, the learner, the coordinator. SIGINT (Ctrl-C) kills them now"));
  bool interrupted = false;
  for (const StopStage& stage : StopStages()) {
    const absl::Time until = start + absl::Seconds(stage.until * options_.shape.stop_seconds);
    interrupted = !StopMembers(stage, until);
    if (interrupted) break;
    start +=
        std::max(absl::ZeroDuration(), absl::Now() - until);  // the later ones have their time all the same
  }
  if (interrupted) KillAll();
  for (Member& m : members_) m.address = {};
  stopped_ = true;
  const absl::Status written = WriteRecords();
  if (interrupted) {
    return absl::CancelledError("interrupted while stopping: every process was killed; `sluice up` goes on");
  }
  if (!unclean_.empty()) return absl::AbortedError(SayUncleanStop(unclean_));
  options_.say("stopped");
  return written;
}

absl::Status Supervisor::WriteRecords() const {
  std::vector<ClusterProcess> cluster;
  SupervisorRecord record;
  record.self = getpid();
  for (const Gang& gang : gangs_) record.gang_epochs.push_back(gang.epoch);
  record.learner_ranks = options_.shape.learner_ranks;
  record.stop_seconds = options_.shape.stop_seconds;
  record.stop_until = stop_until_ == absl::InfinitePast() ? 0 : absl::ToUnixSeconds(stop_until_);
  record.stopped = stopped_;
  record.unclean = unclean_;
  FleetShape shape = options_.shape;
  shape.threads =
      ThreadsPerProcess(shape, options_.cores);  // a running job keeps them, whatever --rollout is next
  record.flags = FlagsOf(shape);
  record.layouts = layouts_;
  for (const Member& m : members_) {
    if (!m.address.grpc.empty()) {
      cluster.push_back({m.is.role, m.is.index + m.is.gang * options_.shape.learner_ranks, m.address.pid,
                         m.address.grpc, m.address.metrics, m.address.http});
    }
    if (m.process.pid != 0) record.processes.push_back({m.is.name, m.process});
  }
  SLUICE_RETURN_IF_ERROR(WriteSupervisorRecord(options_.state, record));
  SLUICE_FAIL_POINT("supervisor.record_written");
  return WriteFileAtomically(ClusterPath(options_.state), SerializeCluster(cluster));
}

}  // namespace sluice::cli
