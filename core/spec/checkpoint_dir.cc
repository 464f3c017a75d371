#include "core/spec/checkpoint_dir.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/json.h"
#include "core/spec/model_check.h"
#include "core/spec/safetensors_file.h"

namespace sluice {
namespace {

constexpr int64_t kMaxIndexBytes = 256 << 20;
constexpr size_t kMaxShards = 4096;

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

const char* const kSingleFile = "model.safetensors";
const char* const kIndexFile = "model.safetensors.index.json";

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Files of tensors by name; with an index, which tensors it places in each.
using Shards = std::map<std::string, std::optional<std::set<std::string>>>;

absl::Status CheckShardName(const std::string& file) {
  const bool plain = absl::EndsWith(file, ".safetensors") && file.size() <= 255 && file[0] != '.' &&
                     file.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", file.substr(0, 100), "\" is not a plain name of a .safetensors file"));
}

absl::StatusOr<Shards> ReadIndex(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, path));
  JsonFields fields(json, path);
  const nlohmann::json* map = fields.Find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty())
    fields.Fail("weight_map", "is not an object with tensors");
  SLUICE_RETURN_IF_ERROR(fields.status());
  Shards shards;
  for (const auto& [tensor, file] : map->items()) {
    const std::string where = absl::StrCat(path, ": weight_map: tensor ", tensor.substr(0, 200));
    if (!file.is_string()) return absl::InvalidArgumentError(absl::StrCat(where, ": its file is no string"));
    SLUICE_RETURN_IF_ERROR(Annotate(CheckShardName(file.get<std::string>()), where));
    std::optional<std::set<std::string>>& names = shards[file.get<std::string>()];
    if (!names.has_value()) names.emplace();
    names->insert(tensor);
  }
  if (shards.size() > kMaxShards) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": more than ", kMaxShards, " files"));
  }
  return shards;
}

absl::StatusOr<Shards> FindShards(const std::string& directory) {
  if (FileExists(absl::StrCat(directory, "/", kSingleFile))) return Shards{{kSingleFile, std::nullopt}};
  const std::string index = absl::StrCat(directory, "/", kIndexFile);
  if (FileExists(index)) return ReadIndex(index);
  return absl::NotFoundError(
      absl::StrCat(directory, ": neither ", kSingleFile, " nor ", kIndexFile,
                   "; other formats (pytorch_model.bin) are not read: convert to safetensors"));
}

// What a checkpoint may hold besides the table: multi-token prediction layers, rotary buffers, a tied head.
bool Skipped(const std::string& name, const ModelConfig& config) {
  if (absl::EndsWith(name, "rotary_emb.inv_freq")) return true;
  if (name == "lm_head.weight") return config.tied_embeddings;
  absl::string_view rest = name;
  if (!absl::StartsWith(rest, "model.layers.")) return false;
  rest.remove_prefix(13);
  int64_t layer = 0;
  const size_t dot = rest.find('.');
  return dot != absl::string_view::npos && absl::SimpleAtoi(rest.substr(0, dot), &layer) &&
         layer >= config.layers;
}

absl::Status CheckShape(const SafetensorsEntry& entry, const TensorShape& expected,
                        const ModelConfig& config) {
  if (entry.shape != expected.shape) {
    std::string hint;
    const bool by_vocab = expected.name == "model.embed_tokens.weight" || expected.name == "lm_head.weight";
    if (by_vocab && !entry.shape.empty() && entry.shape[0] != config.vocab) {
      hint = absl::StrCat(" (config.json says vocab_size ", config.vocab, ", the checkpoint has ",
                          entry.shape[0], " rows: do config.json and the weights belong together?)");
    }
    return absl::InvalidArgumentError(absl::StrCat("tensor ", entry.name, ": expected shape ",
                                                   ShapeText(expected.shape), ", found ",
                                                   ShapeText(entry.shape), hint));
  }
  const bool floating =
      entry.dtype == DType::kBF16 || entry.dtype == DType::kF32 || entry.dtype == DType::kF16;
  if (floating) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor ", entry.name, ": type ",
                                                 SafetensorsName(entry.dtype), " is not BF16, F32 or F16"));
}

