// Keeps the processes of a fleet running on this machine: starts them in order, starts one again that died
// (the ranks of a learner together, under a new gang epoch), kills one that no longer answers, and writes
// STATE/cluster.json at each change.
// Addresses come from the kernel at the first start and are kept over restarts.
//
// The processes outlive a supervisor that is killed. A new one for the same state directory adopts them: it
// knows them by pid, start time and boot, from STATE/run/supervisor.json. Single-threaded; blocks SIGTERM,
// SIGINT, SIGHUP and SIGCHLD in the calling thread, so the process must have no other threads when it is
// made.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/file.h"
#include "services/cli/cluster.h"
#include "services/cli/supervisor/fleet.h"
#include "services/cli/supervisor/liveness_probe.h"
#include "services/cli/supervisor/process.h"
#include "services/cli/supervisor/restart_policy.h"

namespace sluice::cli {

struct SupervisorOptions {
  std::string state;
  std::string binary_folder;
  FleetShape shape;
  int cores = 1;
  RestartLimits limits;
  absl::Duration start_deadline = absl::Seconds(120);                       // from start to serving
  std::function<void(const std::string&)> say = [](const std::string&) {};  // one line for people
};

class Supervisor {
 public:
  // Takes the state directory (FAILED_PRECONDITION when another supervisor has it) and adopts what still runs
  // there.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Create(SupervisorOptions options);
  // Until SIGTERM or SIGINT, then stops all, in order and within shape.stop_seconds. Fails when a process
  // never came up, with the end of its log. CANCELLED when SIGINT came while stopping: everything was killed.
  absl::Status Run();

 private:
  enum class Phase { kWaiting, kStarting, kServing };
  struct Member {
    FleetMember is;
    RestartPolicy policy;
    Phase phase = Phase::kWaiting;
    ProcessIdentity process;  // pid 0: none
    bool adopted = false;     // not our child
    bool served_once = false;
    absl::Time start_at = absl::InfinitePast(), started = absl::InfinitePast();
    ServiceAddress address;                // of the last time it served
    std::unique_ptr<LivenessProbe> probe;  // while it serves; null: it is not asked
  };

  explicit Supervisor(SupervisorOptions options);
  void Adopt();
  // What was adopted knows the addresses of what was not: those start there again.
  void RecallAddresses();
  absl::Status Tick(absl::Time now);
  absl::Status Reap(Member& member, absl::Time now);
  absl::Status OnDeath(Member& member, const std::string& how, absl::Time now);
  // Kills the ranks of the gang that are left; when none is, raises the epoch, and the ranks may start.
  void DrainGang(int gang);
  const Member* FirstRank(int gang) const;
  void AdoptGang(int gang);
  bool MayStart(const Member& member, absl::Time now) const;
  absl::Status Start(Member& member, absl::Time now);
  absl::Status CheckServing(Member& member, absl::Time now);
  void KillIfSilent(Member& member, absl::Time now);
  bool KeepsAddress(const Member& member) const;
  bool HasExited(Member& member, std::string& how);
  absl::Status StopAll();
  // False when it was interrupted.
  bool StopMembers(const StopStage& stage, absl::Time deadline);
  void KillAll();
  // Members of the stage that run.
  std::vector<Member*> Running(const StopStage& stage);
  absl::Status WriteRecords() const;
  const Member* Find(const std::string& name) const;
  bool AllServing() const;
  absl::Duration NextWait(absl::Time now) const;

  const SupervisorOptions options_;
  std::unique_ptr<FileLock> lock_;
  std::vector<Member> members_;
  struct Gang {
    int64_t epoch = 0;
    bool draining = false;  // a rank died and others of its epoch still run
  };
  std::vector<Gang> gangs_;
  bool announced_ = false;
};

}  // namespace sluice::cli
