#include "core/spec/checkpoint/safetensors_header.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

constexpr size_t kMaxTensorRank = 8;
constexpr size_t kMaxNameBytes = 1024;

absl::StatusOr<std::vector<int64_t>> ReadNumbers(const nlohmann::json& object, const char* field,
                                                 size_t limit) {
  const auto it = object.find(field);
  if (it == object.end() || !it->is_array() || it->size() > limit) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not a list of at most ", limit, " numbers"));
  }
  std::vector<int64_t> out;
  for (const nlohmann::json& value : *it) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{INT64_MAX}) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " has an entry that is no size: ", value.dump().substr(0, 40)));
    }
    out.push_back(value.get<int64_t>());
  }
  return out;
}

absl::StatusOr<int64_t> BytesOfShape(const std::vector<int64_t>& shape, DType dtype) {
  int64_t bytes = BytesOf(dtype);
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return absl::InvalidArgumentError("its shape overflows 64 bits");
  }
  return bytes;
}

absl::StatusOr<SafetensorsEntry> ReadEntry(const std::string& name, const nlohmann::json& object,
                                           int64_t data_bytes) {
  if (!object.is_object()) return absl::InvalidArgumentError("is not an object");
  if (name.size() > kMaxNameBytes) return absl::InvalidArgumentError("its name is too long");
  SafetensorsEntry entry;
  entry.name = name;
  const auto dtype = object.find("dtype");
  if (dtype == object.end() || !dtype->is_string()) return absl::InvalidArgumentError("dtype is missing");
  SLUICE_ASSIGN_OR_RETURN(entry.dtype, DTypeFromSafetensors(dtype->get_ref<const std::string&>()));
  SLUICE_ASSIGN_OR_RETURN(entry.shape, ReadNumbers(object, "shape", kMaxTensorRank));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, ReadNumbers(object, "data_offsets", 2));
  if (offsets.size() != 2) return absl::InvalidArgumentError("data_offsets are not two numbers");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("data_offsets ", entry.begin, "..", entry.end,
                                                   " are outside the data of ", data_bytes,
                                                   " bytes: truncated?"));
  }
  SLUICE_ASSIGN_OR_RETURN(const int64_t bytes, BytesOfShape(entry.shape, entry.dtype));
  if (bytes != entry.end - entry.begin) {
    return absl::InvalidArgumentError(absl::StrCat("its shape and type need ", bytes,
                                                   " bytes, data_offsets hold ", entry.end - entry.begin));
  }
  return entry;
}

absl::Status CheckMetadata(const nlohmann::json& metadata) {
  if (!metadata.is_object()) return absl::InvalidArgumentError("is not an object");
  for (const nlohmann::json& value : metadata) {
    if (!value.is_string()) return absl::InvalidArgumentError("has a value that is no string");
  }
  return absl::OkStatus();
}

absl::Status CheckTiling(const std::vector<SafetensorsEntry>& entries, int64_t data_bytes,
                         const std::string& source) {
  int64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != at) {
      return absl::InvalidArgumentError(absl::StrCat(source, ": tensor ", entry.name, " begins at ",
                                                     entry.begin, ", the one before ends at ", at,
                                                     entry.begin < at ? " (they overlap)" : " (a hole)"));
    }
    at = entry.end;
  }
  if (at == data_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": ", data_bytes - at, " bytes behind the last tensor belong to none"));
}

}  // namespace

absl::StatusOr<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(absl::string_view json,
                                                                     int64_t data_bytes,
                                                                     const std::string& source) {
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json header, ParseJson(json, absl::StrCat(source, ": header")));
  if (!header.is_object())
    return absl::InvalidArgumentError(absl::StrCat(source, ": header: not a JSON object"));
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      SLUICE_RETURN_IF_ERROR(Annotate(CheckMetadata(value), absl::StrCat(source, ": __metadata__")));
      continue;
    }
    absl::StatusOr<SafetensorsEntry> entry = ReadEntry(name, value, data_bytes);
    if (!entry.ok()) return Annotate(entry.status(), absl::StrCat(source, ": tensor ", name.substr(0, 200)));
    entries.push_back(*std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  SLUICE_RETURN_IF_ERROR(CheckTiling(entries, data_bytes, source));
  return entries;
}

std::string SerializeSafetensorsHeader(const std::vector<SafetensorsEntry>& entries) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::string json = header.dump();
  json.pop_back();  // the tensors follow one by one: an ordered object searches linearly on each insertion
  for (const SafetensorsEntry& entry : entries) {
    nlohmann::ordered_json value;
    value["dtype"] = SafetensorsName(entry.dtype);
    value["shape"] = entry.shape;
    value["data_offsets"] = {entry.begin, entry.end};
    absl::StrAppend(&json, ",", nlohmann::ordered_json(entry.name).dump(), ":", value.dump());
  }
  json.push_back('}');
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i)));
  return out + json;
}

}  // namespace sluice
