#include "core/weights/fetch_policy.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/weights/tensor_patch.h"

namespace sluice {
namespace {

// One fetch under way.
struct Fetch {
  WeightChannel& channel;
  const PolicyRef& policy;
  absl::Time deadline;
  const FetchLimits& limits;
  const Clock& clock;
  const FetchBase* base;                                // null: none, or it turned out to be of no use
  std::map<std::string, std::string> base_hashes = {};  // of the base's tensors, by name

  absl::Status CheckDeadline(absl::string_view what) const {
    if (clock.Now() <= deadline) return absl::OkStatus();
    return absl::DeadlineExceededError(absl::StrCat("fetching ", what));
  }

  absl::StatusOr<Manifest> ReadManifest(int64_t* bytes) const {
    SLUICE_RETURN_IF_ERROR(CheckDeadline("the manifest"));
    SLUICE_ASSIGN_OR_RETURN(const std::string json,
                            channel.ReadManifest(policy.job, policy.version, deadline));
    *bytes += static_cast<int64_t>(json.size());
    if (static_cast<int64_t>(json.size()) > limits.manifest_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the manifest has ", json.size(), " bytes; the limit is ", limits.manifest_bytes));
    }
    const std::string hash = ManifestHash(json);
    if (hash != policy.manifest_hash) {
      return absl::DataLossError(
          absl::StrCat("the manifest's hash is ", hash, "; it was announced as ", policy.manifest_hash));
    }
    SLUICE_ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(json));
    if (manifest.job != policy.job || manifest.version != policy.version) {
      return absl::DataLossError(
          absl::StrCat("the manifest is of version ", manifest.version, " of job ", manifest.job));
    }
    int64_t total = 0;
    for (const ManifestTensor& tensor : manifest.tensors) {
      if (tensor.bytes < 0 || tensor.bytes > limits.tensor_bytes - total) {
        return absl::ResourceExhaustedError(absl::StrCat("tensor ", tensor.name,
                                                         ": the policy is larger than the limit of ",
                                                         limits.tensor_bytes, " bytes"));
      }
      total += tensor.bytes;
    }
    return manifest;
  }

  // What the base says of its tensors; without that it is of no use.
  void OpenBase() {
    if (base == nullptr) return;
    const absl::StatusOr<std::string> json =
        base->channel.ReadManifest(base->policy.job, base->policy.version, deadline);
    const absl::StatusOr<Manifest> manifest = json.ok() && ManifestHash(*json) == base->policy.manifest_hash
                                                  ? ParseManifest(*json)
                                                  : absl::NotFoundError("no such base");
    if (!manifest.ok() || base->policy.job != policy.job) {
      base = nullptr;
      return;
    }
    for (const ManifestTensor& tensor : manifest->tensors) base_hashes[tensor.name] = tensor.sha256;
  }

  absl::Status ReadBase(const ManifestTensor& expected, std::string& bytes) const {
    return base->channel.ReadTensor(policy.job, base->policy.version, expected.name, deadline,
                                    [&](absl::string_view chunk) -> absl::Status {
                                      bytes.append(chunk.data(), chunk.size());
                                      return static_cast<int64_t>(bytes.size()) <= expected.bytes
                                                 ? absl::OkStatus()
                                                 : absl::DataLossError("the base's tensor is larger");
                                    });
  }

  // The tensor made from the base's, or null: then it has to be read whole.
  std::shared_ptr<std::string> PatchTensor(const ManifestTensor& expected, FetchedPolicy& out) {
    if (base == nullptr || base_hashes.count(expected.name) == 0) return nullptr;
    auto bytes = std::make_shared<std::string>();  // shared as in ReadTensor
    bytes->reserve(static_cast<size_t>(expected.bytes));
    if (!ReadBase(expected, *bytes).ok()) return nullptr;
    if (base_hashes.at(expected.name) != expected.sha256) {
      PatchReader patch(*bytes);
      int64_t received = 0;
      const absl::Status read = channel.ReadPatch(base->policy, policy.version, expected.name, deadline,
                                                  [&](absl::string_view chunk) {
                                                    received += static_cast<int64_t>(chunk.size());
                                                    return patch.Add(chunk);
                                                  });
      out.bytes += received;
      if (absl::IsUnimplemented(read) || absl::IsNotFound(read) || absl::IsFailedPrecondition(read)) {
        base = nullptr;  // for no tensor
        return nullptr;
      }
      if (!read.ok() || !patch.Finish().ok()) return nullptr;
    }
    if (Sha256Hex(*bytes) != expected.sha256) return nullptr;
    out.patched_bytes += expected.bytes;
    return bytes;
  }

