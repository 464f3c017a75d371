// sluice score: log-probabilities of given tokens, on the rollout worker's or the learner's path.
#include <unistd.h>

#include <cerrno>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/rows/generate_row.h"
#include "services/cli/rows/interruption.h"
#include "services/cli/rows/private_worker.h"
#include "services/cli/rows/rows_report.h"
#include "services/cli/supervisor/process.h"
#include "services/rpc/peer.h"
#include "sluice/v1/rollout.grpc.pb.h"

namespace sluice::cli {
namespace {

constexpr int kScoresAtOnce = 8;
constexpr char kPrivateJob[] = "local";  // what a worker with --model serves

struct ScoreOptions {
  std::string model, endpoint, input, output, dtype = "bf16", path = "rollout";
  int threads = 0;
  double timeout_seconds = 3600;
  bool resume = false;
};

// Of the model's folder; what is wrong with that, the worker says.
ModelLimits LimitsOf(const std::string& model) {
  if (model.empty()) return {};
  auto files = ReadModelFiles(model);
  if (!files.ok()) return {};
  const auto config = ParseModelConfig((*files)["config.json"]);
  return config.ok() ? ModelLimits{config->max_positions, config->vocab} : ModelLimits{};
}

// The job whose policy the worker serves.
absl::StatusOr<std::string> ServedJob(const Peer& peer, v1::RolloutService::Stub& stub) {
  ClientCall call(peer, absl::Now() + absl::Seconds(30));
  v1::GetRolloutStateResponse response;
  SLUICE_RETURN_IF_ERROR(call.Result(stub.GetRolloutState(call.context(), {}, &response)));
  return response.job().empty() ? kPrivateJob : response.job();
}

absl::StatusOr<RowsOutcome> ScoreByRollout(const ScoreOptions& o, const Interruption& interruption) {
  std::optional<PrivateWorker> own;
  if (o.endpoint.empty()) {
    PrivateWorkerOptions options = {o.model, o.dtype, o.threads};
    options.cancel = interruption.token();
    SLUICE_ASSIGN_OR_RETURN(PrivateWorker started, PrivateWorker::Start(options));
    own.emplace(std::move(started));
  }
  SLUICE_ASSIGN_OR_RETURN(const Peer peer, Connect(own ? own->address() : o.endpoint));
  const auto stub = v1::RolloutService::NewStub(peer.channel);
  SLUICE_ASSIGN_OR_RETURN(const std::string job, ServedJob(peer, *stub));
  const ModelLimits limits = LimitsOf(o.model);
  RowsOptions rows;
  rows.threads = kScoresAtOnce;
  rows.cancel = interruption.token();
  rows.resume = o.resume;
  return ProcessFile(
      o.input, o.output, rows, [&](size_t index, const nlohmann::json& json) -> absl::StatusOr<RowResult> {
        SLUICE_ASSIGN_OR_RETURN(const ScoreRow row, ParseScoreRow(json, index));
        SLUICE_RETURN_IF_ERROR(CheckFits(row, limits));
        v1::ScoreTokensRequest request;
        request.set_job(job);
        request.mutable_tokens()->Add(row.tokens.begin(), row.tokens.end());
        ClientCall call(peer, absl::Now() + absl::Seconds(o.timeout_seconds));
        v1::ScoreTokensResponse response;
        const absl::Status scored = call.Result(stub->ScoreTokens(call.context(), request, &response));
        if (!scored.ok()) return InRowTerms(scored, own ? own->address() : "");
        if (response.logprobs_size() + 1 != static_cast<int>(row.tokens.size())) {
          return call.BadResponse("not one log-probability for each token after the first");
        }
        const std::vector<float> logprobs(response.logprobs().begin(), response.logprobs().end());
        return RowResult{{{{"id", row.id}, {"logprobs", logprobs}}}};
      });
}

// The learner's binary does it all; it takes this process's place.
int ScoreByLearner(const ScoreOptions& o) {
  const auto binary = SiblingBinary("sluice-learner");
  if (!binary.ok()) return Report(binary.status());
  std::vector<std::string> words = {*binary,   "--score-model", o.model,    "--dtype", o.dtype,
                                    "--input", o.input,         "--output", o.output};
  if (o.threads > 0) words.insert(words.end(), {"--threads", std::to_string(o.threads)});
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return Report(ErrnoStatus(errno, *binary));
}

int ScoreFile(const ScoreOptions& o) {
  if (const absl::Status distinct = CheckDistinct(o.input, o.output); !distinct.ok()) return Report(distinct);
  if (o.path == "learner") {
    if (o.resume) {
      return Report(absl::InvalidArgumentError(
          "--resume needs --path rollout: the learner's path writes its output whole at the end"));
    }
    if (!o.endpoint.empty() || o.model.empty())
      return Report(absl::InvalidArgumentError("--path learner needs --model and no --endpoint"));
    return ScoreByLearner(o);
  }
  if (o.model.empty() == o.endpoint.empty())
    return Report(absl::InvalidArgumentError("either --model or --endpoint is needed"));
  const Interruption interruption;
  const auto outcome = ScoreByRollout(o, interruption);
  return absl::IsCancelled(outcome.status()) && interruption.token().cancelled() ? kInterrupted
                                                                                 : ReportRows(outcome);
}

}  // namespace

void AddScoreCommand(CommandLine& line) {
  line.Add<ScoreOptions>(
      "score",
      "Computes log-probabilities of given tokens.\n"
      "Input: JSON Lines {\"id\", \"tokens\"}; output, in the same order: "
      "{\"id\", \"logprobs\"},\n"
      "log p(token t+1 | tokens 0..t) for each token after the first. --path chooses whose code computes "
      "them: the two must\n"
      "agree to the last bit on one machine. A row that is wrong gives {\"id\", \"error\", \"line\"} and "
      "exit "
      "code 1; the others go on. Ctrl-C lets the rows under way finish (a second one does not), and --resume "
      "goes "
      "on behind them.",
      [](CLI::App& command, ScoreOptions& o) {
        command.add_option("--model", o.model, "Hugging Face directory");
        command.add_option("--endpoint", o.endpoint,
                           "Address of a rollout worker that serves a policy (path rollout)");
        command.add_option("--input", o.input, "JSON Lines")->required();
        command
            .add_option("--output", o.output,
                        "JSON Lines, written as they are known (--path learner: whole at the end)")
            ->required();
        command.add_flag(
            "--resume", o.resume,
            "Go on behind the rows that an earlier run with the same input wrote (path rollout)");
        command.add_option("--dtype", o.dtype, "What the weights are rounded to")
            ->capture_default_str()
            ->check(CLI::IsMember({"fp32", "bf16"}));
        command.add_option("--path", o.path, "Whose code")
            ->capture_default_str()
            ->check(CLI::IsMember({"rollout", "learner"}));
        command.add_option("--threads", o.threads, "Threads (default: the machine's)")
            ->check(CLI::Range(1, 1024));
        command.add_option("--timeout", o.timeout_seconds, "Seconds for one row")
            ->capture_default_str()
            ->check(CLI::PositiveNumber);
      },
      ScoreFile);
}

}  // namespace sluice::cli
