#include "core/weights/policy_cache.h"

#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<PolicyCache>> PolicyCache::Open(const std::string& root, Clock& clock) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<PolicyStore> store,
                          PolicyStore::Open(root, clock, PolicyStore::Keeping::kCache));
  return std::unique_ptr<PolicyCache>(new PolicyCache(root, clock, std::move(store)));
}

absl::StatusOr<FetchedPolicy> PolicyCache::Fetch(WeightChannel& source, const PolicyRef& policy,
                                                 absl::Time deadline, const FetchLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<PolicyVersion> versions, store_->ListVersions(policy.job));
  std::set<PolicyVersion> usable(versions.begin(), versions.end());
  if (usable.count(policy.version) > 0) {
    absl::StatusOr<FetchedPolicy> kept = FetchPolicy(*store_, policy, deadline, limits, clock_);
    if (kept.ok()) {
      kept->bytes = 0;  // received
      return kept;
    }
    LogWarning("cached_policy_refused", {{"job", policy.job}, {"why", kept.status().message()}});
    usable.erase(policy.version);
    SLUICE_RETURN_IF_ERROR(store_->Prune(policy.job, usable));
  }
  const auto above = usable.upper_bound(policy.version);
  if (above == usable.begin()) return FetchPolicy(source, policy, deadline, limits, clock_);
  SLUICE_ASSIGN_OR_RETURN(PolicyRef older, store_->Lookup(policy.job, *std::prev(above)));
  const FetchBase base{*store_, std::move(older)};
  return FetchPolicy(source, policy, deadline, limits, clock_, &base);
}

absl::Status PolicyCache::Keep(const FetchedPolicy& policy) {
  const Manifest& manifest = policy.manifest;
  SLUICE_RETURN_IF_ERROR(RemoveOtherJobs(manifest.job));
  SLUICE_ASSIGN_OR_RETURN(std::vector<PolicyVersion> versions, store_->ListVersions(manifest.job));
  std::set<PolicyVersion> keep(versions.begin(), versions.end());
  keep.erase(manifest.version);
  while (keep.size() >= kVersions) keep.erase(keep.begin());
  keep.insert(manifest.version);
  SLUICE_RETURN_IF_ERROR(store_->Prune(manifest.job, keep));
  return store_->Adopt(manifest, policy.tensors, policy.files).status();
}

absl::Status PolicyCache::RemoveOtherJobs(const JobId& job) {
  std::error_code error;
  std::vector<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(root_, error)) {
    if (entry.path().filename().string() != job) others.push_back(entry.path().string());
  }
  if (error) return ErrnoStatus(error.value(), root_);
  for (const std::string& folder : others) SLUICE_RETURN_IF_ERROR(RemoveTree(folder));
  return absl::OkStatus();
}

}  // namespace sluice
