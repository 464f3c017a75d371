#include "rollout/policy_handle.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/base/status.h"

namespace sluice {
namespace {

absl::string_view FileOr(const ModelFiles& files, const std::string& name, absl::string_view otherwise) {
  const auto it = files.find(name);
  return it == files.end() ? otherwise : absl::string_view(it->second);
}

DType StoredDType(const TensorMap& tensors) {
  const auto it = tensors.find("model.embed_tokens.weight");
  return it != tensors.end() && it->second.dtype == DType::kBF16 ? DType::kBF16 : DType::kF32;
}

}  // namespace

absl::StatusOr<PolicyHandle> MakePolicy(const PolicyRef& ref, const ModelFiles& files, TensorMap tensors,
                                        const PolicyTarget& target, const LoadedPolicy* previous) {
  auto policy = std::make_shared<LoadedPolicy>();
  policy->job = ref.job;
  policy->version = ref.version;
  policy->manifest_hash = ref.manifest_hash;
  if (files.find("config.json") == files.end()) {
    return absl::InvalidArgumentError("the model has no config.json");
  }
  SLUICE_ASSIGN_OR_RETURN(policy->config, ParseModelConfig(FileOr(files, "config.json", ""),
                                                           FileOr(files, "generation_config.json", "")));
  if (const auto it = files.find("tokenizer.json"); it != files.end()) {
    policy->tokenizer_hash = Sha256Hex(it->second);
    if (previous != nullptr && previous->tokenizer_hash == policy->tokenizer_hash) {
      policy->tokenizer = previous->tokenizer;
    } else {
      SLUICE_ASSIGN_OR_RETURN(policy->tokenizer, ParseTokenizer(it->second));
    }
  }
  auto chat = ChatTemplate::FromModelFiles(FileOr(files, "tokenizer_config.json", ""),
                                           FileOr(files, "chat_template.jinja", ""));
  if (chat.ok()) policy->chat = *std::move(chat);  // else there is no chat, all else works
  const DType dtype = target.dtype.value_or(StoredDType(tensors));
  SLUICE_ASSIGN_OR_RETURN(policy->weights,
                          target.backend.PackWeights(policy->config, std::move(tensors), dtype));
  policy->cache = {policy->config.layers, target.backend.LayerBlockBytes(policy->config, dtype)};
  return PolicyHandle(std::move(policy));
}

}  // namespace sluice
