#include "services/openai/completion_call.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"
#include "nlohmann/json.hpp"

namespace sluice::openai {
namespace {

using Json = nlohmann::json;

constexpr int32_t kDefaultMaxTokens = 16;  // of /v1/completions, as OpenAI has it
constexpr int kMaxNesting = 32;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

// The member, or null where it is absent or null.
const Json* Member(const Json& body, const char* name) {
  const auto it = body.find(name);
  return it == body.end() || it->is_null() ? nullptr : &*it;
}

absl::Status Read(const Json& body, const char* name, bool& out) {
  const Json* value = Member(body, name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_boolean()) return Wrong(name, "must be true or false");
  out = value->get<bool>();
  return absl::OkStatus();
}

absl::Status Read(const Json& body, const char* name, float& out) {
  const Json* value = Member(body, name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_number()) return Wrong(name, "must be a number");
  out = value->get<float>();
  return absl::OkStatus();
}

absl::Status ReadInteger(const Json& body, const char* name, int64_t low, int64_t high, int64_t& out) {
  const Json* value = Member(body, name);
  if (value == nullptr) return absl::OkStatus();
  const bool too_large = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
  if (!value->is_number_integer()) return Wrong(name, "must be an integer");
  if (too_large || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    return Wrong(name, absl::StrCat("must be between ", low, " and ", high));
  }
  out = value->get<int64_t>();
  return absl::OkStatus();
}

absl::Status Read(const Json& body, const char* name, int32_t& out) {
  int64_t value = out;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, name, std::numeric_limits<int32_t>::min(),
                                     std::numeric_limits<int32_t>::max(), value));
  out = static_cast<int32_t>(value);
  return absl::OkStatus();
}

bool IsToken(const Json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 &&
         value.get<int64_t>() <= std::numeric_limits<int32_t>::max();
}

absl::StatusOr<CallPrompt> PromptOf(const Json& value, absl::string_view field) {
  if (value.is_string()) return CallPrompt(value.get<std::string>());
  if (!value.is_array() || value.empty()) return Wrong(field, "must be a text or a list of token ids");
  TokenList tokens;
  for (const Json& token : value) {
    if (!IsToken(token)) return Wrong(field, absl::StrCat("has no token id at place ", tokens.size()));
    tokens.push_back(token.get<int32_t>());
  }
  return CallPrompt(std::move(tokens));
}

// A text, a list of texts, a list of token ids, or a list of those.
absl::Status ReadPrompts(const Json& body, CompletionCall& call) {
  const Json* prompt = Member(body, "prompt");
  if (prompt == nullptr) return Wrong("prompt", "is needed");
  const bool one = !prompt->is_array() || (!prompt->empty() && prompt->front().is_number());
  const Json list = one ? Json::array({*prompt}) : *prompt;
  if (list.empty() || list.size() > kMaxPrompts)
    return Wrong("prompt", absl::StrCat("must have 1 to ", kMaxPrompts, " prompts"));
  for (const Json& each : list) {
    SLUICE_ASSIGN_OR_RETURN(call.prompts.emplace_back(), PromptOf(each, "prompt"));
  }
  return absl::OkStatus();
}

// A text, or parts of which each is {"type": "text", "text": ...}.
absl::StatusOr<std::string> ContentOf(const Json& message, const std::string& field) {
  const Json* content = Member(message, "content");
  if (content == nullptr) return Wrong(field, "\"content\" is needed");
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return Wrong(field, "\"content\" must be a text");
  std::string out;
  for (const Json& part : *content) {
    if (!part.is_object() || part.value("type", Json()) != "text" || !part.contains("text") ||
        !part["text"].is_string()) {
      return Wrong(field, "\"content\" may only have parts of type \"text\"");
    }
    out += part["text"].get<std::string>();
  }
  return out;
}

