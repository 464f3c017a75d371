#include "services/openai/endpoint.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"
#include "core/rl/trajectory_parts.h"
#include "nlohmann/json.hpp"

namespace sluice::openai {
namespace {

using Json = nlohmann::ordered_json;

Json ModelJson(const std::string& id) {
  return {{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "sluice"}};
}

absl::Status CheckModel(const std::string& asked, const ServedModel& model) {
  if (asked.empty() || asked == model.job || asked == model.Name()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("the model \"", asked, "\" is not served; \"", model.Name(), "\" is"));
}

// The worker's refusals, in the words of the API.
absl::Status InApiTerms(const absl::Status& status) {
  std::string text(status.message());
  if (absl::IsInvalidArgument(status)) {
    absl::StrReplaceAll(
        {{"prompt_tokens", "prompt"}, {"sampling.max_new_tokens", "max_tokens"}, {"sampling.", ""}}, &text);
  }
  return absl::Status(status.code(), text);
}

absl::StatusOr<TokenList> TokensOf(const CallPrompt& prompt, const ServedModel& model) {
  if (const auto* tokens = std::get_if<TokenList>(&prompt)) return *tokens;
  if (model.tokenizer == nullptr) {
    return absl::InvalidArgumentError("prompt: the model has no tokenizer.json; give token ids");
  }
  if (const auto* text = std::get_if<std::string>(&prompt))
    return model.tokenizer->Encode(*text, /*add_special_tokens=*/true);
  if (model.chat == nullptr) return absl::InvalidArgumentError("messages: the model has no chat template");
  SLUICE_ASSIGN_OR_RETURN(const std::string text,
                          model.chat->Render(std::get<std::vector<ChatMessage>>(prompt),
                                             /*add_generation_prompt=*/true));
  return model.tokenizer->Encode(text, /*add_special_tokens=*/false);
}

// The default of max_tokens is made as small as the context needs.
absl::Status FitContext(const TokenList& tokens, const ServedModel& model, CompletionCall& call) {
  const char* field = call.kind == CallKind::kChat ? "messages" : "prompt";
  if (tokens.empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": has no tokens"));
  const int64_t left = model.context - static_cast<int64_t>(tokens.size());
  if (left < 1) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": has ", tokens.size(),
                                                   " tokens, the model's context of ", model.context,
                                                   " has no room left"));
  }
  int32_t& wanted = call.sampling.max_new_tokens;
  if (call.default_max_tokens) wanted = static_cast<int32_t>(std::min<int64_t>(wanted, left));
  if (wanted <= left) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("max_tokens: is ", wanted, ", the model's context of ",
                                                 model.context, " leaves ", left, " after the prompt"));
}

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// One call while it runs: takes trajectories from the worker and answers with them, at once or as a stream.
class Answer {
 public:
  Answer(AnswerHead head, const CompletionCall& call, HttpReply& reply)
      : head_(std::move(head)),
        call_(call),
        reply_(reply),
        choices_(call.prompts.size() * call.n),
        progress_(choices_.size()) {}

  void CountPrompt(size_t tokens) { usage_.prompt_tokens += static_cast<int64_t>(tokens); }

  // What there is of completion `trajectory.key.index` of prompt `prompt`; `stop` is raised when nobody
  // reads.
  void Take(size_t prompt, Trajectory trajectory, const CancelToken& stop) {
    absl::MutexLock lock(&mu_);
    const size_t place = prompt * call_.n + trajectory.key.index;
    if (!trajectory.spans.empty()) head_.model = absl::StrCat(job_, "@", trajectory.spans.back().version);
    if (trajectory.finish_reason != FinishReason::kUnspecified)
      usage_.completion_tokens += static_cast<int64_t>(trajectory.tokens.size());
    if (call_.stream) {
      if (!SendDelta(place, std::move(trajectory))) stop.Cancel();
    } else if (trajectory.finish_reason != FinishReason::kUnspecified) {
      choices_[place] = {static_cast<uint32_t>(place), std::move(trajectory)};
    }
  }

