#include "core/spec/checkpoint/checkpoint_dir.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/model_check.h"
#include "core/spec/checkpoint/tensor_loader.h"

namespace sluice {
namespace {

struct FileLimit {
  const char* name;
  int64_t bytes;
};
constexpr FileLimit kModelFiles[] = {{"config.json", 1 << 20},
                                     {"generation_config.json", 1 << 20},
                                     {"tokenizer.json", 512 << 20},
                                     {"tokenizer_config.json", 64 << 20},
                                     {"special_tokens_map.json", 1 << 20},
                                     {"chat_template.jinja", 1 << 20}};

std::string FileOr(const ModelFiles& files, const char* name) {
  const auto it = files.find(name);
  return it == files.end() ? std::string() : it->second;
}

}  // namespace

absl::StatusOr<ModelFiles> ReadModelFiles(const std::string& directory) {
  if (!FileExists(directory))
    return absl::NotFoundError(absl::StrCat(directory, ": no such model directory"));
  ModelFiles files;
  for (const FileLimit& file : kModelFiles) {
    const std::string path = absl::StrCat(directory, "/", file.name);
    if (!FileExists(path)) continue;
    SLUICE_ASSIGN_OR_RETURN(files[file.name], ReadFile(path, file.bytes));
  }
  return files;
}

absl::StatusOr<ModelConfig> ConfigOf(const ModelFiles& files, const std::string& directory) {
  if (files.count("config.json") == 0) {
    return absl::NotFoundError(absl::StrCat(directory, ": config.json is missing: not a model directory"));
  }
  absl::StatusOr<ModelConfig> config =
      ParseModelConfig(files.at("config.json"), FileOr(files, "generation_config.json"));
  if (!config.ok()) return Annotate(config.status(), directory);
  return config;
}

absl::StatusOr<ModelDirectory> ReadModelDirectory(const std::string& directory) {
  ModelDirectory out;
  SLUICE_ASSIGN_OR_RETURN(out.files, ReadModelFiles(directory));
  SLUICE_ASSIGN_OR_RETURN(out.config, ConfigOf(out.files, directory));
  SLUICE_ASSIGN_OR_RETURN(TensorLoader loader, TensorLoader::Open(directory, out.config));
  SLUICE_ASSIGN_OR_RETURN(out.tensors, loader.Read());
  return out;
}

absl::Status CheckModelTensors(const std::string& directory, const ModelConfig& config) {
  return TensorLoader::Open(directory, config).status();
}

}  // namespace sluice