absl::Status ReadMessages(const Json& body, CompletionCall& call) {
  const Json* list = Member(body, "messages");
  if (list == nullptr || !list->is_array() || list->empty())
    return Wrong("messages", "must be a list of at least one message");
  std::vector<ChatMessage> messages;
  for (const Json& message : *list) {
    const std::string field = absl::StrCat("messages[", messages.size(), "]");
    const Json* role = message.is_object() ? Member(message, "role") : nullptr;
    if (role == nullptr || !role->is_string()) return Wrong(field, "\"role\" is needed");
    if (Member(message, "tool_calls") != nullptr) return Wrong(field, "tool calls are not supported");
    SLUICE_ASSIGN_OR_RETURN(std::string content, ContentOf(message, field));
    ChatMessage& added = messages.emplace_back();
    added.role = role->get<std::string>();
    added.content = std::move(content);
  }
  call.prompts.emplace_back(std::move(messages));
  return absl::OkStatus();
}

absl::Status ReadStops(const Json& body, SamplingParams& sampling) {
  if (const Json* stop = Member(body, "stop")) {
    const Json list = stop->is_array() ? *stop : Json::array({*stop});
    for (const Json& text : list) {
      if (!text.is_string()) return Wrong("stop", "must be a text or a list of texts");
      sampling.stop.push_back(text.get<std::string>());
    }
  }
  if (const Json* tokens = Member(body, "stop_token_ids")) {
    if (!tokens->is_array()) return Wrong("stop_token_ids", "must be a list of token ids");
    for (const Json& token : *tokens) {
      if (!IsToken(token)) return Wrong("stop_token_ids", "must be a list of token ids");
      sampling.stop_token_ids.push_back(token.get<int32_t>());
    }
  }
  return absl::OkStatus();
}

absl::Status ReadLogitBias(const Json& body, SamplingParams& sampling) {
  const Json* bias = Member(body, "logit_bias");
  if (bias == nullptr) return absl::OkStatus();
  if (!bias->is_object()) return Wrong("logit_bias", "must be an object of numbers by token id");
  for (const auto& [name, value] : bias->items()) {
    int32_t token = -1;
    if (!absl::SimpleAtoi(name, &token) || token < 0 || !value.is_number())
      return Wrong("logit_bias", absl::StrCat("\"", name, "\" is not a token id with a number"));
    sampling.logit_bias[token] = value.get<float>();
  }
  return absl::OkStatus();
}

// /v1/completions: "logprobs" is a number of alternatives; chat: a flag, and "top_logprobs" the number.
absl::Status ReadLogprobs(const Json& body, CompletionCall& call) {
  if (call.kind == CallKind::kChat) {
    SLUICE_RETURN_IF_ERROR(Read(body, "logprobs", call.logprobs));
    SLUICE_RETURN_IF_ERROR(Read(body, "top_logprobs", call.sampling.top_logprobs));
    if (call.sampling.top_logprobs > 0 && !call.logprobs)
      return Wrong("top_logprobs", "needs \"logprobs\": true");
    return absl::OkStatus();
  }
  call.logprobs = Member(body, "logprobs") != nullptr;
  int64_t alternatives = 0;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, "logprobs", 0, kMaxTopLogprobs, alternatives));
  call.sampling.top_logprobs = static_cast<int32_t>(alternatives);
  return absl::OkStatus();
}

absl::Status ReadLength(const Json& body, CompletionCall& call) {
  const char* name =
      Member(body, "max_completion_tokens") != nullptr ? "max_completion_tokens" : "max_tokens";
  call.default_max_tokens = Member(body, name) == nullptr;
  call.sampling.max_new_tokens =
      call.kind == CallKind::kChat && call.default_max_tokens ? kMaxNewTokens : kDefaultMaxTokens;
  int64_t value = call.sampling.max_new_tokens;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, name, 1, kMaxNewTokens, value));
  call.sampling.max_new_tokens = static_cast<int32_t>(value);
  int64_t least = 0;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, "min_tokens", 0, value, least));
  call.sampling.min_new_tokens = static_cast<int32_t>(least);
  return absl::OkStatus();
}