  // How the whole call ended. An error after the first part of a stream is its last part.
  void Finish(const absl::Status& status) {
    absl::MutexLock lock(&mu_);
    if (!status.ok()) {
      const std::string error = ErrorJson(InApiTerms(status));
      if (streamed_) {
        reply_.SendEvent(error);
      } else {
        reply_.Send(HttpStatusOf(status), error, HttpStatusOf(status) == 429 ? "Retry-After: 1\r\n" : "");
      }
      return;
    }
    if (!call_.stream) return reply_.Send(200, AnswerJson(head_, choices_, usage_));
    if (call_.stream_usage) reply_.SendEvent(UsageJson(head_, usage_));
    reply_.SendEvent("[DONE]");
  }

  void SetJob(JobId job) { job_ = std::move(job); }

 private:
  struct Progress {
    size_t bytes = 0, tokens = 0;
    bool begun = false;
    Trajectory held;  // parts that showed no text yet; none without tokens
  };

  // Of a part, what is new is all of it and what is held; of a whole, what was not shown.
  bool SendDelta(size_t place, Trajectory trajectory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Progress& before = progress_[place];
    const bool finished = trajectory.finish_reason != FinishReason::kUnspecified;
    const bool part = FirstToken(trajectory) > 0;
    if (part && !before.held.tokens.empty()) {
      Trajectory all = std::exchange(before.held, {});
      if (Append(std::move(trajectory), all).ok()) trajectory = std::move(all);
    }
    const size_t shown = part ? 0 : std::min(before.bytes, trajectory.text.size());  // of its text
    if (!finished && before.begun && trajectory.text.size() == shown) {
      if (part) before.held = std::move(trajectory);
      return true;
    }
    ChoiceDelta delta;
    delta.index = static_cast<uint32_t>(place);
    delta.first = !before.begun;
    delta.text = trajectory.text.substr(shown);
    delta.first_token = part ? 0 : before.tokens;
    delta.text_offset = before.bytes;
    before = {before.bytes + delta.text.size(), EndToken(trajectory), true, {}};
    streamed_ = true;
    return reply_.SendEvent(DeltaJson(head_, delta, trajectory));
  }

  absl::Mutex mu_;
  AnswerHead head_ ABSL_GUARDED_BY(mu_);
  const CompletionCall& call_;
  HttpReply& reply_ ABSL_GUARDED_BY(mu_);
  std::vector<Choice> choices_ ABSL_GUARDED_BY(mu_);
  std::vector<Progress> progress_ ABSL_GUARDED_BY(mu_);
  Usage usage_;
  bool streamed_ ABSL_GUARDED_BY(mu_) = false;
  JobId job_;
};

// Threads out of a number that all calls share.
class HelperThreads {
 public:
  // As many of `wanted` as there are.
  HelperThreads(std::atomic<int>& taken, int limit, size_t wanted) : taken_(taken) {
    while (count_ < wanted) {
      if (taken_.fetch_add(1) >= limit) {
        taken_.fetch_sub(1);
        return;
      }
      ++count_;
    }
  }
  ~HelperThreads() { taken_.fetch_sub(static_cast<int>(count_)); }
  size_t count() const { return count_; }

 private:
  std::atomic<int>& taken_;
  size_t count_ = 0;
};

// Runs the requests of a call, as many at once as there are threads; the first error ends the others.
absl::Status GenerateAll(RolloutWorker& worker, const std::vector<RolloutRequest>& requests,
                         const HelperThreads& helpers, const CancelToken& gone, Answer& answer) {
  const CancelToken stop;
  const std::stop_callback pass_on(gone.stop_token(), [&stop] { stop.Cancel(); });
  absl::Mutex mu;
  absl::Status first;
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next.fetch_add(1); i < requests.size() && !stop.cancelled(); i = next.fetch_add(1)) {
      const absl::Status status =
          worker.Generate(requests[i], stop, [&, i](Trajectory t) { answer.Take(i, std::move(t), stop); });
      if (status.ok()) continue;
      absl::MutexLock lock(&mu);
      if (first.ok()) first = status;
      stop.Cancel();
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 0; i < helpers.count(); ++i) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  if (first.ok() && stop.cancelled()) return absl::CancelledError("the client is gone");
  return first;
}

}  // namespace

std::string ServedModel::Name() const { return absl::StrCat(job, "@", version); }

