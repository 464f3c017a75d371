#include "services/cli/rows/generate_row.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kMaxCompletions = 4096;
constexpr int32_t kMaxTokens = 1 << 20;
constexpr int64_t kDefaultMaxTokens = 128;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", field, "\" ", what));
}

absl::Status CheckFields(const Json& row, const std::set<std::string>& known) {
  for (const auto& [name, value] : row.items()) {
    if (known.count(name) == 0) return Wrong(name, "is not a field of such a row");
  }
  return absl::OkStatus();
}

absl::Status ReadNumber(const Json& row, const char* name, double low, double high, double& out) {
  const auto it = row.find(name);
  if (it == row.end() || it->is_null()) return absl::OkStatus();
  if (!it->is_number()) return Wrong(name, "must be a number");
  out = it->get<double>();
  return out >= low && out <= high ? absl::OkStatus()
                                   : Wrong(name, absl::StrCat("must be between ", low, " and ", high));
}

absl::Status ReadInteger(const Json& row, const char* name, int64_t low, int64_t high, int64_t& out) {
  const auto it = row.find(name);
  if (it == row.end() || it->is_null()) return absl::OkStatus();
  if (!it->is_number_integer()) return Wrong(name, "must be an integer");
  if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(high)) {
    return Wrong(name, absl::StrCat("must be between ", low, " and ", high));
  }
  out = it->get<int64_t>();
  return out >= low && out <= high ? absl::OkStatus()
                                   : Wrong(name, absl::StrCat("must be between ", low, " and ", high));
}

// An integer that has two names, of which a row may use one.
absl::Status ReadInteger(const Json& row, const char* name, const char* other_name, int64_t low, int64_t high,
                         int64_t& out) {
  if (row.contains(name) && row.contains(other_name))
    return Wrong(other_name, absl::StrCat("is another name of \"", name, "\": give one of them"));
  return ReadInteger(row, row.contains(other_name) ? other_name : name, low, high, out);
}

absl::StatusOr<std::vector<int32_t>> TokensOf(const Json& value, const char* name) {
  if (!value.is_array() || value.empty()) return Wrong(name, "must be a list of at least one token id");
  std::vector<int32_t> out;
  for (const Json& v : value) {
    if (!v.is_number_integer() || v.get<int64_t>() < 0 || v.get<int64_t>() > INT32_MAX) {
      return Wrong(name, absl::StrCat("has no token id at place ", out.size()));
    }
    out.push_back(static_cast<int32_t>(v.get<int64_t>()));
  }
  return out;
}

absl::StatusOr<std::vector<ChatMessage>> MessagesOf(const Json& value) {
  if (!value.is_array() || value.empty()) return Wrong("messages", "must be a list of at least one message");
  std::vector<ChatMessage> out;
  for (const Json& m : value) {
    if (!m.is_object() || !m.contains("role") || !m["role"].is_string() || !m.contains("content") ||
        !m["content"].is_string()) {
      return Wrong("messages", absl::StrCat("has no \"role\" and \"content\" of text at place ", out.size()));
    }
    out.push_back({m["role"].get<std::string>(), m["content"].get<std::string>()});
  }
  return out;
}

absl::Status ReadStops(const Json& row, SamplingParams& sampling) {
  if (const auto it = row.find("stop"); it != row.end() && !it->is_null()) {
    const Json list = it->is_array() ? *it : Json::array({*it});
    for (const Json& s : list) {
      if (!s.is_string()) return Wrong("stop", "must be a text or a list of texts");
      sampling.stop.push_back(s.get<std::string>());
    }
  }
  if (const auto it = row.find("stop_token_ids"); it != row.end() && !it->is_null() && *it != Json::array()) {
    SLUICE_ASSIGN_OR_RETURN(sampling.stop_token_ids, TokensOf(*it, "stop_token_ids"));
  }
  if (const auto it = row.find("ignore_eos"); it != row.end() && !it->is_null()) {
    if (!it->is_boolean()) return Wrong("ignore_eos", "must be true or false");
    sampling.ignore_eos = it->get<bool>();
  }
  return absl::OkStatus();
}

