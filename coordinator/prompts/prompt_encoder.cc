#include "coordinator/prompts/prompt_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/checkpoint/model_check.h"
#include "core/spec/config/model_config.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tokenizer/tokenizer.h"

namespace sluice {
namespace {

class ModelPromptEncoder final : public PromptEncoder {
 public:
  ModelPromptEncoder(ModelConfig config, std::unique_ptr<const Tokenizer> tokenizer,
                     std::unique_ptr<const ChatTemplate> chat)
      : config_(std::move(config)), tokenizer_(std::move(tokenizer)), chat_(std::move(chat)) {}

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override {
    return tokenizer_->Encode(text, /*add_special_tokens=*/false);
  }
  absl::StatusOr<std::string> RenderChat(const std::vector<PromptMessage>& messages) const override {
    if (chat_ == nullptr) return absl::FailedPreconditionError("the job's prompts are not chats");
    std::vector<ChatMessage> turns;
    for (const PromptMessage& message : messages) turns.push_back({message.role, message.content});
    return chat_->Render(turns, /*add_generation_prompt=*/true);
  }
  int64_t max_positions() const override { return config_.max_positions; }
  int32_t eos_token() const override {
    return config_.eos_token_ids.empty() ? -1 : config_.eos_token_ids.front();
  }
  int64_t expert_bytes_per_token() const override {
    const auto layers = std::count(config_.moe_layer.begin(), config_.moe_layer.end(), true);
    return static_cast<int64_t>(sizeof(uint16_t)) * layers * config_.moe.experts_per_token;
  }
  std::vector<std::string> Describe() const override {
    double parameters = 0, experts = 0;
    for (const TensorShape& tensor : TensorTable(config_)) {
      double size = 1;
      for (int64_t dim : tensor.shape) size *= static_cast<double>(dim);
      parameters += size;
      if (tensor.name.find(".experts.") != std::string::npos) experts += size;
    }
    const double active =
        config_.moe.experts > 0
            ? parameters - experts + experts * config_.moe.experts_per_token / config_.moe.experts
            : parameters;
    return {
        absl::StrCat("model: ", config_.model_type, ", ", config_.layers, " layers, ", parameters / 1e6,
                     "M parameters (", active / 1e6, "M active per token), context ", config_.max_positions),
        absl::StrCat("learner memory: about ", parameters * 16 / 1e6,
                     " MB for masters, gradient and moments, shared over its ranks; rollout memory: about ",
                     parameters * 2 / 1e6, " MB of bf16 weights per worker, and the cache"),
        // Masters and two moments, all float32.
        absl::StrCat(
            "learner disk: about ", parameters * 12 / 1e6,
            " MB for each checkpoint (checkpoint.keep of them and one more ", "while it is made) and ",
            parameters * 2 / 1e6,
            " MB of bf16 weights for each version that may still be needed: at most ten or so while it runs "
            "at a small staleness, those with a checkpoint once it is over")};
  }

 private:
  const ModelConfig config_;
  const std::unique_ptr<const Tokenizer> tokenizer_;
  const std::unique_ptr<const ChatTemplate> chat_;  // null: prompts are raw
};

absl::string_view FileIn(const ModelFiles& files, const std::string& name) {
  auto it = files.find(name);
  return it == files.end() ? absl::string_view() : absl::string_view(it->second);
}

absl::Status CheckToken(int32_t token, const ModelConfig& config, absl::string_view field) {
  if (token >= 0 && token < config.vocab) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": token ", token, " is not in the model's vocabulary of ", config.vocab));
}

}  // namespace

absl::Status CheckSampling(const SamplingParams& params, const ModelConfig& config) {
  for (int32_t token : params.stop_token_ids) {
    SLUICE_RETURN_IF_ERROR(CheckToken(token, config, "sampling.stop_token_ids"));
  }
  for (const auto& [token, bias] : params.logit_bias) {
    SLUICE_RETURN_IF_ERROR(CheckToken(token, config, "sampling.logit_bias"));
  }
  if (params.top_logprobs > config.vocab) {
    return absl::InvalidArgumentError(absl::StrCat("sampling.top_logprobs: is ", params.top_logprobs,
                                                   "; the model's vocabulary has ", config.vocab));
  }
  const bool has_experts =
      std::find(config.moe_layer.begin(), config.moe_layer.end(), true) != config.moe_layer.end();
  if (params.record_experts && !has_experts) {
    return absl::InvalidArgumentError(
        "sampling.record_experts: the model has no layers of experts; leave it out");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const PromptEncoder>> ReadPromptEncoder(const JobSpec& spec) {
  auto files = ReadModelFiles(spec.model.path);
  SLUICE_RETURN_IF_ERROR(Annotate(files.status(), "model.path"));
  for (const char* name : {"config.json", "tokenizer.json"}) {
    if (files->count(name) > 0) continue;
    return absl::NotFoundError(
        absl::StrCat("model.path: ", spec.model.path, ": ", name, " is missing: not a model directory"));
  }
  auto config = ParseModelConfig(FileIn(*files, "config.json"), FileIn(*files, "generation_config.json"));
  SLUICE_RETURN_IF_ERROR(Annotate(config.status(), absl::StrCat("model.path: ", spec.model.path)));
  SLUICE_RETURN_IF_ERROR(CheckSampling(spec.sampling.params, *config));
  auto tokenizer = ParseTokenizer(FileIn(*files, "tokenizer.json"));
  SLUICE_RETURN_IF_ERROR(
      Annotate(tokenizer.status(), absl::StrCat("model.path: ", spec.model.path, "/tokenizer.json")));
  if ((*tokenizer)->vocab_size() > config->vocab) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.path: ", spec.model.path, ": tokenizer.json has ", (*tokenizer)->vocab_size(),
                     " tokens, config.json says vocab_size ", config->vocab, ": do they belong together?"));
  }
  SLUICE_RETURN_IF_ERROR(Annotate(CheckModelTensors(spec.model.path, *config), "model.path"));
  std::unique_ptr<const ChatTemplate> chat;
  if (spec.prompts.prompt_template == PromptTemplate::kChat) {
    auto parsed = ChatTemplate::FromModelFiles(FileIn(*files, "tokenizer_config.json"),
                                               FileIn(*files, "chat_template.jinja"));
    SLUICE_RETURN_IF_ERROR(
        Annotate(parsed.status(), absl::StrCat(spec.model.path, ": prompts.template CHAT")));
    chat = *std::move(parsed);
  }
  return std::make_unique<ModelPromptEncoder>(*std::move(config), *std::move(tokenizer), std::move(chat));
}

}  // namespace sluice
