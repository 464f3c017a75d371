#include "services/cli/connection.h"

#include <sys/random.h>

#include <cerrno>
#include <iostream>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "google/protobuf/util/json_util.h"
#include "services/cli/cluster.h"
#include "services/cli/panel.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kWatchLength = absl::Hours(24);
constexpr absl::Duration kReconnectDelay = absl::Milliseconds(300);
constexpr absl::Duration kQuietReconnect =
    absl::Seconds(2);  // of a coordinator that starts again nobody need hear

absl::StatusOr<std::string> RandomRequestId() {
  char bytes[16];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) return ErrnoStatus(errno, "getrandom");
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace

void AddConnectionOptions(CLI::App& command, ConnectionOptions& options) {
  command.add_option("--coordinator", options.coordinator, "Address of the coordinator, host:port");
  command
      .add_option("--state", options.state,
                  "State directory of `sluice up`; its cluster.json names the coordinator")
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<JobClient>> ConnectToCoordinator(const ConnectionOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::string address, FindCoordinator(options.coordinator, options.state));
  SLUICE_ASSIGN_OR_RETURN(Peer peer,
                          Connect(address, ChannelUse::kLongSilentCalls));  // submit reads all prompts
  return std::make_unique<JobClient>(std::move(peer));
}

absl::StatusOr<std::string> SubmitJob(const ConnectionOptions& options, const v1::JobSpec& spec,
                                      absl::Duration patience, std::string request_id) {
  absl::Time deadline = absl::Now() + patience;
  if (request_id.empty()) {
    SLUICE_ASSIGN_OR_RETURN(request_id, RandomRequestId());
  }
  while (true) {
    const absl::Time asked = absl::Now();
    const auto client = ConnectToCoordinator(options);
    const absl::StatusOr<std::string> job =
        client.ok() ? (*client)->Submit(spec, request_id) : absl::StatusOr<std::string>(client.status());
    const absl::Time now = absl::Now();
    if (now - asked > patience) deadline = now + patience;  // it was there, and is away only since now
    if (!absl::IsUnavailable(job.status()) || now > deadline) return job;
    absl::SleepFor(kReconnectDelay);
  }
}

absl::StatusOr<v1::Job> FollowJob(const ConnectionOptions& options, const std::string& job,
                                  absl::Duration patience,
                                  const std::function<bool(const v1::WatchJobResponse&)>& on_state) {
  std::optional<v1::Job> last;
  absl::Time heard = absl::Now();
  bool stopped = false, told = false;
  while (true) {
    const auto client = ConnectToCoordinator(options);
    absl::Status status = client.status();
    if (client.ok()) {
      status = (*client)->Watch(job, absl::Now() + kWatchLength, [&](const v1::WatchJobResponse& state) {
        last = state.job();
        heard = absl::Now();
        told = false;
        stopped = !on_state(state);
        return !stopped;
      });
    }
    if (last.has_value() && (stopped || HasEnded(last->state()))) return *last;
    const bool away = status.ok() || absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                      absl::IsCancelled(status);
    if (!away) return status;
    if (!told && absl::Now() - heard > kQuietReconnect) {
      told = true;
      std::cerr << "sluice: " << status.message() << "; trying for " << absl::FormatDuration(patience)
                << "\n";
    }
    if (absl::Now() - heard > patience) {
      return status.ok() ? absl::UnavailableError("the coordinator ends the stream again and again") : status;
    }
    absl::SleepFor(kReconnectDelay);
  }
}

std::string ToJson(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  const auto status = google::protobuf::util::MessageToJsonString(message, &out, options);
  return status.ok() ? out : "{}";
}

}  // namespace sluice::cli
