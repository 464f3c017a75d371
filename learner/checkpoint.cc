#include "learner/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/spec/checkpoint/checkpoint_dir.h"

namespace sluice {
namespace {

using Json = nlohmann::json;
constexpr char kManifest[] = "manifest.json";
constexpr char kTrainer[] = "trainer.json";
constexpr char kMasters[] = "masters.safetensors";
constexpr char kFirst[] = "moment1.safetensors";
constexpr char kSecond[] = "moment2.safetensors";
constexpr char kPromoted[] = "promoted";
constexpr int64_t kJsonLimit = int64_t{64} << 20;

std::string FolderOf(const std::string& root, PolicyVersion version) {
  return absl::StrCat(root, "/", version);
}

Json TrainerJson(const CheckpointContent& c) {
  Json json = {{"format", kCheckpointFormat},
               {"job", c.job},
               {"version", c.version},
               {"parent", c.parent},
               {"manifest_hash", c.manifest_hash},
               {"spec_hash", c.spec_hash},
               {"warm_start_steps", c.warm_start_steps},
               {"updates", c.state.updates},
               {"known_hashes", Json::object()},
               {"results", Json::object()},
               {"created_unix", absl::ToUnixSeconds(absl::Now())}};
  for (const auto& [version, hash] : c.known_hashes) json["known_hashes"][absl::StrCat(version)] = hash;
  for (const auto& [version, metrics] : c.results) json["results"][absl::StrCat(version)] = metrics.values;
  return json;
}

absl::StatusOr<Json> ReadJson(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kJsonLimit));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError(absl::StrCat(path, ": not a JSON object"));
  return json;
}

absl::StatusOr<PolicyVersion> VersionKey(const std::string& text) {
  PolicyVersion version = 0;
  if (absl::SimpleAtoi(text, &version)) return version;
  return absl::DataLossError(absl::StrCat("trainer.json: '", text, "' is no version"));
}

absl::Status ParseTrainerJson(const Json& json, CheckpointContent* c) {
  try {
    c->job = json.at("job").get<std::string>();
    c->version = json.at("version").get<int64_t>();
    // Those written before there were rollbacks do not name it.
    c->parent = json.value("parent", c->version == 0 ? kNoPolicyVersion : c->version - 1);
    c->manifest_hash = json.at("manifest_hash").get<std::string>();
    c->spec_hash = json.at("spec_hash").get<std::string>();
    c->warm_start_steps = json.at("warm_start_steps").get<int64_t>();
    c->state.updates = json.at("updates").get<int64_t>();
    for (const auto& [key, value] : json.at("known_hashes").items()) {
      SLUICE_ASSIGN_OR_RETURN(PolicyVersion version, VersionKey(key));
      c->known_hashes[version] = value.get<std::string>();
    }
    for (const auto& [key, value] : json.at("results").items()) {
      SLUICE_ASSIGN_OR_RETURN(PolicyVersion version, VersionKey(key));
      for (const auto& [name, number] : value.items()) {
        c->results[version].values[name] = number.is_null() ? NAN : number.get<double>();  // JSON has no NaN
      }
    }
    return absl::OkStatus();
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat("trainer.json: ", error.what()));
  }
}

// Writes one file durably and notes it in the manifest.
absl::Status WriteMember(const std::string& folder, const std::string& name, const std::string& bytes,
                         Json* manifest) {
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(folder + "/" + name, bytes));
  (*manifest)["files"][name] = {{"bytes", bytes.size()}, {"sha256", Sha256Hex(bytes)}};
  return absl::OkStatus();
}

absl::Status WriteFolder(const std::string& folder, const ParameterLayout& layout,
                         const CheckpointContent& c) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  Json manifest = {{"format", kCheckpointFormat}, {"files", Json::object()}};
  auto tensors = [&](const std::vector<float>& values) {
    return SerializeSafetensors(layout.Unflatten(layout.trained(), values, DType::kF32));
  };
  SLUICE_RETURN_IF_ERROR(WriteMember(folder, kMasters, tensors(c.state.masters), &manifest));
  SLUICE_FAIL_POINT("learner.checkpoint_masters_written");
  SLUICE_RETURN_IF_ERROR(WriteMember(folder, kFirst, tensors(c.state.first_moment), &manifest));
  SLUICE_RETURN_IF_ERROR(WriteMember(folder, kSecond, tensors(c.state.second_moment), &manifest));
  SLUICE_RETURN_IF_ERROR(WriteMember(folder, kTrainer, TrainerJson(c).dump(1), &manifest));
  SLUICE_FAIL_POINT("learner.checkpoint_members_written");
  return WriteFileAtomically(folder + "/" + kManifest, manifest.dump(1));
}

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("renaming ", from));
  return absl::OkStatus();
}

