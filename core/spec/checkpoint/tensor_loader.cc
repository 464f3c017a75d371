#include "core/spec/checkpoint/tensor_loader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "core/spec/tensors/fp8.h"
#include "core/spec/text/nearest_name.h"

namespace sluice {
namespace {

constexpr char kScaleSuffix[] = "_scale_inv";

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// What a checkpoint may hold besides the table: multi-token prediction layers, rotary buffers, a tied head.
bool Skipped(const std::string& name, const ModelConfig& config) {
  if (absl::EndsWith(name, "rotary_emb.inv_freq")) return true;
  if (name == "lm_head.weight") return config.tied_embeddings;
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "model.layers.")) return false;
  int64_t layer = 0;
  const size_t dot = rest.find('.');
  return dot != absl::string_view::npos && absl::SimpleAtoi(rest.substr(0, dot), &layer) &&
         layer >= config.layers;
}

absl::Status CheckShape(const SafetensorsEntry& entry, const std::vector<int64_t>& expected,
                        const ModelConfig& config) {
  if (entry.shape == expected) return absl::OkStatus();
  std::string hint;
  const bool by_vocab = entry.name == "model.embed_tokens.weight" || entry.name == "lm_head.weight";
  if (by_vocab && !entry.shape.empty() && entry.shape[0] != config.vocab) {
    hint = absl::StrCat(" (config.json says vocab_size ", config.vocab, ", the checkpoint has ",
                        entry.shape[0], " rows: do config.json and the weights belong together?)");
  }
  return absl::InvalidArgumentError(absl::StrCat("tensor ", entry.name, ": expected shape ",
                                                 ShapeText(expected), ", found ", ShapeText(entry.shape),
                                                 hint));
}

absl::Status CheckType(const SafetensorsEntry& entry, const TensorShape& expected, const Fp8Blocks& fp8) {
  const DType dtype = entry.dtype;
  if (dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF16) return absl::OkStatus();
  const std::string what = absl::StrCat("tensor ", entry.name, ": type ", SafetensorsName(dtype));
  if (dtype != DType::kF8E4M3)
    return absl::InvalidArgumentError(absl::StrCat(what, " is not BF16, F32 or F16"));
  if (!fp8.quantized()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ", but config.json has no quantization_config that gives its blocks"));
  }
  if (expected.shape.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": only matrices may be quantized"));
}

std::string IndexText(int64_t at, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; at /= shape[i]) index[i] = at % shape[i];
  return ShapeText(index);
}

}  // namespace

TensorLoader::TensorLoader(std::string directory, ModelConfig config)
    : directory_(std::move(directory)), config_(std::move(config)) {
  for (TensorShape& shape : TensorTable(config_)) table_.emplace(shape.name, std::move(shape));
}

absl::StatusOr<TensorLoader> TensorLoader::Open(const std::string& directory, const ModelConfig& config) {
  SLUICE_ASSIGN_OR_RETURN(const Shards shards, FindShards(directory));
  TensorLoader loader(directory, config);
  for (const auto& [file, placed] : shards) {
    SLUICE_RETURN_IF_ERROR(loader.OpenShard(absl::StrCat(directory, "/", file), placed));
  }
  SLUICE_RETURN_IF_ERROR(Annotate(loader.CheckNames(), directory));
  SLUICE_RETURN_IF_ERROR(Annotate(loader.CheckScales(), directory));
  return loader;
}

absl::Status TensorLoader::OpenShard(const std::string& path,
                                     const std::optional<std::set<std::string>>& placed) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> opened, SafetensorsFile::Open(path));
  files_.push_back(std::move(opened));
  const SafetensorsFile& file = *files_.back();
  for (const SafetensorsEntry& entry : file.entries()) {
    if (placed.has_value() && placed->count(entry.name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor ", entry.name, ": the index does not place it in this file"));
    }
    SLUICE_RETURN_IF_ERROR(Annotate(Take(file, entry), path));
  }
  if (!placed.has_value() || file.entries().size() == placed->size()) return absl::OkStatus();
  std::set<std::string> missing = *placed;
  for (const SafetensorsEntry& entry : file.entries()) missing.erase(entry.name);
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": tensor ", *missing.begin(), ": missing; the index places it in this file"));
}

