#include "coordinator/prompts/prompt_source.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using nlohmann::json;

constexpr int64_t kMaxFileBytes = int64_t{4} << 30;
constexpr size_t kMaxRows = 50'000'000;

// Fields of which a row needs at least one.
using OneOf = std::vector<std::string>;

// What the rows must have for the reward to be judged.
std::vector<OneOf> FieldsOf(const RewardSpec& reward) {
  std::vector<OneOf> fields;
  for (const RewardComponentSpec& component : reward.components) {
    if (std::holds_alternative<MathScorerSpec>(component.scorer)) fields.push_back({"answer"});
    if (std::holds_alternative<ExpressionScorerSpec>(component.scorer)) {
      fields.push_back({"numbers", "nums"});
      fields.push_back({"target"});
    }
    if (const auto* code = std::get_if<CodeScorerSpec>(&component.scorer)) {
      fields.push_back({"tests", "test", "test_list", "input_output", "inputs"});
      if (code->comparison == CodeComparison::kChecker) fields.push_back({"checker"});
    }
  }
  return fields;
}

// Whether a program that is judged begins with the row's prompt as it is written, which the rendered chat is
// not.
bool ContinuesPrompt(const RewardSpec& reward) {
  return std::any_of(reward.components.begin(), reward.components.end(), [](const auto& component) {
    const auto* code = std::get_if<CodeScorerSpec>(&component.scorer);
    return code != nullptr && code->tests == CodeTests::kHumanEval;
  });
}

// One row of a file, for errors that say where.
struct Row {
  const std::string& file;
  size_t line;
  json object;
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
  }
};

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::Status CheckField(const Row& row, const OneOf& names) {
  for (const std::string& name : names) {
    if (!row.object.contains(name)) continue;
    const json& value = row.object[name];
    const bool blank = value.is_null() || (value.is_string() &&
                                           value.get_ref<const std::string&>().find_first_not_of(" \t\r\n") ==
                                               std::string::npos);
    return blank ? row.Error(absl::StrCat("the reward needs \"", name, "\", which is empty"))
                 : absl::OkStatus();
  }
  return row.Error(absl::StrCat("the reward needs the field \"", absl::StrJoin(names, "\" or \""), "\""));
}

