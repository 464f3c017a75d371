// Writing of model directories (core/spec/checkpoint/checkpoint_dir.h).
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/checkpoint/safetensors_file.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

bool IsModelFile(const std::string& name) {
  for (const char* known : {"config.json", "generation_config.json", "tokenizer.json",
                            "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"}) {
    if (name == known) return true;
  }
  return false;
}

// config.json with the type that its tensors are written in, which is never a quantized one; members keep
// their order.
absl::StatusOr<std::string> ConfigWithDType(const std::string& text, DType dtype) {
  SLUICE_RETURN_IF_ERROR(ParseJson(text, "config.json").status());
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("config.json: not a JSON object");
  const char* name = dtype == DType::kBF16 ? "bfloat16" : dtype == DType::kF16 ? "float16" : "float32";
  json.erase("quantization_config");
  if (json.contains("dtype")) json["dtype"] = name;
  if (json.contains("torch_dtype") || !json.contains("dtype")) json["torch_dtype"] = name;
  return json.dump(2) + "\n";
}

// The tensors in `dtype`; correction biases stay as they are.
TensorMap Converted(const TensorMap& tensors, DType dtype) {
  TensorMap out;
  for (const auto& [name, tensor] : tensors) {
    const bool keep = tensor.dtype == dtype || absl::EndsWith(name, "e_score_correction_bias");
    const bool floating =
        tensor.dtype == DType::kBF16 || tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16;
    out[name] = keep || !floating ? tensor : TensorFromFloats(tensor.shape, ToFloats(tensor).data(), dtype);
  }
  return out;
}

// Consecutive tensors, by name, of at most `shard_bytes` in all (a larger one stands alone).
std::vector<TensorMap> Split(const TensorMap& tensors, int64_t shard_bytes) {
  std::vector<TensorMap> shards(1);
  int64_t used = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t bytes = static_cast<int64_t>(tensor.bytes->size());
    if (!shards.back().empty() && used + bytes > shard_bytes) {
      shards.emplace_back();
      used = 0;
    }
    used += bytes;
    shards.back().emplace(name, tensor);
  }
  return shards;
}

absl::Status WriteTensors(const std::string& folder, const TensorMap& tensors, int64_t shard_bytes) {
  const std::vector<TensorMap> shards = Split(tensors, shard_bytes);
  if (shards.size() == 1) return WriteSafetensorsFile(folder + "/model.safetensors", shards[0]);
  nlohmann::json weight_map = nlohmann::json::object();
  int64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string file = absl::StrFormat("model-%05d-of-%05d.safetensors", i + 1, shards.size());
    SLUICE_RETURN_IF_ERROR(WriteSafetensorsFile(absl::StrCat(folder, "/", file), shards[i]));
    for (const auto& [name, tensor] : shards[i]) {
      weight_map[name] = file;
      total += static_cast<int64_t>(tensor.bytes->size());
    }
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(weight_map)}};
  return WriteFileAtomically(folder + "/model.safetensors.index.json", index.dump(2) + "\n");
}

absl::Status WriteContents(const std::string& folder, const ModelFiles& files, const TensorMap& tensors,
                           int64_t shard_bytes) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const auto& [name, bytes] : files) {
    SLUICE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name), bytes));
  }
  SLUICE_RETURN_IF_ERROR(WriteTensors(folder, tensors, shard_bytes));
  return SyncDirectory(folder);
}

}  // namespace

absl::Status WriteModelDirectory(const std::string& directory, const ModelFiles& files,
                                 const TensorMap& tensors, DType dtype, int64_t shard_bytes) {
  if (dtype != DType::kBF16 && dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat("models are written as BF16 or F32, not ", SafetensorsName(dtype)));
  }
  ModelFiles written = files;
  for (auto& [name, bytes] : written) {
    if (!IsModelFile(name))
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no file of a model"));
    if (name != "config.json") continue;
    SLUICE_ASSIGN_OR_RETURN(bytes, ConfigWithDType(bytes, dtype));
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path target = fs::path(directory) / "";  // "a/b/" and "a/b" name the same folder
  const std::string clean = target.parent_path().string();
  if (fs::exists(clean, error) && (!fs::is_directory(clean, error) || !fs::is_empty(clean, error))) {
    return absl::FailedPreconditionError(absl::StrCat(clean, " exists and is not an empty folder"));
  }
  const std::string temporary = absl::StrCat(clean, ".tmp.", getpid());
  SLUICE_RETURN_IF_ERROR(RemoveTree(temporary));
  absl::Status status = WriteContents(temporary, written, Converted(tensors, dtype), shard_bytes);
  if (status.ok() && std::rename(temporary.c_str(), clean.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("renaming ", temporary, " to ", clean));
  }
  if (!status.ok()) {
    (void)RemoveTree(temporary);  // the first error is the one to report
    return status;
  }
  const std::string parent = fs::path(clean).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

}  // namespace sluice
