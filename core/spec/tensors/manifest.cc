#include "core/spec/tensors/manifest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

constexpr size_t kMaxManifestBytes = 64 << 20;
constexpr const char* kFormat = "sluice.manifest.1";

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::Status CheckMembers(const nlohmann::json& object, std::initializer_list<const char*> known,
                          const std::string& source) {
  if (!object.is_object()) return absl::InvalidArgumentError(absl::StrCat(source, ": not a JSON object"));
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(source, ": unknown field \"", name.substr(0, 64), "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const ManifestTensor& tensor) {
  int64_t bytes = BytesOf(tensor.dtype);
  for (int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return absl::InvalidArgumentError("its shape overflows 64 bits");
  }
  if (bytes == tensor.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("field \"bytes\" is ", tensor.bytes, "; its type and shape need ", bytes));
}

absl::StatusOr<ManifestTensor> ReadTensor(const nlohmann::json& json, size_t index) {
  const std::string source = absl::StrCat("manifest: tensor ", index);
  SLUICE_RETURN_IF_ERROR(CheckMembers(json, {"name", "dtype", "shape", "bytes", "sha256"}, source));
  JsonFields in(json, source);
  ManifestTensor out;
  out.name = in.String("name");
  if (out.name.empty() || out.name.size() > 1024) in.Fail("name", "is not of 1 to 1024 bytes");
  const absl::StatusOr<DType> dtype = DTypeFromSafetensors(in.String("dtype"));
  if (dtype.ok()) {
    out.dtype = *dtype;
  } else {
    in.Fail("dtype", dtype.status().message());
  }
  out.bytes = in.Int("bytes", 0, INT64_MAX);
  out.sha256 = in.String("sha256");
  if (!IsSha256(out.sha256)) in.Fail("sha256", "is not 64 hexadecimal digits");
  const nlohmann::json* shape = in.Find("shape");
  if (shape == nullptr || !shape->is_array() || shape->size() > 8) {
    in.Fail("shape", "is not a list of at most 8 sizes");
    return in.status();
  }
  for (const nlohmann::json& size : *shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{INT64_MAX})
      in.Fail("shape", "has no size");
    if (in.status().ok()) out.shape.push_back(size.get<int64_t>());
  }
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(Annotate(CheckBytes(out), absl::StrCat(source, " ", out.name)));
  return out;
}

absl::Status ReadTensors(const nlohmann::json* list, Manifest& out) {
  if (list == nullptr || !list->is_array())
    return absl::InvalidArgumentError("manifest: field \"tensors\" is no list");
  for (const nlohmann::json& json : *list) {
    SLUICE_ASSIGN_OR_RETURN(ManifestTensor tensor, ReadTensor(json, out.tensors.size()));
    if (!out.tensors.empty() && tensor.name <= out.tensors.back().name) {
      return absl::InvalidArgumentError(
          absl::StrCat("manifest: tensor ", tensor.name, " is not after ", out.tensors.back().name));
    }
    out.tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status ReadModelFileHashes(const nlohmann::json* object, Manifest& out) {
  if (object == nullptr || !object->is_object() || object->size() > 64) {
    return absl::InvalidArgumentError("manifest: field \"model_files\" is not an object of at most 64 files");
  }
  for (const auto& [name, hash] : object->items()) {
    const bool plain =
        !name.empty() && name.size() <= 255 && name[0] != '.' && name.find('/') == std::string::npos;
    if (!plain || !hash.is_string() || !IsSha256(hash.get<std::string>())) {
      return absl::InvalidArgumentError(absl::StrCat("manifest: model_files: \"", name.substr(0, 64),
                                                     "\" is not a plain name with a SHA-256"));
    }
    out.model_files[name] = hash.get<std::string>();
  }
  return absl::OkStatus();
}

}  // namespace

std::string SerializeManifest(const Manifest& manifest) {
  std::vector<const ManifestTensor*> sorted;
  for (const ManifestTensor& tensor : manifest.tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  nlohmann::json tensors = nlohmann::json::array();
  for (const ManifestTensor* tensor : sorted) {
    tensors.push_back({{"name", tensor->name},
                       {"dtype", SafetensorsName(tensor->dtype)},
                       {"shape", tensor->shape},
                       {"bytes", tensor->bytes},
                       {"sha256", tensor->sha256}});
  }
  const nlohmann::json json = {{"format", kFormat},
                               {"job", manifest.job},
                               {"version", manifest.version},
                               {"parent", manifest.parent},
                               {"tensors", std::move(tensors)},
                               {"model_files", nlohmann::json(manifest.model_files)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("manifest: ", text.size(), " bytes; the limit is ", kMaxManifestBytes));
  }
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, "manifest"));
  SLUICE_RETURN_IF_ERROR(
      CheckMembers(json, {"format", "job", "version", "parent", "tensors", "model_files"}, "manifest"));
  JsonFields in(json, "manifest");
  if (in.String("format") != kFormat) in.Fail("format", absl::StrCat("is not \"", kFormat, "\""));
  Manifest out;
  out.job = in.String("job");
  if (out.job.size() > 1024) in.Fail("job", "is longer than 1024 bytes");
  out.version = in.Int("version", 0, INT64_MAX);
  out.parent = in.Int("parent", kNoPolicyVersion, INT64_MAX);
  if (out.parent >= out.version) in.Fail("parent", "is not before \"version\"");
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(ReadTensors(in.Find("tensors"), out));
  SLUICE_RETURN_IF_ERROR(ReadModelFileHashes(in.Find("model_files"), out));
  return out;
}

std::string ManifestHash(absl::string_view manifest_json) { return Sha256Hex(manifest_json); }

}  // namespace sluice
