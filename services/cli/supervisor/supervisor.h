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
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {

struct SupervisorOptions {
  std::string state;
  std::string binary_folder;
  FleetShape shape;
  int cores = 1;
  std::string log_file;  // takes standard output and error once the state directory is ours; empty: they stay
  int64_t max_log_bytes = 64 << 20;  // of each process; what is above it is rotated, one earlier log is kept
  absl::Duration logs_interval = absl::Seconds(10);  // between looks at them
  RestartLimits limits;
  absl::Duration start_deadline = absl::Seconds(120);                       // from start to serving
  std::function<void(const std::string&)> say = [](const std::string&) {};  // one line for people
};

class Supervisor {
 public:
  // Takes the state directory (FAILED_PRECONDITION when another supervisor has it) and adopts what still runs
  // there.
  static absl::StatusOr<std::unique_ptr<Supervisor>> Create(SupervisorOptions options);
  // Until SIGTERM or SIGINT, then stops all. Fails when a process never came up, with the end of its log;
  // otherwise as StopAll.
  absl::Status Run();
  // Stops all, in order and within shape.stop_seconds; a process that says that it needs longer, in
  // proportion to what it finishes, is given that. ABORTED names what did not end in order
  // (STATE/run/supervisor.json has it, too). CANCELLED when SIGINT came while stopping: everything was
  // killed.
  absl::Status StopAll();

 private:
  enum class Phase { kWaiting, kStarting, kServing };
  struct Member {
    FleetProcess is;
    RestartPolicy policy;
    Phase phase = Phase::kWaiting;
    ProcessIdentity process;  // pid 0: none
    bool adopted = false;     // not our child
    bool served_once = false;
    bool told_to_stop = false;
    bool killed = false;                      // did not stop in time
    absl::Time ended = absl::InfinitePast();  // while stopping
    absl::Time start_at = absl::InfinitePast(), started = absl::InfinitePast();
    ServiceAddress address;                // of the last time it served
    std::unique_ptr<LivenessProbe> probe;  // while it serves; null: it is not asked
  };

  explicit Supervisor(SupervisorOptions options);
  void Adopt();
  // Adds the layout of now to those of before where it is another.
  void NoteLayout(std::vector<LearnerLayout> before);
  // What was adopted knows the addresses of what was not: those start there again.
  void RecallAddresses();
  absl::Status Tick(absl::Time now);
  void RotateLogs(absl::Time now);
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
  // False when it was interrupted.
  bool StopMembers(const StopStage& stage, absl::Time deadline);
  // Asks those of the stage to stop that do not end with another: a gang's first rank ends its gang.
  void TellToStop(const StopStage& stage);
  // Until when the process is to be left alone; `deadline` where it does not say.
  absl::Time PatienceWith(const Member& member, absl::Time deadline);
  // Empty: in order, as far as one can see.
  std::string HowItStopped(const Member& member, const std::string& how) const;
  void NoteEnd(const Member& member, const std::string& how);
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
  absl::Time logs_looked_ = absl::InfinitePast();
  absl::Time stop_until_ = absl::InfinitePast();  // of a stop that needs longer
  std::vector<LearnerLayout> layouts_;
  bool stopped_ = false;
  std::vector<UncleanEnd> unclean_;  // of the stop
};

}  // namespace sluice::cli
