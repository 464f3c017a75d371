// sluice attempts, sluice quarantine: what was tried and what was given up on.
#include <iostream>
#include <optional>

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/record_table.h"

namespace sluice::cli {
namespace {

struct AttemptsOptions {
  ConnectionOptions connection;
  std::string job;
  std::optional<uint64_t> draw;
  int limit = 1000;
  bool json = false;
};

struct QuarantineOptions {
  ConnectionOptions connection;
  std::string job;
  std::vector<int64_t> release;
  int limit = 1000;
  bool release_all = false, json = false;
};

int Attempts(const AttemptsOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  v1::ListAttemptsRequest request;
  request.set_job(o.job);
  if (o.draw) request.set_draw(*o.draw);
  request.set_limit(o.limit);
  const auto attempts = (*client)->ListAttempts(request);
  if (!attempts.ok()) return Report(attempts.status());
  std::cout << (o.json ? ToJson(*attempts, /*pretty=*/true) : RenderAttempts(*attempts));
  return kDone;
}

int Release(const QuarantineOptions& o, JobClient& client) {
  v1::ReleaseQuarantineRequest request;
  request.set_job(o.job);
  request.mutable_prompt_row()->Add(o.release.begin(), o.release.end());
  request.set_all(o.release_all);
  const auto prompts = client.ReleaseQuarantine(request);
  if (!prompts.ok()) return Report(prompts.status());
  std::cout << nlohmann::ordered_json{{"released_prompts", *prompts}}.dump() << "\n";
  return kDone;
}

int Quarantine(const QuarantineOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  if (o.release_all || !o.release.empty()) return Release(o, **client);
  v1::ListQuarantineRequest request;
  request.set_job(o.job);
  request.set_limit(o.limit);
  const auto samples = (*client)->ListQuarantine(request);
  if (!samples.ok()) return Report(samples.status());
  std::cout << (o.json ? ToJson(*samples, /*pretty=*/true) : RenderQuarantine(*samples));
  return kDone;
}

template <typename Options>
void AddListOptions(CLI::App& command, Options& o) {
  command.add_option("JOB", o.job, "The job's name")->required();
  command.add_option("--limit", o.limit, "At most this many, the newest first")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command.add_flag("--json", o.json, "Print JSON");
  AddConnectionOptions(command, o.connection);
}

}  // namespace

void AddRecordCommands(CommandLine& line) {
  line.Add<AttemptsOptions>(
      "attempts",
      "Lists who tried to produce samples of a job, when, and what came of it, the newest first.\n"
      "Outcomes: done, lost (the worker or the coordinator ended, or the time was up), failed, cancelled, "
      "hedge_lost "
      "(another attempt was first).",
      [](CLI::App& command, AttemptsOptions& o) {
        AddListOptions(command, o);
        command.add_option("--draw", o.draw, "Only attempts at this draw");
      },
      Attempts);
  line.Add<QuarantineOptions>(
      "quarantine",
      "Lists samples that were given up on after timeout.max_attempts tries, and why.\n"
      "Their prompts are not handed out again, unless the job is deterministic; --release ROW hands one out "
      "again.",
      [](CLI::App& command, QuarantineOptions& o) {
        AddListOptions(command, o);
        auto* release = command
                            .add_option("--release", o.release,
                                        "Hand out the prompt of this row again; may be repeated. Prints "
                                        "{\"released_prompts\": N}")
                            ->check(CLI::NonNegativeNumber);
        command.add_flag("--release-all", o.release_all, "Hand out all prompts again")->excludes(release);
      },
      Quarantine);
}

}  // namespace sluice::cli