  absl::StatusOr<HostTensor> ReadTensor(const ManifestTensor& expected) const {
    SLUICE_RETURN_IF_ERROR(CheckDeadline(absl::StrCat("tensor ", expected.name)));
    // Shared between the maps that hold the tensor; immutable from here on.
    auto bytes = std::make_shared<std::string>();
    Sha256 hash;
    SLUICE_RETURN_IF_ERROR(channel.ReadTensor(
        policy.job, policy.version, expected.name, deadline, [&](absl::string_view chunk) -> absl::Status {
          SLUICE_RETURN_IF_ERROR(CheckDeadline(absl::StrCat("tensor ", expected.name)));
          if (static_cast<int64_t>(bytes->size() + chunk.size()) > expected.bytes) {
            return absl::DataLossError(
                absl::StrCat("tensor ", expected.name, " has more than its ", expected.bytes, " bytes"));
          }
          if (bytes->empty()) bytes->reserve(static_cast<size_t>(expected.bytes));
          bytes->append(chunk.data(), chunk.size());
          hash.Update(chunk.data(), chunk.size());
          return absl::OkStatus();
        }));
    if (static_cast<int64_t>(bytes->size()) != expected.bytes) {
      return absl::DataLossError(absl::StrCat("tensor ", expected.name, " has ", bytes->size(), " of its ",
                                              expected.bytes, " bytes"));
    }
    if (const std::string found = hash.FinishHex(); found != expected.sha256) {
      return absl::DataLossError(absl::StrCat("tensor ", expected.name, " has SHA-256 ", found,
                                              "; the manifest says ", expected.sha256));
    }
    return HostTensor{expected.dtype, expected.shape, std::move(bytes)};
  }

  absl::StatusOr<std::string> ReadModelFile(const std::string& name, const std::string& sha256) const {
    SLUICE_RETURN_IF_ERROR(CheckDeadline(absl::StrCat("model file ", name)));
    SLUICE_ASSIGN_OR_RETURN(std::string content, channel.ReadModelFile(policy.job, name, deadline));
    if (static_cast<int64_t>(content.size()) > limits.model_file_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("model file ", name, " has ", content.size(),
                                                       " bytes; the limit is ", limits.model_file_bytes));
    }
    if (const std::string found = Sha256Hex(content); found != sha256) {
      return absl::DataLossError(
          absl::StrCat("model file ", name, " has SHA-256 ", found, "; the manifest says ", sha256));
    }
    return content;
  }

  absl::StatusOr<FetchedPolicy> Run() {
    FetchedPolicy out;
    OpenBase();
    SLUICE_ASSIGN_OR_RETURN(out.manifest, ReadManifest(&out.bytes));
    for (const auto& [name, sha256] : out.manifest.model_files) {
      SLUICE_ASSIGN_OR_RETURN(std::string content, ReadModelFile(name, sha256));
      out.bytes += static_cast<int64_t>(content.size());
      out.files[name] = std::move(content);
    }
    for (const ManifestTensor& tensor : out.manifest.tensors) {
      SLUICE_RETURN_IF_ERROR(CheckDeadline(absl::StrCat("tensor ", tensor.name)));
      if (std::shared_ptr<std::string> patched = PatchTensor(tensor, out); patched != nullptr) {
        out.tensors[tensor.name] = HostTensor{tensor.dtype, tensor.shape, std::move(patched)};
        continue;
      }
      SLUICE_ASSIGN_OR_RETURN(out.tensors[tensor.name], ReadTensor(tensor));
      out.bytes += tensor.bytes;
    }
    return out;
  }
};

}  // namespace

absl::StatusOr<FetchedPolicy> FetchPolicy(WeightChannel& channel, const PolicyRef& policy,
                                          absl::Time deadline, const FetchLimits& limits, const Clock& clock,
                                          const FetchBase* base) {
  absl::StatusOr<FetchedPolicy> out = Fetch{channel, policy, deadline, limits, clock, base}.Run();
  if (out.ok()) return out;
  return Annotate(out.status(), absl::StrCat("policy version ", policy.version, " of job ", policy.job));
}

}  // namespace sluice
