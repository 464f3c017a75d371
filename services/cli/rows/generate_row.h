// Rows of `sluice generate`:
//   {"id", "prompt" | "tokens" | "messages", "temperature", "top_k", "top_p", "max_tokens", "stop",
//   "stop_token_ids",
//    "ignore_eos", "seed", "n"}  ->  {"id", "index" (when n > 1), "text", "tokens", "logprobs",
//    "finish_reason"}
// Defaults: temperature 1, max_tokens 128, n 1, the others off. Unknown fields are errors. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/types.h"
#include "core/spec/chat_template.h"
#include "core/spec/tokenizer.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {

struct GenerateRow {
  nlohmann::json id;
  std::optional<std::string> prompt;  // exactly one of these three
  std::optional<std::vector<int32_t>> tokens;
  std::optional<std::vector<ChatMessage>> messages;
  SamplingParams sampling;
  std::optional<uint64_t> seed;
  uint32_t n = 1;
};

// A row without "id" has its index, from 0.
absl::StatusOr<GenerateRow> ParseGenerateRow(const nlohmann::json& row, size_t index);

// Rows of `sluice score`: {"id", "tokens"}.
struct ScoreRow {
  nlohmann::json id;
  std::vector<int32_t> tokens;
};
absl::StatusOr<ScoreRow> ParseScoreRow(const nlohmann::json& row, size_t index);

// What turns text into tokens; both may be null when the model's directory is not known.
struct TextEncoder {
  const Tokenizer* tokenizer = nullptr;
  const ChatTemplate* chat = nullptr;
};
// "prompt" gets the special tokens that the tokenizer's post-processor adds (as transformers' tokenizer(text)
// does); a rendered chat gets none (the template writes them); "tokens" are taken as they are.
absl::StatusOr<std::vector<int32_t>> PromptTokens(const GenerateRow& row, const TextEncoder& encoder);

nlohmann::ordered_json CompletionRow(const GenerateRow& row, const Trajectory& trajectory);

}  // namespace sluice::cli
