#include "core/spec/checkpoint/shard_index.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

constexpr int64_t kMaxIndexBytes = 256 << 20;
constexpr size_t kMaxShards = 512;  // they are open at once
constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";

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

}  // namespace

absl::StatusOr<Shards> FindShards(const std::string& directory) {
  if (FileExists(absl::StrCat(directory, "/", kSingleFile))) return Shards{{kSingleFile, std::nullopt}};
  const std::string index = absl::StrCat(directory, "/", kIndexFile);
  if (FileExists(index)) return ReadIndex(index);
  return absl::NotFoundError(
      absl::StrCat(directory, ": neither ", kSingleFile, " nor ", kIndexFile,
                   "; other formats (pytorch_model.bin) are not read: convert to safetensors"));
}

}  // namespace sluice
