#include "services/cli/supervisor/up_process.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/cluster.h"
#include "services/cli/supervisor/fleet_flags.h"
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
  SLUICE_RETURN_IF_ERROR(out.Spawn());
  return out;
}

absl::Status UpProcess::Spawn() {
  SLUICE_ASSIGN_OR_RETURN(const std::string self, SiblingBinary("sluice"));
  // --forget: what this process decided is all that counts. The log is taken by the one that has the lock.
  std::vector<std::string> argv = {self, "up", "--state", state_, "--forget", "--log", log()};
  const std::vector<std::string> flags = ArgumentsOf(FlagsOf(shape_));
  argv.insert(argv.end(), flags.begin(), flags.end());
  SLUICE_ASSIGN_OR_RETURN(pid_, cli::Spawn({argv, first_words(), /*new_session=*/true, die_with_parent_}));
  return absl::OkStatus();
}

absl::Status UpProcess::AwaitServing(absl::Duration deadline) {
  const size_t wanted = ProcessesOf(shape_).size();
  const absl::Time end = absl::Now() + deadline;
  std::error_code ignored;
  while (absl::Now() < end) {
    if (const auto exit = PollChild(pid_)) {
      pid_ = 0;
      return absl::FailedPreconditionError(
          absl::StrCat("the fleet does not start (", exit->ToString(), "):\n", LastWords()));
    }
    const auto record = ReadSupervisorRecord(state_);
    const auto cluster = ReadCluster(state_);
    // What an earlier fleet left in the folder does not count.
    if (record.ok() && record->self == pid_ && cluster.ok() && cluster->size() == wanted) {
      std::filesystem::remove(first_words(), ignored);
      return absl::OkStatus();
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
  return absl::DeadlineExceededError(absl::StrCat("the fleet does not serve after ",
                                                  absl::FormatDuration(deadline), "; see ", state_, "/logs"));
}

// What it wrote before it had the lock, else the end of its log.
std::string UpProcess::LastWords() const {
  std::string out = TailOfFile(first_words(), kLogTailLines);
  std::error_code ignored;
  std::filesystem::remove(first_words(), ignored);
  return out.empty() ? TailOfFile(log(), kLogTailLines) : out;
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
