#include "services/openai/completion_json.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "services/wire/utf8.h"

namespace sluice::openai {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json FinishReasonJson(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
    case FinishReason::kCancelled:
      return "length";
    case FinishReason::kUnspecified:
      break;
  }
  return nullptr;
}

std::string BytesOf(const AnswerHead& head, int32_t token) {
  return head.tokenizer == nullptr ? "" : head.tokenizer->TokenBytes(token);
}

// {"token","logprob","bytes"}, as chat has it.
Json TokenJson(const AnswerHead& head, int32_t token, float logprob) {
  const std::string bytes = BytesOf(head, token);
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return {{"token", ToValidUtf8(bytes)}, {"logprob", logprob}, {"bytes", std::move(list)}};
}

size_t AlternativesOf(const Trajectory& t) {
  return t.tokens.empty() ? 0 : t.alternatives.size() / t.tokens.size();
}

Json ChatLogprobs(const AnswerHead& head, const Trajectory& t, size_t begin) {
  Json content = Json::array();
  const size_t per_token = AlternativesOf(t);
  for (size_t i = begin; i < t.tokens.size(); ++i) {
    Json token = TokenJson(head, t.tokens[i], t.raw_logprobs[i]);
    Json top = Json::array();
    for (size_t k = i * per_token; k < (i + 1) * per_token; ++k)
      top.push_back(TokenJson(head, t.alternatives[k].token, t.alternatives[k].raw_logprob));
    token["top_logprobs"] = std::move(top);
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}};
}

// {"tokens","token_logprobs","top_logprobs","text_offset"}, as /v1/completions has it.
Json CompletionLogprobs(const AnswerHead& head, const Trajectory& t, size_t begin, size_t offset) {
  Json out = {{"tokens", Json::array()},
              {"token_logprobs", Json::array()},
              {"top_logprobs", Json::array()},
              {"text_offset", Json::array()}};
  const size_t per_token = AlternativesOf(t);
  for (size_t i = begin; i < t.tokens.size(); ++i) {
    const std::string bytes = BytesOf(head, t.tokens[i]);
    out["tokens"].push_back(ToValidUtf8(bytes));
    out["token_logprobs"].push_back(t.raw_logprobs[i]);
    Json top = Json::object();
    for (size_t k = i * per_token; k < (i + 1) * per_token; ++k)
      top[ToValidUtf8(BytesOf(head, t.alternatives[k].token))] = t.alternatives[k].raw_logprob;
    out["top_logprobs"].push_back(std::move(top));
    out["text_offset"].push_back(offset);
    offset += bytes.size();
  }
  return out;
}

Json LogprobsJson(const AnswerHead& head, const Trajectory& t, size_t begin, size_t offset) {
  if (!head.logprobs) return nullptr;
  return head.kind == CallKind::kChat ? ChatLogprobs(head, t, begin)
                                      : CompletionLogprobs(head, t, begin, offset);
}

Json HeadJson(const AnswerHead& head, absl::string_view object) {
  return {{"id", head.id},
          {"object", std::string(object)},
          {"created", absl::ToUnixSeconds(head.created)},
          {"model", head.model}};
}

Json UsageObject(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

const char* ChunkObject(const AnswerHead& head) {
  return head.kind == CallKind::kChat ? "chat.completion.chunk" : "text_completion";
}

const char* TypeOf(int status) {
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

// "top_p: must be ..." is about top_p.
Json ParamOf(absl::string_view message) {
  const size_t colon = message.find(": ");
  if (colon == absl::string_view::npos) return nullptr;
  const absl::string_view name = message.substr(0, colon);
  const bool field = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '[' || c == ']' || c == '.';
  });
  return field ? Json(std::string(name)) : Json(nullptr);
}

}  // namespace

std::string AnswerJson(const AnswerHead& head, const std::vector<Choice>& choices, const Usage& usage) {
  const bool chat = head.kind == CallKind::kChat;
  Json out = HeadJson(head, chat ? "chat.completion" : "text_completion");
  out["choices"] = Json::array();
  for (const Choice& choice : choices) {
    const Trajectory& t = choice.trajectory;
    Json json = {{"index", choice.index}};
    if (chat) {
      json["message"] = {{"role", "assistant"}, {"content", t.text}};
    } else {
      json["text"] = t.text;
    }
    json["logprobs"] = LogprobsJson(head, t, 0, 0);
    json["finish_reason"] = FinishReasonJson(t.finish_reason);
    out["choices"].push_back(std::move(json));
  }
  out["usage"] = UsageObject(usage);
  return Dump(out);
}

std::string DeltaJson(const AnswerHead& head, const ChoiceDelta& delta, const Trajectory& trajectory) {
  Json choice = {{"index", delta.index}};
  if (head.kind == CallKind::kChat) {
    choice["delta"] = Json::object();
    if (delta.first) choice["delta"]["role"] = "assistant";
    if (delta.first || !delta.text.empty()) choice["delta"]["content"] = delta.text;
  } else {
    choice["text"] = delta.text;
  }
  choice["logprobs"] = LogprobsJson(head, trajectory, delta.first_token, delta.text_offset);
  choice["finish_reason"] = FinishReasonJson(trajectory.finish_reason);
  Json out = HeadJson(head, ChunkObject(head));
  out["choices"] = Json::array({std::move(choice)});
  return Dump(out);
}

std::string UsageJson(const AnswerHead& head, const Usage& usage) {
  Json out = HeadJson(head, ChunkObject(head));
  out["choices"] = Json::array();
  out["usage"] = UsageObject(usage);
  return Dump(out);
}

std::string ErrorJson(const absl::Status& status) {
  const int http = HttpStatusOf(status);
  const Json error = {{"message", std::string(status.message())},
                      {"type", TypeOf(http)},
                      {"param", http == 400 ? ParamOf(status.message()) : Json(nullptr)},
                      {"code", http == 404 ? Json("model_not_found") : Json(nullptr)}};
  return Dump({{"error", error}});
}

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace sluice::openai