// Sizes of the files against the manifest, and their hashes too when `hashes`.
absl::StatusOr<int64_t> CheckFiles(const std::string& folder, bool hashes) {
  SLUICE_ASSIGN_OR_RETURN(Json manifest, ReadJson(folder + "/" + kManifest));
  if (manifest.value("format", Json(0)).is_number_integer() &&
      manifest["format"].get<int64_t>() > kCheckpointFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " has format ", manifest["format"].get<int64_t>(), "; this program reads up to ",
                     kCheckpointFormat, ": use the newer program"));
  }
  int64_t total = 0;
  for (const char* name : {kMasters, kFirst, kSecond, kTrainer}) {
    const std::string path = absl::StrCat(folder, "/", name);
    const Json entry = manifest.value("files", Json::object()).value(name, Json());
    if (!entry.is_object() || !entry.value("bytes", Json()).is_number_integer() ||
        !entry.value("sha256", Json()).is_string()) {
      return absl::DataLossError(absl::StrCat(folder, ": the manifest does not name ", name));
    }
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error || size != entry["bytes"].get<uint64_t>()) {
      return absl::DataLossError(absl::StrCat(path, ": missing or not of the manifest's size"));
    }
    total += static_cast<int64_t>(size);
    if (!hashes) continue;
    SLUICE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, static_cast<int64_t>(size)));
    if (Sha256Hex(bytes) != entry["sha256"].get<std::string>()) {
      return absl::DataLossError(absl::StrCat(path, ": its SHA-256 is not the manifest's"));
    }
  }
  return total;
}

absl::StatusOr<CheckpointContent> ReadFolder(const std::string& folder, const ParameterLayout& layout) {
  SLUICE_RETURN_IF_ERROR(CheckFiles(folder, true).status());
  CheckpointContent c;
  SLUICE_ASSIGN_OR_RETURN(Json json, ReadJson(folder + "/" + kTrainer));
  SLUICE_RETURN_IF_ERROR(ParseTrainerJson(json, &c));
  auto values = [&](const char* name) -> absl::StatusOr<std::vector<float>> {
    SLUICE_ASSIGN_OR_RETURN(TensorMap tensors, ReadSafetensors(folder + "/" + name));
    return layout.Flatten(layout.trained(), tensors);
  };
  SLUICE_ASSIGN_OR_RETURN(c.state.masters, values(kMasters));
  SLUICE_ASSIGN_OR_RETURN(c.state.first_moment, values(kFirst));
  SLUICE_ASSIGN_OR_RETURN(c.state.second_moment, values(kSecond));
  return c;
}

// Folders whose name is a version, rising.
absl::StatusOr<std::vector<PolicyVersion>> VersionFolders(const std::string& root) {
  std::vector<PolicyVersion> versions;
  if (!FileExists(root)) return versions;
  std::error_code error;
  std::filesystem::directory_iterator it(root, error), end;
  for (; !error && it != end; it.increment(error)) {
    PolicyVersion version = 0;
    const std::string name = it->path().filename().string();
    if (absl::SimpleAtoi(name, &version) && absl::StrCat(version) == name) versions.push_back(version);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", root));
  std::sort(versions.begin(), versions.end());
  return versions;
}

absl::Time CreatedAt(const std::string& folder) {
  auto json = ReadJson(folder + "/" + kTrainer);
  if (!json.ok() || !json->value("created_unix", Json()).is_number_integer()) return absl::UnixEpoch();
  return absl::FromUnixSeconds((*json)["created_unix"].get<int64_t>());
}

}  // namespace

