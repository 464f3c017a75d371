// The published versions of jobs on disk, and the direct port that reads them and makes patches between them.
//
//   ROOT/<job>/files/<name>                    the model's small files, the same for all versions of a job
//   ROOT/<job>/versions/<version>/manifest.json
//   ROOT/<job>/versions/<version>/tensors.bin  the tensors' bytes, one after the other in the manifest's
//   order
//
// A version appears by one rename after everything in it is durable: after a crash it is there whole or not
// at all. One process publishes and prunes a job; any number read. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/file_descriptor.h"
#include "core/rl/types.h"
#include "core/rl/weight_channel.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "core/spec/tensors/manifest.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// The manifest of such content, serialised. INVALID_ARGUMENT when a tensor's bytes do not match its shape.
absl::StatusOr<std::string> BuildManifest(const JobId& job, PolicyVersion version, PolicyVersion parent,
                                          const TensorMap& tensors, const ModelFiles& files);

class PolicyStore final : public WeightChannel {
 public:
  // kCache: what is published may be lost with the machine's power, for it can be fetched again.
  enum class Keeping { kDurable, kCache };
  // Makes `root` where it is missing. `clock` is what deadlines are measured by.
  static absl::StatusOr<std::unique_ptr<PolicyStore>> Open(const std::string& root,
                                                           Clock& clock = Clock::Real(),
                                                           Keeping keeping = Keeping::kDurable);

  // Makes a version durable. The returned ref names the content; its source is the store's root. Publishing
  // the same content again is OK and gives the same ref; ALREADY_EXISTS when the version has other content;
  // FAILED_PRECONDITION when the model's files differ from those of the job's other versions.
  absl::StatusOr<PolicyRef> Publish(const JobId& job, PolicyVersion version, PolicyVersion parent,
                                    const TensorMap& tensors, const ModelFiles& files);
  // The same for what was checked against its manifest already, as FetchPolicy does: it is not hashed again.
  absl::StatusOr<PolicyRef> Adopt(const Manifest& manifest, const TensorMap& tensors,
                                  const ModelFiles& files);
  // NOT_FOUND: no such version (any more).
  absl::StatusOr<PolicyRef> Lookup(const JobId& job, PolicyVersion version) const;
  // Rising; empty for an unknown job.
  absl::StatusOr<std::vector<PolicyVersion>> ListVersions(const JobId& job) const;
  // Removes all versions of the job that are not in `keep`. Reads under way of a removed one may fail with
  // NOT_FOUND.
  absl::Status Prune(const JobId& job, const std::set<PolicyVersion>& keep);

  // Removes all versions and files of the job. Reads under way may fail with NOT_FOUND. OK when there is
  // nothing.
  absl::Status Remove(const JobId& job);

  absl::StatusOr<std::string> ReadManifest(const JobId& job, PolicyVersion version,
                                           absl::Time deadline) override;
  absl::Status ReadTensor(const JobId& job, PolicyVersion version, const std::string& tensor,
                          absl::Time deadline,
                          const std::function<absl::Status(absl::string_view)>& on_chunk) override;
  absl::Status ReadPatch(const PolicyRef& base, PolicyVersion version, const std::string& tensor,
                         absl::Time deadline,
                         const std::function<absl::Status(absl::string_view)>& on_chunk) override;
  absl::StatusOr<std::string> ReadModelFile(const JobId& job, const std::string& name,
                                            absl::Time deadline) override;

 private:
  // Where each tensor lies in tensors.bin.
  struct Index {
    struct Range {
      int64_t offset = 0, bytes = 0;
    };
    std::map<std::string, Range> tensors;
  };
  using IndexKey = std::pair<JobId, PolicyVersion>;

  // What is left to read of one tensor.
  struct TensorFile {
    // The next bytes, at most 1 MiB; valid until the next call.
    absl::StatusOr<absl::string_view> Next();
    std::string path, tensor;
    FileDescriptor fd;
    int64_t offset = 0, left = 0;
    std::string buffer;
  };

  PolicyStore(std::string root, Clock& clock, Keeping keeping)
      : root_(std::move(root)), clock_(clock), keeping_(keeping) {}

  std::string JobFolder(const JobId& job) const;
  std::string VersionFolder(const JobId& job, PolicyVersion version) const;
  absl::StatusOr<PolicyRef> Write(const JobId& job, PolicyVersion version, const std::string& manifest,
                                  const TensorMap& tensors, const ModelFiles& files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_mu_);
  absl::Status WriteVersion(const JobId& job, PolicyVersion version, const TensorMap& tensors,
                            const std::string& manifest);
  absl::Status WriteModelFiles(const JobId& job, const ModelFiles& files);
  absl::StatusOr<TensorFile> OpenTensor(const JobId& job, PolicyVersion version, const std::string& tensor);
  absl::StatusOr<std::shared_ptr<const Index>> IndexOf(const JobId& job, PolicyVersion version);
  absl::Status CheckDeadline(absl::Time deadline, absl::string_view what) const;

  const std::string root_;
  Clock& clock_;
  const Keeping keeping_;
  absl::Mutex writer_mu_;  // one Publish or Prune at a time
  absl::Mutex mu_;
  // Of the versions read last, newest first; at most kIndexes. Shared with the reads under way.
  std::list<std::pair<IndexKey, std::shared_ptr<const Index>>> indexes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