absl::Status ReadSampling(const Json& body, CompletionCall& call) {
  SamplingParams& s = call.sampling;
  SLUICE_RETURN_IF_ERROR(Read(body, "temperature", s.temperature));
  SLUICE_RETURN_IF_ERROR(Read(body, "top_p", s.top_p));
  SLUICE_RETURN_IF_ERROR(Read(body, "top_k", s.top_k));
  if (s.top_k == -1) s.top_k = 0;  // how other servers write "off"
  SLUICE_RETURN_IF_ERROR(Read(body, "min_p", s.min_p));
  SLUICE_RETURN_IF_ERROR(Read(body, "presence_penalty", s.presence_penalty));
  SLUICE_RETURN_IF_ERROR(Read(body, "frequency_penalty", s.frequency_penalty));
  SLUICE_RETURN_IF_ERROR(Read(body, "repetition_penalty", s.repetition_penalty));
  SLUICE_RETURN_IF_ERROR(Read(body, "ignore_eos", s.ignore_eos));
  SLUICE_RETURN_IF_ERROR(ReadStops(body, s));
  SLUICE_RETURN_IF_ERROR(ReadLogitBias(body, s));
  return ReadLogprobs(body, call);
}

absl::Status ReadShape(const Json& body, CompletionCall& call) {
  if (const Json* model = Member(body, "model")) {
    if (!model->is_string()) return Wrong("model", "must be a text");
    call.model = model->get<std::string>();
  }
  int64_t n = 1, seed = 0;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, "n", 1, kMaxCompletions, n));
  call.n = static_cast<uint32_t>(n);
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, "seed", std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(), seed));
  if (Member(body, "seed") != nullptr) call.seed = static_cast<uint64_t>(seed);
  SLUICE_RETURN_IF_ERROR(Read(body, "stream", call.stream));
  if (const Json* options = Member(body, "stream_options")) {
    if (!options->is_object()) return Wrong("stream_options", "must be an object");
    SLUICE_RETURN_IF_ERROR(Read(*options, "include_usage", call.stream_usage));
  }
  return absl::OkStatus();
}

// What would change the answer and is not done here.
absl::Status RefuseUnsupported(const Json& body, const CompletionCall& call) {
  for (const char* name : {"tools", "tool_choice", "functions", "function_call", "suffix", "audio"}) {
    const Json* value = Member(body, name);
    if (value == nullptr || *value == "none" || value->empty()) continue;
    return Wrong(name, "is not supported");
  }
  bool echo = false;
  SLUICE_RETURN_IF_ERROR(Read(body, "echo", echo));
  if (echo) return Wrong("echo", "is not supported");
  int64_t best_of = call.n;
  SLUICE_RETURN_IF_ERROR(ReadInteger(body, "best_of", 1, kMaxCompletions, best_of));
  if (best_of != call.n) return Wrong("best_of", "is not supported beyond n");
  if (const Json* format = Member(body, "response_format")) {
    if (!format->is_object() || format->value("type", Json()) != "text")
      return Wrong("response_format", "only {\"type\": \"text\"} is supported");
  }
  return absl::OkStatus();
}

// Deep nesting is refused before it can exhaust the stack of whoever walks the value.
absl::StatusOr<Json> ParseObject(absl::string_view body) {
  bool too_deep = false;
  const Json::parser_callback_t watch_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMaxNesting;
    return !too_deep;
  };
  Json out = Json::parse(body.begin(), body.end(), watch_depth, /*allow_exceptions=*/false);
  if (too_deep) return absl::InvalidArgumentError("the body is nested too deeply");
  if (out.is_discarded()) return absl::InvalidArgumentError("the body is not JSON");
  if (!out.is_object()) return absl::InvalidArgumentError("the body is not a JSON object");
  return out;
}

}  // namespace

absl::StatusOr<CompletionCall> ParseCall(CallKind kind, absl::string_view body) {
  SLUICE_ASSIGN_OR_RETURN(const Json json, ParseObject(body));
  CompletionCall call;
  call.kind = kind;
  SLUICE_RETURN_IF_ERROR(kind == CallKind::kChat ? ReadMessages(json, call) : ReadPrompts(json, call));
  SLUICE_RETURN_IF_ERROR(ReadShape(json, call));
  SLUICE_RETURN_IF_ERROR(ReadLength(json, call));
  SLUICE_RETURN_IF_ERROR(ReadSampling(json, call));
  SLUICE_RETURN_IF_ERROR(RefuseUnsupported(json, call));
  SLUICE_RETURN_IF_ERROR(Validate(call.sampling));
  return call;
}

}  // namespace sluice::openai