// Calls on_row for each line that is not blank; hashes the bytes.
template <typename F>
absl::Status ForEachRow(const std::string& file, absl::string_view field, const CancelToken& cancel,
                        Sha256& hash, F on_row) {
  absl::StatusOr<std::string> text = ReadFile(file, kMaxFileBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", text.status().message()));
  }
  hash.Update(text->data(), text->size());
  size_t number = 0, rows = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (cancel.cancelled()) return absl::CancelledError(absl::StrCat(field, ": whoever asked went away"));
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    Row row{file, number, json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false)};
    if (row.object.is_discarded()) return row.Error("not valid JSON");
    if (!row.object.is_object()) return row.Error("a row must be a JSON object");
    if (++rows > kMaxRows) return row.Error(absl::StrCat("more than ", kMaxRows, " rows"));
    SLUICE_RETURN_IF_ERROR(on_row(row));
  }
  if (rows == 0) return absl::InvalidArgumentError(absl::StrCat(field, ": ", file, " has no rows"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ChatText(const Row& row, const PromptEncoder& encoder) {
  std::vector<PromptMessage> messages;
  if (row.object.contains("messages")) {
    const json& list = row.object["messages"];
    if (!list.is_array() || list.empty()) return row.Error("\"messages\" must be a list that is not empty");
    for (const json& message : list) {
      const bool good = message.is_object() && message.contains("role") && message["role"].is_string() &&
                        message.contains("content") && message["content"].is_string();
      if (!good) return row.Error("each of \"messages\" needs the texts \"role\" and \"content\"");
      messages.push_back({message["role"].get<std::string>(), message["content"].get<std::string>()});
    }
  } else {
    messages.push_back({"user", row.object["prompt"].get<std::string>()});
  }
  auto text = encoder.RenderChat(messages);
  if (!text.ok()) return row.Error(absl::StrCat("chat template: ", text.status().message()));
  return text;
}

// That completions leave a prompt any room.
absl::Status CheckRoom(const SamplingParams& sampling, absl::string_view field,
                       const PromptEncoder& encoder) {
  if (sampling.max_new_tokens < encoder.max_positions()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ".max_new_tokens: is ", sampling.max_new_tokens,
                                                 ", which leaves a prompt no room in the model's context of ",
                                                 encoder.max_positions()));
}

class PromptFileReader {
 public:
  PromptFileReader(const JobSpec& spec, const PromptEncoder& encoder, const CancelToken& cancel)
      : spec_(spec),
        encoder_(encoder),
        cancel_(cancel),
        required_(FieldsOf(spec.reward)),
        continues_prompt_(ContinuesPrompt(spec.reward)) {}

  // Adds the first `limit` rows to `out`; 0: all.
  absl::Status Read(const std::string& file, absl::string_view field, size_t limit,
                    const SamplingParams& sampling, Sha256& hash, std::vector<Prompt>& out) {
    std::set<std::string> uids;
    max_new_tokens_ = sampling.max_new_tokens;
    return ForEachRow(file, field, cancel_, hash, [&](const Row& row) -> absl::Status {
      SLUICE_ASSIGN_OR_RETURN(Prompt prompt, ReadRow(row));
      if (!uids.insert(prompt.uid).second)
        return row.Error(absl::StrCat("id \"", prompt.uid, "\" is used twice"));
      if (limit == 0 || uids.size() <= limit) out.push_back(std::move(prompt));
      return absl::OkStatus();
    });
  }

  absl::Status ReadEvaluation(const EvaluationSpec& evaluation, const std::string& field, Sha256& hash,
                              PromptSet& set) {
    const SamplingParams sampling = SamplingOf(spec_.sampling.params, evaluation);
    SLUICE_RETURN_IF_ERROR(CheckRoom(sampling, absl::StrCat(field, ".sampling"), encoder_));
    const size_t before = set.evaluation.size();
    SLUICE_RETURN_IF_ERROR(Read(evaluation.file, absl::StrCat(field, ".file"),
                                static_cast<size_t>(evaluation.max_prompts), sampling, hash, set.evaluation));
    set.evaluation_sizes.push_back(set.evaluation.size() - before);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int32_t>> Tokens(const Row& row, const std::string& text) const {
    auto tokens = encoder_.Encode(text);
    if (!tokens.ok()) return row.Error(absl::StrCat("tokenizer: ", tokens.status().message()));
    if (tokens->empty()) return row.Error("the prompt has no tokens");
    return tokens;
  }

  absl::StatusOr<Prompt> ReadRow(const Row& row) const {
    const bool chat = spec_.prompts.prompt_template == PromptTemplate::kChat;
    const bool has_text = row.object.contains("prompt") && row.object["prompt"].is_string();
    const bool has_messages = chat && row.object.contains("messages");
    if (!has_text && !has_messages) {
      return row.Error(chat ? "needs \"messages\", or \"prompt\" as a text" : "needs \"prompt\" as a text");
    }
    Prompt prompt;
    if (chat) {
      SLUICE_ASSIGN_OR_RETURN(prompt.text, ChatText(row, encoder_));
    } else {
      prompt.text = row.object["prompt"].get<std::string>();
    }
    SLUICE_ASSIGN_OR_RETURN(prompt.tokens, Tokens(row, prompt.text));
    const int64_t size = static_cast<int64_t>(prompt.tokens.size());
    if (size > spec_.prompts.max_tokens) {
      return row.Error(
          absl::StrCat("the prompt has ", size, " tokens, prompts.max_tokens is ", spec_.prompts.max_tokens));
    }
    const int64_t room = encoder_.max_positions() - max_new_tokens_;
    if (size > room) {
      return row.Error(absl::StrCat("the prompt has ", size, " tokens; the model's context of ",
                                    encoder_.max_positions(), " less sampling.max_new_tokens leaves ",
                                    std::max<int64_t>(room, 0)));
    }
    for (const auto& [name, value] : row.object.items()) {
      if (name == "id" || name == "prompt" || name == "messages") continue;
      prompt.fields[name] = TextOf(value);
    }
    if (chat && has_text && continues_prompt_)
      prompt.fields["prompt"] = row.object["prompt"].get<std::string>();
    for (const OneOf& names : required_) SLUICE_RETURN_IF_ERROR(CheckField(row, names));
    prompt.uid = row.object.contains("id") ? TextOf(row.object["id"]) : absl::StrCat("line-", row.line);
    return prompt;
  }

 private:
  const JobSpec& spec_;
  const PromptEncoder& encoder_;
  const CancelToken& cancel_;
  const std::vector<OneOf> required_;
  const bool continues_prompt_;
  int64_t max_new_tokens_ = 0;  // of the file that is read
};

absl::StatusOr<SupervisedExample> ReadExample(const Row& row, const JobSpec& spec,
                                              const PromptEncoder& encoder) {
  for (const char* name : {"prompt", "completion"}) {
    if (!row.object.contains(name) || !row.object[name].is_string()) {
      return row.Error(absl::StrCat("needs \"", name, "\" as a text"));
    }
  }
  std::string text = row.object["prompt"].get<std::string>();
  if (spec.prompts.prompt_template == PromptTemplate::kChat) {
    SLUICE_ASSIGN_OR_RETURN(text, ChatText(row, encoder));
  }
  auto tokens = encoder.Encode(text);
  auto completion = encoder.Encode(row.object["completion"].get<std::string>());
  if (!tokens.ok()) return row.Error(absl::StrCat("tokenizer: ", tokens.status().message()));
  if (!completion.ok()) return row.Error(absl::StrCat("tokenizer: ", completion.status().message()));
  if (tokens->empty()) return row.Error("the prompt has no tokens");
  if (encoder.eos_token() >= 0) completion->push_back(encoder.eos_token());
  if (completion->empty()) return row.Error("the completion has no tokens");
  SupervisedExample example;
  example.prompt_size = static_cast<int32_t>(tokens->size());
  example.tokens = *std::move(tokens);
  example.tokens.insert(example.tokens.end(), completion->begin(), completion->end());
  if (static_cast<int64_t>(example.tokens.size()) > encoder.max_positions()) {
    return row.Error(absl::StrCat("prompt and completion have ", example.tokens.size(),
                                  " tokens; the model's context is ", encoder.max_positions()));
  }
  return example;
}

}  // namespace

absl::StatusOr<PromptSet> LoadPrompts(const JobSpec& spec, const PromptEncoder& encoder,
                                      const CancelToken& cancel) {
  SLUICE_RETURN_IF_ERROR(CheckRoom(spec.sampling.params, "sampling", encoder));
  PromptSet set;
  Sha256 hash;
  PromptFileReader reader(spec, encoder, cancel);
  SLUICE_RETURN_IF_ERROR(
      reader.Read(spec.prompts.file, "prompts.file", 0, spec.sampling.params, hash, set.training));
  if (!spec.evaluation.file.empty()) {
    SLUICE_RETURN_IF_ERROR(reader.ReadEvaluation(spec.evaluation, "evaluation", hash, set));
    if (static_cast<size_t>(spec.evaluation.canary.prompts) > set.evaluation.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("evaluation.canary.prompts: is ", spec.evaluation.canary.prompts, ", ",
                       spec.evaluation.file, " has ", set.evaluation.size(), " prompts: ask for no more"));
    }
  }
  for (size_t i = 0; i < spec.more_evaluations.size(); ++i) {
    const std::string field = absl::StrCat("more_evaluations[", i, "]");
    SLUICE_RETURN_IF_ERROR(reader.ReadEvaluation(spec.more_evaluations[i], field, hash, set));
  }
  if (!spec.warm_start.file.empty()) {
    SLUICE_RETURN_IF_ERROR(ForEachRow(
        spec.warm_start.file, "warm_start.file", cancel, hash, [&](const Row& row) -> absl::Status {
          SLUICE_ASSIGN_OR_RETURN(SupervisedExample example, ReadExample(row, spec, encoder));
          set.warm_start.push_back(std::move(example));
          return absl::OkStatus();
        }));
  }
  set.files_hash = hash.FinishHex();
  return set;
}