class TensorLoader {
 public:
  // With `headers_only` the tensors taken are empty.
  TensorLoader(const ModelConfig& config, bool headers_only) : config_(config), headers_only_(headers_only) {
    for (TensorShape& shape : TensorTable(config)) table_.emplace(shape.name, std::move(shape));
  }

  absl::Status Load(const std::string& path, const std::optional<std::set<std::string>>& placed) {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
    size_t found = 0;
    for (const SafetensorsEntry& entry : file->entries()) {
      if (placed.has_value() && placed->count(entry.name) == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": tensor ", entry.name, ": the index does not place it in this file"));
      }
      ++found;
      SLUICE_RETURN_IF_ERROR(Annotate(LoadOne(*file, entry), path));
    }
    if (!placed.has_value() || found == placed->size()) return absl::OkStatus();
    std::set<std::string> missing = *placed;
    for (const SafetensorsEntry& entry : file->entries()) missing.erase(entry.name);
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor ", *missing.begin(), ": missing; the index places it in this file"));
  }

  absl::StatusOr<TensorMap> Take(const std::string& directory) {
    for (const auto& [name, shape] : table_) {
      if (tensors_.count(name) > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(directory, ": tensor ", name, " of shape ",
                                                     ShapeText(shape.shape), " is missing (", tensors_.size(),
                                                     " of ", table_.size(), " are there)"));
    }
    return std::move(tensors_);
  }

 private:
  absl::Status LoadOne(const SafetensorsFile& file, const SafetensorsEntry& entry) {
    const auto expected = table_.find(entry.name);
    if (expected == table_.end()) {
      if (Skipped(entry.name, config_)) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", entry.name, " of shape ", ShapeText(entry.shape),
                       ": unexpected, the model of config.json has none of that name"));
    }
    SLUICE_RETURN_IF_ERROR(CheckShape(entry, expected->second, config_));
    HostTensor& tensor = tensors_[entry.name];
    if (headers_only_) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(tensor, file.Read(entry));
    return absl::OkStatus();
  }

  const ModelConfig& config_;
  const bool headers_only_;
  std::map<std::string, TensorShape> table_;
  TensorMap tensors_;
};

absl::StatusOr<TensorMap> LoadTensors(const std::string& directory, const ModelConfig& config,
                                      bool headers_only) {
  SLUICE_ASSIGN_OR_RETURN(const Shards shards, FindShards(directory));
  TensorLoader loader(config, headers_only);
  for (const auto& [file, placed] : shards) {
    SLUICE_RETURN_IF_ERROR(loader.Load(absl::StrCat(directory, "/", file), placed));
  }
  return loader.Take(directory);
}

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

absl::StatusOr<ModelDirectory> ReadModelDirectory(const std::string& directory) {
  ModelDirectory out;
  SLUICE_ASSIGN_OR_RETURN(out.files, ReadModelFiles(directory));
  if (out.files.count("config.json") == 0) {
    return absl::NotFoundError(absl::StrCat(directory, ": config.json is missing: not a model directory"));
  }
  absl::StatusOr<ModelConfig> config =
      ParseModelConfig(out.files.at("config.json"), FileOr(out.files, "generation_config.json"));
  if (!config.ok()) return Annotate(config.status(), directory);
  out.config = *std::move(config);
  SLUICE_ASSIGN_OR_RETURN(out.tensors, LoadTensors(directory, out.config, /*headers_only=*/false));
  return out;
}

absl::Status CheckModelTensors(const std::string& directory, const ModelConfig& config) {
  return LoadTensors(directory, config, /*headers_only=*/true).status();
}

}  // namespace sluice