// What is off by default: penalties, min_p, logit_bias, min_tokens, top_logprobs.
absl::Status ReadPenalties(const Json& row, SamplingParams& sampling) {
  double min_p = 0, repetition = 1, presence = 0, frequency = 0;
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "min_p", 0, 1, min_p));
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "repetition_penalty", 1e-6, 100, repetition));
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "presence_penalty", -100, 100, presence));
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "frequency_penalty", -100, 100, frequency));
  sampling.min_p = static_cast<float>(min_p);
  sampling.repetition_penalty = static_cast<float>(repetition);
  sampling.presence_penalty = static_cast<float>(presence);
  sampling.frequency_penalty = static_cast<float>(frequency);
  int64_t min_tokens = 0, top_logprobs = 0;
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "min_tokens", "min_new_tokens", 0, kMaxTokens, min_tokens));
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "top_logprobs", 0, kMaxTopLogprobs, top_logprobs));
  sampling.min_new_tokens = static_cast<int32_t>(min_tokens);
  sampling.top_logprobs = static_cast<int32_t>(top_logprobs);
  const auto bias = row.find("logit_bias");
  if (bias == row.end() || bias->is_null()) return absl::OkStatus();
  if (!bias->is_object()) return Wrong("logit_bias", "must be an object of numbers by token id");
  for (const auto& [name, value] : bias->items()) {
    int32_t token = -1;
    if (!absl::SimpleAtoi(name, &token) || !value.is_number())
      return Wrong("logit_bias", "must be an object of numbers by token id");
    sampling.logit_bias[token] = value.get<float>();
  }
  return absl::OkStatus();
}

absl::Status ReadSampling(const Json& row, SamplingParams& sampling) {
  double temperature = 1, top_p = 1;
  int64_t top_k = 0, max_tokens = kDefaultMaxTokens;
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "temperature", 0, 100, temperature));
  SLUICE_RETURN_IF_ERROR(ReadNumber(row, "top_p", 1e-6, 1, top_p));
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "top_k", 0, 1 << 24, top_k));
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "max_tokens", "max_new_tokens", 1, kMaxTokens, max_tokens));
  sampling.temperature = static_cast<float>(temperature);
  sampling.top_p = static_cast<float>(top_p);
  sampling.top_k = static_cast<int32_t>(top_k);
  sampling.max_new_tokens = static_cast<int32_t>(max_tokens);
  SLUICE_RETURN_IF_ERROR(ReadPenalties(row, sampling));
  SLUICE_RETURN_IF_ERROR(ReadStops(row, sampling));
  const absl::Status valid = Validate(sampling);  // "field: what"
  return valid.ok() ? valid
                    : absl::InvalidArgumentError(absl::StrReplaceAll(valid.message(), {{"_new_", "_"}}));
}

// A JSON that keeps the member's value, or the index.
Json IdOf(const Json& row, size_t index) { return row.contains("id") ? row["id"] : Json(index); }

absl::Status CheckVocabulary(const std::vector<int32_t>& tokens, int64_t vocab) {
  const auto outside = std::find_if(tokens.begin(), tokens.end(), [&](int32_t t) { return t >= vocab; });
  if (vocab == 0 || outside == tokens.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("token ", *outside, " is not in the vocabulary of ", vocab));
}

// For each token its alternatives: [[token, logprob], ...].
nlohmann::ordered_json AlternativesJson(const Trajectory& t) {
  auto out = nlohmann::ordered_json::array();
  const size_t per_token = t.tokens.empty() ? 0 : t.alternatives.size() / t.tokens.size();
  for (size_t i = 0; i < t.tokens.size(); ++i) {
    auto list = nlohmann::ordered_json::array();
    for (size_t k = i * per_token; k < (i + 1) * per_token; ++k)
      list.push_back({t.alternatives[k].token, t.alternatives[k].raw_logprob});
    out.push_back(std::move(list));
  }
  return out;
}

const char* NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kUnspecified:
      break;
  }
  return "";
}

}  // namespace

absl::StatusOr<GenerateRow> ParseGenerateRow(const Json& row, size_t index) {
  SLUICE_RETURN_IF_ERROR(CheckFields(row, {"id",
                                           "prompt",
                                           "tokens",
                                           "messages",
                                           "temperature",
                                           "top_k",
                                           "top_p",
                                           "max_tokens",
                                           "stop",
                                           "stop_token_ids",
                                           "ignore_eos",
                                           "seed",
                                           "n",
                                           "min_p",
                                           "repetition_penalty",
                                           "presence_penalty",
                                           "frequency_penalty",
                                           "logit_bias",
                                           "min_tokens",
                                           "max_new_tokens",
                                           "min_new_tokens",
                                           "top_logprobs"}));
  if (row.contains("prompt") + row.contains("tokens") + row.contains("messages") != 1) {
    return absl::InvalidArgumentError("exactly one of \"prompt\", \"tokens\" and \"messages\" is needed");
  }
  GenerateRow out;
  out.id = IdOf(row, index);
  if (row.contains("prompt")) {
    if (!row["prompt"].is_string()) return Wrong("prompt", "must be text");
    out.prompt = row["prompt"].get<std::string>();
  }
  if (row.contains("tokens")) {
    SLUICE_ASSIGN_OR_RETURN(out.tokens, TokensOf(row["tokens"], "tokens"));
  }
  if (row.contains("messages")) {
    SLUICE_ASSIGN_OR_RETURN(out.messages, MessagesOf(row["messages"]));
  }
  SLUICE_RETURN_IF_ERROR(ReadSampling(row, out.sampling));
  out.default_max_tokens =
      row.value("max_tokens", Json()).is_null() && row.value("max_new_tokens", Json()).is_null();
  int64_t n = 1, seed = -1;
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "n", 1, kMaxCompletions, n));
  SLUICE_RETURN_IF_ERROR(ReadInteger(row, "seed", 0, INT64_MAX, seed));
  out.n = static_cast<uint32_t>(n);
  if (seed >= 0) out.seed = static_cast<uint64_t>(seed);
  return out;
}

