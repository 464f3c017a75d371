#include "core/weights/policy_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/fail_point.h"
#include "core/base/file.h"
#include "core/base/file_descriptor.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/weights/tensor_patch.h"

namespace sluice {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr int64_t kMaxManifestBytes = int64_t{64} << 20;
constexpr int64_t kMaxModelFileBytes = int64_t{512} << 20;
constexpr size_t kIndexes = 4;
constexpr char kManifestFile[] = "manifest.json";
constexpr char kTensorsFile[] = "tensors.bin";
constexpr char kTemporaryPrefix[] = ".tmp.";

// Names become parts of paths: letters, digits, '.', '_' and '-', not beginning with a '.'.
absl::Status CheckName(absl::string_view name, absl::string_view what) {
  bool good = !name.empty() && name.size() <= 200 && name[0] != '.';
  for (char c : name) good = good && (absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-');
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", name.substr(0, 200),
                   "\": use 1 to 200 letters, digits, '.', '_' or '-', not beginning with '.'"));
}

absl::Status CheckVersion(const JobId& job, PolicyVersion version) {
  SLUICE_RETURN_IF_ERROR(CheckName(job, "job"));
  if (version < 0)
    return absl::InvalidArgumentError(absl::StrCat("policy version ", version, " is negative"));
  return absl::OkStatus();
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status WriteTensors(const std::string& path, const TensorMap& tensors, bool durable) {
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("creating ", path));
  for (const auto& [name, tensor] : tensors) SLUICE_RETURN_IF_ERROR(WriteAll(fd.get(), *tensor.bytes, path));
  if (durable && fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("syncing ", path));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FileBytes(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
  return static_cast<int64_t>(info.st_size);
}

// What an interrupted Publish or Prune left behind.
absl::Status RemoveLeftovers(const std::string& versions) {
  std::error_code error;
  std::vector<std::string> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(versions, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kTemporaryPrefix, 0) == 0) leftovers.push_back(entry.path().string());
  }
  for (const std::string& path : leftovers) SLUICE_RETURN_IF_ERROR(RemoveTree(path));
  return absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("renaming to ", to));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> BuildManifest(const JobId& job, PolicyVersion version, PolicyVersion parent,
                                          const TensorMap& tensors, const ModelFiles& files) {
  Manifest manifest;
  manifest.job = job;
  manifest.version = version;
  manifest.parent = parent;
  for (const auto& [name, tensor] : tensors) {  // rising names, as the manifest wants them
    if (tensor.bytes == nullptr ||
        static_cast<int64_t>(tensor.bytes->size()) != tensor.elements() * BytesOf(tensor.dtype)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, ": its bytes do not match its shape"));
    }
    manifest.tensors.push_back({name, tensor.dtype, tensor.shape, static_cast<int64_t>(tensor.bytes->size()),
                                Sha256Hex(*tensor.bytes)});
  }
  for (const auto& [name, content] : files) manifest.model_files[name] = Sha256Hex(content);
  return SerializeManifest(manifest);
}

absl::StatusOr<std::unique_ptr<PolicyStore>> PolicyStore::Open(const std::string& root, Clock& clock,
                                                               Keeping keeping) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(root));
  return std::unique_ptr<PolicyStore>(new PolicyStore(root, clock, keeping));
}

std::string PolicyStore::JobFolder(const JobId& job) const { return absl::StrCat(root_, "/", job); }
std::string PolicyStore::VersionFolder(const JobId& job, PolicyVersion version) const {
  return absl::StrCat(JobFolder(job), "/versions/", version);
}

absl::StatusOr<PolicyRef> PolicyStore::Publish(const JobId& job, PolicyVersion version, PolicyVersion parent,
                                               const TensorMap& tensors, const ModelFiles& files) {
  SLUICE_RETURN_IF_ERROR(CheckVersion(job, version));
  absl::MutexLock lock(&writer_mu_);
  SLUICE_ASSIGN_OR_RETURN(const std::string manifest, BuildManifest(job, version, parent, tensors, files));
  return Write(job, version, manifest, tensors, files);
}

