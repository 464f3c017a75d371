// sluice jobs, show, ledger, samples: what the coordinator knows; delete: what it is to forget.
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "services/cli/command.h"
#include "services/cli/connection.h"
#include "services/cli/exit_code.h"
#include "services/cli/job_table.h"
#include "services/cli/panel.h"
#include "services/cli/sample_text.h"

namespace sluice::cli {
namespace {

struct ShowOptions {
  ConnectionOptions connection;
  std::string job;
  bool json = false;
};

struct SamplesOptions {
  ConnectionOptions connection;
  std::string job;
  bool jsonl = false, evaluation = false;
  int limit = 20;
  int64_t step = 0;
};

int Jobs(const ShowOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  v1::ListJobsResponse all;
  const absl::Status listed = (*client)->List([&](const std::vector<v1::Job>& page) {
    for (const v1::Job& job : page) {
      v1::Job& shown = *all.add_jobs();
      shown = job;
      if (o.json) continue;
      shown.clear_events();  // the table does not show what there is much of
      shown.clear_evaluations();
      shown.clear_rollbacks();
    }
    return true;
  });
  if (!listed.ok()) return Report(listed);
  std::cout << (o.json ? ToJson(all, /*pretty=*/true) : RenderJobs({all.jobs().begin(), all.jobs().end()}));
  return kDone;
}

struct DeleteOptions {
  ConnectionOptions connection;
  std::vector<std::string> jobs;
};

// The others go all the same when one cannot.
int Delete(const DeleteOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  int code = kDone;
  for (const std::string& job : o.jobs) {
    const absl::Status deleted = (*client)->Delete(job);
    if (deleted.ok()) {
      std::cout << "deleted " << job << "\n";
    } else {
      code = Report(deleted);
    }
  }
  return code;
}

absl::StatusOr<v1::Job> GetJob(const ShowOptions& o) {
  SLUICE_ASSIGN_OR_RETURN(const auto client, ConnectToCoordinator(o.connection));
  return client->Get(o.job);
}

int Show(const ShowOptions& o) {
  const auto job = GetJob(o);
  if (!job.ok()) return Report(job.status());
  if (o.json) {
    std::cout << ToJson(*job, /*pretty=*/true);
    return kDone;
  }
  v1::WatchJobResponse state;
  *state.mutable_job() = *job;
  std::string spec;
  google::protobuf::TextFormat::PrintToString(job->spec(), &spec);
  std::cout << RenderPanel(state, {}, 100) << "\n" << RenderEvents(*job) << "\n" << spec;
  return kDone;
}

int ShowLedger(const ShowOptions& o) {
  const auto job = GetJob(o);
  if (!job.ok()) return Report(job.status());
  const nlohmann::ordered_json columns = LedgerJson(job->ledger());
  if (o.json) {
    std::cout << columns.dump() << "\n";
    return kDone;
  }
  for (const auto& [name, count] : columns.items()) {
    std::cout << absl::StrFormat("%-18s%12d\n", name, count.get<int64_t>());
  }
  return kDone;
}

int Samples(const SamplesOptions& o) {
  const auto client = ConnectToCoordinator(o.connection);
  if (!client.ok()) return Report(client.status());
  v1::ListSamplesRequest request;
  request.set_job(o.job);
  request.set_limit(o.limit);
  request.set_step(o.step);
  request.set_evaluation(o.evaluation);
  SampleLengths lengths;
  const absl::Status listed = (*client)->ListSamples(request, [&](const v1::ListSamplesResponse& sample) {
    lengths.Add(sample);
    std::cout << (o.jsonl
                      ? SampleJson(sample).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                            "\n"
                      : SampleText(sample));
    return true;
  });
  if (!o.jsonl) std::cout << lengths.Text();
  return Report(listed);
}

void AddJobOptions(CLI::App& command, ShowOptions& o) {
  command.add_option("JOB", o.job, "The job's name")->required();
  command.add_flag("--json", o.json, "Print JSON");
  AddConnectionOptions(command, o.connection);
}

}  // namespace

void AddShowCommands(CommandLine& line) {
  line.Add<ShowOptions>(
      "jobs", "Lists all jobs, newest first.",
      [](CLI::App& command, ShowOptions& o) {
        command.add_flag("--json", o.json, "Print JSON");
        AddConnectionOptions(command, o.connection);
      },
      Jobs);
  line.Add<ShowOptions>("show",
                        "Prints where a job stands, and its resolved spec. --json prints the Job message.",
                        AddJobOptions, Show);
  line.Add<DeleteOptions>(
      "delete",
      "Forgets jobs that have ended: their account, samples and events, and what their learner keeps of "
      "them (checkpoints, versions).",
      [](CLI::App& command, DeleteOptions& o) {
        command.add_option("JOB", o.jobs, "The jobs' names")->required();
        AddConnectionOptions(command, o.connection);
      },
      Delete);
  line.Add<ShowOptions>("ledger",
                        "Prints the account of a job's samples: issued is the sum of all other columns.",
                        AddJobOptions, ShowLedger);
  line.Add<SamplesOptions>(
      "samples", "Prints completions of a job with their verdicts, newest first.",
      [](CLI::App& command, SamplesOptions& o) {
        command.add_option("JOB", o.job, "The job's name")->required();
        command.add_flag("--jsonl", o.jsonl, "One JSON object a line");
        command.add_option("--limit", o.limit, "At most this many")
            ->capture_default_str()
            ->check(CLI::Range(1, 1000000));
        command.add_option("--step", o.step, "Only samples trained on by this step")
            ->check(CLI::NonNegativeNumber);
        command.add_flag("--evaluation", o.evaluation, "Samples of evaluations instead of training");
        AddConnectionOptions(command, o.connection);
      },
      Samples);
}

}  // namespace sluice::cli