absl::Status TensorLoader::Take(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const auto expected = table_.find(entry.name);
  if (expected != table_.end()) {
    tensors_[entry.name] = {&file, entry};
    SLUICE_RETURN_IF_ERROR(CheckShape(entry, expected->second.shape, config_));
    return CheckType(entry, expected->second, config_.fp8);
  }
  absl::string_view matrix = entry.name;
  if (config_.fp8.quantized() && absl::ConsumeSuffix(&matrix, kScaleSuffix) &&
      table_.count(std::string(matrix)) > 0) {
    scales_[std::string(matrix)] = {&file, entry};
  } else if (!Skipped(entry.name, config_)) {
    unknown_.push_back({&file, entry});
  }
  return absl::OkStatus();
}

absl::Status TensorLoader::CheckNames() const {
  std::vector<std::string> missing;
  for (const auto& [name, shape] : table_) {
    if (tensors_.count(name) == 0) missing.push_back(name);
  }
  std::string text;
  if (!unknown_.empty()) {
    const SafetensorsEntry& entry = unknown_[0].entry;
    absl::StrAppend(&text, "tensor ", entry.name, " of shape ", ShapeText(entry.shape),
                    ": unexpected, the model of config.json has none of that name");
    const std::string nearest = NearestName(entry.name, missing);
    if (!nearest.empty()) absl::StrAppend(&text, "; the nearest that is missing is ", nearest);
    if (unknown_.size() > 1) absl::StrAppend(&text, "; ", unknown_.size() - 1, " more are unexpected");
  }
  if (!missing.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "tensor ", missing[0], " of shape ",
                    ShapeText(table_.at(missing[0]).shape), " is missing (", tensors_.size(), " of ",
                    table_.size(), " are there)");
  }
  return text.empty() ? absl::OkStatus() : absl::InvalidArgumentError(text);
}

absl::Status TensorLoader::CheckScales() const {
  for (const auto& [name, place] : tensors_) {
    const bool quantized = place.entry.dtype == DType::kF8E4M3;
    const auto scale = scales_.find(name);
    if (quantized == (scale != scales_.end())) continue;
    return absl::InvalidArgumentError(
        quantized ? absl::StrCat("tensor ", name, ": is F8_E4M3, but ", name, kScaleSuffix, " is missing")
                  : absl::StrCat("tensor ", name, kScaleSuffix, ": unexpected, ", name, " is ",
                                 SafetensorsName(place.entry.dtype)));
  }
  for (const auto& [name, place] : scales_) {
    SLUICE_RETURN_IF_ERROR(CheckShape(place.entry, config_.fp8.ScaleShape(table_.at(name).shape), config_));
    if (place.entry.dtype != DType::kF32 && place.entry.dtype != DType::kBF16) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, kScaleSuffix, ": type ",
                                                     SafetensorsName(place.entry.dtype),
                                                     " is not F32 or BF16"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> TensorLoader::ReadOne(const std::string& name, const Place& place) const {
  SLUICE_ASSIGN_OR_RETURN(HostTensor tensor, place.file->Read(place.entry));
  if (tensor.dtype == DType::kF8E4M3) {
    const Place& scale_place = scales_.at(name);
    SLUICE_ASSIGN_OR_RETURN(const HostTensor scale, scale_place.file->Read(scale_place.entry));
    const DType plain = config_.stored_dtype == DType::kF32 ? DType::kF32 : DType::kBF16;
    absl::StatusOr<HostTensor> dequantized = Dequantize(tensor, scale, config_.fp8, plain);
    if (!dequantized.ok()) {
      return Annotate(dequantized.status(), absl::StrCat(place.file->path(), ": tensor ", name));
    }
    tensor = *std::move(dequantized);
  }
  const int64_t bad = FirstNonFinite(tensor);
  if (bad < 0) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(place.file->path(), ": tensor ", name, ": the value at ",
                                                 IndexText(bad, tensor.shape),
                                                 " is infinite or not a number"));
}

absl::StatusOr<TensorMap> TensorLoader::Read() const {
  std::vector<std::pair<const std::string*, const Place*>> order;
  for (const auto& [name, place] : tensors_) order.emplace_back(&name, &place);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::forward_as_tuple(a.second->file->path(), a.second->entry.begin) <
           std::forward_as_tuple(b.second->file->path(), b.second->entry.begin);
  });
  TensorMap tensors;
  for (const auto& [name, place] : order) {
    SLUICE_ASSIGN_OR_RETURN(tensors[*name], ReadOne(*name, *place));
  }
  return tensors;
}

}  // namespace sluice