absl::StatusOr<PolicyRef> PolicyStore::Adopt(const Manifest& manifest, const TensorMap& tensors,
                                             const ModelFiles& files) {
  SLUICE_RETURN_IF_ERROR(CheckVersion(manifest.job, manifest.version));
  absl::MutexLock lock(&writer_mu_);
  return Write(manifest.job, manifest.version, SerializeManifest(manifest), tensors, files);
}

absl::StatusOr<PolicyRef> PolicyStore::Write(const JobId& job, PolicyVersion version,
                                             const std::string& manifest, const TensorMap& tensors,
                                             const ModelFiles& files) {
  const PolicyRef ref = {job, version, ManifestHash(manifest), root_};
  const absl::StatusOr<PolicyRef> existing = Lookup(job, version);
  if (existing.ok()) {
    if (existing->manifest_hash == ref.manifest_hash) return ref;
    return absl::AlreadyExistsError(absl::StrCat("version ", version, " of job ", job, " is published as ",
                                                 existing->manifest_hash, "; refusing other content, ",
                                                 ref.manifest_hash));
  }
  if (!absl::IsNotFound(existing.status())) return existing.status();
  SLUICE_RETURN_IF_ERROR(MakeDirectories(absl::StrCat(JobFolder(job), "/versions")));
  SLUICE_RETURN_IF_ERROR(WriteModelFiles(job, files));
  SLUICE_RETURN_IF_ERROR(Annotate(WriteVersion(job, version, tensors, manifest),
                                  absl::StrCat("publishing version ", version, " of job ", job)));
  return ref;
}

absl::Status PolicyStore::WriteModelFiles(const JobId& job, const ModelFiles& files) {
  const std::string folder = absl::StrCat(JobFolder(job), "/files");
  SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const auto& [name, content] : files) {
    SLUICE_RETURN_IF_ERROR(CheckName(name, "model file"));
    const std::string path = absl::StrCat(folder, "/", name);
    const absl::StatusOr<std::string> old = ReadFile(path, kMaxModelFileBytes);
    if (old.ok() && *old == content) continue;
    if (old.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("model file ", name, " differs from the one that job ", job, " was published with"));
    }
    if (!absl::IsNotFound(old.status())) return old.status();
    SLUICE_RETURN_IF_ERROR(WriteFileAtomically(path, content));
  }
  return SyncDirectory(JobFolder(job));
}

absl::Status PolicyStore::WriteVersion(const JobId& job, PolicyVersion version, const TensorMap& tensors,
                                       const std::string& manifest) {
  const std::string versions = absl::StrCat(JobFolder(job), "/versions");
  SLUICE_RETURN_IF_ERROR(RemoveLeftovers(versions));
  const std::string temporary = absl::StrCat(versions, "/", kTemporaryPrefix, version);
  absl::Status status = [&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(MakeDirectories(temporary));
    SLUICE_RETURN_IF_ERROR(
        WriteTensors(absl::StrCat(temporary, "/", kTensorsFile), tensors, keeping_ == Keeping::kDurable));
    SLUICE_FAIL_POINT("weights.tensors_written");
    SLUICE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(temporary, "/", kManifestFile), manifest));
    SLUICE_RETURN_IF_ERROR(SyncDirectory(temporary));
    SLUICE_FAIL_POINT("weights.manifest_written");
    return Rename(temporary, VersionFolder(job, version));
  }();
  if (!status.ok()) {
    RemoveTree(temporary).IgnoreError();  // the first error is the one to tell; the next Publish tries again
    return status;
  }
  SLUICE_FAIL_POINT("weights.version_renamed");
  return SyncDirectory(versions);
}

absl::StatusOr<PolicyRef> PolicyStore::Lookup(const JobId& job, PolicyVersion version) const {
  SLUICE_RETURN_IF_ERROR(CheckVersion(job, version));
  const std::string path = absl::StrCat(VersionFolder(job, version), "/", kManifestFile);
  absl::StatusOr<std::string> manifest = ReadFile(path, kMaxManifestBytes);
  if (absl::IsNotFound(manifest.status())) {
    return absl::NotFoundError(absl::StrCat("version ", version, " of job ", job, " is not in the store"));
  }
  if (!manifest.ok()) return manifest.status();
  return PolicyRef{job, version, ManifestHash(*manifest), root_};
}

