// Answers of the OpenAI API as JSON. Pure.
//
// Log-probabilities are those of the model itself (temperature 1, no filters and penalties).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/rl/types.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "services/openai/completion_call.h"

namespace sluice::openai {

// What all parts of one answer have in common.
struct AnswerHead {
  CallKind kind = CallKind::kCompletion;
  std::string id, model;
  absl::Time created;
  bool logprobs = false;
  int32_t top_logprobs = 0;
  const Tokenizer* tokenizer = nullptr;  // for the texts of tokens; null: none
};

struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0;
};

// A completion with its place among the choices.
struct Choice {
  uint32_t index = 0;
  Trajectory trajectory;
};
// By rising index.
std::string AnswerJson(const AnswerHead& head, const std::vector<Choice>& choices, const Usage& usage);

// What is new of a choice in a stream.
struct ChoiceDelta {
  uint32_t index = 0;
  bool first = false;  // of the choice: a chat says the role
  std::string text;
  size_t first_token = 0;  // place in `trajectory` of the first that was not reported yet
  size_t text_offset = 0;  // bytes reported before
};
// Says the finish_reason when the trajectory has one.
std::string DeltaJson(const AnswerHead& head, const ChoiceDelta& delta, const Trajectory& trajectory);
// The part after the last choice when usage was asked for.
std::string UsageJson(const AnswerHead& head, const Usage& usage);

// {"error":{"message","type","param","code"}}; `param` is the field that the message starts with, if any.
std::string ErrorJson(const absl::Status& status);
// 400, 404, 429, 503, 504 or 500.
int HttpStatusOf(const absl::Status& status);

}  // namespace sluice::openai
