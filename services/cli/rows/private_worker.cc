#include "services/cli/rows/private_worker.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "services/cli/cluster.h"
#include "services/cli/supervisor/process.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kStopDeadline = absl::Seconds(5);
constexpr int kLogTailLines = 6;

// The folders name the process that made them: "sluice-rollout-for-4711-XXXXXX".
std::string Prefix(const std::string& role) { return absl::StrCat("sluice-", role, "-for-"); }

// What is left of processes that are no more. Only what this user may remove goes.
void RemoveLeftFolders(const std::string& role) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    absl::string_view rest = name;
    int pid = 0;
    if (!absl::ConsumePrefix(&rest, Prefix(role)) ||
        !absl::SimpleAtoi(rest.substr(0, rest.find('-')), &pid) || pid <= 0) {
      continue;
    }
    if (kill(pid, 0) != 0 && errno == ESRCH) RemoveTree(at->path().string()).IgnoreError();
  }
}

absl::StatusOr<std::string> MakeTemporaryFolder(const std::string& role) {
  std::error_code error;
  std::string path =
      (std::filesystem::temp_directory_path(error) / absl::StrCat(Prefix(role), getpid(), "-XXXXXX"))
          .string();
  if (error || mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, "making a temporary folder");
  return path;
}

}  // namespace

absl::StatusOr<PrivateWorker> PrivateWorker::Start(const PrivateWorkerOptions& options) {
  const int threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  return Start("rollout",
               {"--model", options.model, "--dtype", options.dtype, "--threads", absl::StrCat(threads),
                "--http-port", absl::StrCat(options.http_port)},
               options.start_deadline, options.cancel);
}

absl::StatusOr<PrivateWorker> PrivateWorker::Start(const std::string& role,
                                                   const std::vector<std::string>& flags,
                                                   absl::Duration deadline, const CancelToken& cancel) {
  RemoveLeftFolders(role);
  SLUICE_ASSIGN_OR_RETURN(const std::string binary, SiblingBinary("sluice-" + role));
  PrivateWorker out;
  SLUICE_ASSIGN_OR_RETURN(out.folder_, MakeTemporaryFolder(role));
  SpawnOptions spawn;
  spawn.argv = {binary,
                "--listen",
                "127.0.0.1:0",
                "--metrics-listen",
                "127.0.0.1:0",
                "--address-file",
                out.folder_ + "/address.json",
                "--state",
                out.folder_,
                "--name",
                role + "-local"};
  spawn.argv.insert(spawn.argv.end(), flags.begin(), flags.end());
  spawn.log_file = out.folder_ + "/log";
  spawn.new_session = true;
  spawn.die_with_parent = true;
  SLUICE_ASSIGN_OR_RETURN(out.pid_, Spawn(spawn));
  SLUICE_RETURN_IF_ERROR(out.AwaitServing(role, deadline, cancel));
  return out;
}

absl::Status PrivateWorker::AwaitServing(const std::string& role, absl::Duration deadline,
                                         const CancelToken& cancel) {
  const absl::Time end = absl::Now() + deadline;
  while (absl::Now() < end) {
    const auto address = ReadAddressFile(folder_ + "/address.json");
    if (address.ok()) {
      address_ = address->grpc;
      http_address_ = address->http;
      return absl::OkStatus();
    }
    if (const auto exit = PollChild(pid_)) {
      pid_ = 0;
      return absl::InvalidArgumentError(absl::StrCat("the ", role, " worker does not start (",
                                                     exit->ToString(), "):\n",
                                                     TailOfFile(folder_ + "/log", kLogTailLines)));
    }
    if (cancel.cancelled()) return absl::CancelledError("interrupted while the model was loaded");
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::DeadlineExceededError(absl::StrCat("the ", role, " worker does not serve in time"));
}

PrivateWorker::PrivateWorker(PrivateWorker&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      folder_(std::exchange(other.folder_, "")),
      address_(std::move(other.address_)),
      http_address_(std::move(other.http_address_)) {}

PrivateWorker::~PrivateWorker() {
  if (pid_ != 0) StopChild(pid_, kStopDeadline);
  if (!folder_.empty()) RemoveTree(folder_).IgnoreError();
}

}  // namespace sluice::cli