absl::StatusOr<std::vector<PolicyVersion>> PolicyStore::ListVersions(const JobId& job) const {
  SLUICE_RETURN_IF_ERROR(CheckName(job, "job"));
  std::vector<PolicyVersion> out;
  const std::string folder = absl::StrCat(JobFolder(job), "/versions");
  if (!FileExists(folder)) return out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    PolicyVersion version;
    if (absl::SimpleAtoi(entry.path().filename().string(), &version) && version >= 0) out.push_back(version);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", folder));
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status PolicyStore::Prune(const JobId& job, const std::set<PolicyVersion>& keep) {
  absl::MutexLock lock(&writer_mu_);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<PolicyVersion> versions, ListVersions(job));
  if (versions.empty()) return absl::OkStatus();
  const std::string folder = absl::StrCat(JobFolder(job), "/versions");
  SLUICE_RETURN_IF_ERROR(RemoveLeftovers(folder));
  for (PolicyVersion version : versions) {
    if (keep.count(version) > 0) continue;
    // Gone by one rename, so that no reader finds half a version.
    const std::string doomed = absl::StrCat(folder, "/", kTemporaryPrefix, "pruned.", version);
    SLUICE_RETURN_IF_ERROR(Rename(VersionFolder(job, version), doomed));
    SLUICE_FAIL_POINT("weights.version_doomed");
    SLUICE_RETURN_IF_ERROR(RemoveTree(doomed));
    absl::MutexLock index_lock(&mu_);
    indexes_.remove_if([&](const auto& entry) { return entry.first == IndexKey(job, version); });
  }
  return SyncDirectory(folder);
}

absl::Status PolicyStore::Remove(const JobId& job) {
  SLUICE_RETURN_IF_ERROR(CheckName(job, "job"));
  absl::MutexLock lock(&writer_mu_);
  if (!FileExists(JobFolder(job))) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(RemoveTree(JobFolder(job)));
  absl::MutexLock index_lock(&mu_);
  indexes_.remove_if([&](const auto& entry) { return entry.first.first == job; });
  return SyncDirectory(root_);
}

absl::Status PolicyStore::CheckDeadline(absl::Time deadline, absl::string_view what) const {
  if (clock_.Now() <= deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("reading ", what));
}

absl::StatusOr<std::string> PolicyStore::ReadManifest(const JobId& job, PolicyVersion version,
                                                      absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(CheckVersion(job, version));
  SLUICE_RETURN_IF_ERROR(CheckDeadline(deadline, "the manifest"));
  absl::StatusOr<std::string> manifest =
      ReadFile(absl::StrCat(VersionFolder(job, version), "/", kManifestFile), kMaxManifestBytes);
  if (absl::IsNotFound(manifest.status())) {
    return absl::NotFoundError(absl::StrCat("version ", version, " of job ", job, " is not in the store"));
  }
  return manifest;
}

absl::StatusOr<std::shared_ptr<const PolicyStore::Index>> PolicyStore::IndexOf(const JobId& job,
                                                                               PolicyVersion version) {
  const IndexKey key(job, version);
  {
    absl::MutexLock lock(&mu_);
    for (auto it = indexes_.begin(); it != indexes_.end(); ++it) {
      if (it->first != key) continue;
      indexes_.splice(indexes_.begin(), indexes_, it);
      return it->second;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string json, ReadManifest(job, version, absl::InfiniteFuture()));
  SLUICE_ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(json));
  auto index = std::make_shared<Index>();
  int64_t offset = 0;
  for (const ManifestTensor& tensor : manifest.tensors) {
    index->tensors[tensor.name] = {offset, tensor.bytes};
    offset += tensor.bytes;
  }
  const std::string path = absl::StrCat(VersionFolder(job, version), "/", kTensorsFile);
  SLUICE_ASSIGN_OR_RETURN(const int64_t size, FileBytes(path));
  if (size != offset) {
    return absl::DataLossError(absl::StrCat(path, " has ", size, " bytes; its manifest says ", offset));
  }
  absl::MutexLock lock(&mu_);
  indexes_.emplace_front(key, index);
  if (indexes_.size() > kIndexes) indexes_.pop_back();
  return std::shared_ptr<const Index>(index);
}

