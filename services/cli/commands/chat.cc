// sluice chat: a conversation with a model in the terminal.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/checkpoint/model_check.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "services/cli/chat/chat_line.h"
#include "services/cli/chat/terminal_input.h"
#include "services/cli/command.h"
#include "services/cli/exit_code.h"
#include "services/cli/rows/private_worker.h"
#include "services/clients/remote_rollout_worker.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kAnswerLimit = absl::Hours(1);

struct ChatOptions {
  std::string model, dtype = "bf16", system;
  SamplingParams sampling{.temperature = 0.7f, .max_new_tokens = 512};
  int64_t seed = -1;  // -1: another one each time
  int threads = 0;
};

// The model's side of the conversation that is no engine: its words and its limits.
struct ChatModel {
  std::unique_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const ChatTemplate> chat;
  int64_t context = 0;
};

absl::StatusOr<ChatModel> ReadChatModel(const std::string& directory) {
  SLUICE_ASSIGN_OR_RETURN(ModelFiles files, ReadModelFiles(directory));
  SLUICE_ASSIGN_OR_RETURN(const ModelConfig config, ConfigOf(files, directory));
  if (!files.contains("tokenizer.json"))
    return absl::InvalidArgumentError(absl::StrCat(directory, " has no tokenizer.json, so it cannot chat"));
  ChatModel out;
  out.context = config.max_positions;
  SLUICE_ASSIGN_OR_RETURN(out.tokenizer, ParseTokenizer(files["tokenizer.json"]));
  auto chat = ChatTemplate::FromModelFiles(files["tokenizer_config.json"], files["chat_template.jinja"]);
  if (!chat.ok()) {
    return Annotate(chat.status(),
                    absl::StrCat(directory, ": no usable chat template (`sluice generate` completes text)"));
  }
  out.chat = *std::move(chat);
  return out;
}

class Conversation {
 public:
  Conversation(const ChatOptions& options, const ChatModel& model, RolloutWorker& worker, JobId job)
      : options_(options), model_(model), worker_(worker), job_(std::move(job)) {
    seed_ = options.seed >= 0 ? static_cast<uint64_t>(options.seed) : std::random_device()();
    Reset();
  }

  void Reset() {
    messages_.clear();
    if (!options_.system.empty()) Add("system", options_.system);
  }

  // Streams the answer to standard output. What was said stays in the conversation also when it was stopped;
  // a question without any answer is taken back.
  absl::Status Ask(const std::string& question, const CancelToken& stop) {
    Add("user", question);
    std::string said;
    bool cut = false;
    const absl::Status status = Answer(stop, said, cut);
    if (!said.empty()) std::cout << std::endl;
    if (cut) std::cerr << "[cut: the answer reached --max-new-tokens or the end of the context]" << std::endl;
    if (said.empty() && !status.ok()) {
      messages_.pop_back();
    } else {
      Add("assistant", said);
    }
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  }

 private:
  void Add(const std::string& role, const std::string& content) {
    ChatMessage& message = messages_.emplace_back();
    message.role = role;
    message.content = content;
  }

  absl::StatusOr<RolloutRequest> Request() {
    SLUICE_ASSIGN_OR_RETURN(const std::string text,
                            model_.chat->Render(messages_, /*add_generation_prompt=*/true));
    RolloutRequest request;
    SLUICE_ASSIGN_OR_RETURN(request.prompt_tokens,
                            model_.tokenizer->Encode(text, /*add_special_tokens=*/false));
    const int64_t left = model_.context - static_cast<int64_t>(request.prompt_tokens.size());
    if (left < 1) {
      return absl::InvalidArgumentError(absl::StrCat("the conversation has ", request.prompt_tokens.size(),
                                                     " tokens, the model's context is ", model_.context,
                                                     "; /reset starts a new one"));
    }
    request.job = job_;
    request.domain = RandomDomain::kEvaluation;
    request.seed = seed_;
    request.draw = turn_++;
    request.indices = {0};
    request.sampling = options_.sampling;
    request.sampling.max_new_tokens =
        static_cast<int32_t>(std::min<int64_t>(left, request.sampling.max_new_tokens));
    request.progress_every_tokens = 1;
    request.deadline = absl::Now() + kAnswerLimit;
    return request;
  }

