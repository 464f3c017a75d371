// Rows of `sluice generate`:
//   {"id", "prompt" | "tokens" | "messages", "temperature", "top_k", "top_p", "max_tokens", "stop",
//   "stop_token_ids",
//    "ignore_eos", "seed", "n", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
//    "logit_bias", "min_tokens", "top_logprobs"}
//   ->  {"id", "index" (when n > 1), "text", "tokens", "logprobs", "alternatives" (when asked for),
//    "finish_reason"}
// Defaults: temperature 1, max_tokens 128 or what the model's context leaves when that is less, n 1, the
// others off. "max_new_tokens" and "min_new_tokens", as in a job, are other names. Unknown fields are errors.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/types.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tokenizer/tokenizer.h"
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
  bool default_max_tokens = true;  // the row says nothing about it
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
  std::string directory = {};  // the model's; empty: none was named
};
// "prompt" gets the special tokens that the tokenizer's post-processor adds (as transformers' tokenizer(text)
// does); a rendered chat gets none (the template writes them); "tokens" are taken as they are.
absl::StatusOr<std::vector<int32_t>> PromptTokens(const GenerateRow& row, const TextEncoder& encoder);

// What config.json says a sequence may be; 0: not known.
struct ModelLimits {
  int64_t context = 0, vocab = 0;
};
// Makes the default of max_tokens as small as the context needs. INVALID_ARGUMENT, in the row's own terms,
// when the row does not fit the model.
absl::Status FitToModel(const std::vector<int32_t>& tokens, const ModelLimits& limits, GenerateRow& row);
absl::Status CheckFits(const ScoreRow& row, const ModelLimits& limits);

// A worker's refusal in the row's terms: "max_tokens" for sampling.max_new_tokens and so on. `hidden` is an
// address that means nothing to the user (that of a worker of our own); empty: none.
absl::Status InRowTerms(const absl::Status& status, absl::string_view hidden);

nlohmann::ordered_json CompletionRow(const GenerateRow& row, const Trajectory& trajectory);

}  // namespace sluice::cli