absl::StatusOr<PolicyStore::TensorFile> PolicyStore::OpenTensor(const JobId& job, PolicyVersion version,
                                                                const std::string& tensor) {
  SLUICE_RETURN_IF_ERROR(CheckVersion(job, version));
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Index> index, IndexOf(job, version));
  const auto range = index->tensors.find(tensor);
  if (range == index->tensors.end()) {
    return absl::NotFoundError(
        absl::StrCat("tensor ", tensor, " is not in version ", version, " of job ", job));
  }
  TensorFile file;
  file.path = absl::StrCat(VersionFolder(job, version), "/", kTensorsFile);
  file.fd.Reset(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.fd.valid()) return ErrnoStatus(errno, absl::StrCat("opening ", file.path));
  file.tensor = tensor;
  file.offset = range->second.offset;
  file.left = range->second.bytes;
  return file;
}

absl::StatusOr<absl::string_view> PolicyStore::TensorFile::Next() {
  buffer.resize(static_cast<size_t>(std::min(left, kChunkBytes)));
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t n =
        pread(fd.get(), buffer.data() + done, buffer.size() - done, offset + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
    if (n == 0) return absl::DataLossError(absl::StrCat(path, " ends within tensor ", tensor));
    done += static_cast<size_t>(n);
  }
  offset += static_cast<int64_t>(done);
  left -= static_cast<int64_t>(done);
  return absl::string_view(buffer);
}

absl::Status PolicyStore::ReadTensor(const JobId& job, PolicyVersion version, const std::string& tensor,
                                     absl::Time deadline,
                                     const std::function<absl::Status(absl::string_view)>& on_chunk) {
  SLUICE_ASSIGN_OR_RETURN(TensorFile file, OpenTensor(job, version, tensor));
  while (file.left > 0) {
    SLUICE_RETURN_IF_ERROR(CheckDeadline(deadline, tensor));
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, file.Next());
    SLUICE_RETURN_IF_ERROR(on_chunk(bytes));
  }
  return absl::OkStatus();
}

absl::Status PolicyStore::ReadPatch(const PolicyRef& base, PolicyVersion version, const std::string& tensor,
                                    absl::Time deadline,
                                    const std::function<absl::Status(absl::string_view)>& on_chunk) {
  SLUICE_ASSIGN_OR_RETURN(const PolicyRef here, Lookup(base.job, base.version));
  if (here.manifest_hash != base.manifest_hash) {
    return absl::FailedPreconditionError(absl::StrCat("version ", base.version, " of job ", base.job, " is ",
                                                      here.manifest_hash, " here, not ", base.manifest_hash));
  }
  SLUICE_ASSIGN_OR_RETURN(TensorFile from, OpenTensor(base.job, base.version, tensor));
  SLUICE_ASSIGN_OR_RETURN(TensorFile to, OpenTensor(base.job, version, tensor));
  if (from.left != to.left) {
    return absl::FailedPreconditionError(absl::StrCat("tensor ", tensor, " has ", from.left,
                                                      " bytes in version ", base.version, " and ", to.left,
                                                      " in version ", version));
  }
  PatchWriter patch(on_chunk);
  while (to.left > 0) {
    SLUICE_RETURN_IF_ERROR(CheckDeadline(deadline, tensor));
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view old_bytes, from.Next());
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view new_bytes, to.Next());
    SLUICE_RETURN_IF_ERROR(patch.Add(old_bytes, new_bytes));
  }
  return patch.Finish();
}

absl::StatusOr<std::string> PolicyStore::ReadModelFile(const JobId& job, const std::string& name,
                                                       absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(CheckName(job, "job"));
  SLUICE_RETURN_IF_ERROR(CheckName(name, "model file"));
  SLUICE_RETURN_IF_ERROR(CheckDeadline(deadline, name));
  absl::StatusOr<std::string> content =
      ReadFile(absl::StrCat(JobFolder(job), "/files/", name), kMaxModelFileBytes);
  if (absl::IsNotFound(content.status())) {
    return absl::NotFoundError(absl::StrCat("the model of job ", job, " has no file ", name));
  }
  return content;
}

}  // namespace sluice
