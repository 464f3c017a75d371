// sluice generate: completions of a file of prompts.
#include <algorithm>
#include <iostream>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/config/model_config.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/rows/generate_row.h"
#include "services/cli/rows/interruption.h"
#include "services/cli/rows/private_worker.h"
#include "services/cli/rows/row_output.h"
#include "services/cli/rows/rows_report.h"
#include "services/clients/remote_rollout_worker.h"

namespace sluice::cli {
namespace {

constexpr int kRowsAtOnce = 32;
constexpr absl::Duration kFullQueueDelay = absl::Milliseconds(50);

struct GenerateOptions {
  std::string model, endpoint, input, output, dtype = "bf16";
  int threads = 0;
  double timeout_seconds = 3600;
  bool resume = false;
};

struct Encoder {
  std::unique_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const ChatTemplate> chat;  // null: the model has none
  ModelLimits limits;
};

absl::StatusOr<Encoder> ReadEncoder(const std::string& model) {
  Encoder out;
  if (model.empty()) return out;
  SLUICE_ASSIGN_OR_RETURN(ModelFiles files, ReadModelFiles(model));
  const auto config = ParseModelConfig(files["config.json"]);  // what is wrong with it, the worker says
  if (config.ok()) out.limits = {config->max_positions, config->vocab};
  if (!files.contains("tokenizer.json")) return out;
  SLUICE_ASSIGN_OR_RETURN(out.tokenizer, ParseTokenizer(files["tokenizer.json"]));
  auto chat = ChatTemplate::FromModelFiles(files["tokenizer_config.json"], files["chat_template.jinja"]);
  if (chat.ok()) out.chat = *std::move(chat);
  return out;
}

RolloutRequest RequestOf(const GenerateRow& row, size_t index, std::vector<int32_t> tokens,
                         const JobId& job) {
  RolloutRequest request;
  request.job = job;
  request.domain = RandomDomain::kEvaluation;
  request.seed = row.seed.value_or(0);
  request.draw = row.seed.has_value() ? 0 : index;  // rows without a seed draw different numbers
  for (uint32_t i = 0; i < row.n; ++i) request.indices.push_back(i);
  request.prompt_tokens = std::move(tokens);
  request.sampling = row.sampling;
  return request;
}

// Asks again while the worker's queue is full.
absl::StatusOr<std::vector<Trajectory>> Sample(RolloutWorker& worker, RolloutRequest request) {
  std::vector<Trajectory> out;
  absl::Status status;
  do {
    out.clear();
    status = worker.Generate(request, CancelToken(), [&](Trajectory t) { out.push_back(std::move(t)); });
    if (absl::IsResourceExhausted(status)) absl::SleepFor(kFullQueueDelay);
  } while (absl::IsResourceExhausted(status) && absl::Now() < request.deadline);
  if (!status.ok()) return status;
  std::sort(out.begin(), out.end(), [](const Trajectory& a, const Trajectory& b) { return a.key < b.key; });
  return out;
}

absl::StatusOr<RowsOutcome> Generate(const GenerateOptions& o, const Interruption& interruption) {
  if (o.model.empty() && o.endpoint.empty())
    return absl::InvalidArgumentError("--model or --endpoint is needed");
  SLUICE_RETURN_IF_ERROR(CheckDistinct(o.input, o.output));
  SLUICE_RETURN_IF_ERROR(RowOutput::Check(o.output));
  SLUICE_ASSIGN_OR_RETURN(const Encoder encoder, ReadEncoder(o.model));
  std::optional<PrivateWorker> own;
  if (o.endpoint.empty()) {
    PrivateWorkerOptions options = {o.model, o.dtype, o.threads};
    options.cancel = interruption.token();
    SLUICE_ASSIGN_OR_RETURN(PrivateWorker started, PrivateWorker::Start(options));
    own.emplace(std::move(started));
  }
  SLUICE_ASSIGN_OR_RETURN(Peer peer, Connect(own ? own->address() : o.endpoint));
  RemoteRolloutWorker worker(std::move(peer));
  SLUICE_ASSIGN_OR_RETURN(const RolloutWorkerState state, worker.GetState());
  if (state.job.empty()) return absl::FailedPreconditionError("the worker serves no policy yet");
  RowsOptions rows;
  rows.threads = kRowsAtOnce;
  rows.cancel = interruption.token();
  rows.resume = o.resume;
  rows.lines_of_row = [](size_t index, const nlohmann::json& json) {
    const auto row = ParseGenerateRow(json, index);
    return row.ok() ? row->n : 1;
  };
  return ProcessFile(
      o.input, o.output, rows, [&](size_t index, const nlohmann::json& json) -> absl::StatusOr<RowResult> {
        SLUICE_ASSIGN_OR_RETURN(GenerateRow row, ParseGenerateRow(json, index));
        SLUICE_ASSIGN_OR_RETURN(std::vector<int32_t> tokens,
                                PromptTokens(row, {encoder.tokenizer.get(), encoder.chat.get(), o.model}));
        SLUICE_RETURN_IF_ERROR(FitToModel(tokens, encoder.limits, row));
        RolloutRequest request = RequestOf(row, index, std::move(tokens), state.job);
        request.deadline = absl::Now() + absl::Seconds(o.timeout_seconds);
        const auto completions = Sample(worker, std::move(request));
        if (!completions.ok()) return InRowTerms(completions.status(), own ? own->address() : "");
        RowResult result;
        for (const Trajectory& t : *completions) result.rows.push_back(CompletionRow(row, t));
        return result;
      });
}

int GenerateFile(const GenerateOptions& o) {
  const Interruption interruption;
  const auto outcome = Generate(o, interruption);
  return absl::IsCancelled(outcome.status()) && interruption.token().cancelled() ? kInterrupted
                                                                                 : ReportRows(outcome);
}

}  // namespace

void AddGenerateCommand(CommandLine& line) {
  line.Add<GenerateOptions>(
      "generate",
      "Samples completions of a file of prompts.\n"
      "Input: JSON Lines {\"id\", \"prompt\" | \"tokens\" | \"messages\", "
      "\"temperature\", \"top_k\",\n"
      "\"top_p\", \"min_p\", \"max_tokens\" (or \"max_new_tokens\"), \"min_tokens\" (or \"min_new_tokens\"), "
      "\"stop\", \"stop_token_ids\", \"ignore_eos\", "
      "\"seed\", \"n\",\n"
      "\"repetition_penalty\", \"presence_penalty\", \"frequency_penalty\", \"logit_bias\" {\"TOKEN\": "
      "NUMBER}, "
      "\"top_logprobs\"};\n"
      "temperature 0 is greedy. "
      "Output, in the same order:\n"
      "{\"id\", \"text\", \"tokens\", \"logprobs\", \"finish_reason\"}, with \"index\" when n is above 1 and "
      "\"alternatives\" with top_logprobs. "
      "Defaults: temperature 1, n 1,\n"
      "max_tokens 128, or what the model's context leaves after the prompt when that is less (where --model "
      "says how long it is).\n"
      "\"prompt\" is encoded with the tokenizer's special tokens, as tokenizer(text) of transformers does; "
      "\"messages\" go through\n"
      "the chat template, which writes its own; \"tokens\" are taken as they are. A row that is wrong gives "
      "{\"id\", "
      "\"error\", \"line\"} and\n"
      "exit code 1; the others go on. Ctrl-C lets the rows under way finish (a second one does not), and "
      "--resume goes on behind them.",
      [](CLI::App& command, GenerateOptions& o) {
        command.add_option("--model", o.model,
                           "Hugging Face directory: a worker of our own serves it; with --endpoint only its "
                           "tokenizer and the length of its context are used");
        command.add_option("--endpoint", o.endpoint,
                           "Address of a rollout worker that serves a policy, instead of our own");
        command.add_option("--input", o.input, "JSON Lines")->required();
        command.add_option("--output", o.output, "JSON Lines, written row by row as they are known")
            ->required();
        command.add_flag("--resume", o.resume,
                         "Go on behind the rows that an earlier run with the same input wrote");
        command.add_option("--dtype", o.dtype, "Numbers of our own worker")
            ->capture_default_str()
            ->check(CLI::IsMember({"fp32", "bf16"}));
        command.add_option("--threads", o.threads, "Threads of our own worker (default: the machine's)")
            ->check(CLI::Range(1, 1024));
        command.add_option("--timeout", o.timeout_seconds, "Seconds for one row")
            ->capture_default_str()
            ->check(CLI::PositiveNumber);
      },
      GenerateFile);
}

}  // namespace sluice::cli