absl::StatusOr<CheckpointInfo> WriteCheckpoint(const std::string& root, const ParameterLayout& layout,
                                               const CheckpointContent& content) {
  const std::string folder = FolderOf(root, content.version), temporary = folder + ".writing";
  SLUICE_RETURN_IF_ERROR(RemoveTree(temporary));
  absl::Status written = WriteFolder(temporary, layout, content);
  if (written.ok()) written = SyncDirectory(temporary);
  SLUICE_FAIL_POINT("learner.checkpoint_written");
  if (written.ok()) written = RemoveTree(folder);  // a damaged one
  if (written.ok()) written = Rename(temporary, folder);
  SLUICE_FAIL_POINT("learner.checkpoint_renamed");
  if (written.ok()) written = SyncDirectory(root);
  if (!written.ok()) {
    RemoveTree(temporary).IgnoreError();
    return Annotate(written, absl::StrCat("writing checkpoint ", folder));
  }
  SLUICE_ASSIGN_OR_RETURN(int64_t bytes, CheckFiles(folder, false));
  return CheckpointInfo{content.version, folder, bytes, CreatedAt(folder)};
}

absl::StatusOr<std::vector<CheckpointInfo>> FindCheckpoints(const std::string& root) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<PolicyVersion> versions, VersionFolders(root));
  std::vector<CheckpointInfo> found;
  for (PolicyVersion version : versions) {
    const std::string folder = FolderOf(root, version);
    auto bytes = CheckFiles(folder, false);
    if (bytes.ok()) found.push_back({version, folder, *bytes, CreatedAt(folder)});
  }
  return found;
}

absl::StatusOr<std::optional<CheckpointContent>> ReadNewestCheckpoint(const std::string& root,
                                                                      const ParameterLayout& layout,
                                                                      int* damaged) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<PolicyVersion> versions, VersionFolders(root));
  *damaged = 0;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    auto content = ReadFolder(FolderOf(root, *version), layout);
    if (content.ok() && content->version != *version) {
      content = absl::DataLossError(absl::StrCat("trainer.json is of version ", content->version));
    }
    if (content.ok()) return std::optional<CheckpointContent>(*std::move(content));
    if (content.status().code() == absl::StatusCode::kFailedPrecondition) return content.status();
    ++*damaged;
    LogWarning("checkpoint_damaged",
               {{"folder", FolderOf(root, *version)}, {"reason", content.status().message()}});
  }
  return std::optional<CheckpointContent>();
}

absl::StatusOr<CheckpointContent> ReadCheckpoint(const std::string& root, const ParameterLayout& layout,
                                                 PolicyVersion version) {
  const std::string folder = FolderOf(root, version);
  if (!FileExists(folder)) return absl::NotFoundError(absl::StrCat("there is no checkpoint ", folder));
  SLUICE_ASSIGN_OR_RETURN(CheckpointContent content, ReadFolder(folder, layout));
  if (content.version == version) return content;
  return absl::DataLossError(absl::StrCat(folder, ": trainer.json is of version ", content.version));
}

absl::StatusOr<PolicyVersion> ReadPromoted(const std::string& root) {
  const std::string path = absl::StrCat(root, "/", kPromoted);
  absl::StatusOr<std::string> text = ReadFile(path, kJsonLimit);
  if (absl::IsNotFound(text.status())) return kNoPolicyVersion;
  SLUICE_RETURN_IF_ERROR(text.status());
  PolicyVersion version = 0;
  if (absl::SimpleAtoi(*text, &version) && version >= 0) return version;
  return absl::DataLossError(absl::StrCat(path, ": '", *text, "' is no version"));
}

absl::Status WritePromoted(const std::string& root, PolicyVersion version) {
  return WriteFileAtomically(absl::StrCat(root, "/", kPromoted), absl::StrCat(version, "\n"));
}

absl::Status PruneCheckpoints(const std::string& root, const CheckpointRetention& keep) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<CheckpointInfo> complete, FindCheckpoints(root));
  SLUICE_ASSIGN_OR_RETURN(std::vector<PolicyVersion> versions, VersionFolders(root));
  const size_t kept = std::min(complete.size(), static_cast<size_t>(std::max(keep.newest, 1)));
  if (kept == 0) return absl::OkStatus();
  PolicyVersion oldest = complete[complete.size() - kept].version;
  if (keep.from != kNoPolicyVersion) oldest = std::min(oldest, keep.from);
  for (PolicyVersion version : versions) {
    if (version < oldest && version != keep.promoted) {
      SLUICE_RETURN_IF_ERROR(RemoveTree(FolderOf(root, version)));
    }
    SLUICE_FAIL_POINT("learner.checkpoint_pruned");
    SLUICE_RETURN_IF_ERROR(RemoveTree(FolderOf(root, version) + ".writing"));
  }
  return absl::OkStatus();
}

}  // namespace sluice
