// Bodies of POST /v1/completions and /v1/chat/completions as plain values. Pure.
//
// A field that is not known is ignored; one that would change the answer in a way that is not done here
// (tools, functions, suffix, echo, best_of above n, a response_format other than text) is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/types.h"
#include "core/spec/template/chat_template.h"

namespace sluice::openai {

enum class CallKind { kCompletion, kChat };

using TokenList = std::vector<int32_t>;
using CallPrompt = std::variant<std::string, TokenList, std::vector<ChatMessage>>;

struct CompletionCall {
  CallKind kind = CallKind::kCompletion;
  std::string model;                // empty: whatever is served
  std::vector<CallPrompt> prompts;  // at least one; a chat is one
  SamplingParams sampling;
  bool default_max_tokens = false;  // max_new_tokens is to be what the context leaves
  uint32_t n = 1;                   // completions of each prompt
  std::optional<uint64_t> seed;
  bool logprobs = false;
  bool stream = false, stream_usage = false;
};

constexpr size_t kMaxPrompts = 64;
constexpr uint32_t kMaxCompletions = 128;

// INVALID_ARGUMENT starts with the name of the field and a colon, unless the body is no JSON object.
absl::StatusOr<CompletionCall> ParseCall(CallKind kind, absl::string_view body);

}  // namespace sluice::openai
