#include "reward/code/compile_cache.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/status.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
constexpr size_t kKeyBytes = 64;

bool IsKey(const std::string& name) {
  return name.size() == kKeyBytes && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompileCache>> CompileCache::Open(const std::string& folder,
                                                                 int64_t max_bytes) {
  std::unique_ptr<CompileCache> cache(new CompileCache(folder, max_bytes));
  if (!folder.empty()) {
    SLUICE_RETURN_IF_ERROR(MakeDirectories(folder));
    std::error_code error;  // what lies here is nobody else's to read or to write
    fs::permissions(folder, fs::perms::owner_all, error);
    if (error)
      return absl::PermissionDeniedError(absl::StrCat("compile cache ", folder, ": ", error.message()));
    SLUICE_RETURN_IF_ERROR(cache->TakeOver());
  }
  return cache;
}

absl::Status CompileCache::TakeOver() {
  struct Found {
    fs::file_time_type used;
    std::string key;
    int64_t bytes;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename();
    std::error_code unread;
    if (IsKey(name))
      found.push_back({it->last_write_time(unread), name, static_cast<int64_t>(it->file_size(unread))});
  }
  if (error) return absl::UnavailableError(absl::StrCat("compile cache ", folder_, ": ", error.message()));
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  absl::MutexLock lock(&mu_);
  for (const Found& file : found) Add(file.key, file.bytes);
  return absl::OkStatus();
}

std::optional<std::string> CompileCache::Get(const std::string& key) {
  absl::MutexLock lock(&mu_);
  auto it = entries_.find(key);
  if (it == entries_.end()) return std::nullopt;
  auto content = ReadFile(Path(key), max_bytes_);
  // Content and hash were written together: a file that was damaged since is not run.
  if (!content.ok() || content->size() < kKeyBytes ||
      Sha256Hex(absl::string_view(*content).substr(kKeyBytes)) != content->substr(0, kKeyBytes)) {
    Remove(key);
    return std::nullopt;
  }
  order_.splice(order_.end(), order_, it->second.place);
  std::error_code ignored;
  fs::last_write_time(Path(key), fs::file_time_type::clock::now(), ignored);
  return content->substr(kKeyBytes);
}

void CompileCache::Put(const std::string& key, absl::string_view content) {
  int64_t bytes = static_cast<int64_t>(content.size() + kKeyBytes);
  if (folder_.empty() || bytes > max_bytes_) return;
  if (!WriteFileAtomically(Path(key), absl::StrCat(Sha256Hex(content), content)).ok()) return;
  absl::MutexLock lock(&mu_);
  Add(key, bytes);
}

int64_t CompileCache::bytes() const {
  absl::MutexLock lock(&mu_);
  return bytes_;
}

void CompileCache::Add(const std::string& key, int64_t bytes) {
  auto it = entries_.find(key);
  if (it != entries_.end()) {
    bytes_ -= it->second.bytes;
    order_.erase(it->second.place);
  }
  entries_[key] = {bytes, order_.insert(order_.end(), key)};
  bytes_ += bytes;
  while (bytes_ > max_bytes_) Remove(std::string(order_.front()));
}

void CompileCache::Remove(const std::string& key) {
  auto it = entries_.find(key);
  bytes_ -= it->second.bytes;
  order_.erase(it->second.place);
  entries_.erase(it);
  std::error_code ignored;
  fs::remove(Path(key), ignored);
}

}  // namespace sluice