absl::StatusOr<ScoreRow> ParseScoreRow(const Json& row, size_t index) {
  if (!row.contains("tokens")) return absl::InvalidArgumentError("\"tokens\" is missing");
  ScoreRow out;
  out.id = IdOf(row, index);
  SLUICE_ASSIGN_OR_RETURN(out.tokens, TokensOf(row["tokens"], "tokens"));
  return out;
}

absl::StatusOr<std::vector<int32_t>> PromptTokens(const GenerateRow& row, const TextEncoder& encoder) {
  if (row.tokens) return *row.tokens;
  if (encoder.tokenizer == nullptr && !encoder.directory.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("text needs a tokenizer: tokenizer.json is missing in ",
                                                   encoder.directory, "; give \"tokens\""));
  }
  if (encoder.tokenizer == nullptr) {
    return absl::InvalidArgumentError(
        "text needs a tokenizer: name the model's folder with --model, or give \"tokens\"");
  }
  std::vector<int32_t> out;
  if (row.prompt) {
    SLUICE_ASSIGN_OR_RETURN(out, encoder.tokenizer->Encode(*row.prompt, /*add_special_tokens=*/true));
  } else {
    if (encoder.chat == nullptr)
      return absl::InvalidArgumentError("the model has no chat template for \"messages\"");
    SLUICE_ASSIGN_OR_RETURN(const std::string text,
                            encoder.chat->Render(*row.messages, /*add_generation_prompt=*/true));
    SLUICE_ASSIGN_OR_RETURN(out, encoder.tokenizer->Encode(text, /*add_special_tokens=*/false));
  }
  if (out.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  return out;
}

absl::Status FitToModel(const std::vector<int32_t>& tokens, const ModelLimits& limits, GenerateRow& row) {
  const char* field = row.tokens ? "tokens" : row.messages ? "messages" : "prompt";
  SLUICE_RETURN_IF_ERROR(CheckVocabulary(tokens, limits.vocab));
  if (limits.context == 0) return absl::OkStatus();
  const int64_t left = limits.context - static_cast<int64_t>(tokens.size());
  if (left < 1) {
    return Wrong(field,
                 absl::StrCat("has ", tokens.size(), " tokens and leaves no room in the model's context of ",
                              limits.context));
  }
  int32_t& max_tokens = row.sampling.max_new_tokens;
  if (row.default_max_tokens) max_tokens = static_cast<int32_t>(std::min<int64_t>(max_tokens, left));
  if (max_tokens <= left) return absl::OkStatus();
  return Wrong("max_tokens",
               absl::StrCat("is ", max_tokens, "; the model's context of ", limits.context, " leaves ", left,
                            " after the ", tokens.size(), " tokens of \"", field, "\""));
}

// In the words of the learner's path.
absl::Status CheckFits(const ScoreRow& row, const ModelLimits& limits) {
  if (limits.context > 0 && static_cast<int64_t>(row.tokens.size()) > limits.context) {
    return absl::InvalidArgumentError(
        absl::StrCat(row.tokens.size(), " tokens exceed the model's ", limits.context, " positions"));
  }
  return CheckVocabulary(row.tokens, limits.vocab);
}

absl::Status InRowTerms(const absl::Status& status, absl::string_view hidden) {
  std::string text(status.message());
  if (!hidden.empty() && absl::StartsWith(text, absl::StrCat(hidden, ": "))) text.erase(0, hidden.size() + 2);
  if (absl::IsInvalidArgument(status)) {
    absl::StrReplaceAll(
        {{"prompt_tokens", "prompt"}, {"sampling.max_new_tokens", "max_tokens"}, {"sampling.", ""}}, &text);
  }
  return absl::Status(status.code(), text);
}

nlohmann::ordered_json CompletionRow(const GenerateRow& row, const Trajectory& trajectory) {
  nlohmann::ordered_json out = {{"id", row.id}};
  if (row.n > 1) out["index"] = trajectory.key.index;
  out["text"] = trajectory.text;
  out["tokens"] = trajectory.tokens;
  out["logprobs"] = trajectory.raw_logprobs;
  if (row.sampling.top_logprobs > 0) out["alternatives"] = AlternativesJson(trajectory);
  out["finish_reason"] = NameOf(trajectory.finish_reason);
  return out;
}

}  // namespace sluice::cli
