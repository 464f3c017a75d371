#include "services/cli/supervisor/up_process.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/cluster.h"
#include "services/cli/supervisor/process.h"
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kStopReserve = absl::Seconds(30);  // beyond what the fleet takes
constexpr int kLogTailLines = 12;

}  // namespace

UpProcess::UpProcess(std::string state, FleetShape shape, bool die_with_parent)
    : state_(std::move(state)), shape_(shape), die_with_parent_(die_with_parent) {}

UpProcess::UpProcess(UpProcess&& other) noexcept
    : state_(std::move(other.state_)),
      shape_(other.shape_),
      die_with_parent_(other.die_with_parent_),
      pid_(std::exchange(other.pid_, 0)) {}

UpProcess::~UpProcess() { Stop(); }

absl::StatusOr<UpProcess> UpProcess::Start(const std::string& state, const FleetShape& shape,
                                           bool die_with_parent) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(state + "/logs"));
  UpProcess out(state, shape, die_with_parent);
  std::error_code ignored;
  std::filesystem::rename(out.log(), out.log() + ".1", ignored);
  SLUICE_RETURN_IF_ERROR(out.Spawn());
  return out;
}

absl::Status UpProcess::Spawn() {
  SLUICE_ASSIGN_OR_RETURN(const std::string self, SiblingBinary("sluice"));
  std::vector<std::string> argv = {self,
                                   "up",
                                   "--state",
                                   state_,
                                   "--rollout",
                                   absl::StrCat(shape_.rollout_workers),
                                   "--reward",
                                   absl::StrCat(shape_.reward_workers),
                                   "--learner-ranks",
                                   absl::StrCat(shape_.learner_ranks),
                                   "--learner-gangs",
                                   absl::StrCat(shape_.learner_gangs),
                                   "--device",
                                   shape_.device,
                                   "--stop-seconds",
                                   absl::StrCat(shape_.stop_seconds),
                                   "--hang-seconds",
                                   absl::StrCat(shape_.hang_seconds)};
  if (shape_.http) argv.push_back("--http");
  for (const std::string& scorer : shape_.scorers) argv.insert(argv.end(), {"--scorer", scorer});
  if (shape_.allow_weaker_sandbox) argv.push_back("--allow-weaker-sandbox");
  if (shape_.keep_samples_bytes) {
    argv.insert(argv.end(), {"--keep-samples-bytes", absl::StrCat(*shape_.keep_samples_bytes)});
  }
  if (shape_.keep_free_bytes) {
    argv.insert(argv.end(), {"--keep-free-bytes", absl::StrCat(*shape_.keep_free_bytes)});
  }
  if (shape_.threads > 0) argv.insert(argv.end(), {"--threads", absl::StrCat(shape_.threads)});
  SLUICE_ASSIGN_OR_RETURN(pid_, cli::Spawn({argv, log(), /*new_session=*/true, die_with_parent_}));
  return absl::OkStatus();
}

absl::Status UpProcess::AwaitServing(absl::Duration deadline) {
  const size_t wanted = MembersOf(shape_).size();
  const absl::Time end = absl::Now() + deadline;
  while (absl::Now() < end) {
    if (const auto exit = PollChild(pid_)) {
      pid_ = 0;
      return absl::FailedPreconditionError(absl::StrCat("the fleet does not start (", exit->ToString(),
                                                        "):\n", TailOfFile(log(), kLogTailLines)));
    }
    const auto record = ReadSupervisorRecord(state_);
    const auto cluster = ReadCluster(state_);
    // What an earlier fleet left in the folder does not count.
    if (record.ok() && record->self == pid_ && cluster.ok() && cluster->size() == wanted)
      return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(50));
  }
  return absl::DeadlineExceededError(absl::StrCat("the fleet does not serve after ",
                                                  absl::FormatDuration(deadline), "; see ", state_, "/logs"));
}

absl::Status UpProcess::KeepAlive() {
  if (pid_ == 0 || !PollChild(pid_).has_value()) return absl::OkStatus();
  pid_ = 0;
  return Spawn();
}

void UpProcess::Stop() {
  if (pid_ != 0) StopChild(std::exchange(pid_, 0), absl::Seconds(shape_.stop_seconds) + kStopReserve);
}

}  // namespace sluice::cli