absl::Status Endpoint::Get(const std::string& path, HttpReply& reply) const {
  SLUICE_ASSIGN_OR_RETURN(const ServedModel model, model_());
  if (path == "/health") {
    reply.Send(200, Json({{"status", "ok"}, {"model", model.Name()}}).dump());
    return absl::OkStatus();
  }
  if (path == "/v1/models") {
    reply.Send(200, Json({{"object", "list"},
                          {"data", Json::array({ModelJson(model.job), ModelJson(model.Name())})}})
                        .dump());
    return absl::OkStatus();
  }
  const std::string asked(absl::StripPrefix(path, "/v1/models/"));
  SLUICE_RETURN_IF_ERROR(CheckModel(asked, model));
  reply.Send(200, ModelJson(asked).dump());
  return absl::OkStatus();
}

absl::Status Endpoint::Complete(CallKind kind, const HttpRequest& http, const CancelToken& gone,
                                HttpReply& reply) {
  SLUICE_ASSIGN_OR_RETURN(CompletionCall call, ParseCall(kind, http.body));
  SLUICE_ASSIGN_OR_RETURN(const ServedModel model, model_());
  SLUICE_RETURN_IF_ERROR(CheckModel(call.model, model));
  AnswerHead head;
  head.kind = kind;
  head.created = absl::Now();
  head.id = absl::StrFormat("%s-%x%06x", kind == CallKind::kChat ? "chatcmpl" : "cmpl",
                            absl::ToUnixMicros(head.created), next_call_.fetch_add(1));
  head.model = model.Name();
  head.logprobs = call.logprobs;
  head.top_logprobs = call.sampling.top_logprobs;
  head.tokenizer = model.tokenizer.get();
  const uint64_t seed = call.seed.value_or(RandomSeed());
  std::vector<TokenList> prompts;
  for (const CallPrompt& prompt : call.prompts) {
    SLUICE_ASSIGN_OR_RETURN(prompts.emplace_back(), TokensOf(prompt, model));
    SLUICE_RETURN_IF_ERROR(FitContext(prompts.back(), model, call));
  }
  Answer answer(std::move(head), call, reply);
  answer.SetJob(model.job);
  std::vector<RolloutRequest> requests;
  for (TokenList& tokens : prompts) {
    answer.CountPrompt(tokens.size());
    RolloutRequest& request = requests.emplace_back();
    request.job = model.job;
    request.domain = RandomDomain::kEvaluation;
    request.seed = seed;
    request.draw = requests.size() - 1;
    for (uint32_t i = 0; i < call.n; ++i) request.indices.push_back(i);
    request.prompt_tokens = std::move(tokens);
    request.sampling = call.sampling;
    request.progress_every_tokens = call.stream ? 1 : 0;
    request.progress_in_parts = true;
    if (call.model == model.Name()) request.only_version = model.version;
    request.deadline = absl::Now() + options_.call_limit;
  }
  const HelperThreads helpers(helper_threads_, options_.max_helper_threads, requests.size() - 1);
  const absl::Status status = GenerateAll(worker_, requests, helpers, gone, answer);
  answer.Finish(status);
  return absl::OkStatus();
}

void Endpoint::Handle(const HttpRequest& request, const CancelToken& gone, HttpReply& reply) {
  const auto fail = [&reply](int status, absl::string_view message, absl::string_view headers = "") {
    const Json error = {{"message", std::string(message)},
                        {"type", "invalid_request_error"},
                        {"param", nullptr},
                        {"code", nullptr}};
    reply.Send(status, Json({{"error", error}}).dump(-1, ' ', false, Json::error_handler_t::replace),
               headers);
  };
  const bool chat = request.path == "/v1/chat/completions";
  const bool post = chat || request.path == "/v1/completions";
  const bool get = request.path == "/health" || request.path == "/v1/models" ||
                   absl::StartsWith(request.path, "/v1/models/");
  if (!get && !post) return fail(404, absl::StrCat("there is no ", request.path));
  if (request.method != (post ? "POST" : "GET")) {
    return fail(405, absl::StrCat(request.path, " takes ", post ? "POST" : "GET", ", not ", request.method),
                post ? "Allow: POST\r\n" : "Allow: GET\r\n");
  }
  // A page in a browser cannot send this type to another site without asking, so it cannot use the worker.
  if (post && !absl::StartsWithIgnoreCase(request.content_type, "application/json"))
    return fail(415, "Content-Type must be application/json");
  const absl::Status status =
      post ? Complete(chat ? CallKind::kChat : CallKind::kCompletion, request, gone, reply)
           : Get(request.path, reply);
  if (!status.ok()) reply.Send(HttpStatusOf(status), ErrorJson(InApiTerms(status)));
}

}  // namespace sluice::openai