  // `cut`: the limit of tokens ended it.
  absl::Status Answer(const CancelToken& stop, std::string& said, bool& cut) {
    SLUICE_ASSIGN_OR_RETURN(const RolloutRequest request, Request());
    return worker_.Generate(request, stop, [&](const Trajectory& t) {
      cut = t.finish_reason == FinishReason::kLength;
      if (t.text.size() <= said.size()) return;
      std::cout << t.text.substr(said.size()) << std::flush;
      said = t.text;
    });
  }

  const ChatOptions& options_;
  const ChatModel& model_;
  RolloutWorker& worker_;
  const JobId job_;
  uint64_t seed_ = 0;
  Draw turn_ = 0;
  std::vector<ChatMessage> messages_;
};

absl::Status Chat(const ChatOptions& o) {
  SLUICE_RETURN_IF_ERROR(Validate(o.sampling));
  SLUICE_ASSIGN_OR_RETURN(const ChatModel model, ReadChatModel(o.model));
  TerminalInput input(STDIN_FILENO);
  const bool terminal = isatty(STDIN_FILENO) != 0;
  if (terminal) std::cerr << "loading " << o.model << "..." << std::endl;
  SLUICE_ASSIGN_OR_RETURN(const PrivateWorker process, PrivateWorker::Start({o.model, o.dtype, o.threads}));
  SLUICE_ASSIGN_OR_RETURN(Peer peer, Connect(process.address()));
  RemoteRolloutWorker worker(std::move(peer));
  SLUICE_ASSIGN_OR_RETURN(const RolloutWorkerState state, worker.GetState());
  Conversation conversation(o, model, worker, state.job);
  if (terminal) std::cerr << kChatCommands << "\n";
  int failed = 0;
  while (true) {
    if (terminal) std::cerr << "> " << std::flush;
    const std::optional<std::string> line = input.ReadLine();
    const ChatLine kind = line ? ChatLineOf(*line) : ChatLine::kExit;
    if (kind == ChatLine::kExit) break;
    if (kind == ChatLine::kReset) conversation.Reset();
    if (kind == ChatLine::kUnknownCommand) std::cerr << "sluice: no such command: " << kChatCommands << "\n";
    if (kind != ChatLine::kQuestion) continue;
    absl::Status asked;
    input.RunInterruptible([&](const CancelToken& stop) { asked = conversation.Ask(*line, stop); });
    if (asked.ok()) continue;
    if (!terminal && !absl::IsInvalidArgument(asked)) return asked;
    std::cerr << "sluice: " << asked.message() << "\n";
    ++failed;
  }
  if (terminal) std::cerr << "\n";
  if (terminal || failed == 0) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(failed, " of the questions have no answer"));
}

}  // namespace

void AddChatCommand(CommandLine& line) {
  line.Add<ChatOptions>(
      "chat",
      "Talks with a model in the terminal, through its chat template.\n"
      "Answers appear as they are sampled. /reset starts a new conversation, /exit or Ctrl-D leaves; Ctrl-C "
      "stops "
      "an answer,\n"
      "and leaves when none is under way (or pressed twice). Without a terminal each line of standard input "
      "is a "
      "question.",
      [](CLI::App& command, ChatOptions& o) {
        command.add_option("model", o.model, "Hugging Face directory")->required();
        command.add_option("--system", o.system, "System message");
        command.add_option("--temperature", o.sampling.temperature, "0 is greedy")->capture_default_str();
        command
            .add_option("--top-p", o.sampling.top_p, "Keep the most probable tokens up to this probability")
            ->capture_default_str();
        command.add_option("--top-k", o.sampling.top_k, "Keep so many tokens; 0: all")->capture_default_str();
        command
            .add_option("--min-p", o.sampling.min_p, "Drop tokens below this share of the most probable one")
            ->capture_default_str();
        command
            .add_option("--repetition-penalty", o.sampling.repetition_penalty,
                        "Of tokens that were there; 1: none")
            ->capture_default_str();
        command.add_option("--max-new-tokens", o.sampling.max_new_tokens, "Longest answer, tokens")
            ->capture_default_str();
        command
            .add_option("--seed", o.seed, "The same seed and questions: the same answers (default: random)")
            ->check(CLI::NonNegativeNumber);
        command.add_option("--dtype", o.dtype, "What weights are rounded to")
            ->capture_default_str()
            ->check(CLI::IsMember({"bf16", "fp32"}));
        command.add_option("--threads", o.threads, "Threads that compute (default: the machine's)")
            ->check(CLI::Range(1, 1024));
      },
      [](const ChatOptions& o) { return Report(Chat(o)); });
}

}  // namespace sluice::cli