absl::StatusOr<PromptSet> LoadPrompts(const JobSpec& spec, const PromptEncoderFactory& factory) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<const PromptEncoder> encoder, factory(spec));
  return LoadPrompts(spec, *encoder);
}

absl::Status CheckWarmStartBatch(const JobSpec& spec, const PromptSet& prompts) {
  constexpr int64_t kMaxBatchBytes = int64_t{60} << 20, kTokenBytes = 5, kRowBytes = 16;  // on the wire
  int64_t longest = 0;
  for (const SupervisedExample& row : prompts.warm_start)
    longest = std::max(longest, static_cast<int64_t>(row.tokens.size()));
  const int64_t bytes = spec.warm_start.batch_size * (longest * kTokenBytes + kRowBytes);
  if (longest == 0 || bytes <= kMaxBatchBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "warm_start.batch_size: ", spec.warm_start.batch_size, " rows of up to ", longest, " tokens may have ",
      bytes, " bytes, at most ", kMaxBatchBytes, " are sent to the learner at once; lower it"));
}

absl::Status CheckGroupSize(const JobSpec& spec, const PromptSet& prompts, int64_t expert_bytes_per_token) {
  constexpr int64_t kMaxGroupBytes = int64_t{1} << 30;    // a record of the store
  constexpr int64_t kMaxExpertBytes = int64_t{32} << 20;  // types.proto
  // Token and two log-probabilities, text, alternatives with a log-probability each.
  const SamplingParams& params = spec.sampling.params;
  const int64_t token_bytes = 12 + 6 + 8 * int64_t{params.top_logprobs};
  const int64_t new_tokens = params.max_new_tokens;
  int64_t longest = 0;
  for (const Prompt& prompt : prompts.training)
    longest = std::max(longest, static_cast<int64_t>(prompt.tokens.size()));
  const int64_t experts = params.record_experts ? (longest + new_tokens) * expert_bytes_per_token : 0;
  if (experts > kMaxExpertBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.record_experts: of a prompt of ", longest, " tokens and a completion of ",
                     new_tokens, " they are ", experts, " bytes, at most ", kMaxExpertBytes,
                     " are carried; lower sampling.max_new_tokens or leave them out"));
  }
  const int64_t group = spec.sampling.group_size * (new_tokens * token_bytes + experts);
  if (group > kMaxGroupBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.group_size: a group of ", spec.sampling.group_size, " completions of ",
                     new_tokens, " tokens may have ", group, " bytes, at most ", kMaxGroupBytes,
                     " are kept; lower it or sampling.max_new_tokens, or leave sampling.record_experts or "
                     "top_logprobs out"));
  }
  std::vector<const EvaluationSpec*> evaluations = {&spec.evaluation};
  for (const EvaluationSpec& more : spec.more_evaluations) evaluations.push_back(&more);
  for (size_t i = 0; i < evaluations.size(); ++i) {
    const int64_t tokens = SamplingOf(params, *evaluations[i]).max_new_tokens;
    const int64_t bytes = evaluations[i]->samples_per_prompt * tokens * token_bytes;
    if (bytes <= kMaxGroupBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        i == 0 ? "evaluation" : absl::StrCat("more_evaluations[", i - 1, "]"),
        ".samples_per_prompt: ", evaluations[i]->samples_per_prompt, " completions of ", tokens,
        " tokens may have ", bytes, " bytes, at most ", kMaxGroupBytes, " are kept; lower one of them"));
  }
  return absl::OkStatus();
}

size_t ShuffledOrder::At(uint64_t ordinal) {
  constexpr size_t kPassesKept = 4;
  ordinal += first_;
  const uint64_t pass = ordinal / rows_;
  std::vector<uint32_t>& order = passes_[pass];
  if (order.empty()) {
    order.resize(rows_);
    std::iota(order.begin(), order.end(), 0u);
    // Fisher-Yates; the modulo's bias is below 2^-38 for any number of rows allowed.
    for (size_t i = rows_; i > 1; --i) {
      std::swap(order[i - 1], order[BitsAt(seed_, domain_, pass * rows_ + (i - 1)) % i]);
    }
  }
  const size_t row = order[ordinal % rows_];
  while (passes_.size() > kPassesKept)
    passes_.erase(passes_.begin()->first == pass ? std::prev(passes_.end()) : passes_.begin());
  return row;
}

}  // namespace sluice
